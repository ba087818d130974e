/* A libnvidia-ml.so.1 that can list devices and say nothing about them. */
#include "nvml_bare.h"

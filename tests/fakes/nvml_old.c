/* A libnvidia-ml.so.1 of an old driver: process lists and memory in their first versions only. */
#include "nvml_old.h"

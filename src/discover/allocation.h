/*
 * Whether the job has the host for itself: "shared" when it is confined to a part of it, or when
 * others keep it busy; "dedicated" otherwise.
 */
#ifndef DISCOVER_ALLOCATION_H
#define DISCOVER_ALLOCATION_H

#include "base/sysroot.h"

#include <stdbool.h>

/*
 * Whether this process may use only a part of the CPUs or of the memory (MiB): by its affinity, or
 * by the limits of its cgroup or one above it. From the reader's own /proc and cgroup file systems.
 */
bool allocation_is_confined(const struct sysroot *root, double memory_mib);

/* Cores that others than the job use, of all; NaN: not known. NULL when it cannot be told. */
const char *allocation_name(bool is_confined, double others_cores, double cpus);

#endif

/*
 * Whether the job has the host for itself: "shared" when it is confined to a part of it, or when
 * others keep it busy; "dedicated" when neither is so.
 */
#ifndef DISCOVER_ALLOCATION_H
#define DISCOVER_ALLOCATION_H

#include "base/sysroot.h"

enum allocation_bounds {
    ALLOCATION_WHOLE,
    ALLOCATION_PART,
    ALLOCATION_UNKNOWN, /* no limit was seen, nor a place where one would be */
};

/*
 * Whether this process may use only a part of the CPUs or of the memory (MiB): by its affinity, or
 * by the limits of its cgroup or one above it. From the reader's own /proc and cgroup file systems.
 */
enum allocation_bounds allocation_is_confined(const struct sysroot *root, double memory_mib);

/* Cores that others than the job use, of all; NaN: not known. NULL when it cannot be told. */
const char *allocation_name(enum allocation_bounds bounds, double others_cores, double cpus);

#endif

/*
 * How much of the host a process may use: by its affinity, and by the limits of its cgroup and of
 * those above it (versions 1 and 2).
 */
#ifndef DISCOVER_LIMITS_H
#define DISCOVER_LIMITS_H

#include "base/sysroot.h"

#include <stdbool.h>
#include <sys/types.h>

/* Infinite: no limit. */
struct limits {
    double cpus;
    double memory_mib;
    bool is_known; /* a cgroup was found; otherwise there may be limits that cannot be seen */
};

/* Of the cgroup named in /proc/PID/cgroup; 0 is this process. */
void limits_of_cgroup(const struct sysroot *root, pid_t pid, struct limits *ret_limits);

/* Of the affinity too, where the process is one of this machine's. */
void limits_of_process(const struct sysroot *root, pid_t pid, struct limits *ret_limits);

#endif

#include "discover/allocation.h"

#include "base/file.h"
#include "base/scan.h"

#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CGROUP_TEXT_MAX 4096
#define LEVELS_MAX 32
/* The kernel refuses a set that is smaller than its own: 1024 CPUs each, and it knows 8192. */
#define CPU_SETS 8
#define BYTES_PER_MIB (1024.0 * 1024.0)
/* A tenth of the machine: more than what a system does for itself. */
#define OTHERS_SHARE 0.1
/* Limits that are set to "all there is" are a little above or below it. */
#define WHOLE_SHARE 0.98

/* Of two places that were looked at: a limit counts, and so does having seen at least one. */
static enum allocation_bounds merge(enum allocation_bounds one, enum allocation_bounds other)
{
    if (one == ALLOCATION_PART || other == ALLOCATION_PART)
        return ALLOCATION_PART;
    return one == ALLOCATION_WHOLE || other == ALLOCATION_WHOLE ? ALLOCATION_WHOLE
                                                                : ALLOCATION_UNKNOWN;
}

/* --- affinity --- */

static enum allocation_bounds bounds_of_affinity(void)
{
    cpu_set_t set[CPU_SETS];
    long online = sysconf(_SC_NPROCESSORS_ONLN);

    if (sched_getaffinity(0, sizeof set, set) < 0 || online <= 0)
        return ALLOCATION_UNKNOWN;
    return CPU_COUNT_S(sizeof set, set) < online ? ALLOCATION_PART : ALLOCATION_WHOLE;
}

/* --- cgroups --- */

/* "200000 100000": so many microseconds in each of so many; "max" is no limit. */
static bool quota_is_partial(const char *text, double cpus)
{
    struct scan scan = scan_over(text, strlen(text));
    uint64_t quota;
    uint64_t period;

    if (!scan_u64(&scan, &quota) || !scan_u64(&scan, &period) || period == 0)
        return false;
    return (double)quota / (double)period < cpus * WHOLE_SHARE;
}

static bool memory_is_partial(const char *text, double memory_mib)
{
    struct scan scan = scan_over(text, strlen(text));
    uint64_t bytes;

    return scan_u64(&scan, &bytes) && memory_mib > 0 &&
           (double)bytes / BYTES_PER_MIB < memory_mib * WHOLE_SHARE;
}

/* Reads FOLDER/GROUP/NAME below /sys; "" when there is none. */
static void read_limit(int sys_fd, const char *folder, const char *group, const char *name,
                       char *out, size_t size)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "fs/cgroup%s%s/%s", folder, group, name);

    out[0] = '\0';
    if (length > 0 && (size_t)length < sizeof path && file_read_text(sys_fd, path, out, size) < 0)
        out[0] = '\0';
}

static bool group_is_limited(int sys_fd, const char *folder, const char *group, double cpus,
                             double memory_mib)
{
    char text[128];
    char period[64];

    read_limit(sys_fd, folder, group, "cpu.max", text, sizeof text);
    if (quota_is_partial(text, cpus))
        return true;
    read_limit(sys_fd, folder, group, "memory.max", text, sizeof text);
    if (memory_is_partial(text, memory_mib))
        return true;
    /* Version 1. A quota of -1 is none. */
    read_limit(sys_fd, folder, group, "memory.limit_in_bytes", text, sizeof text);
    if (memory_is_partial(text, memory_mib))
        return true;
    read_limit(sys_fd, folder, group, "cpu.cfs_quota_us", text, sizeof text / 2);
    read_limit(sys_fd, folder, group, "cpu.cfs_period_us", period, sizeof period);
    size_t length = strlen(text);
    snprintf(text + length, sizeof text - length, " %s", period);
    return quota_is_partial(text, cpus);
}

/* Every group has this file, in both versions; where nothing is mounted there is none. */
static bool group_is_there(int sys_fd, const char *folder, const char *group)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "fs/cgroup%s%s/cgroup.procs", folder, group);

    return length > 0 && (size_t)length < sizeof path && faccessat(sys_fd, path, F_OK, 0) == 0;
}

/* A limit above a group holds for it too. */
static enum allocation_bounds bounds_of_path(int sys_fd, const char *folder, char *group,
                                             double cpus, double memory_mib)
{
    enum allocation_bounds bounds = ALLOCATION_UNKNOWN;

    for (int level = 0; level < LEVELS_MAX; level++) {
        if (group_is_limited(sys_fd, folder, group, cpus, memory_mib))
            return ALLOCATION_PART;
        if (group_is_there(sys_fd, folder, group))
            bounds = ALLOCATION_WHOLE;
        char *slash = strrchr(group, '/');
        if (slash == NULL || group[0] == '\0')
            break;
        *slash = '\0';
    }
    return bounds;
}

/* A line of /proc/self/cgroup: "4:cpu,cpuacct:/path", or "0::/path" of version 2. */
static enum allocation_bounds bounds_of_line(int sys_fd, struct scan line, double cpus,
                                             double memory_mib)
{
    enum allocation_bounds bounds = ALLOCATION_UNKNOWN;
    char group[PATH_MAX];
    char folder[128] = "/";
    struct scan number;
    struct scan names;

    if (!scan_until(&line, ':', &number) || !scan_until(&line, ':', &names) ||
        !scan_copy(&line, group, sizeof group))
        return ALLOCATION_UNKNOWN;
    if (strcmp(group, "/") == 0)
        group[0] = '\0';
    if (scan_left(&names) == 0)
        return bounds_of_path(sys_fd, "", group, cpus, memory_mib);
    /* "cpuacct,cpu" may be mounted as "cpu,cpuacct": but each has a link of its own name. */
    while (scan_left(&names) > 0) {
        char path[PATH_MAX];
        struct scan name = names;
        if (!scan_until(&names, ',', &name))
            names.at = names.end;
        memcpy(path, group, sizeof path);
        if (scan_copy(&name, folder + 1, sizeof folder - 1))
            bounds = merge(bounds, bounds_of_path(sys_fd, folder, path, cpus, memory_mib));
    }
    return bounds;
}

static enum allocation_bounds bounds_of_cgroups(const struct sysroot *root, double memory_mib)
{
    enum allocation_bounds bounds = ALLOCATION_UNKNOWN;
    char text[CGROUP_TEXT_MAX];
    double cpus = (double)sysconf(_SC_NPROCESSORS_ONLN);
    ssize_t size = file_read_text(root->proc_fd, "self/cgroup", text, sizeof text);
    struct scan rest = scan_over(text, size > 0 ? (size_t)size : 0);
    struct scan line;

    while (bounds != ALLOCATION_PART && scan_line(&rest, &line))
        bounds = merge(bounds, bounds_of_line(root->sys_fd, line, cpus, memory_mib));
    return bounds;
}

enum allocation_bounds allocation_is_confined(const struct sysroot *root, double memory_mib)
{
    enum allocation_bounds affinity = bounds_of_affinity();

    if (affinity == ALLOCATION_PART)
        return ALLOCATION_PART;
    enum allocation_bounds cgroups = bounds_of_cgroups(root, memory_mib);
    return affinity == ALLOCATION_UNKNOWN && cgroups == ALLOCATION_WHOLE ? ALLOCATION_UNKNOWN
                                                                         : cgroups;
}

const char *allocation_name(enum allocation_bounds bounds, double others_cores, double cpus)
{
    if (bounds == ALLOCATION_PART)
        return "shared";
    if (isnan(others_cores) || isnan(cpus))
        return NULL;
    if (others_cores > cpus * OTHERS_SHARE)
        return "shared";
    return bounds == ALLOCATION_WHOLE ? "dedicated" : NULL;
}

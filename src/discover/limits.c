#include "discover/limits.h"

#include "base/file.h"
#include "base/scan.h"

#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CGROUP_TEXT_MAX 4096
#define LEVELS_MAX 32
/* The kernel refuses a set that is smaller than its own: 1024 CPUs each, and it knows 8192. */
#define CPU_SETS 8
#define BYTES_PER_MIB (1024.0 * 1024.0)

static void lower(double *limit, double value)
{
    if (value < *limit)
        *limit = value;
}

/* "200000 100000": so many microseconds in each of so many; "max" is no limit. */
static void take_quota(const char *text, struct limits *limits)
{
    struct scan scan = scan_over(text, strlen(text));
    uint64_t quota;
    uint64_t period;

    if (scan_u64(&scan, &quota) && scan_u64(&scan, &period) && period > 0)
        lower(&limits->cpus, (double)quota / (double)period);
}

static void take_memory(const char *text, struct limits *limits)
{
    struct scan scan = scan_over(text, strlen(text));
    uint64_t bytes;

    if (scan_u64(&scan, &bytes))
        lower(&limits->memory_mib, (double)bytes / BYTES_PER_MIB);
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

static void read_group(int sys_fd, const char *folder, const char *group, struct limits *limits)
{
    char text[128];
    char period[64];

    read_limit(sys_fd, folder, group, "cpu.max", text, sizeof text);
    take_quota(text, limits);
    read_limit(sys_fd, folder, group, "memory.max", text, sizeof text);
    take_memory(text, limits);
    /* Version 1. A quota of -1 is none. */
    read_limit(sys_fd, folder, group, "memory.limit_in_bytes", text, sizeof text);
    take_memory(text, limits);
    read_limit(sys_fd, folder, group, "cpu.cfs_quota_us", text, sizeof text / 2);
    read_limit(sys_fd, folder, group, "cpu.cfs_period_us", period, sizeof period);
    size_t length = strlen(text);
    snprintf(text + length, sizeof text - length, " %s", period);
    take_quota(text, limits);
}

/* Every group has this file, in both versions; where nothing is mounted there is none. */
static bool group_is_there(int sys_fd, const char *folder, const char *group)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "fs/cgroup%s%s/cgroup.procs", folder, group);

    return length > 0 && (size_t)length < sizeof path && faccessat(sys_fd, path, F_OK, 0) == 0;
}

/* A limit above a group holds for it too. */
static void read_path(int sys_fd, const char *folder, char *group, struct limits *limits)
{
    for (int level = 0; level < LEVELS_MAX; level++) {
        read_group(sys_fd, folder, group, limits);
        if (group_is_there(sys_fd, folder, group))
            limits->is_known = true;
        char *slash = strrchr(group, '/');
        if (slash == NULL || group[0] == '\0')
            return;
        *slash = '\0';
    }
}

/* A line of /proc/PID/cgroup: "4:cpu,cpuacct:/path", or "0::/path" of version 2. */
static void read_line(int sys_fd, struct scan line, struct limits *limits)
{
    char group[PATH_MAX];
    char folder[128] = "/";
    struct scan number;
    struct scan names;

    if (!scan_until(&line, ':', &number) || !scan_until(&line, ':', &names) ||
        !scan_copy(&line, group, sizeof group))
        return;
    if (strcmp(group, "/") == 0)
        group[0] = '\0';
    if (scan_left(&names) == 0) {
        read_path(sys_fd, "", group, limits);
        return;
    }
    /* "cpuacct,cpu" may be mounted as "cpu,cpuacct": but each has a link of its own name. */
    while (scan_left(&names) > 0) {
        char path[PATH_MAX];
        struct scan name = names;
        if (!scan_until(&names, ',', &name))
            names.at = names.end;
        memcpy(path, group, sizeof path);
        if (scan_copy(&name, folder + 1, sizeof folder - 1))
            read_path(sys_fd, folder, path, limits);
    }
}

void limits_of_cgroup(const struct sysroot *root, pid_t pid, struct limits *ret_limits)
{
    char path[64] = "self/cgroup";
    char text[CGROUP_TEXT_MAX];
    struct scan line;

    *ret_limits = (struct limits){.cpus = INFINITY, .memory_mib = INFINITY};
    if (pid > 0)
        snprintf(path, sizeof path, "%d/cgroup", (int)pid);
    ssize_t size = file_read_text(root->proc_fd, path, text, sizeof text);
    struct scan rest = scan_over(text, size > 0 ? (size_t)size : 0);
    while (scan_line(&rest, &line))
        read_line(root->sys_fd, line, ret_limits);
}

void limits_of_process(const struct sysroot *root, pid_t pid, struct limits *ret_limits)
{
    cpu_set_t set[CPU_SETS];

    limits_of_cgroup(root, pid, ret_limits);
    if (!root->proc_is_foreign && sched_getaffinity(pid, sizeof set, set) == 0)
        lower(&ret_limits->cpus, (double)CPU_COUNT_S(sizeof set, set));
}

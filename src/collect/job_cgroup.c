#include "collect/job_cgroup.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fmt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PROC_FILE_MAX (1024 * 1024)
#define CPU_STAT_MAX 4096

/* "0::/user.slice" */
bool cgroup_own_path(struct scan proc_self_cgroup, struct scan *ret_path)
{
    struct scan line;

    while (scan_line(&proc_self_cgroup, &line))
        if (scan_starts_with(&line, "0::/")) {
            line.at += strlen("0::");
            *ret_path = line;
            return true;
        }
    return false;
}

bool cgroup2_mount_point(struct scan mountinfo, struct scan *ret_mount_point, struct scan *ret_root)
{
    struct scan line;
    struct scan root;
    struct scan mount_point;
    struct scan word;

    while (scan_line(&mountinfo, &line)) {
        if (!scan_skip_words(&line, 3) || !scan_word(&line, &root) ||
            !scan_word(&line, &mount_point))
            continue;
        while (scan_word(&line, &word) && !scan_equals(&word, "-"))
            ;
        if (scan_word(&line, &word) && scan_equals(&word, "cgroup2")) {
            *ret_mount_point = mount_point;
            *ret_root = root;
            return true;
        }
    }
    return false;
}

bool cgroup_cpu_stat_parse(struct scan text, uint64_t *ret_user_ns, uint64_t *ret_system_ns)
{
    struct scan line;
    uint64_t user_us = UINT64_MAX;
    uint64_t system_us = UINT64_MAX;

    while (scan_line(&text, &line)) {
        struct scan key;
        uint64_t value;
        if (!scan_word(&line, &key) || !scan_u64(&line, &value))
            continue;
        if (scan_equals(&key, "user_usec"))
            user_us = value;
        else if (scan_equals(&key, "system_usec"))
            system_us = value;
    }
    if (user_us == UINT64_MAX || system_us == UINT64_MAX)
        return false;
    *ret_user_ns = user_us * NS_PER_US;
    *ret_system_ns = system_us * NS_PER_US;
    return true;
}

static int read_whole(const char *path, struct file *ret_file)
{
    int error = file_open(ret_file, AT_FDCWD, path, 4096, PROC_FILE_MAX);

    return error < 0 ? error : file_read(ret_file);
}

/* A container may see only its own part of the hierarchy, while our path begins at the top. */
static struct scan path_below(struct scan path, struct scan root)
{
    size_t length = scan_left(&root);

    if (length > 1 && scan_left(&path) >= length && memcmp(path.at, root.at, length) == 0)
        path.at += length;
    return path;
}

/* Where ours would be; -ENODEV without a cgroup2 mount. */
static int find_place(char *out, size_t size, pid_t command)
{
    struct file mountinfo = {0};
    struct file own = {0};
    struct scan mount_point;
    struct scan root;
    struct scan path;
    int error = -ENODEV;

    if (read_whole("/proc/self/mountinfo", &mountinfo) == 0 &&
        read_whole("/proc/self/cgroup", &own) == 0 &&
        cgroup2_mount_point(file_scan(&mountinfo), &mount_point, &root) &&
        cgroup_own_path(file_scan(&own), &path)) {
        path = path_below(path, root);
        int length =
            snprintf(out, size, "%.*s%.*s/resource-tracker-%d", (int)scan_left(&mount_point),
                     mount_point.at, (int)scan_left(&path), path.at, (int)command);
        error = length > 0 && (size_t)length < size ? 0 : -ENAMETOOLONG;
    }
    file_close(&mountinfo);
    file_close(&own);
    return error;
}

static int move_in(int cgroup_fd, pid_t command)
{
    char text[FMT_U64_MAX];

    cleanup_fd int fd = openat(cgroup_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    size_t size = fmt_u64(text, (uint64_t)command);
    return write(fd, text, size) == (ssize_t)size ? 0 : -errno;
}

int job_cgroup_open(struct job_cgroup *cgroup, pid_t command)
{
    char path[PATH_MAX];

    *cgroup = (struct job_cgroup){0};
    int error = find_place(path, sizeof path, command);
    if (error < 0)
        return error;
    /* One of that name is left over from a tracker that was killed. */
    if (mkdir(path, 0755) < 0 && (errno != EEXIST || rmdir(path) < 0 || mkdir(path, 0755) < 0))
        return -errno;
    memcpy(cgroup->path, path, sizeof path);
    cleanup_fd int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        error = -errno;
    if (error == 0)
        error = file_open(&cgroup->cpu_stat, fd, "cpu.stat", CPU_STAT_MAX, CPU_STAT_MAX);
    if (error == 0)
        error = move_in(fd, command);
    if (error < 0)
        job_cgroup_close(cgroup);
    return error;
}

bool job_cgroup_read(struct job_cgroup *cgroup, uint64_t *ret_user_ns, uint64_t *ret_system_ns)
{
    return cgroup->path[0] != '\0' && file_read(&cgroup->cpu_stat) == 0 &&
           cgroup_cpu_stat_parse(file_scan(&cgroup->cpu_stat), ret_user_ns, ret_system_ns);
}

void job_cgroup_close(struct job_cgroup *cgroup)
{
    file_close(&cgroup->cpu_stat);
    if (cgroup->path[0] != '\0')
        (void)rmdir(cgroup->path);
    cgroup->path[0] = '\0';
}

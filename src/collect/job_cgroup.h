/*
 * A cgroup (v2) of the job's own, made below ours on --cgroup: the kernel then adds up its CPU time
 * exactly, whoever waits for whom. Needs a cgroup2 mount in which we may make a directory. Removed
 * at the end; one that still has live descendants in it stays until they are gone, and so does its
 * directory.
 */
#ifndef COLLECT_JOB_CGROUP_H
#define COLLECT_JOB_CGROUP_H

#include "base/file.h"

#include <limits.h>
#include <sys/types.h>

struct job_cgroup {
    char path[PATH_MAX]; /* "" when there is none */
    struct file cpu_stat;
};

/* Moves the held command in. */
int job_cgroup_open(struct job_cgroup *cgroup, pid_t command);

bool job_cgroup_read(struct job_cgroup *cgroup, uint64_t *ret_user_ns, uint64_t *ret_system_ns);
void job_cgroup_close(struct job_cgroup *cgroup);

/* The pure parts. */
bool cgroup_own_path(struct scan proc_self_cgroup, struct scan *ret_path);
/* Where the cgroup2 file system is mounted, and which of its directories that shows. */
bool cgroup2_mount_point(struct scan mountinfo, struct scan *ret_mount_point,
                         struct scan *ret_root);
bool cgroup_cpu_stat_parse(struct scan text, uint64_t *ret_user_ns, uint64_t *ret_system_ns);

#endif

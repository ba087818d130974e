/*
 * Where the kernel's files are read from: directory descriptors for proc and sys, so that a
 * container can read its host's and a test its fixtures. A root that is not there has fd -1, and
 * everything below it then reads as absent.
 */
#ifndef BASE_SYSROOT_H
#define BASE_SYSROOT_H

#include <stdbool.h>
#include <stdint.h>

struct fs_space {
    uint64_t total_bytes;
    uint64_t free_bytes;      /* for root */
    uint64_t available_bytes; /* for everybody */
};

struct sysroot {
    int proc_fd;
    int sys_fd;
    const char *dev;      /* where device nodes are */
    bool proc_is_procfs;  /* a real procfs: poll() on its mount table tells changes */
    bool proc_is_foreign; /* --procfs was given: process 1 there owns the host's view */
    /* How to ask a mounted file system for its space; tests answer from a fixture instead. */
    int (*space)(const char *mount_point, struct fs_space *ret_space);
};

#define SYSROOT_PROC "/proc"
#define SYSROOT_SYS "/sys"
#define SYSROOT_DEV "/dev"

/*
 * NULL means the usual place. A named directory that cannot be opened is an error, and
 * `*ret_culprit` is then its path; a usual one that is missing is not.
 */
int sysroot_open(struct sysroot *root, const char *proc, const char *sys, const char **ret_culprit);
void sysroot_close(struct sysroot *root);

#endif

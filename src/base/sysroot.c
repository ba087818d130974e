#include "base/sysroot.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stddef.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

/*
 * By path at every sample: a descriptor kept on a mount point would keep the job from unmounting
 * it.
 */
static int space_by_statvfs(const char *mount_point, struct fs_space *ret_space)
{
    struct statvfs fs;

    if (statvfs(mount_point, &fs) < 0)
        return -errno;
    /* f_blocks is counted in f_frsize, not f_bsize; the two differ on some file systems. */
    uint64_t unit = fs.f_frsize > 0 ? fs.f_frsize : fs.f_bsize;
    *ret_space = (struct fs_space){
        .total_bytes = unit * fs.f_blocks,
        .free_bytes = unit * fs.f_bfree,
        .available_bytes = unit * fs.f_bavail,
    };
    return 0;
}

static int open_root(const char *named, const char *usual, int *ret_fd)
{
    *ret_fd = open(named != NULL ? named : usual, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return *ret_fd < 0 && named != NULL ? -errno : 0;
}

int sysroot_open(struct sysroot *root, const char *proc, const char *sys, const char **ret_culprit)
{
    *root = (struct sysroot){
        .proc_fd = -1, .sys_fd = -1, .dev = SYSROOT_DEV, .space = space_by_statvfs};

    int error = open_root(proc, SYSROOT_PROC, &root->proc_fd);
    if (error < 0) {
        *ret_culprit = proc;
        return error;
    }
    error = open_root(sys, SYSROOT_SYS, &root->sys_fd);
    if (error < 0) {
        *ret_culprit = sys;
        sysroot_close(root);
        return error;
    }

    struct statfs fs;
    root->proc_is_procfs = fstatfs(root->proc_fd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
    root->proc_is_foreign = proc != NULL;
    return 0;
}

void sysroot_close(struct sysroot *root)
{
    close_fd(&root->proc_fd);
    close_fd(&root->sys_fd);
}

#include "base/dir.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>

int dir_each(int dir_fd, dir_visit *visit, void *context)
{
    _Alignas(struct dirent64) char entries[32768];

    /* Opened anew, so that the position of the caller's descriptor stays where it is. */
    cleanup_fd int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    for (;;) {
        long got = syscall(SYS_getdents64, fd, entries, sizeof entries);
        if (got <= 0)
            return got < 0 ? -errno : 0;
        for (long at = 0; at < got;) {
            const struct dirent64 *entry = (const struct dirent64 *)(const void *)(entries + at);
            if (!visit(context, entry))
                return 0;
            at += entry->d_reclen;
        }
    }
}

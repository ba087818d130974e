/*
 * Scope-bound release of file descriptors, so that no early return leaks one.
 */
#ifndef BASE_CLEANUP_H
#define BASE_CLEANUP_H

#include <unistd.h>

static inline void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

#define cleanup_fd __attribute__((cleanup(close_fd)))

#endif

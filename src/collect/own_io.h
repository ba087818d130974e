/*
 * I/O of children that the tracker has waited for: the kernel adds it to our own account, so it is
 * that account without what our own threads did.
 */
#ifndef COLLECT_OWN_IO_H
#define COLLECT_OWN_IO_H

#include "collect/ledger.h"
#include "collect/pid_file.h"

#include <stdbool.h>

struct own_io {
    int io_fd;   /* /proc/self/io, or -1 */
    int task_fd; /* /proc/self/task, or -1 */
};

#define OWN_IO_CLOSED ((struct own_io){.io_fd = -1, .task_fd = -1})

/* From the real /proc, whatever --procfs says. */
void own_io_open(struct own_io *own);
void own_io_close(struct own_io *own);

/* Sets the bytes read and written; false when they cannot be told. */
bool own_io_read(const struct own_io *own, struct usage *ret_usage);

/*
 * A thread of ours that ends leaves its I/O in the process's account, where it would be taken for a
 * child's: it asks for its own just before, and whoever has joined it hands that in.
 */
void own_io_of_this_thread(struct pid_io *ret_io);
void own_io_thread_ended(const struct pid_io *io);

#endif

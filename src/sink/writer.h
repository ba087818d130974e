/*
 * Writes whole lines to a file, pipe, terminal or socket without ever making the sampling loop
 * wait. A line is one write(2). What a slow reader or a full disk does not take stays pending and
 * goes out before the next line, so nothing is lost or torn while there is hope; a reader that is
 * gone ends the matter. Pending bytes are bounded by the caller, who asks before adding more.
 */
#ifndef SINK_WRITER_H
#define SINK_WRITER_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct writer {
    int fd;
    bool owns_fd;
    bool is_socket;
    bool may_block;    /* the descriptor is shared and could not be opened anew: ask poll() first */
    bool is_own_file;  /* a regular file that only we write */
    bool created;      /* and that was not there before */
    bool dead;         /* the reader is gone */
    int error;         /* the last write's errno, 0 when it went through */
    off_t written;     /* length of an own file */
    off_t whole_bytes; /* and up to its last complete line */
    struct buf pending;
};

/* Opens a path without changing what is in it; creates it when missing. */
int writer_open_path(struct writer *writer, const char *path);

/* Writes to a descriptor somebody else owns, and leaves its flags alone. */
int writer_open_fd(struct writer *writer, int fd);

/* Empties an own file. */
void writer_truncate(struct writer *writer);

/* Writes one line, or keeps it. */
void writer_line(struct writer *writer, const struct buf *line);

/* Tries again to get rid of what is pending. */
void writer_flush(struct writer *writer);

/* Flushes, waiting for a slow reader until the deadline (monotonic). Then cuts off a torn line. */
void writer_finish(struct writer *writer, uint64_t deadline_ns);

void writer_close(struct writer *writer);

#endif

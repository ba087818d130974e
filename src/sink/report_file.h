/*
 * A report as a file: all of it or nothing. What was there before stays until the new one is
 * complete beside it and takes its name; where the name cannot be taken (a file that is mounted by
 * itself), it is then written over. A device, pipe or our own standard output is written to as it
 * is. One thread.
 */
#ifndef SINK_REPORT_FILE_H
#define SINK_REPORT_FILE_H

#include "model/digest.h"

#include <stddef.h>
#include <stdint.h>

/* Whether a report could be written there: 0, or a negative errno. Leaves nothing behind. */
int report_file_probe(const char *path);

/*
 * Opens a pipe, so that its reader waits until the report comes: to open and close it would be the
 * end of what it reads. *ret_fd is the caller's, -1 when it is no pipe. 0, or a negative errno;
 * -ENXIO: nobody reads it.
 */
int report_file_hold(const char *path, int *ret_fd);

/*
 * Makes the report of these runs. A pipe's reader is waited for until the deadline (monotonic).
 * 0, or a negative errno; then no part of it is there.
 */
int report_file_write(const char *path, const struct digest *const *digests, size_t count,
                      uint64_t deadline_ns);

/* After a failure: "there is none", or that there still is an older one. For messages. */
const char *report_file_rest(const char *path);

#endif

/*
 * A report as a file: all of it or nothing. What was there before stays until the new one is
 * complete beside it and takes its name; a device, pipe or our own standard output is written to as
 * it is. One thread.
 */
#ifndef SINK_REPORT_FILE_H
#define SINK_REPORT_FILE_H

#include "model/digest.h"

#include <stddef.h>
#include <stdint.h>

/* Whether a report could be written there: 0, or a negative errno. Leaves nothing behind. */
int report_file_probe(const char *path);

/*
 * Makes the report of these runs. A pipe's reader is waited for until the deadline (monotonic).
 * 0, or a negative errno; then no part of it is there.
 */
int report_file_write(const char *path, const struct digest *const *digests, size_t count,
                      uint64_t deadline_ns);

#endif

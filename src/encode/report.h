/*
 * A run, or several beside each other, as one HTML file that needs nothing else: no network, no
 * server, no script either, which only adds zoom, crosshair and CSV. Pure.
 */
#ifndef ENCODE_REPORT_H
#define ENCODE_REPORT_H

#include "base/buf.h"
#include "model/digest.h"

/* What a buffer for a report may grow to. A week of a host with everything is under 3 MiB. */
#define REPORT_BYTES_MAX (64 * 1024 * 1024)

/* Appends the page of at least one digest. 0, -ENOMEM, or -EOVERFLOW: it does not fit. */
int report_write(const struct digest *const *digests, size_t count, struct buf *out);

#endif

/*
 * Compressing a batch of rows.
 */
#ifndef NET_GZIP_H
#define NET_GZIP_H

#include "base/buf.h"

/* Appends one gzip member that holds `size` bytes; 0 or -ENOMEM, also beyond the buffer's maximum.
 */
int gzip_compress(const void *data, size_t size, struct buf *out);

#endif

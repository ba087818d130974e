/*
 * Memory that is wiped before it is given back: for credentials and all that they pass through,
 * libcurl's and jansson's own buffers included. It is malloc's memory all the same: free() may take
 * what comes from here, and secret_free() what comes from malloc().
 *
 * Any thread.
 */
#ifndef NET_SECRET_H
#define NET_SECRET_H

#include "base/buf.h"

#include <stddef.h>

void *secret_malloc(size_t size);
void *secret_calloc(size_t count, size_t size);
char *secret_strdup(const char *text);
/* Never in place: what it was is wiped. */
void *secret_realloc(void *memory, size_t size);
void secret_free(void *memory);

/* As buf_bytes and buf_free; what the buffer grows out of is wiped too. */
void secret_buf_bytes(struct buf *buf, const void *bytes, size_t size);
void secret_buf_free(struct buf *buf);

#endif

/*
 * Text of others on a terminal or in a log: what could drive a terminal or deceive its reader is
 * shown as '?'. Pure.
 */
#ifndef ENCODE_PRINTABLE_H
#define ENCODE_PRINTABLE_H

#include "base/buf.h"

/*
 * Appends `text` (NULL: nothing) in at most `columns_max` columns, "..." at its end when it had to
 * be cut; 0: any length. Returns the columns it takes on a terminal.
 */
size_t printable_text(struct buf *out, const char *text, size_t columns_max);

/* The columns it would take. */
size_t printable_columns(const char *text);

#endif

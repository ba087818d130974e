/*
 * --help, made from the option table.
 */
#ifndef APP_HELP_H
#define APP_HELP_H

#include "app/options.h"
#include "base/buf.h"

void help_print(struct buf *out);

/* "  -i, --interval SECS" */
void help_option_name(const struct option_row *row, struct buf *out);

/* The rest of the line: help text and default. */
void help_option_text(const struct option_row *row, struct buf *out);

#endif

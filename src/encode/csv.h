/*
 * A sample as one CSV row. Only numbers, so nothing is ever quoted; a figure that is unavailable is
 * an empty cell. Pure: the same sample gives the same bytes.
 */
#ifndef ENCODE_CSV_H
#define ENCODE_CSV_H

#include "base/buf.h"
#include "model/sample.h"

enum csv_columns { CSV_BASIC, CSV_FULL };

struct csv {
    struct csv_order order;
    enum csv_columns columns;
};

void csv_init(struct csv *csv, enum csv_columns columns);

/* Both append one line, its end included. */
void csv_header(const struct csv *csv, struct buf *out);
void csv_row(const struct csv *csv, const struct sample *sample, struct buf *out);

#endif

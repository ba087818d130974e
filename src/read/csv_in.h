/*
 * Rows of a CSV file to the figures of samples. Cells are numbers or empty. What may be cut off is
 * not believed: the last cell of a row that has no line end, and that alone may be too short. A
 * command that prints to the same stream prints lines with commas too.
 */
#ifndef READ_CSV_IN_H
#define READ_CSV_IN_H

#include "read/columns.h"

struct csv_in {
    struct columns columns;
    bool has_header;
    bool has_rows; /* below that header */
    char header[HEADER_SIZE_MAX];
    size_t header_size;

    /* What is to be said of the last row. */
    size_t cell_count;
    bool is_cut;       /* cells are missing, or its end */
    size_t wrong_cell; /* from 1: the first that is no number; 0: none */
};

enum csv_in_verdict {
    CSV_IN_ROW,
    CSV_IN_HEADER,
    CSV_IN_TIMELESS_HEADER, /* without the column `timestamp` */
    CSV_IN_WIDE_HEADER,     /* more than COLUMNS_MAX columns */
    CSV_IN_NO_HEADER,       /* neither a row below a header nor one */
    CSV_IN_TOO_LONG,        /* more cells than the header has */
    CSV_IN_TOO_SHORT,       /* fewer, though the line has its end: it is something else */
    CSV_IN_NO_TIME          /* the cell of the timestamp is empty, or holds none */
};

/* For another file. */
void csv_in_reset(struct csv_in *csv);

/*
 * One line. Of a row, the figures are in `values`, which has METRIC_COUNT of them; they are NaN
 * where the row says nothing.
 */
enum csv_in_verdict csv_in_read(struct csv_in *csv, struct scan line, bool has_end, double *values);

#endif

/*
 * What the columns of a CSV file are, by the names in its header: our own, basic and full; those of
 * the Rust tool; those of the Python tool, which has written five kinds of files so far, some of
 * them in other units. All was found by running them (tests/fixtures/foreign). Pure.
 */
#ifndef READ_COLUMNS_H
#define READ_COLUMNS_H

#include "base/scan.h"
#include "model/metric.h"
#include "read/names.h"

#define COLUMNS_MAX 256
#define COLUMN_PASSED (-1)
#define HEADER_SIZE_MAX 16384

struct column {
    int metric; /* enum metric_id, or COLUMN_PASSED */
    double factor;
};

struct columns {
    struct column list[COLUMNS_MAX];
    size_t count;
    bool is_by_quotes;    /* it is taken for the Python tool's */
    const char *remark;   /* what its writer counts otherwise than we do; NULL: nothing */
    struct names unknown; /* the list is of those that are new in this header */
    struct names missing; /* columns that files of this kind have, and this one has not */
};

enum columns_verdict {
    COLUMNS_NONE, /* no header */
    COLUMNS_FOUND,
    COLUMNS_TIMELESS, /* one, but rows could not be placed in time */
    COLUMNS_TOO_MANY
};

/*
 * Whether a line is a header. Only when it was found is there something in `columns`. The Python
 * tool's are quoted, which tells them from ours; but so are ours once a spreadsheet or R had them
 * in hand. Then `quotes_count` is false.
 */
enum columns_verdict columns_read(struct columns *columns, struct scan line, bool quotes_count);

/*
 * Takes the next cell of a line, without its quotes and the blanks around it; false when there is
 * none. `at` begins as the whole line, and at.at is NULL behind the last cell.
 */
bool columns_next_cell(struct scan *at, struct scan *ret_cell, bool *ret_is_quoted);

#endif

#include "read/csv_in.h"

#include "read/number.h"

#include <math.h>
#include <string.h>

void csv_in_reset(struct csv_in *csv)
{
    memset(csv, 0, sizeof *csv);
}

static bool looks_like_a_row(struct scan line)
{
    struct scan cell;
    bool is_quoted;

    return columns_next_cell(&line, &cell, &is_quoted) &&
           (scan_left(&cell) == 0 || is_digit(*cell.at) || *cell.at == '-');
}

static enum csv_in_verdict read_header(struct csv_in *csv, struct scan line)
{
    switch (columns_read(&csv->columns, line, true)) {
    case COLUMNS_FOUND:
        csv->has_header = true;
        csv->has_rows = false;
        csv->header_size = scan_left(&line);
        memcpy(csv->header, line.at, csv->header_size);
        return CSV_IN_HEADER;
    case COLUMNS_TIMELESS:
        csv->has_header = false;
        return CSV_IN_TIMELESS_HEADER;
    case COLUMNS_TOO_MANY:
        csv->has_header = false;
        return CSV_IN_WIDE_HEADER;
    default:
        return CSV_IN_NO_HEADER;
    }
}

/* The Python tool always writes times with a decimal point; we never do. */
static void settle_units(struct csv_in *csv, struct scan line)
{
    struct scan cell;
    bool is_quoted;

    csv->has_rows = true;
    if (!csv->columns.is_by_quotes)
        return;
    for (size_t i = 0; columns_next_cell(&line, &cell, &is_quoted); i++)
        if (i < csv->columns.count && csv->columns.list[i].metric == METRIC_TIMESTAMP_SECS &&
            memchr(cell.at, '.', scan_left(&cell)) == NULL)
            (void)columns_read(&csv->columns, scan_over(csv->header, csv->header_size), false);
}

static bool read_cell(const struct scan *cell, const struct column *column, double *values)
{
    double value;

    if (column->metric == COLUMN_PASSED || scan_left(cell) == 0)
        return true;
    if (!number_parse(cell, &value) || !number_is_figure(value))
        return false;
    values[column->metric] = value > 0 ? value * column->factor : 0;
    return true;
}

static size_t count_cells(struct scan line)
{
    size_t count = 1;

    while (line.at < line.end && (line.at = memchr(line.at, ',', scan_left(&line))) != NULL) {
        line.at++;
        count++;
    }
    return count;
}

static enum csv_in_verdict read_row(struct csv_in *csv, struct scan line, bool has_end,
                                    double *values)
{
    struct scan cell;
    bool is_quoted;

    csv->cell_count = count_cells(line);
    csv->wrong_cell = 0;
    csv->is_cut = !has_end;
    if (csv->cell_count > csv->columns.count)
        return CSV_IN_TOO_LONG;
    if (csv->cell_count < csv->columns.count && has_end)
        return CSV_IN_TOO_SHORT;
    if (!csv->has_rows)
        settle_units(csv, line);
    for (size_t id = 0; id < METRIC_COUNT; id++)
        values[id] = NAN;
    size_t believed = csv->cell_count - csv->is_cut;
    for (size_t i = 0; i < believed && columns_next_cell(&line, &cell, &is_quoted); i++)
        if (!read_cell(&cell, &csv->columns.list[i], values) && csv->wrong_cell == 0)
            csv->wrong_cell = i + 1;
    return number_is_time(values[METRIC_TIMESTAMP_SECS]) ? CSV_IN_ROW : CSV_IN_NO_TIME;
}

enum csv_in_verdict csv_in_read(struct csv_in *csv, struct scan line, bool has_end, double *values)
{
    if (!looks_like_a_row(line))
        return read_header(csv, line);
    if (!csv->has_header)
        return CSV_IN_NO_HEADER;
    return read_row(csv, line, has_end, values);
}

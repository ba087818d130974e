#include "encode/csv.h"

#include <string.h>

void csv_init(struct csv *csv, enum csv_columns columns)
{
    csv->columns = columns;
    csv_order_init(&csv->order);
}

static size_t column_count(const struct csv *csv)
{
    return csv->columns == CSV_FULL ? csv->order.full_count : csv->order.basic_count;
}

/* The rule that metrics.def states at its top. */
static void put_full_name(const struct metric *metric, struct buf *out)
{
    bool is_machine_wide = metric->group != GROUP_HEAD &&
                           strncmp(metric->csv_name, "process_", strlen("process_")) != 0;

    if (is_machine_wide)
        buf_text(out, "system_");
    buf_text(out, metric->csv_name);
    if (is_machine_wide && strcmp(metric->unit, "MiB") == 0)
        buf_text(out, "_mib");
}

void csv_header(const struct csv *csv, struct buf *out)
{
    for (size_t i = 0; i < column_count(csv); i++) {
        const struct metric *metric = &metrics[csv->order.column[i]];
        if (i > 0)
            buf_char(out, ',');
        if (csv->columns == CSV_FULL)
            put_full_name(metric, out);
        else
            buf_text(out, metric->csv_name);
    }
    buf_char(out, '\n');
}

void csv_row(const struct csv *csv, const struct sample *sample, struct buf *out)
{
    for (size_t i = 0; i < column_count(csv); i++) {
        enum metric_id id = csv->order.column[i];
        if (i > 0)
            buf_char(out, ',');
        if (isfinite(sample->value[id]))
            buf_fixed(out, sample->value[id], metrics[id].decimals);
    }
    buf_char(out, '\n');
}

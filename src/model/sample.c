#include "model/sample.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>

void sample_reset(struct sample *sample)
{
    sample->interval_secs = NAN;
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        sample->value[i] = NAN;
        sample->text[i] = NULL;
    }
    sample->value[METRIC_TOTAL_GPU_USAGE] = 0;
    sample->value[METRIC_TOTAL_GPU_VRAM] = 0;
    sample->value[METRIC_TOTAL_GPU_UTILIZED] = 0;
    sample->tree = (struct tree_pids){0};
    sample->per_core = NULL;
    sample->per_core_count = 0;
    for (size_t i = 0; i < DEVICE_COUNT; i++)
        sample->rows[i] = NULL;
}

void rows_init(struct rows *rows, enum device_list list)
{
    *rows = (struct rows){.info = &devices[list]};
}

void rows_free(struct rows *rows)
{
    free(rows->cells);
    rows->cells = NULL;
    rows->count = 0;
    rows->capacity = 0;
}

int rows_resize(struct rows *rows, size_t count)
{
    union cell *cells =
        array_grow(rows->cells, &rows->capacity, count, rows->info->field_count * sizeof *cells);
    if (cells == NULL)
        return -ENOMEM;
    rows->cells = cells;
    rows->count = count;
    return 0;
}

void cells_clear(union cell *cells, enum device_list list)
{
    for (size_t i = 0; i < devices[list].field_count; i++) {
        enum field_type type = fields[(size_t)devices[list].first + i].type;
        cells[i] = (union cell){0};
        if (type == TYPE_NUMBER)
            cells[i].number = NAN;
        else if (type == TYPE_COUNTER)
            cells[i].counter = COUNTER_UNKNOWN;
    }
}

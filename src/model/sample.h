/*
 * One sample: what the collectors store and the sinks read. NaN is "could not be read" for a
 * number, COUNTER_UNKNOWN for a counter, NULL for a text; they become null in JSON and an empty CSV
 * cell. Device rows and texts belong to the collector that set them and stay valid until its next
 * read. Owned by the sampling loop.
 */
#ifndef MODEL_SAMPLE_H
#define MODEL_SAMPLE_H

#include "model/metric.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define COUNTER_UNKNOWN UINT64_MAX

struct tick {
    uint64_t now_ns;     /* monotonic */
    uint64_t elapsed_ns; /* since the previous read; 0 in the priming one */
    uint64_t due_ns;     /* when the schedule wanted it */
    bool priming;        /* only baselines are wanted; nothing is published */
    bool is_last;        /* no later one will make up for what this one misses */
};

struct row_range {
    uint32_t first;
    uint32_t count;
};

struct text_pair {
    const char *name;
    const char *value;
};

#define TEXT_MAP_MAX 8
struct text_map {
    size_t count;
    struct text_pair pairs[TEXT_MAP_MAX];
};

union cell {
    double number;
    uint64_t counter;
    const char *text;
    struct row_range nested;
    const struct text_map *map;
};

/* A list of devices: rows of cells in the order of the list's fields. */
struct rows {
    const struct device_info *info;
    union cell *cells;
    size_t count;
    size_t capacity;
};

/* The tracked tree as the process collector left it, for collectors that read after it. */
struct tree_pids {
    bool known;
    const pid_t *list;
    size_t count;
};

struct sample {
    double interval_secs; /* time it covers; NaN: not known */
    double value[METRIC_COUNT];
    const char *text[METRIC_COUNT]; /* of the metrics that are texts */
    const double *per_core;
    size_t per_core_count;
    const struct rows *rows[DEVICE_COUNT]; /* NULL: none */
    struct tree_pids tree;
};

/* Everything unavailable, except the sums over GPUs: a sum over no devices is 0. */
void sample_reset(struct sample *sample);

void rows_init(struct rows *rows, enum device_list list);
void rows_free(struct rows *rows);

/* Makes `count` rows; their content is then undefined. Allocates only beyond the largest count yet.
 */
int rows_resize(struct rows *rows, size_t count);

/* Makes the cells of one row of a list unavailable. */
void cells_clear(union cell *cells, enum device_list list);

static inline union cell *rows_cell(const struct rows *rows, size_t row, enum field_id field)
{
    return &rows->cells[row * rows->info->field_count + (size_t)(field - rows->info->first)];
}

/* Collectors keep a text they could not read as "". */
static inline const char *text_or_null(const char *text)
{
    return text[0] != '\0' ? text : NULL;
}

/* now - before, or 0 when the counter went backwards (reset, wrap-around, kernel rounding). */
static inline uint64_t counter_growth(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

static inline double per_second(uint64_t amount, uint64_t elapsed_ns)
{
    return elapsed_ns > 0 ? (double)amount * 1e9 / (double)elapsed_ns : 0;
}

#endif

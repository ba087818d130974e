/*
 * The metric tables, made from metrics.def. Constant data; safe from any thread.
 */
#ifndef MODEL_METRIC_H
#define MODEL_METRIC_H

#include <stdbool.h>
#include <stddef.h>

enum metric_group {
    GROUP_HEAD,
    GROUP_CPU,
    GROUP_MEMORY,
    GROUP_TOTAL,
    GROUP_PROCESS,
    GROUP_TRACKER,
    GROUP_TAIL
};
enum { GROUP_COUNT = GROUP_TAIL + 1 };

enum metric_kind { KIND_GAUGE, KIND_DELTA, KIND_TOTAL, KIND_SERIES, KIND_TEXT };

enum device_list { DEVICE_NETWORK, DEVICE_DISK, DEVICE_MOUNT, DEVICE_GPU };
enum { DEVICE_COUNT = DEVICE_GPU + 1 };

enum field_type { TYPE_TEXT, TYPE_NUMBER, TYPE_COUNTER, TYPE_NESTED, TYPE_MAP };

#define METRIC(id, ...) METRIC_##id,
#define DEVICE(list, key)
#define FIELD(list, id, ...)
#define DEVICE_END(list)
enum metric_id {
#include "metrics.def"
    METRIC_COUNT
};
#undef METRIC
#undef DEVICE
#undef FIELD
#undef DEVICE_END

/* _FIRST is the first field of a list and _END one past its last; an empty list has both equal. */
#define METRIC(id, ...)
#define DEVICE(list, key) FIELD_##list##_FIRST, FIELD_##list##_BEFORE = FIELD_##list##_FIRST - 1,
#define FIELD(list, id, ...) FIELD_##id,
#define DEVICE_END(list) FIELD_##list##_END, FIELD_##list##_LAST = FIELD_##list##_END - 1,
enum field_id {
#include "metrics.def"
    FIELD_COUNT
};
#undef METRIC
#undef DEVICE
#undef FIELD
#undef DEVICE_END

struct metric {
    enum metric_group group;
    unsigned key_length;
    const char *key;
    unsigned csv_position; /* 0: not a CSV column */
    const char *csv_name;
    const char *unit;
    unsigned decimals;
    enum metric_kind kind;
    const char *source;
    const char *meaning;
};

struct field {
    enum device_list list;
    unsigned key_length;
    const char *key;
    enum field_type type;
    const char *unit;
    unsigned decimals;
    const char *source;
    const char *meaning;
};

struct device_info {
    const char *key;
    enum field_id first;
    size_t field_count;
    bool nested; /* printed inside the rows of another list */
};

extern const struct metric metrics[METRIC_COUNT];
extern const struct field fields[];
extern const struct device_info devices[DEVICE_COUNT];

/* JSON name of a group; "" for HEAD and TAIL, whose keys stand at the top level. */
extern const char *const group_keys[GROUP_COUNT];

/* Metrics in the order of their CSV columns; the first basic_count are the basic ones. */
struct csv_order {
    enum metric_id column[METRIC_COUNT];
    size_t basic_count;
    size_t full_count;
};
void csv_order_init(struct csv_order *order);

#endif

#include "model/metric.h"

#define METRIC(id, group, ...) [METRIC_##id] = {GROUP_##group, METRIC_ROW(__VA_ARGS__)},
#define METRIC_ROW(key, csv, name, unit, decimals, kind, source, meaning)                          \
    sizeof(key) - 1, key, csv, name, unit, decimals, KIND_##kind, source, meaning
#define DEVICE(list, key)
#define FIELD(list, id, key, type, unit, decimals, source, meaning)
#define DEVICE_END(list)
const struct metric metrics[METRIC_COUNT] = {
#include "metrics.def"
};
#undef METRIC
#undef FIELD

#define METRIC(...)
#define FIELD(list, id, ...) [FIELD_##id] = {DEVICE_##list, FIELD_ROW(__VA_ARGS__)},
#define FIELD_ROW(key, type, unit, decimals, source, meaning)                                      \
    sizeof(key) - 1, key, TYPE_##type, unit, decimals, source, meaning
const struct field fields[] = {
#include "metrics.def"
};
#undef METRIC
#undef FIELD
#undef DEVICE
#undef DEVICE_END

#define LIST(list, key, nested)                                                                    \
    [DEVICE_##list] = {key, FIELD_##list##_FIRST, FIELD_##list##_END - FIELD_##list##_FIRST, nested}
const struct device_info devices[DEVICE_COUNT] = {
    LIST(NETWORK, "network", false),
    LIST(DISK, "disk", false),
    LIST(MOUNT, "mounts", true),
    LIST(GPU, "gpu", false),
};

const char *const group_keys[GROUP_COUNT] = {
    [GROUP_HEAD] = "",       [GROUP_CPU] = "cpu",         [GROUP_MEMORY] = "memory",
    [GROUP_TOTAL] = "total", [GROUP_PROCESS] = "process", [GROUP_TRACKER] = "tracker",
    [GROUP_TAIL] = "",
};

void csv_order_init(struct csv_order *order)
{
    order->basic_count = 0;
    order->full_count = 0;
    for (unsigned position = 1; position <= METRIC_COUNT; position++) {
        for (int id = 0; id < METRIC_COUNT; id++) {
            if (metrics[id].csv_position != position)
                continue;
            order->column[order->full_count++] = (enum metric_id)id;
            if (position <= COLUMN_BASIC_LAST)
                order->basic_count++;
        }
    }
}

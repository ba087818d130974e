#include "model/digest_devices.h"

#include "base/array.h"
#include "base/fmt.h"
#include "base/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* --- what is kept of each device --- */

static const struct digest_field network_fields[] = {
    {FIELD_NET_RX_RATE, "received"},
    {FIELD_NET_TX_RATE, "sent"},
};
static const struct digest_field disk_fields[] = {
    {FIELD_DISK_READ_RATE, "read"},
    {FIELD_DISK_WRITE_RATE, "written"},
    {FIELD_DISK_BUSY, "busy"},
};
static const struct digest_field mount_fields[] = {
    {FIELD_MOUNT_USED_PCT, "in use"},
    {FIELD_MOUNT_TOTAL, "size"},
    {FIELD_MOUNT_USED, "used"},
    {FIELD_MOUNT_AVAILABLE, "available"},
};
static const struct digest_field gpu_fields[] = {
    {FIELD_GPU_UTILIZATION, "utilisation"},
    {FIELD_GPU_VRAM_USED, "VRAM in use"},
    {FIELD_GPU_POWER, "power"},
    {FIELD_GPU_TEMPERATURE, "temperature"},
    {FIELD_GPU_PROCESS_UTILIZATION, "utilisation by the job"},
    {FIELD_GPU_VRAM_USED_PCT, "share of VRAM in use"},
};

#define FIELDS(list, series)                                                                       \
    {                                                                                              \
        list, COUNT(list), series                                                                  \
    }
const struct digest_fields digest_fields[DEVICE_COUNT] = {
    [DEVICE_NETWORK] = {network_fields, COUNT(network_fields), COUNT(network_fields)},
    [DEVICE_DISK] = {disk_fields, COUNT(disk_fields), COUNT(disk_fields)},
    [DEVICE_MOUNT] = {mount_fields, COUNT(mount_fields), 0},
    [DEVICE_GPU] = {gpu_fields, COUNT(gpu_fields), COUNT(gpu_fields) - 1},
};

_Static_assert(COUNT(gpu_fields) <= DIGEST_FIELDS_MAX, "no list has more");

/* What a person knows the device by, besides its name. */
static const enum field_id label_fields[DEVICE_COUNT] = {
    [DEVICE_NETWORK] = FIELD_NET_DRIVER,
    [DEVICE_DISK] = FIELD_DISK_MODEL,
    [DEVICE_MOUNT] = FIELD_MOUNT_FILESYSTEM,
    [DEVICE_GPU] = FIELD_GPU_NAME,
};

/* --- finding and making devices --- */

/* The kernel's order is stable: mostly the one behind the last found is it. */
static struct digest_device *find(struct digest_list *list, const char *name)
{
    for (size_t tried = 0; tried < list->count; tried++) {
        size_t at = list->next + tried;
        at = at < list->count ? at : at - list->count;
        if (strcmp(list->devices[at].name, name) == 0) {
            list->next = at + 1 < list->count ? at + 1 : 0;
            return &list->devices[at];
        }
    }
    return NULL;
}

static struct series *make_series(size_t count)
{
    struct series *series = calloc(count, sizeof *series);

    for (size_t i = 0; series != NULL && i < count; i++)
        series_init(&series[i]);
    return series;
}

/* Room for one more; NULL when there is none. */
static struct digest_device *grow(struct digest_list *list)
{
    struct digest_device *grown =
        array_grow(list->devices, &list->capacity, list->count + 1, sizeof *grown);

    if (grown == NULL)
        return NULL;
    list->devices = grown;
    return &grown[list->count];
}

static struct digest_device *make(struct digest *digest, enum device_list id, const char *name)
{
    struct digest_list *list = &digest->lists[id];
    size_t series_count = digest_fields[id].series_count;
    bool has_series = digest->has_series && list->count < DIGEST_CHARTED_MAX && series_count > 0;

    if (list->count == DIGEST_DEVICES_MAX) {
        list->left_out++;
        return NULL;
    }
    struct digest_device *device = grow(list);
    char *copy = strdup(name);
    if (device == NULL || copy == NULL) {
        free(copy);
        digest->ran_out_of_memory = true;
        return NULL;
    }
    memset(device, 0, sizeof *device);
    device->name = copy;
    for (size_t i = 0; i < DIGEST_FIELDS_MAX; i++)
        statistic_init(&device->statistics[i]);
    if (has_series && (device->series = make_series(series_count)) == NULL)
        digest->ran_out_of_memory = true;
    list->count++;
    return device;
}

const struct statistic *digest_device_statistic(const struct digest_device *device,
                                                enum field_id field)
{
    const struct digest_fields *kept = &digest_fields[fields[field].list];

    for (size_t i = 0; i < kept->count; i++)
        if (kept->fields[i].field == field)
            return &device->statistics[i];
    return NULL;
}

/* --- one sample --- */

static double value_of(const struct rows *rows, size_t row, enum field_id field)
{
    const union cell *cell = rows_cell(rows, row, field);

    if (fields[field].type == TYPE_COUNTER)
        return cell->counter != COUNTER_UNKNOWN ? (double)cell->counter : NAN;
    return fmt_rounded(cell->number, fields[field].decimals);
}

/*
 * Whether something holds a clock down that would otherwise be higher: not the lack of work, and
 * not clocks that somebody has set. `reasons` are names separated by commas.
 */
static bool is_throttled(const char *reasons)
{
    static const char *const harmless[] = {"none", "idle", "application_clocks", "sync_boost",
                                           "display_clocks"};
    struct scan rest = scan_over(reasons, strlen(reasons));

    while (scan_left(&rest) > 0) {
        struct scan name = rest;
        bool is_harmless = false;
        if (!scan_until(&rest, ',', &name))
            rest.at = rest.end;
        for (size_t i = 0; i < COUNT(harmless); i++)
            is_harmless = is_harmless || scan_equals(&name, harmless[i]);
        if (!is_harmless)
            return true;
    }
    return false;
}

static void note_texts(struct digest_device *device, enum device_list id, const struct rows *rows,
                       size_t row, const struct moment *moment)
{
    const char *label = rows_cell(rows, row, label_fields[id])->text;

    /* A model is looked up some time after the device was first seen. */
    if (label != NULL && device->label[0] == '\0')
        snprintf(device->label, sizeof device->label, "%s", label);
    if (id != DEVICE_GPU)
        return;
    const char *type = rows_cell(rows, row, FIELD_GPU_TYPE)->text;
    device->is_part = type != NULL && strcmp(type, "MIG") == 0;
    const char *throttle = rows_cell(rows, row, FIELD_GPU_THROTTLE)->text;
    if (throttle == NULL || !is_throttled(throttle))
        return;
    device->throttled_secs += moment->interval_secs;
    snprintf(device->throttle, sizeof device->throttle, "%s", throttle);
}

/* What we work out ourselves from counters, over the time between two samples. */
static enum value_kind kind_of(enum field_id field)
{
    return fields[field].list == DEVICE_NETWORK || fields[field].list == DEVICE_DISK ? VALUE_RATE
                                                                                     : VALUE_GAUGE;
}

static void add_row(struct digest *digest, enum device_list id, const struct rows *rows, size_t row,
                    const struct moment *moment)
{
    const char *name = rows_cell(rows, row, devices[id].first)->text;
    if (name == NULL)
        return;
    struct digest_device *device = find(&digest->lists[id], name);
    if (device == NULL)
        device = make(digest, id, name);
    if (device == NULL)
        return;
    note_texts(device, id, rows, row, moment);
    for (size_t i = 0; i < digest_fields[id].count; i++) {
        double value = value_of(rows, row, digest_fields[id].fields[i].field);
        enum value_kind kind = kind_of(digest_fields[id].fields[i].field);
        double level = statistic_add(&device->statistics[i], value, kind, moment);
        if (device->series != NULL && i < digest_fields[id].series_count)
            series_add(&device->series[i], &digest->axis, level, moment->interval_secs);
    }
}

void digest_add_devices(struct digest *digest, const struct sample *sample,
                        const struct moment *moment)
{
    for (int id = 0; id < DEVICE_COUNT; id++) {
        const struct rows *rows = sample->rows[id];
        for (size_t row = 0; rows != NULL && row < rows->count; row++)
            add_row(digest, (enum device_list)id, rows, row, moment);
    }
}

/* --- cores --- */

static bool make_cores(struct digest *digest, size_t count)
{
    struct digest_cores *cores = &digest->cores;
    struct statistic *statistics = realloc(cores->statistics, count * sizeof *cores->statistics);
    if (statistics == NULL)
        return false;
    cores->statistics = statistics;
    if (digest->has_series) {
        float *means = realloc(cores->means, count * DIGEST_POINTS_MAX * sizeof *means);
        if (means == NULL)
            return false;
        cores->means = means;
        for (size_t i = cores->count * DIGEST_POINTS_MAX; i < count * DIGEST_POINTS_MAX; i++)
            means[i] = NAN;
    }
    for (size_t i = cores->count; i < count; i++)
        statistic_init(&statistics[i]);
    cores->count = count;
    return true;
}

/* Each new value pulls the mean of the last point by its share of that point's time. */
static void add_to_mean(float *mean, const struct axis *axis, double value, double interval_secs)
{
    size_t at = axis->count - 1;
    double point_secs = axis->end_secs[at] - axis_start_secs(axis, at);
    double before = (double)mean[at];

    if (isnan(value))
        return;
    double share = point_secs > interval_secs ? interval_secs / point_secs : 1;
    mean[at] = (float)(isnan(before) ? value : before + (value - before) * share);
}

void digest_add_cores(struct digest *digest, const struct sample *sample,
                      const struct moment *moment)
{
    struct digest_cores *cores = &digest->cores;
    size_t count =
        sample->per_core_count < DIGEST_CORES_MAX ? sample->per_core_count : DIGEST_CORES_MAX;

    if (count > cores->count && !make_cores(digest, count))
        digest->ran_out_of_memory = true;
    for (size_t i = 0; i < count && i < cores->count; i++) {
        double value = fmt_rounded(sample->per_core[i], metrics[METRIC_CPU_PER_CORE].decimals);
        (void)statistic_add(&cores->statistics[i], value, VALUE_RATE, moment);
        if (cores->means != NULL)
            add_to_mean(cores->means + i * DIGEST_POINTS_MAX, &digest->axis, value,
                        moment->interval_secs);
    }
}

/* --- the axis --- */

void digest_open_device_points(struct digest *digest)
{
    size_t point = digest->axis.count - 1;

    for (int id = 0; id < DEVICE_COUNT; id++)
        for (size_t i = 0; i < digest->lists[id].count; i++) {
            struct series *series = digest->lists[id].devices[i].series;
            for (size_t k = 0; series != NULL && k < digest_fields[id].series_count; k++)
                series_open_point(&series[k], &digest->axis);
        }
    for (size_t i = 0; digest->cores.means != NULL && i < digest->cores.count; i++)
        digest->cores.means[i * DIGEST_POINTS_MAX + point] = NAN;
}

static void merge_core(float *mean, const struct axis *axis)
{
    for (size_t i = 0; i < axis->count / 2; i++) {
        double before = (double)mean[2 * i];
        double after = (double)mean[2 * i + 1];
        double start_secs = axis_start_secs(axis, 2 * i);
        double all_secs = axis->end_secs[2 * i + 1] - start_secs;
        double share = all_secs > 0 ? (axis->end_secs[2 * i] - start_secs) / all_secs : 0.5;
        mean[i] = (float)(isnan(before)  ? after
                          : isnan(after) ? before
                                         : before * share + after * (1 - share));
    }
}

void digest_merge_devices(struct digest *digest)
{
    for (int id = 0; id < DEVICE_COUNT; id++)
        for (size_t i = 0; i < digest->lists[id].count; i++) {
            struct series *series = digest->lists[id].devices[i].series;
            for (size_t k = 0; series != NULL && k < digest_fields[id].series_count; k++)
                series_merge(&series[k], &digest->axis);
        }
    for (size_t i = 0; digest->cores.means != NULL && i < digest->cores.count; i++)
        merge_core(digest->cores.means + i * DIGEST_POINTS_MAX, &digest->axis);
}

void digest_rescale_devices(struct digest *digest, double factor)
{
    for (int id = 0; id < DEVICE_COUNT; id++)
        for (size_t i = 0; i < digest->lists[id].count; i++) {
            struct digest_device *device = &digest->lists[id].devices[i];
            device->throttled_secs *= factor;
            for (size_t k = 0; k < digest_fields[id].count; k++)
                statistic_rescale(&device->statistics[k], false, factor);
            for (size_t k = 0; device->series != NULL && k < digest_fields[id].series_count; k++)
                series_rescale(&device->series[k], &digest->axis, false, factor);
        }
    for (size_t i = 0; i < digest->cores.count; i++)
        statistic_rescale(&digest->cores.statistics[i], false, factor);
}

void digest_free_devices(struct digest *digest)
{
    for (int id = 0; id < DEVICE_COUNT; id++) {
        struct digest_list *list = &digest->lists[id];
        for (size_t i = 0; i < list->count; i++) {
            free(list->devices[i].name);
            free(list->devices[i].series);
        }
        free(list->devices);
        *list = (struct digest_list){0};
    }
    free(digest->cores.statistics);
    free(digest->cores.means);
    digest->cores = (struct digest_cores){0};
}

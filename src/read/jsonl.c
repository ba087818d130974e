#include "read/jsonl.h"

#include "base/array.h"
#include "read/json_in.h"
#include "read/number.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A line that is being read. */
struct reading {
    struct jsonl *jsonl;
    struct json_in in;
    struct sample *sample;
    bool is_out_of_memory;
};

void jsonl_init(struct jsonl *jsonl)
{
    *jsonl = (struct jsonl){0};
    for (size_t list = 0; list < DEVICE_COUNT; list++)
        rows_init(&jsonl->rows[list], (enum device_list)list);
}

void jsonl_free(struct jsonl *jsonl)
{
    for (size_t list = 0; list < DEVICE_COUNT; list++)
        rows_free(&jsonl->rows[list]);
    free(jsonl->cores);
    free(jsonl->maps);
    *jsonl = (struct jsonl){0};
}

static void name_wrong(struct reading *reading, const char *key)
{
    struct scan name = scan_over(key, strlen(key));

    names_add(&reading->jsonl->wrong, "", &name);
}

/* A value of another kind than it should have. null is no fault: it is how "unavailable" reads. */
static void pass_over(struct reading *reading, const char *key)
{
    if (json_in_null(&reading->in))
        return;
    json_in_skip(&reading->in);
    if (!reading->in.is_broken)
        name_wrong(reading, key);
}

/* A key that is not known here. */
static void pass_unknown(struct reading *reading, const char *group, const struct scan *key)
{
    json_in_skip(&reading->in);
    if (!reading->in.is_broken)
        names_add(&reading->jsonl->unknown, group, key);
}

/* --- numbers of their own --- */

static void read_cores(struct reading *reading)
{
    struct jsonl *jsonl = reading->jsonl;
    size_t count = 0;

    for (json_in_enter(&reading->in); json_in_element(&reading->in);) {
        double number = NAN;
        if (!json_in_number(&reading->in, &number))
            pass_over(reading, metrics[METRIC_CPU_PER_CORE].key);
        if (!number_is_figure(number))
            number = NAN;
        if (count == JSONL_CORES_MAX)
            continue;
        double *cores = array_grow(jsonl->cores, &jsonl->core_capacity, count + 1, sizeof *cores);
        if (cores == NULL) {
            reading->is_out_of_memory = true;
            continue;
        }
        jsonl->cores = cores;
        jsonl->cores[count++] = number;
    }
    reading->sample->per_core = jsonl->cores;
    reading->sample->per_core_count = count;
}

static void read_metric(struct reading *reading, enum metric_id id)
{
    const struct metric *metric = &metrics[id];
    double number;

    if (metric->kind == KIND_SERIES && json_in_next(&reading->in) == JSON_IN_LIST) {
        read_cores(reading);
    } else if (metric->kind == KIND_TEXT) {
        if (!json_in_text(&reading->in, &reading->sample->text[id]))
            pass_over(reading, metric->key);
    } else if (metric->kind != KIND_SERIES && json_in_number(&reading->in, &number)) {
        if (number_is_figure(number))
            reading->sample->value[id] = number > 0 ? number : 0;
        else
            name_wrong(reading, metric->key);
    } else {
        pass_over(reading, metric->key);
    }
}

/*
 * The metric of a group that has this key. They come in the order of the table as a rule: *next is
 * where to look first.
 */
static bool find_metric(enum metric_group group, const struct scan *key, size_t *next,
                        enum metric_id *ret_id)
{
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        size_t id = (*next + i) % METRIC_COUNT;
        if (metrics[id].group == group && scan_equals(key, metrics[id].key)) {
            *next = id + 1;
            *ret_id = (enum metric_id)id;
            return true;
        }
    }
    return false;
}

static void read_group(struct reading *reading, enum metric_group group)
{
    enum metric_id id = METRIC_COUNT;
    struct scan key;
    size_t next = 0;

    if (json_in_next(&reading->in) != JSON_IN_OBJECT) {
        pass_over(reading, group_keys[group]);
        return;
    }
    while (next < METRIC_COUNT && metrics[next].group != group)
        next++;
    for (json_in_enter(&reading->in); json_in_member(&reading->in, &key);) {
        if (find_metric(group, &key, &next, &id))
            read_metric(reading, id);
        else
            pass_unknown(reading, group_keys[group], &key);
    }
}

/* --- lists of devices --- */

static struct row_range read_list(struct reading *reading, enum device_list list);

/* Names are written without escapes, so only those that need none are taken. */
static bool is_plain(const struct scan *name)
{
    for (const char *at = name->at; at < name->end; at++)
        if (*at < ' ' || *at > '~' || *at == '"' || *at == '\\')
            return false;
    return true;
}

/* The key's quote and colon are behind us: a NUL may stand in their place. */
static const char *end_text(struct json_in *in, const struct scan *key)
{
    in->begin[key->end - in->begin] = '\0';
    return key->at;
}

/* The cell holds the map's number until the line is read: the maps may still move. */
static void read_map(struct reading *reading, union cell *cell, const char *key)
{
    struct jsonl *jsonl = reading->jsonl;
    struct scan name;

    if (json_in_next(&reading->in) != JSON_IN_OBJECT) {
        pass_over(reading, key);
        return;
    }
    struct text_map *maps =
        array_grow(jsonl->maps, &jsonl->map_capacity, jsonl->map_count + 1, sizeof *maps);
    if (maps == NULL) {
        reading->is_out_of_memory = true;
        json_in_skip(&reading->in);
        return;
    }
    jsonl->maps = maps;
    struct text_map *map = &maps[jsonl->map_count++];
    cell->counter = jsonl->map_count;
    map->count = 0;
    for (json_in_enter(&reading->in); json_in_member(&reading->in, &name);) {
        const char *text = NULL;
        if (!json_in_text(&reading->in, &text))
            pass_over(reading, key);
        if (map->count < TEXT_MAP_MAX && is_plain(&name))
            map->pairs[map->count++] = (struct text_pair){end_text(&reading->in, &name), text};
    }
}

static void read_counter(struct reading *reading, union cell *cell, const char *key)
{
    double number;

    if (json_in_u64(&reading->in, &cell->counter))
        return;
    /* Others write "1e9" or "5.0". */
    if (json_in_next(&reading->in) != JSON_IN_NUMBER)
        pass_over(reading, key);
    else if (json_in_number(&reading->in, &number) && number >= 0 && number < 0x1p64)
        cell->counter = (uint64_t)number;
}

static void read_cell(struct reading *reading, enum field_id id, union cell *cell)
{
    const struct field *field = &fields[id];

    switch (field->type) {
    case TYPE_TEXT:
        if (!json_in_text(&reading->in, &cell->text))
            pass_over(reading, field->key);
        break;
    case TYPE_NUMBER:
        if (!json_in_number(&reading->in, &cell->number))
            pass_over(reading, field->key);
        /* A speed may be -1, a temperature below zero. */
        if (!number_is_figure(cell->number < 0 ? -cell->number : cell->number))
            cell->number = NAN;
        break;
    case TYPE_COUNTER:
        read_counter(reading, cell, field->key);
        break;
    case TYPE_MAP:
        read_map(reading, cell, field->key);
        break;
    case TYPE_NESTED:
        cell->nested = read_list(reading, DEVICE_MOUNT);
        break;
    }
}

/* As find_metric. */
static bool find_field(const struct device_info *info, const struct scan *key, size_t *next,
                       enum field_id *ret_id)
{
    for (size_t i = 0; i < info->field_count; i++) {
        size_t place = (*next + i) % info->field_count;
        if (scan_equals(key, fields[(size_t)info->first + place].key)) {
            *next = place + 1;
            *ret_id = (enum field_id)((size_t)info->first + place);
            return true;
        }
    }
    return false;
}

static void read_row(struct reading *reading, enum device_list list, size_t row)
{
    const struct rows *rows = &reading->jsonl->rows[list];
    enum field_id id = FIELD_COUNT;
    struct scan key;
    size_t next = 0;

    cells_clear(rows_cell(rows, row, rows->info->first), list);
    for (json_in_enter(&reading->in); json_in_member(&reading->in, &key);) {
        if (find_field(rows->info, &key, &next, &id))
            read_cell(reading, id, rows_cell(rows, row, id));
        else
            pass_unknown(reading, rows->info->key, &key);
    }
}

static struct row_range read_list(struct reading *reading, enum device_list list)
{
    struct rows *rows = &reading->jsonl->rows[list];
    struct row_range range = {.first = (uint32_t)rows->count};

    if (json_in_next(&reading->in) != JSON_IN_LIST) {
        pass_over(reading, devices[list].key);
        return range;
    }
    for (json_in_enter(&reading->in); json_in_element(&reading->in);) {
        if (json_in_next(&reading->in) != JSON_IN_OBJECT || rows->count == JSONL_ROWS_MAX) {
            pass_over(reading, devices[list].key);
        } else if (rows_resize(rows, rows->count + 1) < 0) {
            reading->is_out_of_memory = true;
            json_in_skip(&reading->in);
        } else {
            read_row(reading, list, rows->count - 1);
            range.count++;
        }
    }
    reading->sample->rows[list] = rows;
    return range;
}

static void resolve_maps(struct jsonl *jsonl)
{
    for (size_t list = 0; list < DEVICE_COUNT; list++) {
        const struct rows *rows = &jsonl->rows[list];
        for (size_t i = 0; i < rows->info->field_count; i++) {
            enum field_id id = (enum field_id)((size_t)rows->info->first + i);
            for (size_t row = 0; fields[id].type == TYPE_MAP && row < rows->count; row++) {
                union cell *cell = rows_cell(rows, row, id);
                size_t number = (size_t)cell->counter;
                cell->map = number > 0 ? &jsonl->maps[number - 1] : NULL;
            }
        }
    }
}

/* --- the line --- */

static bool read_text_of_run(struct reading *reading, const struct scan *key)
{
    const char **text = scan_equals(key, "job_name")                   ? &reading->jsonl->job_name
                        : scan_equals(key, "resource-tracker-version") ? &reading->jsonl->version
                                                                       : NULL;

    if (text == NULL)
        return false;
    if (!json_in_text(&reading->in, text))
        pass_over(reading, text == &reading->jsonl->version ? "version" : "job_name");
    return true;
}

static bool read_known_group(struct reading *reading, const struct scan *key)
{
    for (size_t group = 0; group < GROUP_COUNT; group++)
        if (group_keys[group][0] != '\0' && scan_equals(key, group_keys[group])) {
            read_group(reading, (enum metric_group)group);
            return true;
        }
    for (size_t list = 0; list < DEVICE_COUNT; list++)
        if (!devices[list].nested && scan_equals(key, devices[list].key)) {
            /* One that comes twice: the later one counts. */
            reading->jsonl->rows[list].count = 0;
            (void)read_list(reading, (enum device_list)list);
            return true;
        }
    return false;
}

static void read_member(struct reading *reading, const struct scan *key)
{
    enum metric_id id = METRIC_COUNT;
    size_t next = 0;

    if (find_metric(GROUP_HEAD, key, &next, &id) || find_metric(GROUP_TAIL, key, &next, &id))
        read_metric(reading, id);
    else if (!read_text_of_run(reading, key) && !read_known_group(reading, key))
        pass_unknown(reading, "", key);
}

static void start(struct jsonl *jsonl, struct sample *sample)
{
    sample_reset(sample);
    /* Here, a sum that is not told is not known. */
    sample->value[METRIC_TOTAL_GPU_USAGE] = NAN;
    sample->value[METRIC_TOTAL_GPU_VRAM] = NAN;
    sample->value[METRIC_TOTAL_GPU_UTILIZED] = NAN;
    for (size_t list = 0; list < DEVICE_COUNT; list++)
        jsonl->rows[list].count = 0;
    jsonl->map_count = 0;
    jsonl->job_name = NULL;
    jsonl->version = NULL;
    names_start(&jsonl->unknown);
    names_start(&jsonl->wrong);
    /* Unlike a key, a value may be right in one line and wrong in the next: it is told again. */
    jsonl->wrong.count = 0;
}

int jsonl_read(struct jsonl *jsonl, char *line, size_t size, struct sample *ret_sample,
               size_t *ret_at)
{
    struct reading reading = {.jsonl = jsonl, .in = json_in_over(line, size), .sample = ret_sample};
    struct scan key;

    start(jsonl, ret_sample);
    for (json_in_enter(&reading.in); json_in_member(&reading.in, &key);)
        read_member(&reading, &key);
    if (!json_in_is_done(&reading.in)) {
        *ret_at = (size_t)(reading.in.at - line);
        return -EBADMSG;
    }
    if (reading.is_out_of_memory)
        return -ENOMEM;
    resolve_maps(jsonl);
    return number_is_time(ret_sample->value[METRIC_TIMESTAMP_SECS]) ? 0 : -ENODATA;
}

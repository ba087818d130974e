#include "encode/json.h"

#include "encode/utf8.h"
#include "version.h"

#include <string.h>

static void put_escape(struct buf *out, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    char escape[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};

    if (c == '"' || c == '\\') {
        buf_char(out, '\\');
        buf_char(out, (char)c);
    } else {
        buf_bytes(out, escape, sizeof escape);
    }
}

static bool needs_escape(unsigned char c)
{
    return c < 0x20 || c == '"' || c == '\\' || c == 0x7f;
}

void json_text(const char *text, struct buf *out)
{
    if (text == NULL) {
        buf_text(out, "null");
        return;
    }
    buf_char(out, '"');
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0';) {
        if (needs_escape(*at)) {
            put_escape(out, *at++);
            continue;
        }
        size_t length = utf8_length(at);
        if (length == 0) {
            buf_text(out, UTF8_REPLACEMENT);
            at++;
        } else {
            buf_bytes(out, (const char *)at, length);
            at += length;
        }
    }
    buf_char(out, '"');
}

/* `key` is one of ours and needs no escaping. */
static void put_key(struct buf *out, const char *key)
{
    buf_char(out, '"');
    buf_text(out, key);
    buf_bytes(out, "\":", 2);
}

static void put_number(struct buf *out, double value, unsigned decimals)
{
    if (isfinite(value))
        buf_fixed(out, value, decimals);
    else
        buf_text(out, "null");
}

static void put_series(struct buf *out, const double *values, size_t count, unsigned decimals)
{
    buf_char(out, '[');
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            buf_char(out, ',');
        put_number(out, values[i], decimals);
    }
    buf_char(out, ']');
}

static void put_map(struct buf *out, const struct text_map *map)
{
    buf_char(out, '{');
    for (size_t i = 0; i < map->count; i++) {
        if (i > 0)
            buf_char(out, ',');
        put_key(out, map->pairs[i].name);
        json_text(map->pairs[i].value, out);
    }
    buf_char(out, '}');
}

static void put_list(struct buf *out, const struct sample *sample, enum device_list list,
                     struct row_range range);

static void put_cell(struct buf *out, const struct sample *sample, const struct field *field,
                     const union cell *cell)
{
    switch (field->type) {
    case TYPE_TEXT:
        json_text(cell->text, out);
        break;
    case TYPE_NUMBER:
        put_number(out, cell->number, field->decimals);
        break;
    case TYPE_COUNTER:
        if (cell->counter == COUNTER_UNKNOWN)
            buf_text(out, "null");
        else
            buf_u64(out, cell->counter);
        break;
    case TYPE_MAP:
        if (cell->map == NULL)
            buf_text(out, "null");
        else
            put_map(out, cell->map);
        break;
    case TYPE_NESTED:
        put_list(out, sample, DEVICE_MOUNT, cell->nested);
        break;
    }
}

static void put_list(struct buf *out, const struct sample *sample, enum device_list list,
                     struct row_range range)
{
    const struct device_info *info = &devices[list];

    buf_char(out, '[');
    for (size_t row = range.first; row < (size_t)range.first + range.count; row++) {
        buf_text(out, row > range.first ? ",{" : "{");
        for (size_t i = 0; i < info->field_count; i++) {
            enum field_id id = (enum field_id)((size_t)info->first + i);
            if (i > 0)
                buf_char(out, ',');
            put_key(out, fields[id].key);
            put_cell(out, sample, &fields[id], rows_cell(sample->rows[list], row, id));
        }
        buf_char(out, '}');
    }
    buf_char(out, ']');
}

static void put_device_lists(struct buf *out, const struct sample *sample)
{
    for (int list = 0; list < DEVICE_COUNT; list++) {
        if (devices[list].nested)
            continue;
        const struct rows *rows = sample->rows[list];
        put_key(out, devices[list].key);
        put_list(out, sample, (enum device_list)list,
                 (struct row_range){0, rows != NULL ? (uint32_t)rows->count : 0});
        buf_char(out, ',');
    }
}

/* The metrics of a group, separated by commas. */
static void put_metrics(struct buf *out, const struct sample *sample, enum metric_group group)
{
    bool first = true;

    for (int id = 0; id < METRIC_COUNT; id++) {
        const struct metric *metric = &metrics[id];
        if (metric->group != group)
            continue;
        if (!first)
            buf_char(out, ',');
        first = false;
        put_key(out, metric->key);
        if (metric->kind == KIND_SERIES)
            put_series(out, sample->per_core, sample->per_core_count, metric->decimals);
        else if (metric->kind == KIND_TEXT)
            json_text(sample->text[id], out);
        else
            put_number(out, sample->value[id], metric->decimals);
    }
}

static void put_group(struct buf *out, const struct sample *sample, enum metric_group group)
{
    put_key(out, group_keys[group]);
    buf_char(out, '{');
    put_metrics(out, sample, group);
    buf_bytes(out, "},", 2);
}

void json_sample(const struct run *run, const struct sample *sample, struct buf *out)
{
    buf_char(out, '{');
    put_metrics(out, sample, GROUP_HEAD);
    buf_char(out, ',');
    put_key(out, "job_name");
    json_text(run->job_name, out);
    buf_char(out, ',');
    put_group(out, sample, GROUP_CPU);
    put_group(out, sample, GROUP_MEMORY);
    put_device_lists(out, sample);
    put_group(out, sample, GROUP_TOTAL);
    put_group(out, sample, GROUP_PROCESS);
    put_group(out, sample, GROUP_TRACKER);
    put_metrics(out, sample, GROUP_TAIL);
    buf_char(out, ',');
    put_key(out, "resource-tracker-version");
    json_text(TRACKER_VERSION, out);
    buf_text(out, "}\n");
}

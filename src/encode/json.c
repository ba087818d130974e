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

/* What needs neither escaping nor a look at its neighbours. */
static bool is_plain(unsigned char c)
{
    return c < 0x7f && !needs_escape(c);
}

static size_t plain_length(const unsigned char *text)
{
    size_t length = 0;

    while (is_plain(text[length]))
        length++;
    return length;
}

void json_text(const char *text, struct buf *out)
{
    if (text == NULL) {
        buf_text(out, "null");
        return;
    }
    buf_char(out, '"');
    for (const unsigned char *at = (const unsigned char *)text;;) {
        size_t plain = plain_length(at);
        buf_bytes(out, (const char *)at, plain);
        at += plain;
        if (*at == '\0')
            break;
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

/* `"key":`. The key is one of ours and needs no escaping. */
static void put_key(struct buf *out, const char *key, size_t length)
{
    char *room = buf_room_at_hand(out, length + 3);
    if (room == NULL)
        return;
    room[0] = '"';
    memcpy(room + 1, key, length);
    room[length + 1] = '"';
    room[length + 2] = ':';
    out->size += length + 3;
}

static void put_text_key(struct buf *out, const char *key)
{
    put_key(out, key, strlen(key));
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
        put_text_key(out, map->pairs[i].name);
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
            put_key(out, fields[id].key, fields[id].key_length);
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
        put_text_key(out, devices[list].key);
        put_list(out, sample, (enum device_list)list,
                 (struct row_range){0, rows != NULL ? (uint32_t)rows->count : 0});
        buf_char(out, ',');
    }
}

/*
 * The metrics of the next group, separated by commas. They stand together in the table, and the
 * groups in the order in which they are printed.
 */
static void put_metrics(struct buf *out, const struct sample *sample, enum metric_group group,
                        int *next)
{
    int begin = *next;
    int id = begin;

    for (; id < METRIC_COUNT && metrics[id].group == group; id++) {
        const struct metric *metric = &metrics[id];
        if (id > begin)
            buf_char(out, ',');
        put_key(out, metric->key, metric->key_length);
        if (metric->kind == KIND_SERIES)
            put_series(out, sample->per_core, sample->per_core_count, metric->decimals);
        else if (metric->kind == KIND_TEXT)
            json_text(sample->text[id], out);
        else
            put_number(out, sample->value[id], metric->decimals);
    }
    *next = id;
}

static void put_group(struct buf *out, const struct sample *sample, enum metric_group group,
                      int *next)
{
    put_text_key(out, group_keys[group]);
    buf_char(out, '{');
    put_metrics(out, sample, group, next);
    buf_bytes(out, "},", 2);
}

void json_sample(const struct run *run, const struct sample *sample, struct buf *out)
{
    int next = 0;

    buf_char(out, '{');
    put_metrics(out, sample, GROUP_HEAD, &next);
    buf_char(out, ',');
    put_text_key(out, "job_name");
    json_text(run->job_name, out);
    buf_char(out, ',');
    put_group(out, sample, GROUP_CPU, &next);
    put_group(out, sample, GROUP_MEMORY, &next);
    put_device_lists(out, sample);
    put_group(out, sample, GROUP_TOTAL, &next);
    put_group(out, sample, GROUP_PROCESS, &next);
    put_group(out, sample, GROUP_TRACKER, &next);
    put_metrics(out, sample, GROUP_TAIL, &next);
    buf_char(out, ',');
    put_text_key(out, "resource-tracker-version");
    json_text(TRACKER_VERSION, out);
    buf_text(out, "}\n");
}

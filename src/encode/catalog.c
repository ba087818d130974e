#include "encode/catalog.h"

#define NAME_WIDTH 34
#define UNIT_WIDTH 9
#define SOURCE_WIDTH 42

void catalog_metric_name(const struct metric *metric, struct buf *out)
{
    if (group_keys[metric->group][0] != '\0') {
        buf_text(out, group_keys[metric->group]);
        buf_char(out, '.');
    }
    buf_text(out, metric->key);
    if (metric->kind == KIND_SERIES)
        buf_text(out, "[]");
}

void catalog_field_name(const struct field *field, struct buf *out)
{
    if (devices[field->list].nested)
        buf_text(out, "disk[].");
    buf_text(out, devices[field->list].key);
    buf_text(out, "[].");
    buf_text(out, field->key);
}

/* Blanks up to the column, and at least two. */
static void pad(struct buf *out, size_t begin, size_t width)
{
    do {
        buf_char(out, ' ');
    } while (!out->overflow && out->size - begin < width);
    if (out->size - begin > width)
        buf_char(out, ' ');
}

static void put_rest(struct buf *out, const char *unit, const char *source, const char *meaning)
{
    size_t begin = out->size;
    buf_text(out, unit[0] != '\0' ? unit : "-");
    pad(out, begin, UNIT_WIDTH);
    begin = out->size;
    buf_text(out, source);
    pad(out, begin, SOURCE_WIDTH);
    buf_text(out, meaning);
    buf_char(out, '\n');
}

void catalog_print(struct buf *out)
{
    size_t begin = out->size;
    buf_text(out, "NAME");
    pad(out, begin, NAME_WIDTH);
    put_rest(out, "UNIT", "SOURCE", "MEANING");
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        begin = out->size;
        catalog_metric_name(&metrics[i], out);
        pad(out, begin, NAME_WIDTH);
        put_rest(out, metrics[i].unit, metrics[i].source, metrics[i].meaning);
    }
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        begin = out->size;
        catalog_field_name(&fields[i], out);
        pad(out, begin, NAME_WIDTH);
        put_rest(out, fields[i].unit, fields[i].source, fields[i].meaning);
    }
}

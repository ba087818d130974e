#include "encode/report_data.h"

#include "encode/html.h"
#include "encode/json.h"
#include "encode/utf8.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define TEXT_INITIAL 256
#define TEXT_MAX (1024 * 1024)
/* Of points. Devices are many, and people are shown three. */
#define DIGITS 4
#define DIGITS_OF_DEVICES 3

/* --- numbers: finer than any screen, and a week stays small --- */

/* Of the number that was just written from `start` on: no zeros at the end of its decimals. */
static void drop_zeros(struct buf *out, size_t start)
{
    if (out->overflow || memchr(out->data + start, '.', out->size - start) == NULL)
        return;
    while (out->data[out->size - 1] == '0')
        out->size--;
    if (out->data[out->size - 1] == '.')
        out->size--;
}

/* Rounded to so many digits, small ones to one decimal more: 12.34, 0.05678, 1234e5. */
static void put_short(struct buf *out, double value, unsigned digits)
{
    double limit = digits == DIGITS_OF_DEVICES ? 1000 : 10000;
    unsigned zeros = 0;

    if (!isfinite(value)) {
        buf_text(out, "null");
        return;
    }
    while (fabs(value) >= limit) {
        value /= 10;
        zeros++;
    }
    double size = fabs(value);
    unsigned whole_digits = size >= 1000 ? 4 : size >= 100 ? 3 : size >= 10 ? 2 : 1;
    unsigned decimals = size >= 1 ? digits - whole_digits : digits + 1;
    size_t start = out->size;
    buf_fixed(out, value, decimals);
    drop_zeros(out, start);
    if (zeros > 0) {
        buf_char(out, 'e');
        buf_u64(out, zeros);
    }
}

static bool is_same(float a, float b)
{
    return a == b || (!isfinite(a) && !isfinite(b));
}

/* One number where it never changed: an idle disk costs nothing. */
static void put_points(struct buf *out, const char *key, const float *values, size_t count,
                       unsigned digits)
{
    size_t same = 1;

    while (same < count && is_same(values[same], values[0]))
        same++;
    buf_text(out, ",\"");
    buf_text(out, key);
    buf_text(out, "\":");
    if (same == count) {
        put_short(out, (double)values[0], digits);
        return;
    }
    buf_char(out, '[');
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            buf_char(out, ',');
        put_short(out, (double)values[i], digits);
    }
    buf_char(out, ']');
}

/* --- texts --- */

/* A JSON text without "<", which could end or open an element, and in the order it is read. */
static void put_text(struct buf *out, const char *text, struct buf *scratch)
{
    buf_reset(scratch);
    json_text(text, scratch);
    buf_char(scratch, '\0');
    if (scratch->overflow) {
        buf_text(out, "\"\"");
        return;
    }
    for (const char *at = scratch->data; *at != '\0';) {
        const unsigned char *mark = (const unsigned char *)at;
        size_t length = html_turns_text(at) ? utf8_length(mark) : 1;
        if (*at == '<')
            buf_text(out, "\\u003c");
        else if (html_turns_text(at))
            buf_text(out, UTF8_REPLACEMENT);
        else
            buf_char(out, *at);
        at += length;
    }
}

/* memory.job (PSS), gpu.0.power, disk.vda.read */
static void put_column_name(const struct report_plan *plan, const struct report_chart *chart,
                            const struct report_line *line, struct buf *out, struct buf *scratch)
{
    struct buf name = {.max = TEXT_MAX};

    buf_text(&name, chart->key);
    buf_char(&name, '.');
    if (chart->is_of_device && chart->list == DEVICE_GPU) {
        buf_u64(&name, chart->device);
        buf_char(&name, '.');
    } else if (chart->is_of_device) {
        buf_text(&name, plan->digests[0]->lists[chart->list].devices[chart->device].name);
        buf_char(&name, '.');
    }
    if (chart->note != NULL) {
        buf_text(&name, chart->note);
        buf_text(&name, plan->run_count > 1 ? "" : ".");
    }
    if (plan->run_count == 1)
        buf_text(&name, line->label);
    buf_char(&name, '\0');
    put_text(out, name.overflow ? chart->key : name.data, scratch);
    buf_free(&name);
}

/* --- runs and charts --- */

static bool has_spread(const struct series *series, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (isfinite(series->mean[i]) && series->min[i] != series->max[i])
            return true;
    return false;
}

static void put_series(const struct report_plan *plan, const struct report_chart *chart,
                       const struct report_line *line, struct buf *out, struct buf *scratch)
{
    size_t count = plan->digests[line->run]->axis.count;
    unsigned digits = chart->is_of_device ? DIGITS_OF_DEVICES : DIGITS;

    buf_text(out, "{\"key\":");
    put_column_name(plan, chart, line, out, scratch);
    buf_text(out, ",\"unit\":");
    put_text(out, chart->unit, scratch);
    put_points(out, "mean", line->series->mean, count, digits);
    if (has_spread(line->series, count)) {
        put_points(out, "min", line->series->min, count, digits);
        put_points(out, "max", line->series->max, count, digits);
    }
    buf_char(out, '}');
}

static void put_times(const struct axis *axis, struct buf *out)
{
    buf_char(out, '[');
    for (size_t i = 0; i < axis->count && isfinite(axis->end_secs[i]); i++) {
        if (i > 0)
            buf_char(out, ',');
        buf_fixed(out, axis->end_secs[i], 3);
    }
    buf_char(out, ']');
}

static void put_phases(const struct digest *digest, struct buf *out, struct buf *scratch)
{
    buf_char(out, '[');
    for (size_t i = 0; i < digest->phase_count && isfinite(digest->phases[i].elapsed_secs); i++) {
        buf_text(out, i > 0 ? ",[" : "[");
        buf_fixed(out, digest->phases[i].elapsed_secs, 3);
        buf_char(out, ',');
        put_text(out, digest->phases[i].text, scratch);
        buf_char(out, ']');
    }
    buf_char(out, ']');
}

static void put_run(const struct report_plan *plan, size_t run, struct buf *out,
                    struct buf *scratch)
{
    const struct digest *digest = plan->digests[run];
    bool first = true;

    buf_text(out, "{\"name\":");
    put_text(out, digest_name(digest), scratch);
    buf_text(out, ",\"start\":");
    if (isfinite(digest->start_unix_secs))
        buf_fixed(out, digest->start_unix_secs, 3);
    else
        buf_text(out, "null");
    buf_text(out, ",\"phases\":");
    put_phases(digest, out, scratch);
    buf_text(out, ",\"t\":");
    put_times(&digest->axis, out);
    buf_text(out, ",\"series\":[");
    for (size_t i = 0; i < plan->chart_count; i++) {
        const struct report_chart *chart = &plan->charts[i];
        for (size_t j = 0; j < chart->line_count; j++) {
            const struct report_line *line = &plan->lines[chart->first_line + j];
            if (line->run != run)
                continue;
            buf_text(out, first ? "\n" : ",\n");
            first = false;
            put_series(plan, chart, line, out, scratch);
        }
    }
    buf_text(out, "]}");
}

/* The position of a line among those of its run. */
static size_t series_index(const struct report_plan *plan, size_t line)
{
    size_t index = 0;

    for (size_t i = 0; i < line; i++)
        index += plan->lines[i].run == plan->lines[line].run;
    return index;
}

static void put_chart(const struct report_plan *plan, const struct report_chart *chart,
                      struct buf *out, struct buf *scratch)
{
    buf_text(out, "{\"id\":\"");
    buf_text(out, chart->id);
    buf_text(out, "\",\"unit\":");
    put_text(out, chart->unit, scratch);
    buf_text(out, ",\"lines\":[");
    for (size_t i = 0; i < chart->line_count; i++) {
        const struct report_line *line = &plan->lines[chart->first_line + i];
        buf_text(out, i > 0 ? ",{\"run\":" : "{\"run\":");
        buf_u64(out, line->run);
        buf_text(out, ",\"series\":");
        buf_u64(out, series_index(plan, chart->first_line + i));
        buf_text(out, ",\"style\":\"");
        buf_text(out, line->style);
        buf_text(out, "\"}");
    }
    buf_text(out, "]}");
}

int report_data(const struct report_plan *plan, struct buf *out)
{
    struct buf scratch;

    if (buf_init(&scratch, TEXT_INITIAL, TEXT_MAX) < 0)
        return -ENOMEM;
    buf_text(out, "<script type=\"application/json\" id=\"data\">{\"runs\":[");
    for (size_t run = 0; run < plan->run_count; run++) {
        if (run > 0)
            buf_text(out, ",\n");
        put_run(plan, run, out, &scratch);
    }
    buf_text(out, "],\n\"charts\":[");
    for (size_t i = 0; i < plan->chart_count; i++) {
        if (i > 0)
            buf_text(out, ",\n");
        put_chart(plan, &plan->charts[i], out, &scratch);
    }
    buf_text(out, "]}</script>\n");
    buf_free(&scratch);
    return 0;
}

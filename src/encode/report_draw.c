/*
 * A line of a chart as two SVG paths of relative steps, the mean and the band from min to max.
 * Whole numbers in a box of 2000 by 400 are finer than most screens and cost few bytes.
 */
#include "encode/report_chart.h"

#include <assert.h>
#include <math.h>

/* No more columns than a digest has points. */
struct column {
    int right; /* where it ends */
    double min;
    double mean;
    double max;
};

struct columns {
    struct column at[DIGEST_POINTS_MAX];
    size_t count;
};

/* Points `first` to `end` as one. Unknown ones do not count. */
static struct column merge_points(const struct series *series, size_t first, size_t end)
{
    struct column column = {.min = NAN, .mean = NAN, .max = NAN};
    double sum = 0;
    double weight = 0;

    for (size_t i = first; i < end; i++) {
        double mean = (double)series->mean[i];
        double secs = (double)series->weight_secs[i];
        if (!isfinite(mean) || !(secs > 0))
            continue;
        sum += mean * secs;
        weight += secs;
        if (!(column.min <= (double)series->min[i]))
            column.min = (double)series->min[i];
        if (!(column.max >= (double)series->max[i]))
            column.max = (double)series->max[i];
    }
    if (weight > 0)
        column.mean = sum / weight;
    return column;
}

static void make_columns(struct columns *columns, const struct report_plan *plan,
                         const struct report_line *line, size_t columns_max)
{
    const struct axis *axis = &plan->digests[line->run]->axis;
    size_t points = axis->count;
    size_t step = (points + columns_max - 1) / columns_max;

    columns->count = 0;
    for (size_t first = 0; first < points; first += step) {
        size_t end = first + step < points ? first + step : points;
        struct column *column = &columns->at[columns->count++];
        *column = merge_points(line->series, first, end);
        column->right = (int)(axis->end_secs[end - 1] / plan->duration_secs * REPORT_DRAWING_WIDTH);
    }
}

static int height_of(double value, double top)
{
    double share = value < 0 ? 0 : value > top ? 1 : value / top;

    return (int)((1 - share) * REPORT_DRAWING_HEIGHT + 0.5);
}

static void put_int(struct buf *out, int value)
{
    if (value < 0)
        buf_char(out, '-');
    buf_u64(out, (uint64_t)(value < 0 ? -value : value));
}

static void put_step(struct buf *out, char direction, int length)
{
    if (length == 0)
        return;
    buf_char(out, direction);
    put_int(out, length);
}

static void put_start(struct buf *out, int x, int y)
{
    buf_char(out, 'M');
    put_int(out, x);
    buf_char(out, ' ');
    put_int(out, y);
}

static int left_of(const struct columns *columns, size_t i)
{
    return i > 0 ? columns->at[i - 1].right : 0;
}

static void put_mean(struct buf *out, const struct columns *columns, double top)
{
    bool is_drawing = false;
    int at = 0;

    buf_text(out, "<path class=\"mean-line\" vector-effect=\"non-scaling-stroke\" d=\"");
    for (size_t i = 0; i < columns->count; i++) {
        const struct column *column = &columns->at[i];
        if (!isfinite(column->mean)) {
            is_drawing = false;
            continue;
        }
        int y = height_of(column->mean, top);
        if (is_drawing)
            put_step(out, 'v', y - at);
        else
            put_start(out, left_of(columns, i), y);
        put_step(out, 'h', column->right - left_of(columns, i));
        is_drawing = true;
        at = y;
    }
    buf_text(out, "\"/>");
}

/* Known columns `first` to `end`: along their tops, and back along their bottoms. */
static void put_outline(struct buf *out, const struct columns *columns, size_t first, size_t end,
                        double top)
{
    int at = height_of(columns->at[first].max, top);

    put_start(out, left_of(columns, first), at);
    for (size_t i = first; i < end; i++) {
        int y = height_of(columns->at[i].max, top);
        put_step(out, 'v', y - at);
        put_step(out, 'h', columns->at[i].right - left_of(columns, i));
        at = y;
    }
    for (size_t i = end; i-- > first;) {
        int y = height_of(columns->at[i].min, top);
        put_step(out, 'v', y - at);
        put_step(out, 'h', left_of(columns, i) - columns->at[i].right);
        at = y;
    }
    buf_char(out, 'z');
}

static bool has_band(const struct columns *columns, double top)
{
    for (size_t i = 0; i < columns->count; i++)
        if (isfinite(columns->at[i].mean) &&
            height_of(columns->at[i].min, top) != height_of(columns->at[i].max, top))
            return true;
    return false;
}

static void put_band(struct buf *out, const struct columns *columns, double top)
{
    buf_text(out, "<path class=\"band\" d=\"");
    for (size_t i = 0; i < columns->count;) {
        size_t end = i;
        while (end < columns->count && isfinite(columns->at[end].mean))
            end++;
        if (end > i)
            put_outline(out, columns, i, end, top);
        i = end > i ? end : i + 1;
    }
    buf_text(out, "\"/>");
}

void report_draw_line(const struct report_plan *plan, const struct report_line *line, double top,
                      size_t columns_max, struct buf *out)
{
    struct columns columns;

    make_columns(&columns, plan, line, columns_max);
    buf_text(out, "<g class=\"");
    buf_text(out, line->style);
    buf_text(out, "\">");
    if (has_band(&columns, top))
        put_band(out, &columns, top);
    put_mean(out, &columns, top);
    buf_text(out, "</g>");
}

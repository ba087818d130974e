#include "encode/report_chart.h"

#include "encode/html.h"
#include "encode/human.h"

#include <math.h>
#include <string.h>

/* As many columns as can be told apart on a screen. */
#define COLUMNS_MAX 360
#define COLUMNS_SMALL_MAX 180
#define Y_STEPS 4
#define X_STEPS 4

/* --- axes --- */

/* The first of 1, 2, 4, 6, 8, 10, 20 … hundredths that is not below. A quarter of it is plain too.
 */
static double round_up(double value)
{
    static const double steps[] = {1, 2, 4, 6, 8, 10};
    double power = 0.01;
    size_t i = 0;

    while (power * steps[i] < value) {
        if (++i == sizeof steps / sizeof steps[0]) {
            i = 1;
            power *= 10;
        }
    }
    return power * steps[i];
}

/* The end of the scale, at or above the peak. */
static double scale_top(double peak, const char *unit)
{
    double base = 1;

    if (!(peak > 0) || !isfinite(peak))
        return 1;
    if (strncmp(unit, "bytes", 5) != 0)
        return round_up(peak);
    while (peak >= base * 1024)
        base *= 1024;
    double top = round_up(peak / base);
    return top < 1000 ? base * top : base * 1024;
}

static double chart_peak(const struct report_plan *plan, const struct report_chart *chart)
{
    double peak = 0;

    for (size_t i = 0; i < chart->line_count; i++) {
        const struct report_line *line = &plan->lines[chart->first_line + i];
        if (line->statistic->max * line->scale > peak)
            peak = line->statistic->max * line->scale;
    }
    return peak;
}

/* The unit of cores and the like stands in the title. */
static const char *axis_unit(const char *unit)
{
    return strncmp(unit, "bytes", 5) == 0 || strcmp(unit, "%") == 0 ? unit : "";
}

static void put_value_axis(struct buf *out, double top, const char *unit)
{
    buf_text(out, "<div class=\"y-axis\" aria-hidden=\"true\">");
    for (int i = 0; i <= Y_STEPS; i++) {
        buf_text(out, "<span>");
        human_quantity(out, top * i / Y_STEPS, axis_unit(unit));
        buf_text(out, "</span>");
    }
    buf_text(out, "</div>");
}

void report_time_axis(double duration_secs, struct buf *out)
{
    buf_text(out, "<div class=\"x-axis\" aria-hidden=\"true\">");
    for (int i = 0; i <= X_STEPS; i++) {
        buf_text(out, "<span>");
        /* Whole seconds would say the same twice. */
        if (duration_secs < X_STEPS)
            human_quantity(out, duration_secs * i / X_STEPS, "s");
        else
            human_clock(out, duration_secs * i / X_STEPS);
        buf_text(out, "</span>");
    }
    buf_text(out, "</div>");
}

/* --- captions --- */

void report_device_name(const struct digest *digest, enum device_list list, size_t index,
                        struct buf *out)
{
    const struct digest_device *device = &digest->lists[list].devices[index];

    if (list == DEVICE_GPU) {
        buf_text(out, device->is_part ? "MIG " : "GPU ");
        buf_u64(out, index);
    } else {
        html_text(out, device->name);
    }
}

static void put_title(const struct report_plan *plan, const struct report_chart *chart,
                      struct buf *out)
{
    if (chart->is_of_device) {
        report_device_name(plan->digests[0], chart->list, chart->device, out);
        buf_text(out, ": ");
    }
    html_text(out, chart->title);
    if (chart->is_of_device && chart->line_count > 1 &&
        plan->lines[chart->first_line].label == chart->title &&
        strcmp(chart->unit, "bytes/s") == 0) {
        buf_text(out, ", ");
        html_text(out, plan->lines[chart->first_line + 1].label);
    }
    if (chart->note != NULL) {
        buf_text(out, ": ");
        html_text(out, chart->note);
    }
}

static void put_mean_and_peak(struct buf *out, const struct report_line *line, const char *unit)
{
    buf_text(out, "mean ");
    human_quantity(out, statistic_mean(line->statistic) * line->scale, unit);
    buf_text(out, ", peak ");
    human_quantity(out, line->statistic->max * line->scale, unit);
}

static void put_legend(const struct report_plan *plan, const struct report_chart *chart,
                       struct buf *out)
{
    buf_text(out, "<ul class=\"keys\">");
    for (size_t i = 0; i < chart->line_count; i++) {
        const struct report_line *line = &plan->lines[chart->first_line + i];
        buf_text(out, "<li class=\"");
        buf_text(out, line->style);
        buf_text(out,
                 "\"><svg aria-hidden=\"true\" viewBox=\"0 0 24 10\"><path class=\"mean-line\" "
                 "d=\"M0 5h24\"/></svg><span>");
        html_text(out, line->label);
        buf_text(out, "</span> <b>");
        put_mean_and_peak(out, line, chart->unit);
        buf_text(out, "</b></li>");
    }
    buf_text(out, "</ul>");
}

/* What a reader who cannot see the drawing should know of it. */
static void put_words(const struct report_plan *plan, const struct report_chart *chart,
                      struct buf *out)
{
    buf_text(out, "<p class=\"says\" id=\"");
    buf_text(out, chart->id);
    buf_text(out, "-says\">Over ");
    human_duration(out, plan->duration_secs);
    buf_text(out, ". ");
    for (size_t i = 0; i < chart->line_count; i++) {
        const struct report_line *line = &plan->lines[chart->first_line + i];
        html_text(out, line->label);
        buf_text(out, ": ");
        put_mean_and_peak(out, line, chart->unit);
        buf_text(out, " at ");
        human_clock(out, line->statistic->max_elapsed_secs);
        buf_text(out, ". ");
    }
    buf_text(out, "</p>");
}

/* --- the drawing --- */

static void put_grid(struct buf *out)
{
    buf_text(out, "<path class=\"grid\" vector-effect=\"non-scaling-stroke\" d=\"");
    for (int i = 0; i <= Y_STEPS; i++) {
        buf_text(out, "M0 ");
        buf_u64(out, (uint64_t)(REPORT_DRAWING_HEIGHT * i / Y_STEPS));
        buf_text(out, "h2000");
    }
    buf_text(out, "\"/>");
}

static void put_phases(const struct report_plan *plan, struct buf *out)
{
    const struct digest *digest = plan->digests[0];

    if (plan->run_count > 1 || digest->phase_count < 2)
        return;
    buf_text(out, "<path class=\"phase\" vector-effect=\"non-scaling-stroke\" d=\"");
    for (size_t i = 1; i < digest->phase_count; i++) {
        double share = digest->phases[i].elapsed_secs / plan->duration_secs;
        buf_char(out, 'M');
        buf_fixed(out, share * REPORT_DRAWING_WIDTH, 0);
        buf_text(out, " 0v400");
    }
    buf_text(out, "\"/>");
}

static void put_drawing(const struct report_plan *plan, const struct report_chart *chart,
                        struct buf *out)
{
    double top = scale_top(chart_peak(plan, chart), chart->unit);

    buf_text(out, "<div class=\"plot\">");
    put_value_axis(out, top, chart->unit);
    buf_text(out, "<svg role=\"img\" viewBox=\"0 0 2000 400\" preserveAspectRatio=\"none\" "
                  "aria-labelledby=\"");
    buf_text(out, chart->id);
    buf_text(out, "-title\" aria-describedby=\"");
    buf_text(out, chart->id);
    buf_text(out, "-says\">");
    put_grid(out);
    put_phases(plan, out);
    /* The first line is the one that matters: it is drawn over the others. */
    for (size_t i = chart->line_count; i-- > 0;)
        report_draw_line(plan, &plan->lines[chart->first_line + i], top,
                         chart->is_of_device ? COLUMNS_SMALL_MAX : COLUMNS_MAX, out);
    buf_text(out, "</svg>");
    report_time_axis(plan->duration_secs, out);
    buf_text(out, "</div>");
}

void report_chart(const struct report_plan *plan, const struct report_chart *chart, struct buf *out)
{
    buf_text(out, "<figure class=\"chart\" id=\"");
    buf_text(out, chart->id);
    buf_text(out, "\"><figcaption><h3 id=\"");
    buf_text(out, chart->id);
    buf_text(out, "-title\">");
    put_title(plan, chart, out);
    if (axis_unit(chart->unit)[0] == '\0' && strcmp(chart->unit, "count") != 0) {
        buf_text(out, " <small>");
        html_text(out, chart->unit);
        buf_text(out, "</small>");
    }
    buf_text(out, "</h3>");
    put_legend(plan, chart, out);
    put_words(plan, chart, out);
    buf_text(out, "</figcaption>");
    put_drawing(plan, chart, out);
    buf_text(out, "</figure>\n");
}

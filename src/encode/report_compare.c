/*
 * Several runs side by side: what changed from the first to the others.
 */
#include "encode/html.h"
#include "encode/human.h"
#include "encode/report_parts.h"
#include "encode/report_plan.h"
#include "model/advice.h"

#include <math.h>
#include <string.h>

#define BYTES_PER_MIB (1024.0 * 1024.0)

enum measure { MEASURE_MEAN, MEASURE_PEAK, MEASURE_TOTAL };

struct compared {
    const char *label;
    enum metric_id metric;
    enum measure measure;
    const char *unit;
    double scale;
};

static const struct compared compared[] = {
    {"CPU of the job, mean", METRIC_PROCESS_CORES_USED, MEASURE_MEAN, "cores", 1},
    {"CPU of the job, peak", METRIC_PROCESS_CORES_USED, MEASURE_PEAK, "cores", 1},
    {"User CPU time of the job", METRIC_PROCESS_UTIME, MEASURE_TOTAL, "s", 1},
    {"System CPU time of the job", METRIC_PROCESS_STIME, MEASURE_TOTAL, "s", 1},
    {"CPU of the host, mean", METRIC_CPU_UTILIZATION, MEASURE_MEAN, "cores", 1},
    {"Memory of the job (PSS), mean", METRIC_PROCESS_PSS, MEASURE_MEAN, "bytes", BYTES_PER_MIB},
    {"Memory of the job (PSS), peak", METRIC_PROCESS_PSS, MEASURE_PEAK, "bytes", BYTES_PER_MIB},
    {"Memory of the job (RSS), peak", METRIC_PROCESS_RSS, MEASURE_PEAK, "bytes", BYTES_PER_MIB},
    {"Memory of the host, peak", METRIC_MEMORY_USED, MEASURE_PEAK, "bytes", BYTES_PER_MIB},
    {"Read by the job", METRIC_PROCESS_DISK_READ, MEASURE_TOTAL, "bytes", 1},
    {"Written by the job", METRIC_PROCESS_DISK_WRITE, MEASURE_TOTAL, "bytes", 1},
    {"Read by the host", METRIC_TOTAL_DISK_READ, MEASURE_TOTAL, "bytes", 1},
    {"Written by the host", METRIC_TOTAL_DISK_WRITE, MEASURE_TOTAL, "bytes", 1},
    {"Received", METRIC_TOTAL_NET_RECV, MEASURE_TOTAL, "bytes", 1},
    {"Sent", METRIC_TOTAL_NET_SENT, MEASURE_TOTAL, "bytes", 1},
    {"GPUs of the job, mean", METRIC_PROCESS_GPU_USAGE, MEASURE_MEAN, "GPUs", 1},
    {"GPUs of the host, mean", METRIC_TOTAL_GPU_USAGE, MEASURE_MEAN, "GPUs", 1},
    {"GPU memory of the job, peak", METRIC_PROCESS_GPU_VRAM, MEASURE_PEAK, "bytes", BYTES_PER_MIB},
};

static double measure(const struct digest *digest, const struct compared *row)
{
    const struct statistic *statistic = &digest->metrics[row->metric];
    bool is_gpu = strncmp(row->label, "GPU", 3) == 0;

    if (!statistic_is_known(statistic) || (is_gpu && !report_has_gpu(digest)))
        return NAN;
    switch (row->measure) {
    case MEASURE_MEAN:
        return statistic_mean(statistic) * row->scale;
    case MEASURE_PEAK:
        return statistic->max * row->scale;
    case MEASURE_TOTAL:
        return statistic->sum * row->scale;
    }
    return NAN;
}

/* "+12 %" against the first run; nothing where there is nothing to divide by. */
static void put_change(struct buf *out, double value, double first)
{
    double percent = (value / first - 1) * 100;

    if (!isfinite(percent))
        return;
    buf_text(out, " <span class=\"change\">");
    if (percent > 1000) {
        buf_text(out, "×");
        human_number(out, value / first);
    } else {
        buf_text(out, percent >= 0.5 ? "+" : percent <= -0.5 ? "−" : "±");
        buf_fixed(out, fabs(percent), 0);
        buf_text(out, " %");
    }
    buf_text(out, "</span>");
}

static void put_value(struct buf *out, double value, double first, bool is_first, const char *unit)
{
    buf_text(out, "<td>");
    html_quantity(out, value, unit);
    if (!is_first && isfinite(value))
        put_change(out, value, first);
    buf_text(out, "</td>");
}

static void put_compared_row(struct buf *out, const struct compared *row,
                             const struct digest *const *digests, size_t count)
{
    double first = measure(digests[0], row);
    bool is_known = false;

    for (size_t i = 0; i < count; i++)
        is_known = is_known || isfinite(measure(digests[i], row));
    if (!is_known)
        return;
    buf_text(out, "<tr>");
    html_row_head(out, row->label);
    for (size_t i = 0; i < count; i++)
        put_value(out, measure(digests[i], row), first, i == 0, row->unit);
    buf_text(out, "</tr>");
}

static void put_run_heads(struct buf *out, const struct digest *const *digests, size_t count)
{
    buf_text(out, "<thead><tr><th scope=\"col\" class=\"text\">Figure</th>");
    for (size_t i = 0; i < count; i++) {
        buf_text(out, "<th scope=\"col\" class=\"run ");
        buf_text(out, report_run_style(i));
        buf_text(out, "\">");
        html_text(out, report_title(digests[i]));
        buf_char(out, ' ');
        report_badge(digests[i], out);
        buf_text(out, "</th>");
    }
    buf_text(out, "</tr></thead><tbody>");
}

static void put_durations(struct buf *out, const struct digest *const *digests, size_t count)
{
    buf_text(out, "<tr><th scope=\"row\">Duration</th>");
    for (size_t i = 0; i < count; i++) {
        buf_text(out, "<td>");
        human_duration(out, digests[i]->duration_secs);
        if (i > 0)
            put_change(out, digests[i]->duration_secs, digests[0]->duration_secs);
        buf_text(out, "</td>");
    }
    buf_text(out, "</tr>");
}

static void put_starts(struct buf *out, const struct digest *const *digests, size_t count)
{
    buf_text(out, "<tr><th scope=\"row\">Started</th>");
    for (size_t i = 0; i < count; i++) {
        buf_text(out, "<td>");
        human_date(out, digests[i]->start_unix_secs);
        buf_text(out, "</td>");
    }
    buf_text(out, "</tr>");
}

/* What each run says should be asked for. */
static void put_demands(struct buf *out, const struct digest *const *digests, size_t count)
{
    buf_text(out, "<tr><th scope=\"row\">To ask for next time</th>");
    for (size_t i = 0; i < count; i++) {
        struct advice advice;
        advise(digests[i], &advice);
        buf_text(out, "<td>");
        if (advice.cpus.is_known)
            human_quantity(out, advice.cpus.amount, "CPU");
        if (advice.memory.is_known) {
            buf_text(out, advice.cpus.is_known ? ", " : "");
            human_quantity(out, advice.memory.amount * BYTES_PER_MIB, "bytes");
        }
        if (advice.gpus.is_known && advice.gpus.amount > 0) {
            buf_text(out, ", ");
            human_quantity(out, advice.gpus.amount, "GPU");
        }
        if (!advice.is_of_tree && (advice.cpus.is_known || advice.memory.is_known))
            buf_text(out, " (by what the whole host used)");
        buf_text(out, "</td>");
    }
    buf_text(out, "</tr>");
}

void report_comparison(const struct digest *const *digests, size_t count, struct buf *out)
{
    buf_text(out, "<header><div class=\"title\"><h1>");
    buf_u64(out, count);
    buf_text(out, " runs compared</h1></div></header>\n");
    buf_text(out, "<div class=\"panel\"><div class=\"scroll\" tabindex=\"0\" role=\"region\" "
                  "aria-labelledby=\"compared\"><table class=\"compared\"><caption id=\"compared\">"
                  "Side by side; changes are against the first run</caption>");
    put_run_heads(out, digests, count);
    put_durations(out, digests, count);
    put_starts(out, digests, count);
    for (size_t i = 0; i < sizeof compared / sizeof compared[0]; i++)
        put_compared_row(out, &compared[i], digests, count);
    put_demands(out, digests, count);
    buf_text(out, "</tbody></table></div></div>\n");
}

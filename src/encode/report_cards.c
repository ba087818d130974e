/*
 * The key figures of a run as cards, and what to ask for next time.
 */
#include "encode/html.h"
#include "encode/human.h"
#include "encode/report_parts.h"
#include "encode/report_plan.h"
#include "model/advice.h"

#include <math.h>

#define BYTES_PER_MIB (1024.0 * 1024.0)

/* --- cards --- */

/* The share of `part` in `whole` as 0 to 100, for a bar. */
static double percent_of(double part, double whole)
{
    double percent = part / whole * 100;

    return percent > 0 ? (percent < 100 ? percent : 100) : 0;
}

static void put_bar_part(struct buf *out, const char *style, double percent)
{
    buf_text(out, "<rect class=\"");
    buf_text(out, style);
    buf_text(out, "\" height=\"6\" rx=\"1\" width=\"");
    buf_fixed(out, percent, 1);
    buf_text(out, "\"/>");
}

/* How much of what there was the mean and the peak were. */
static void put_bar(struct buf *out, double mean, double peak, double capacity)
{
    if (!(capacity > 0))
        return;
    buf_text(out, "<svg class=\"bar\" viewBox=\"0 0 100 6\" preserveAspectRatio=\"none\" "
                  "aria-hidden=\"true\">");
    put_bar_part(out, "track", 100);
    put_bar_part(out, "peak", percent_of(peak, capacity));
    put_bar_part(out, "mean", percent_of(mean, capacity));
    buf_text(out, "</svg>");
}

/* NaN, which reads "not known", where no sample had it. */
static double known_sum(const struct digest *digest, enum metric_id id)
{
    const struct statistic *statistic = &digest->metrics[id];

    return statistic_is_known(statistic) ? statistic->sum : NAN;
}

static void open_card(struct buf *out, const char *title)
{
    buf_text(out, "<li class=\"card\"><h3>");
    buf_text(out, title);
    buf_text(out, "</h3><p class=\"big\">");
}

/* A level of a metric, in the unit people read it in. */
static void put_level(struct buf *out, double value, const char *unit)
{
    bool is_mib = strcmp(unit, "MiB") == 0;

    human_quantity(out, is_mib ? value * BYTES_PER_MIB : value, is_mib ? "bytes" : unit);
}

/* Mean in large, then its peak, both against what the host has. */
static void put_mean_card(struct buf *out, const char *title, const struct digest *digest,
                          enum metric_id id, double capacity)
{
    const struct statistic *statistic = &digest->metrics[id];
    double mean = statistic_mean(statistic);

    if (!statistic_is_known(statistic))
        return;
    open_card(out, title);
    put_level(out, mean, metrics[id].unit);
    buf_text(out, " <small>mean</small></p>");
    put_bar(out, mean, statistic->max, capacity);
    buf_text(out, "<p>peak ");
    put_level(out, statistic->max, metrics[id].unit);
    buf_text(out, " at ");
    human_clock(out, statistic->max_elapsed_secs);
    if (capacity > 0) {
        buf_text(out, ", of ");
        put_level(out, capacity, metrics[id].unit);
    }
    if (id == METRIC_PROCESS_CORES_USED) {
        double cpu_secs =
            known_sum(digest, METRIC_PROCESS_UTIME) + known_sum(digest, METRIC_PROCESS_STIME);
        buf_text(out, "; CPU time ");
        if (isfinite(cpu_secs))
            human_duration(out, cpu_secs);
        else
            buf_text(out, "not known");
    }
    buf_text(out, "</p></li>");
}

static void put_memory_card(struct buf *out, const char *title, const struct digest *digest,
                            double peak, enum metric_id mean_of)
{
    double total = digest->metrics[METRIC_MEMORY_TOTAL].max;
    double mean = statistic_mean(&digest->metrics[mean_of]);

    if (!isfinite(peak))
        return;
    open_card(out, title);
    put_level(out, peak, "MiB");
    buf_text(out, " <small>peak</small></p>");
    put_bar(out, mean, peak, total);
    buf_text(out, "<p>mean ");
    put_level(out, mean, "MiB");
    if (total > 0) {
        buf_text(out, ", of ");
        put_level(out, total, "MiB");
    }
    buf_text(out, "</p></li>");
}

/* Two amounts that belong together: read and written, received and sent. */
static void put_amounts_card(struct buf *out, const char *title, const struct digest *digest,
                             enum metric_id first, const char *first_name, enum metric_id second,
                             const char *second_name)
{
    if (!statistic_is_known(&digest->metrics[first]) &&
        !statistic_is_known(&digest->metrics[second]))
        return;
    open_card(out, title);
    human_quantity(out, known_sum(digest, first), "bytes");
    buf_text(out, " <small>");
    buf_text(out, first_name);
    buf_text(out, "</small></p><p>");
    human_quantity(out, known_sum(digest, second), "bytes");
    buf_char(out, ' ');
    buf_text(out, second_name);
    buf_text(out, "; peaks ");
    human_quantity(out, digest->metrics[first].max, "bytes/s");
    buf_text(out, " and ");
    human_quantity(out, digest->metrics[second].max, "bytes/s");
    buf_text(out, "</p></li>");
}

static void put_gpu_cards(struct buf *out, const struct digest *digest, bool has_tree)
{
    double count = (double)digest->lists[DEVICE_GPU].count;

    if (!report_has_gpu(digest))
        return;
    if (has_tree)
        put_mean_card(out, "GPU of the job", digest, METRIC_PROCESS_GPU_USAGE, count);
    put_mean_card(out, "GPU of the host", digest, METRIC_TOTAL_GPU_USAGE, count);
    put_mean_card(out, has_tree ? "GPU memory of the job" : "GPU memory", digest,
                  has_tree ? METRIC_PROCESS_GPU_VRAM : METRIC_TOTAL_GPU_VRAM,
                  digest->host.gpu_vram_mib);
}

void report_cards(const struct digest *digest, struct buf *out)
{
    bool has_tree = digest_has_tree(digest);
    double cpus = digest_cpu_count(digest);

    if (digest->sample_count == 0) {
        buf_text(out, "<p class=\"panel\">The run ended before its first sample; there is nothing "
                      "to show.</p>");
        return;
    }
    buf_text(out, "<h2 class=\"says\">Key figures</h2><ul class=\"cards\">");
    if (has_tree) {
        put_mean_card(out, "CPU of the job", digest, METRIC_PROCESS_CORES_USED, cpus);
        put_memory_card(out, "Memory of the job", digest, advice_peak_memory_mib(digest),
                        METRIC_PROCESS_PSS);
    }
    put_mean_card(out, "CPU of the host", digest, METRIC_CPU_UTILIZATION, cpus);
    put_memory_card(out, "Memory of the host", digest, digest->metrics[METRIC_MEMORY_USED].max,
                    METRIC_MEMORY_USED);
    put_gpu_cards(out, digest, has_tree);
    if (has_tree)
        put_amounts_card(out, "Disk, by the job", digest, METRIC_PROCESS_DISK_READ, "read",
                         METRIC_PROCESS_DISK_WRITE, "written");
    else
        put_amounts_card(out, "Disk", digest, METRIC_TOTAL_DISK_READ, "read",
                         METRIC_TOTAL_DISK_WRITE, "written");
    put_amounts_card(out, "Network of the host", digest, METRIC_TOTAL_NET_RECV, "received",
                     METRIC_TOTAL_NET_SENT, "sent");
    buf_text(out, "</ul>\n");
}

/* --- what to ask for --- */

static void put_demand(struct buf *out, const char *name, const struct demand *demand,
                       const char *unit)
{
    if (!demand->is_known)
        return;
    buf_text(out, "<div><dt>");
    buf_text(out, name);
    buf_text(out, "</dt><dd>");
    put_level(out, demand->amount, unit);
    buf_text(out, "</dd><dd class=\"rule\">");
    html_text(out, demand->rule);
    buf_text(out, "</dd></div>");
}

static void put_hints(struct buf *out, const struct advice *advice)
{
    if (advice->hint_count == 0)
        return;
    buf_text(out, "<ul class=\"hints\">");
    for (size_t i = 0; i < advice->hint_count; i++) {
        buf_text(out, advice->hints[i].is_note ? "<li class=\"note\">" : "<li>");
        html_text(out, advice->hints[i].text);
        buf_text(out, "</li>");
    }
    buf_text(out, "</ul>");
}

void report_advice(const struct digest *digest, struct buf *out)
{
    struct advice advice;

    advise(digest, &advice);
    bool has_demand = advice.cpus.is_known || advice.memory.is_known || advice.gpus.is_known;
    if (!has_demand && advice.hint_count == 0)
        return;
    buf_text(out, "<section class=\"panel\"><h2>");
    buf_text(out, has_demand ? "What to ask for next time" : "Worth knowing");
    if (has_demand && !advice.is_of_tree)
        buf_text(out, " (by what the whole host used)");
    buf_text(out, "</h2><dl class=\"ask\">");
    put_demand(out, "CPUs", &advice.cpus, "");
    put_demand(out, "Memory", &advice.memory, "MiB");
    put_demand(out, "GPUs", &advice.gpus, "");
    put_demand(out, "GPU memory", &advice.vram, "MiB");
    buf_text(out, "</dl>");
    put_hints(out, &advice);
    buf_text(out, "</section>\n");
}

/*
 * Everything a report knows, as tables: all figures, every device, and what was said of the run.
 */
#include "encode/html.h"
#include "encode/human.h"
#include "encode/report_chart.h"
#include "encode/report_parts.h"
#include "version.h"

#include <math.h>
#include <string.h>

#define BYTES_PER_MIB (1024.0 * 1024.0)
/* Longer tables scroll inside the page. */
#define ROWS_TALL 14

/* `id` names the caption for the scrolling box, which must be reachable by keyboard. */
static void open_table(struct buf *out, const char *id, const char *caption, size_t rows,
                       bool is_wide)
{
    buf_text(out, is_wide ? "<div class=\"panel wide\"><div class=\"scroll"
                          : "<div class=\"panel\"><div class=\"scroll");
    buf_text(out, rows > ROWS_TALL ? " tall" : "");
    buf_text(out, "\" tabindex=\"0\" role=\"region\" aria-labelledby=\"");
    buf_text(out, id);
    buf_text(out, "\"><table><caption id=\"");
    buf_text(out, id);
    buf_text(out, "\">");
    buf_text(out, caption);
    if (rows > ROWS_TALL) {
        buf_text(out, " (");
        buf_u64(out, rows);
        buf_char(out, ')');
    }
    buf_text(out, "</caption>");
}

static void close_table(struct buf *out)
{
    buf_text(out, "</tbody></table></div></div>\n");
}

static void put_column_heads(struct buf *out, const char *const *heads, size_t count)
{
    buf_text(out, "<thead><tr>");
    for (size_t i = 0; i < count; i++) {
        buf_text(out, i == 0 ? "<th scope=\"col\" class=\"text\">" : "<th scope=\"col\">");
        buf_text(out, heads[i]);
        buf_text(out, "</th>");
    }
    buf_text(out, "</tr></thead><tbody>");
}

/* --- all figures --- */

static bool has_figures(const struct digest *digest, int id)
{
    bool is_number = metrics[id].kind == KIND_GAUGE || metrics[id].kind == KIND_DELTA ||
                     metrics[id].kind == KIND_TOTAL;

    return is_number && metrics[id].group != GROUP_HEAD && metrics[id].group != GROUP_TAIL &&
           statistic_is_known(&digest->metrics[id]);
}

/* Mean and peak of an amount are amounts per second; seconds per second are a share of a core. */
static const char *level_unit(const struct metric *metric)
{
    if (strcmp(metric->unit, "MiB") == 0)
        return "bytes";
    if (metric->kind != KIND_DELTA)
        return metric->unit;
    if (strcmp(metric->unit, "bytes") == 0)
        return "bytes/s";
    return strcmp(metric->unit, "s") == 0 ? "cores" : "/s";
}

static void put_figure_row(struct buf *out, const struct metric *metric,
                           const struct statistic *statistic)
{
    double scale = strcmp(metric->unit, "MiB") == 0 ? BYTES_PER_MIB : 1;

    buf_text(out, "<tr><th scope=\"row\">");
    html_text(out, metric->meaning);
    buf_text(out, " <small><code>");
    if (group_keys[metric->group][0] != '\0') {
        buf_text(out, group_keys[metric->group]);
        buf_char(out, '.');
    }
    buf_text(out, metric->key);
    buf_text(out, "</code></small></th>");
    if (metric->kind == KIND_TOTAL) {
        buf_text(out, "<td></td><td></td><td></td>");
        html_quantity_cell(out, statistic->last, metric->unit);
    } else {
        html_quantity_cell(out, statistic_mean(statistic) * scale, level_unit(metric));
        html_quantity_cell(out, statistic->max * scale, level_unit(metric));
        buf_text(out, "<td>");
        human_clock(out, statistic->max_elapsed_secs);
        buf_text(out, "</td>");
        if (metric->kind == KIND_DELTA)
            html_quantity_cell(out, statistic->sum, metric->unit);
        else
            buf_text(out, "<td></td>");
    }
    buf_text(out, "</tr>");
}

static void put_figures(const struct digest *digest, struct buf *out)
{
    static const char *const heads[] = {"Figure", "Mean", "Peak", "at", "Total"};
    size_t rows = 0;

    for (int id = 0; id < METRIC_COUNT; id++)
        rows += has_figures(digest, id);
    if (rows == 0)
        return;
    open_table(out, "figures", "All figures", rows, false);
    put_column_heads(out, heads, sizeof heads / sizeof heads[0]);
    for (int id = 0; id < METRIC_COUNT; id++)
        if (has_figures(digest, id))
            put_figure_row(out, &metrics[id], &digest->metrics[id]);
    close_table(out);
}

/* --- devices --- */

static bool is_rate(const struct digest_field *kept)
{
    return strcmp(fields[kept->field].unit, "bytes/s") == 0;
}

/* Sizes of file systems hardly move: what they were at the end says it. */
static bool is_size(const struct digest_field *kept)
{
    return fields[kept->field].type == TYPE_COUNTER && fields[kept->field].list == DEVICE_MOUNT;
}

static void put_device_heads(struct buf *out, const struct digest_fields *kept)
{
    buf_text(out, "<thead><tr><th scope=\"col\" class=\"text\">Name</th>"
                  "<th scope=\"col\" class=\"text\">Kind</th>");
    for (size_t i = 0; i < kept->count; i++) {
        const char *label = kept->fields[i].label;
        if (is_size(&kept->fields[i])) {
            buf_text(out, "<th scope=\"col\">");
            buf_text(out, label);
            buf_text(out, "</th>");
            continue;
        }
        buf_text(out, "<th scope=\"col\">");
        buf_text(out, label);
        buf_text(out, ", mean</th><th scope=\"col\">peak</th>");
        if (is_rate(&kept->fields[i]))
            buf_text(out, "<th scope=\"col\">total</th>");
    }
    buf_text(out, "</tr></thead><tbody>");
}

static void put_device_row(struct buf *out, const struct digest *digest, enum device_list list,
                           size_t index)
{
    const struct digest_fields *kept = &digest_fields[list];
    const struct digest_device *device = &digest->lists[list].devices[index];

    buf_text(out, "<tr><th scope=\"row\">");
    report_device_name(digest, list, index, out);
    buf_text(out, "</th>");
    html_text_cell(out, device->label);
    for (size_t i = 0; i < kept->count; i++) {
        const struct statistic *statistic = &device->statistics[i];
        const char *unit = fields[kept->fields[i].field].unit;
        if (is_size(&kept->fields[i])) {
            html_quantity_cell(out, statistic->last, unit);
            continue;
        }
        html_quantity_cell(out, statistic_mean(statistic), unit);
        html_quantity_cell(out, statistic->max, unit);
        if (is_rate(&kept->fields[i]))
            html_quantity_cell(out, statistic->weighted, "bytes");
    }
    buf_text(out, "</tr>");
}

static void put_devices(const struct digest *digest, enum device_list list, const char *caption,
                        struct buf *out)
{
    const struct digest_list *found = &digest->lists[list];

    if (found->count == 0)
        return;
    open_table(out, devices[list].key, caption, found->count, list != DEVICE_MOUNT);
    put_device_heads(out, &digest_fields[list]);
    for (size_t i = 0; i < found->count; i++)
        put_device_row(out, digest, list, i);
    close_table(out);
    if (found->left_out > 0)
        buf_text(out, "<p class=\"muted\">Not all are listed: there were too many.</p>");
}

static void put_cores(const struct digest *digest, struct buf *out)
{
    static const char *const heads[] = {"Core", "Mean", "Peak", "at"};
    const struct digest_cores *cores = &digest->cores;

    if (cores->count == 0)
        return;
    open_table(out, "core-table", "Cores", cores->count, false);
    put_column_heads(out, heads, sizeof heads / sizeof heads[0]);
    for (size_t i = 0; i < cores->count; i++) {
        buf_text(out, "<tr><th scope=\"row\">core ");
        buf_u64(out, i);
        buf_text(out, "</th>");
        html_quantity_cell(out, statistic_mean(&cores->statistics[i]), "%");
        html_quantity_cell(out, cores->statistics[i].max, "%");
        buf_text(out, "<td>");
        human_clock(out, cores->statistics[i].max_elapsed_secs);
        buf_text(out, "</td></tr>");
    }
    close_table(out);
}

/* --- what is known besides --- */

static void put_fact(struct buf *out, const char *name, const char *text)
{
    if (text == NULL || text[0] == '\0')
        return;
    buf_text(out, "<tr>");
    html_row_head(out, name);
    html_text_cell(out, text);
    buf_text(out, "</tr>");
}

static void put_number_fact(struct buf *out, const char *name, double value, const char *unit)
{
    if (!isfinite(value))
        return;
    buf_text(out, "<tr>");
    html_row_head(out, name);
    buf_text(out, "<td class=\"text\">");
    human_quantity(out, value, unit);
    buf_text(out, "</td></tr>");
}

static void put_run_facts(const struct run *run, struct buf *out)
{
    for (size_t i = 0; i < run_fact_count; i++)
        put_fact(out, run_facts[i].label, run_text(run, &run_facts[i]));
    for (size_t i = 0; i < run->tag_count; i++)
        put_fact(out, run->tags[i].key, run->tags[i].value);
}

static void put_host_facts(const struct digest *digest, struct buf *out)
{
    /* The accessors are for writing too. */
    struct host host = digest->host;

    for (size_t i = 0; i < host_fact_count; i++) {
        const struct host_fact *fact = &host_facts[i];
        if (fact->type == HOST_TEXT)
            put_fact(out, fact->key, host_text(&host, fact));
        else
            put_number_fact(out, fact->key, *host_number(&host, fact), "");
    }
}

static void put_metadata(const struct digest *digest, struct buf *out)
{
    open_table(out, "metadata", "About the run and its host", 0, false);
    buf_text(out, "<tbody>");
    put_run_facts(&digest->run, out);
    put_host_facts(digest, out);
    put_number_fact(out, "CPUs it may use", digest->cpu_limit, "");
    put_number_fact(out, "Memory it may use", digest->memory_limit_mib * BYTES_PER_MIB, "bytes");
    put_number_fact(out, "Interval", digest_interval(digest), "s");
    put_number_fact(out, "Samples", (double)digest->sample_count, "");
    put_number_fact(out, "Samples in a point of a chart",
                    digest->axis.count > 0 ? (double)digest->axis.samples_per_point : NAN, "");
    put_fact(out, "Report made by resource-tracker", TRACKER_VERSION);
    close_table(out);
}

void report_tables(const struct digest *digest, struct buf *out)
{
    buf_text(out, "<h2 id=\"tables\">Tables</h2><div class=\"tables\">\n");
    put_devices(digest, DEVICE_GPU, "GPUs", out);
    put_devices(digest, DEVICE_DISK, "Disks", out);
    put_devices(digest, DEVICE_NETWORK, "Network interfaces", out);
    put_devices(digest, DEVICE_MOUNT, "File systems", out);
    put_cores(digest, out);
    put_metadata(digest, out);
    put_figures(digest, out);
    buf_text(out, "</div>\n");
}

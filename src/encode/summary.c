#include "encode/summary.h"

#include "encode/human.h"
#include "encode/summary_figures.h"
#include "encode/summary_parts.h"
#include "model/advice.h"

#define HEAD_COLUMN 10
#define LABEL_COLUMN 22
#define VALUE_COLUMN 13
#define CLOCK_COLUMN 11
#define DEMAND_COLUMN 10
#define BYTES_PER_MIB (1024.0 * 1024.0)

/* --- the head: what it was --- */

static void put_head(struct table *table, const char *word)
{
    table_begin(table);
    table_paint(table, PAINT_DIM);
    table_text(table, word);
    table_paint(table, PAINT_NONE);
    table_to(table, HEAD_COLUMN);
}

static void put_word(struct table *table, const char *name, const char *value)
{
    if (value == NULL)
        return;
    table_text(table, ", ");
    table_text(table, name);
    table_text(table, value);
}

static void put_job(struct table *table, const struct digest *digest)
{
    const struct run *run = &digest->run;

    put_head(table, "job");
    table_paint(table, PAINT_BOLD);
    table_text(table, digest_name(digest)[0] != '\0' ? digest_name(digest) : "(no name)");
    table_paint(table, PAINT_NONE);
    if (digest->title != NULL)
        put_word(table, "", run->job_name);
    put_word(table, "stage ", run->stage_name);
    put_word(table, "task ", run->task_name);
    put_word(table, "project ", run->project_name);
    table_end(table);
}

/* Between two facts. */
static void put_comma(struct table *table)
{
    if (table->column > HEAD_COLUMN)
        table_text(table, ", ");
}

/* "2 x NVIDIA H200"; kinds that differ from the first are not named. */
static void put_gpu_facts(struct table *table, const struct host *host)
{
    if (!(host->gpu_count > 0))
        return;
    table_text(table, ", ");
    table_number(table, host->gpu_count, "count");
    table_text(table, " x ");
    table_text(table, host->gpu_model[0] != '\0' ? host->gpu_model : "GPU");
}

static void put_host(struct table *table, const struct digest *digest)
{
    const struct host *host = &digest->host;
    double cpus = digest_cpu_count(digest);
    double memory_mib =
        isnan(host->memory_mib) ? digest->metrics[METRIC_MEMORY_TOTAL].max : host->memory_mib;

    if (host->name[0] == '\0' && isnan(cpus) && isnan(memory_mib))
        return;
    put_head(table, "host");
    table_text(table, host->name);
    if (cpus > 0) {
        put_comma(table);
        table_number(table, cpus, "count");
        table_text(table, cpus > 1 ? " CPUs" : " CPU");
    }
    if (host->cpu_model[0] != '\0') {
        table_text(table, " (");
        table_text(table, host->cpu_model);
        table_text(table, ")");
    }
    if (memory_mib > 0) {
        put_comma(table);
        table_number(table, memory_mib * BYTES_PER_MIB, "bytes");
    }
    put_gpu_facts(table, host);
    put_word(table, "", text_or_null(host->cloud_instance_type));
    table_end(table);
}

static void put_time(struct table *table, const struct digest *digest)
{
    put_head(table, "duration");
    table_paint(table, PAINT_BOLD);
    table_duration(table, digest->duration_secs);
    table_paint(table, PAINT_NONE);
    if (!isnan(digest->start_unix_secs)) {
        table_text(table, " from ");
        human_date(&table->cell, digest->start_unix_secs);
        table_flush(table);
    }
    table_text(table, ", ");
    table_count(table, digest->sample_count);
    table_text(table, digest->sample_count == 1 ? " sample" : " samples");
    table_end(table);
}

static void put_exit(struct table *table, const struct digest *digest)
{
    if (!digest->has_end || !digest->end.has_command)
        return;
    put_head(table, "exit");
    table_exit(table, digest);
    table_end(table);
}

/* --- the figures --- */

static void put_headings(struct table *table)
{
    table_begin(table);
    table_paint(table, PAINT_DIM);
    table_right(table, LABEL_COLUMN + VALUE_COLUMN, "mean");
    table_right(table, LABEL_COLUMN + 2 * VALUE_COLUMN, "peak");
    table_right(table, LABEL_COLUMN + 2 * VALUE_COLUMN + CLOCK_COLUMN, "at");
    table_right(table, LABEL_COLUMN + 3 * VALUE_COLUMN + CLOCK_COLUMN, "total");
    table_end(table);
}

static void put_figure(struct table *table, const struct summary_figure *figure,
                       const struct digest *digest, bool is_first)
{
    struct figure_values values = summary_figure_values(figure, digest);

    table_begin(table);
    table_paint(table, PAINT_DIM);
    table_text(table, !is_first ? "" : figure->is_tree ? "job" : "host");
    table_paint(table, PAINT_NONE);
    table_to(table, 6);
    table_text(table, figure->label);
    if (!isnan(values.mean))
        table_quantity(table, LABEL_COLUMN + VALUE_COLUMN, values.mean, figure->unit);
    table_paint(table, PAINT_BOLD);
    table_quantity(table, LABEL_COLUMN + 2 * VALUE_COLUMN, values.peak, figure->unit);
    table_paint(table, PAINT_NONE);
    if (values.peak > 0)
        table_clock(table, LABEL_COLUMN + 2 * VALUE_COLUMN + CLOCK_COLUMN,
                    values.peak_elapsed_secs);
    if (!isnan(values.total))
        table_quantity(table, LABEL_COLUMN + 3 * VALUE_COLUMN + CLOCK_COLUMN, values.total,
                       figure->total_unit);
    table_end(table);
}

static void put_figures(struct table *table, const struct digest *digest)
{
    const struct summary_figure *before = NULL;

    for (size_t i = 0; i < summary_figure_count; i++) {
        const struct summary_figure *figure = &summary_figures[i];
        if (!summary_figure_is_shown(figure, digest))
            continue;
        if (before == NULL) {
            table_line(table, "");
            put_headings(table);
        }
        put_figure(table, figure, digest, before == NULL || before->is_tree != figure->is_tree);
        before = figure;
    }
}

/* --- what follows --- */

static void put_heading(struct table *table, const char *text)
{
    table_line(table, "");
    table_begin(table);
    table_paint(table, PAINT_BOLD);
    table_text(table, text);
    table_end(table);
}

static void put_hints(struct table *table, const struct advice *advice)
{
    if (advice->hint_count == 0)
        return;
    put_heading(table, "where it was bound");
    for (size_t i = 0; i < advice->hint_count; i++) {
        table_begin(table);
        table_text(table, "  ");
        table_paint(table, advice->hints[i].is_note ? PAINT_NONE : PAINT_WARN);
        table_text(table, advice->hints[i].text);
        table_end(table);
    }
}

static void put_demand(struct table *table, const char *what, const struct demand *demand,
                       bool is_memory)
{
    if (!demand->is_known)
        return;
    table_begin(table);
    table_text(table, "  ");
    table_text(table, what);
    table_to(table, HEAD_COLUMN);
    table_paint(table, PAINT_GOOD);
    put_amount(&table->cell, demand->amount, is_memory);
    table_flush(table);
    table_paint(table, PAINT_NONE);
    table_to(table, HEAD_COLUMN + DEMAND_COLUMN);
    table_paint(table, PAINT_DIM);
    table_text(table, demand->rule);
    table_end(table);
}

static void put_advice(struct table *table, const struct digest *digest,
                       const struct advice *advice)
{
    bool has_gpus = digest->lists[DEVICE_GPU].count > 0 || advice->gpus.amount > 0;

    put_hints(table, advice);
    if (!advice->cpus.is_known && !advice->memory.is_known && !has_gpus)
        return;
    put_heading(table, advice->is_of_tree ? "ask for next time"
                                          : "ask for next time (by what the whole host used)");
    put_demand(table, "cpus", &advice->cpus, false);
    put_demand(table, "memory", &advice->memory, true);
    if (has_gpus)
        put_demand(table, "gpus", &advice->gpus, false);
    put_demand(table, "vram", &advice->vram, true);
}

static void put_one(struct table *table, const struct digest *digest)
{
    struct advice advice;

    advise(digest, &advice);
    put_job(table, digest);
    put_host(table, digest);
    put_time(table, digest);
    put_exit(table, digest);
    if (digest->sample_count == 0) {
        table_line(table, "");
        table_line(table, "no sample was taken");
        return;
    }
    put_figures(table, digest);
    put_advice(table, digest, &advice);
}

void summary_text(const struct digest *const *digests, size_t count,
                  const struct summary_style *style, struct buf *out)
{
    struct table table;

    if (!table_init(&table, style, out))
        return;
    if (count == 1)
        put_one(&table, digests[0]);
    else
        summary_compare(&table, digests, count);
    table_free(&table);
}

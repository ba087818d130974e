#include "encode/host_json.h"
#include "encode/json.h"
#include "encode/run_json.h"
#include "encode/summary.h"
#include "encode/summary_figures.h"
#include "model/advice.h"
#include "version.h"

#include <string.h>

#define SECS_DECIMALS 4

/* --- members --- */

/* `key` is one of ours and needs no escaping. */
static void put_key(struct buf *out, const char *key)
{
    char last = out->size > 0 ? out->data[out->size - 1] : '{';

    if (last != '{' && last != '[')
        buf_char(out, ',');
    buf_char(out, '"');
    buf_text(out, key);
    buf_text(out, "\":");
}

static void put_number(struct buf *out, const char *key, double value, unsigned decimals)
{
    put_key(out, key);
    if (isfinite(value))
        buf_fixed(out, value, decimals);
    else
        buf_text(out, "null");
}

static void put_text(struct buf *out, const char *key, const char *text)
{
    put_key(out, key);
    json_text(text, out);
}

/* As many as the unit deserves. */
static unsigned decimals_of(const char *unit)
{
    return strcmp(unit, "bytes") == 0 ? 0 : strcmp(unit, "bytes/s") == 0 ? 1 : 4;
}

/* --- the run --- */

static void put_run(struct buf *out, const struct digest *digest)
{
    const struct run *run = &digest->run;

    put_text(out, "title", digest->title);
    for (size_t i = 0; i < run_fact_count; i++)
        put_text(out, run_facts[i].key, run_text(run, &run_facts[i]));
    put_key(out, "tags");
    json_run_tags(run, out);
    put_key(out, "command");
    if (run->command != NULL)
        json_run_command(run->command, SIZE_MAX, out); /* whole: it is sent to nobody */
    else
        buf_text(out, "null");
}

static void put_course(struct buf *out, const struct digest *digest)
{
    const struct run_end *end = &digest->end;
    bool has_code = digest->has_end && end->has_command && end->has_exit_code;
    bool has_signal = digest->has_end && end->has_command && end->signal != 0;

    put_number(out, "start_secs", digest->start_unix_secs, SECS_DECIMALS);
    put_number(out, "duration_secs", digest->duration_secs, SECS_DECIMALS);
    put_number(out, "sample_count", (double)digest->sample_count, 0);
    put_number(out, "interval_secs", digest_interval(digest), SECS_DECIMALS);
    put_number(out, "exit_code", has_code ? (double)end->exit_code : NAN, 0);
    put_number(out, "exit_signal", has_signal ? (double)end->signal : NAN, 0);
    put_number(out, "cpu_limit", digest->cpu_limit, 2);
    put_number(out, "memory_limit_mib", digest->memory_limit_mib, 2);
}

static void put_host(struct buf *out, const struct digest *digest)
{
    struct host host = digest->host;

    if (isnan(host.vcpus))
        host.vcpus = digest->cpu_count;
    if (isnan(host.memory_mib))
        host.memory_mib = digest->metrics[METRIC_MEMORY_TOTAL].max;
    put_key(out, "host");
    buf_char(out, '{');
    json_host_members(&host, HOST_NAMES_SPECIFIED, out);
    buf_char(out, '}');
}

/* --- what it used --- */

static void put_figure(struct buf *out, const struct summary_figure *figure,
                       const struct digest *digest)
{
    struct figure_values values = summary_figure_values(figure, digest);
    unsigned decimals = decimals_of(figure->unit);

    put_key(out, figure->key);
    buf_char(out, '{');
    put_text(out, "unit", figure->unit);
    put_number(out, "mean", values.mean, decimals);
    put_number(out, "peak", values.peak, decimals);
    put_number(out, "peak_at_secs", values.peak_unix_secs, 0);
    put_number(out, "peak_elapsed_secs", values.peak_elapsed_secs, SECS_DECIMALS);
    if (figure->total_unit != NULL) {
        put_number(out, "total", values.total, decimals_of(figure->total_unit));
        put_text(out, "total_unit", figure->total_unit);
    }
    buf_char(out, '}');
}

static void put_figures(struct buf *out, const struct digest *digest, bool is_tree)
{
    put_key(out, is_tree ? "job_used" : "host_used");
    buf_char(out, '{');
    for (size_t i = 0; i < summary_figure_count; i++) {
        const struct summary_figure *figure = &summary_figures[i];
        if (figure->is_tree == is_tree && summary_figure_is_shown(figure, digest))
            put_figure(out, figure, digest);
    }
    buf_char(out, '}');
}

/* Each figure that is kept of a device: {"mean":…,"peak":…,"last":…}. */
static void put_device(struct buf *out, enum device_list list, const struct digest_device *device)
{
    buf_char(out, '{');
    put_text(out, fields[devices[list].first].key, device->name);
    put_text(out, "label", text_or_null(device->label));
    for (size_t i = 0; i < digest_fields[list].count; i++) {
        const struct field *field = &fields[digest_fields[list].fields[i].field];
        const struct statistic *statistic = &device->statistics[i];
        put_key(out, field->key);
        buf_char(out, '{');
        put_number(out, "mean", statistic_mean(statistic), field->decimals);
        put_number(out, "peak", statistic->max, field->decimals);
        put_number(out, "last", statistic->last, field->decimals);
        buf_char(out, '}');
    }
    if (list == DEVICE_GPU)
        put_number(out, "throttled_secs", device->throttled_secs, SECS_DECIMALS);
    buf_char(out, '}');
}

static void put_devices(struct buf *out, const struct digest *digest)
{
    for (int list = 0; list < DEVICE_COUNT; list++) {
        put_key(out, devices[list].key);
        buf_char(out, '[');
        for (size_t i = 0; i < digest->lists[list].count; i++) {
            if (i > 0)
                buf_char(out, ',');
            put_device(out, (enum device_list)list, &digest->lists[list].devices[i]);
        }
        buf_char(out, ']');
    }
}

/* --- what follows --- */

static void put_hints(struct buf *out, const struct advice *advice)
{
    put_key(out, "hints");
    buf_char(out, '[');
    for (size_t i = 0; i < advice->hint_count; i++) {
        buf_text(out, i > 0 ? ",{" : "{");
        put_text(out, "id", hint_ids[advice->hints[i].kind]);
        put_text(out, "text", advice->hints[i].text);
        buf_char(out, '}');
    }
    buf_char(out, ']');
}

static void put_demand(struct buf *out, const char *key, const struct demand *demand)
{
    put_key(out, key);
    buf_char(out, '{');
    put_number(out, "amount", demand->is_known ? demand->amount : NAN, 0);
    put_text(out, "rule", text_or_null(demand->rule));
    buf_char(out, '}');
}

static void put_one(struct buf *out, const struct digest *digest)
{
    struct advice advice;

    advise(digest, &advice);
    buf_char(out, '{');
    put_run(out, digest);
    put_course(out, digest);
    put_host(out, digest);
    put_figures(out, digest, true);
    put_figures(out, digest, false);
    put_devices(out, digest);
    put_hints(out, &advice);
    put_key(out, "ask_for");
    buf_char(out, '{');
    put_text(out, "based_on", advice.is_of_tree ? "job" : "host");
    put_demand(out, "cpus", &advice.cpus);
    put_demand(out, "memory_mib", &advice.memory);
    put_demand(out, "gpus", &advice.gpus);
    put_demand(out, "vram_mib", &advice.vram);
    buf_char(out, '}');
    put_text(out, "resource-tracker-version", TRACKER_VERSION);
    buf_text(out, "}\n");
}

void summary_json(const struct digest *const *digests, size_t count, struct buf *out)
{
    for (size_t i = 0; i < count; i++)
        put_one(out, digests[i]);
}

#include "model/digest.h"

#include "base/array.h"
#include "base/fmt.h"
#include "model/digest_devices.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_PER_MIB (1024.0 * 1024.0)
/* Until an interval is told. */
#define ASSUMED_INTERVAL_SECS 1.0
/* What is shorter cannot be told from nothing, and amounts are divided by it. */
#define INTERVAL_MIN_SECS 1e-4
/* A sample that covers less than this share of the time of the one before is a short one. */
#define SHORT_SHARE 0.1
#define CPU_FULL_SHARE 0.95
#define MEMORY_LOW_SHARE 0.05

/* --- charts --- */

const struct digest_chart_info digest_charts[CHART_COUNT] = {
    [CHART_CPU] = {"cpu", "CPU", "cores"},
    [CHART_MEMORY] = {"memory", "Memory", "bytes"},
    [CHART_DISK] = {"disk", "Disk", "bytes/s"},
    [CHART_NETWORK] = {"network", "Network", "bytes/s"},
    [CHART_GPU] = {"gpu", "GPU", "GPUs"},
    [CHART_VRAM] = {"vram", "GPU memory", "bytes"},
    [CHART_PROCESSES] = {"processes", "Processes", "count"},
};

const struct digest_series digest_series[] = {
    {METRIC_PROCESS_CORES_USED, CHART_CPU, true, "job", 1},
    {METRIC_CPU_UTILIZATION, CHART_CPU, false, "host", 1},
    {METRIC_PROCESS_PSS, CHART_MEMORY, true, "job (PSS)", BYTES_PER_MIB},
    {METRIC_PROCESS_RSS, CHART_MEMORY, true, "job (RSS)", BYTES_PER_MIB},
    {METRIC_MEMORY_USED, CHART_MEMORY, false, "host", BYTES_PER_MIB},
    {METRIC_PROCESS_DISK_READ, CHART_DISK, true, "read by the job", 1},
    {METRIC_PROCESS_DISK_WRITE, CHART_DISK, true, "written by the job", 1},
    {METRIC_TOTAL_DISK_READ, CHART_DISK, false, "read", 1},
    {METRIC_TOTAL_DISK_WRITE, CHART_DISK, false, "written", 1},
    {METRIC_TOTAL_NET_RECV, CHART_NETWORK, false, "received", 1},
    {METRIC_TOTAL_NET_SENT, CHART_NETWORK, false, "sent", 1},
    {METRIC_PROCESS_GPU_USAGE, CHART_GPU, true, "job", 1},
    {METRIC_TOTAL_GPU_USAGE, CHART_GPU, false, "host", 1},
    {METRIC_PROCESS_GPU_VRAM, CHART_VRAM, true, "job", BYTES_PER_MIB},
    {METRIC_TOTAL_GPU_VRAM, CHART_VRAM, false, "host", BYTES_PER_MIB},
    {METRIC_PROCESS_CHILD_COUNT, CHART_PROCESSES, true, "descendants", 1},
    {METRIC_PROCESS_THREADS, CHART_PROCESSES, true, "threads", 1},
    {METRIC_CPU_PROCESS_COUNT, CHART_PROCESSES, false, "on the host", 1},
};
_Static_assert(sizeof digest_series / sizeof digest_series[0] == DIGEST_SERIES_COUNT,
               "the header says how many there are");

/* --- start and end --- */

int digest_init(struct digest *digest, bool want_series)
{
    memset(digest, 0, sizeof *digest);
    host_reset(&digest->host);
    digest->cpu_limit = digest->memory_limit_mib = NAN;
    digest->interval_secs = digest->last_interval_secs = NAN;
    digest->start_unix_secs = NAN;
    digest->cpu_count = NAN;
    digest->has_series = want_series;
    axis_init(&digest->axis);
    for (size_t i = 0; i < METRIC_COUNT; i++)
        statistic_init(&digest->metrics[i]);
    if (!want_series)
        return 0;
    digest->series = calloc(DIGEST_SERIES_COUNT, sizeof *digest->series);
    if (digest->series == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < DIGEST_SERIES_COUNT; i++)
        series_init(&digest->series[i]);
    return 0;
}

void digest_free(struct digest *digest)
{
    digest_free_devices(digest);
    for (size_t i = 0; i < digest->owned_count; i++)
        free(digest->owned[i]);
    free(digest->owned);
    free(digest->tags);
    free(digest->command);
    free(digest->series);
    *digest = (struct digest){0};
}

/* --- about the run --- */

/* NULL stays NULL; false when out of memory. */
static bool own(struct digest *digest, const char **text)
{
    if (*text == NULL)
        return true;
    char **owned =
        array_grow(digest->owned, &digest->owned_capacity, digest->owned_count + 1, sizeof *owned);
    if (owned == NULL)
        return false;
    digest->owned = owned;
    char *copy = strdup(*text);
    if (copy == NULL)
        return false;
    owned[digest->owned_count++] = copy;
    *text = copy;
    return true;
}

static bool own_texts(struct digest *digest, struct run *run)
{
    for (size_t i = 0; i < run_fact_count; i++) {
        const char *text = run_text(run, &run_facts[i]);
        if (!own(digest, &text))
            return false;
        run_set_text(run, &run_facts[i], text);
    }
    return true;
}

static bool own_tags(struct digest *digest, struct run *run)
{
    struct tag *tags = calloc(run->tag_count + 1, sizeof *tags);
    if (tags == NULL)
        return false;
    free(digest->tags);
    digest->tags = tags;
    for (size_t i = 0; i < run->tag_count; i++) {
        tags[i] = run->tags[i];
        if (!own(digest, &tags[i].key) || !own(digest, &tags[i].value))
            return false;
    }
    run->tags = tags;
    return true;
}

static bool own_command(struct digest *digest, struct run *run)
{
    size_t count = 0;

    while (run->command != NULL && run->command[count] != NULL)
        count++;
    char **command = calloc(count + 1, sizeof *command);
    if (command == NULL)
        return false;
    free(digest->command);
    digest->command = command;
    for (size_t i = 0; i < count; i++) {
        const char *word = run->command[i];
        if (!own(digest, &word))
            return false;
        command[i] = digest->owned[digest->owned_count - 1];
    }
    run->command = run->command != NULL ? command : NULL;
    return true;
}

int digest_set_run(struct digest *digest, const struct run *run)
{
    struct run copy = *run;

    if (!own_texts(digest, &copy) || !own_tags(digest, &copy) || !own_command(digest, &copy))
        return -ENOMEM;
    digest->run = copy;
    return 0;
}

int digest_set_title(struct digest *digest, const char *title)
{
    if (!own(digest, &title))
        return -ENOMEM;
    digest->title = title;
    return 0;
}

void digest_set_host(struct digest *digest, const struct host *host)
{
    digest->host = *host;
}

void digest_set_end(struct digest *digest, const struct run_end *end)
{
    digest->end = *end;
    digest->has_end = true;
}

void digest_phase(struct digest *digest, const char *text)
{
    const struct digest_phase *last =
        digest->phase_count > 0 ? &digest->phases[digest->phase_count - 1] : NULL;

    if (digest->phase_count == DIGEST_PHASES_MAX ||
        (last != NULL && strncmp(last->text, text, sizeof last->text - 1) == 0))
        return;
    struct digest_phase *phase = &digest->phases[digest->phase_count++];
    phase->elapsed_secs = digest->duration_secs;
    snprintf(phase->text, sizeof phase->text, "%s", text);
}

/* --- time --- */

/* All that is known so far was taken for one second a sample, and each was `factor` seconds. */
static void rescale(struct digest *digest, double factor)
{
    for (size_t i = 0; i < METRIC_COUNT; i++)
        statistic_rescale(&digest->metrics[i], metrics[i].kind == KIND_DELTA, factor);
    for (size_t i = 0; i < STATE_COUNT; i++)
        digest->state_secs[i] *= factor;
    for (size_t i = 0; i < digest->phase_count; i++)
        digest->phases[i].elapsed_secs *= factor;
    digest_rescale_devices(digest, factor);
    for (size_t i = 0; digest->has_series && i < DIGEST_SERIES_COUNT; i++)
        series_rescale(&digest->series[i], &digest->axis,
                       metrics[digest_series[i].metric].kind == KIND_DELTA, factor);
    axis_rescale(&digest->axis, factor);
    digest->start_unix_secs += ASSUMED_INTERVAL_SECS - factor;
    digest->duration_secs *= factor;
}

static double settle_interval(struct digest *digest, double interval_secs)
{
    if (!(interval_secs < INFINITY))
        return isnan(digest->last_interval_secs) ? ASSUMED_INTERVAL_SECS
                                                 : digest->last_interval_secs;
    if (interval_secs < INTERVAL_MIN_SECS)
        interval_secs = INTERVAL_MIN_SECS;
    if (isnan(digest->last_interval_secs) && digest->sample_count > 0)
        rescale(digest, interval_secs);
    digest->last_interval_secs = interval_secs;
    return interval_secs;
}

static struct moment next_moment(struct digest *digest, const struct sample *sample,
                                 double interval_secs)
{
    double before_secs = digest->last_interval_secs;
    interval_secs = settle_interval(digest, interval_secs);
    double unix_secs =
        fmt_rounded(sample->value[METRIC_TIMESTAMP_SECS], metrics[METRIC_TIMESTAMP_SECS].decimals);

    if (digest->sample_count++ == 0)
        digest->start_unix_secs = unix_secs - interval_secs;
    digest->duration_secs += interval_secs;
    return (struct moment){
        .unix_secs = unix_secs,
        .elapsed_secs = digest->duration_secs,
        .interval_secs = interval_secs,
        .is_short = interval_secs < SHORT_SHARE * before_secs,
    };
}

/* --- one sample --- */

static void make_point(struct digest *digest, const struct moment *moment)
{
    if (!digest->has_series)
        return;
    if (axis_is_full(&digest->axis)) {
        for (size_t i = 0; i < DIGEST_SERIES_COUNT; i++)
            series_merge(&digest->series[i], &digest->axis);
        digest_merge_devices(digest);
        axis_merge(&digest->axis);
    }
    if (!axis_add(&digest->axis, moment->elapsed_secs))
        return;
    for (size_t i = 0; i < DIGEST_SERIES_COUNT; i++)
        series_open_point(&digest->series[i], &digest->axis);
    digest_open_device_points(digest);
}

/* Cores in use are an average over the sample, although they add up to nothing. */
static enum value_kind kind_of(const struct metric *metric)
{
    if (metric->kind == KIND_DELTA)
        return VALUE_AMOUNT;
    return strcmp(metric->unit, "cores") == 0 ? VALUE_RATE : VALUE_GAUGE;
}

/* Leaves the level of each in `levels`. */
static void add_metrics(struct digest *digest, const struct sample *sample,
                        const struct moment *moment, double *levels)
{
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        bool is_number = metrics[i].kind != KIND_SERIES && metrics[i].kind != KIND_TEXT;
        double value = is_number ? fmt_rounded(sample->value[i], metrics[i].decimals) : NAN;
        levels[i] = statistic_add(&digest->metrics[i], value, kind_of(&metrics[i]), moment);
    }
    for (size_t i = 0; digest->has_series && i < DIGEST_SERIES_COUNT; i++)
        series_add(&digest->series[i], &digest->axis,
                   levels[digest_series[i].metric] * digest_series[i].scale, moment->interval_secs);
}

static void add_states(struct digest *digest, const double *levels, double cpus,
                       double interval_secs)
{
    double own_cpus = digest->cpu_limit < cpus ? digest->cpu_limit : cpus;

    if (cpus > digest->cpu_count || isnan(digest->cpu_count))
        digest->cpu_count = cpus;
    if (levels[METRIC_CPU_UTILIZATION] > CPU_FULL_SHARE * cpus)
        digest->state_secs[STATE_HOST_CPU_FULL] += interval_secs;
    if (levels[METRIC_PROCESS_CORES_USED] > CPU_FULL_SHARE * own_cpus)
        digest->state_secs[STATE_TREE_CPU_FULL] += interval_secs;
    if (levels[METRIC_MEMORY_AVAILABLE] < MEMORY_LOW_SHARE * levels[METRIC_MEMORY_TOTAL])
        digest->state_secs[STATE_MEMORY_LOW] += interval_secs;
}

void digest_add(struct digest *digest, const struct sample *sample, double interval_secs)
{
    double levels[METRIC_COUNT];
    double cpus = sample->per_core_count > 0 ? (double)sample->per_core_count : NAN;
    struct moment moment = next_moment(digest, sample, interval_secs);

    make_point(digest, &moment);
    add_metrics(digest, sample, &moment, levels);
    add_states(digest, levels, cpus, moment.interval_secs);
    digest_add_devices(digest, sample, &moment);
    digest_add_cores(digest, sample, &moment);
}

/* --- questions --- */

double digest_interval(const struct digest *digest)
{
    if (!isnan(digest->interval_secs))
        return digest->interval_secs;
    return digest->sample_count > 0 ? digest->duration_secs / (double)digest->sample_count : NAN;
}

bool digest_has_tree(const struct digest *digest)
{
    return statistic_is_known(&digest->metrics[METRIC_PROCESS_CORES_USED]);
}

double digest_cpu_count(const struct digest *digest)
{
    return isnan(digest->cpu_count) ? digest->host.vcpus : digest->cpu_count;
}

const char *digest_name(const struct digest *digest)
{
    if (digest->title != NULL)
        return digest->title;
    if (digest->run.job_name != NULL)
        return digest->run.job_name;
    return digest->run.command != NULL && digest->run.command[0] != NULL ? digest->run.command[0]
                                                                         : "";
}

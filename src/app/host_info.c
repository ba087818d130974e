#include "app/host_info.h"

#include "app/host_lookup.h"
#include "app/show.h"
#include "app/tracker.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/sysroot.h"
#include "collect/collector.h"
#include "discover/host_facts.h"
#include "discover/orchestrator.h"
#include "encode/host_json.h"
#include "encode/json.h"

#ifdef TRACKER_NET
#include "net/http.h"
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A driver that is being initialised for the first time since boot takes seconds. */
#define GPU_PATIENCE_NS (3 * NS_PER_SEC)
/* Long enough to see whether others keep the host busy. */
#define LOOK_NS (300 * NS_PER_MS)

/* A driver that does not answer leaves it open how many there are. */
static void describe_gpus(struct host *host, const struct sample *sample)
{
    const struct rows *list = sample->rows[DEVICE_GPU];
    bool is_empty = list == NULL || list->count == 0;

    if (!is_empty || !isnan(sample->value[METRIC_TOTAL_GPU_USAGE]))
        host_describe_gpus(host, list);
}

/* What a sample tells: GPUs, and whether the host is busy. False: a driver does not answer. */
static bool describe_by_sample(struct host *host, const struct sysroot *root, bool no_gpu)
{
    struct collect_context context = {
        .root = root, .no_gpu = no_gpu, .gpu_patience_ns = GPU_PATIENCE_NS};
    struct tick tick = {.now_ns = clock_monotonic_ns(), .priming = true};
    struct timespec pause = clock_timespec(LOOK_NS);
    struct collectors *collectors;
    struct sample sample;

    if (collectors_open(&context, &collectors) < 0)
        return true;
    collectors_read(collectors, &tick, &sample);
    (void)nanosleep(&pause, NULL);
    tick = (struct tick){.now_ns = tick.now_ns + LOOK_NS, .elapsed_ns = LOOK_NS};
    collectors_read(collectors, &tick, &sample);
    /* Whatever runs now is others'. */
    host_lookup_allocation(root, sample.value[METRIC_CPU_UTILIZATION],
                           (double)sample.per_core_count, host);
    /* Only now: a driver that starts keeps a CPU busy. */
    collectors_describe(collectors);
    tick.is_last = true;
    collectors_read(collectors, &tick, &sample);
    if (!no_gpu)
        describe_gpus(host, &sample);
    if (!collectors_stop(collectors))
        return false;
    collectors_close(collectors);
    return true;
}

static void describe_cloud(struct host *host)
{
#ifdef TRACKER_NET
    char problem[HTTP_PROBLEM_MAX] = "out of memory";
    struct http *http;

    if (http_open(&http, problem) < 0) {
        log_say("which cloud this is cannot be asked: %s", problem);
        return;
    }
    host_lookup_cloud(http, host);
    http_close(http);
#else
    (void)host;
    log_say("which cloud this is cannot be asked: built without the libraries for it");
#endif
}

/* The rest only a user can say: it tells nothing of where we are. */
static void put_detectable(const struct run *run, struct buf *out)
{
    for (size_t i = 0; i < run_fact_count; i++) {
        if (!run_facts[i].is_detectable)
            continue;
        buf_text(out, ",\"");
        buf_text(out, run_facts[i].key);
        buf_text(out, "\":");
        json_text(run_text(run, &run_facts[i]), out);
    }
}

static void print_info(struct host *host, const struct run *run, struct buf *out)
{
    buf_char(out, '{');
    json_host_members(host, HOST_NAMES_SPECIFIED, out);
    put_detectable(run, out);
    buf_text(out, "}\n");
}

int host_info(const struct config *config, char *const *environment)
{
    struct run run = config->run;
    struct sysroot root;
    struct host host;
    const char *culprit = NULL;

    int error = sysroot_open(&root, config->procfs, config->sysfs, &culprit);
    if (error < 0) {
        log_say("option --%s: cannot open %s: %s", culprit == config->procfs ? "procfs" : "sysfs",
                culprit, strerror(-error));
        return STATUS_CANNOT_START;
    }
    host_reset(&host);
    host_discover(&root, &host);
    host_discover_address(&host);
    bool drivers_answer = describe_by_sample(&host, &root, config->no_gpu);
    describe_cloud(&host);
    host_lookup_override(environment, true, &host);
    if (!config->no_detect)
        orchestrator_detect(&run, environment);

    struct buf text;
    int status = STATUS_CANNOT_START;
    if (buf_init(&text, 4096, 1024 * 1024) == 0) {
        print_info(&host, &run, &text);
        if (text.overflow)
            log_say("what is known of the host is too long to be printed");
        else
            status = show_text(&text);
    }
    buf_free(&text);
    /* With a thread stuck in a driver, unloading that driver's library could hang us too. */
    if (!drivers_answer)
        _exit(status);
    sysroot_close(&root);
    return status;
}

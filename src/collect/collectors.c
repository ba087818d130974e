/*
 * The registry. The order is the order of reading: CPU first, GPUs after the process tree, our
 * own cost last.
 */
#include "base/clock.h"
#include "collect/collector.h"

#include <errno.h>
#include <stdlib.h>

static const struct collector *const registry[] = {
    &cpu_collector,     &memory_collector, &network_collector, &disk_collector,
    &process_collector, &gpu_collector,    &self_collector,
};

enum { REGISTRY_SIZE = sizeof registry / sizeof registry[0] };

struct collectors {
    void *state[REGISTRY_SIZE]; /* NULL: not on this host */
};

int collectors_open(const struct collect_context *context, struct collectors **ret_collectors)
{
    struct collectors *collectors = calloc(1, sizeof *collectors);
    if (collectors == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < REGISTRY_SIZE; i++)
        if (registry[i]->open(context, &collectors->state[i]) < 0)
            collectors->state[i] = NULL;
    *ret_collectors = collectors;
    return 0;
}

void collectors_read(struct collectors *collectors, const struct tick *tick, struct sample *sample)
{
    uint64_t begin_ns = clock_monotonic_ns();

    sample_reset(sample);
    for (size_t i = 0; i < REGISTRY_SIZE; i++)
        if (collectors->state[i] != NULL)
            registry[i]->read(collectors->state[i], tick, sample);
    sample->value[METRIC_TRACKER_SAMPLE] = (double)(clock_monotonic_ns() - begin_ns) / NS_PER_US;
}

void collectors_describe(struct collectors *collectors)
{
    for (size_t i = 0; i < REGISTRY_SIZE; i++)
        if (collectors->state[i] != NULL && registry[i]->describe != NULL)
            registry[i]->describe(collectors->state[i]);
}

void collectors_child_ended(struct collectors *collectors, pid_t pid, const struct rusage *rusage)
{
    for (size_t i = 0; i < REGISTRY_SIZE; i++)
        if (collectors->state[i] != NULL && registry[i]->child_ended != NULL)
            registry[i]->child_ended(collectors->state[i], pid, rusage);
}

const char *collectors_remark(struct collectors *collectors)
{
    const char *remark = NULL;

    for (size_t i = 0; i < REGISTRY_SIZE && remark == NULL; i++)
        if (collectors->state[i] != NULL && registry[i]->remark != NULL)
            remark = registry[i]->remark(collectors->state[i]);
    return remark;
}

bool collectors_stop(struct collectors *collectors)
{
    bool all_stopped = true;

    for (size_t i = 0; collectors != NULL && i < REGISTRY_SIZE; i++)
        if (collectors->state[i] != NULL && registry[i]->stop != NULL)
            all_stopped &= registry[i]->stop(collectors->state[i]);
    return all_stopped;
}

void collectors_close(struct collectors *collectors)
{
    if (collectors == NULL)
        return;
    for (size_t i = 0; i < REGISTRY_SIZE; i++)
        if (collectors->state[i] != NULL)
            registry[i]->close(collectors->state[i]);
    free(collectors);
}

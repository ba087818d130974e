/*
 * The registry of sinks.
 */
#include "sink/sink.h"

#include <errno.h>
#include <stdlib.h>

static const struct sink *const registry[] = {
    &output_sink,
#ifdef TRACKER_NET
    &stream_sink,
#endif
};

enum { REGISTRY_SIZE = sizeof registry / sizeof registry[0] };

struct sinks {
    void *state[REGISTRY_SIZE]; /* NULL: not wanted in this run */
    bool go_on;                 /* one of them goes on whatever the others do */
};

int sinks_open(const struct sink_options *options, struct sinks **ret_sinks,
               const char **ret_culprit)
{
    struct sinks *sinks = calloc(1, sizeof *sinks);
    if (sinks == NULL) {
        *ret_culprit = "memory";
        return -ENOMEM;
    }
    for (size_t i = 0; i < REGISTRY_SIZE; i++) {
        int error = registry[i]->open(options, &sinks->state[i]);
        if (error < 0 && error != -ENODEV) {
            *ret_culprit = options->output != NULL ? options->output : registry[i]->name;
            sinks_cancel(sinks);
            (void)sinks_close(sinks);
            return error;
        }
        if (sinks->state[i] != NULL && registry[i]->goes_on)
            sinks->go_on = true;
    }
    *ret_sinks = sinks;
    return 0;
}

void sinks_begin(struct sinks *sinks)
{
    for (size_t i = 0; i < REGISTRY_SIZE; i++)
        if (sinks->state[i] != NULL)
            registry[i]->begin(sinks->state[i]);
}

void sinks_sample(struct sinks *sinks, const struct sample *sample)
{
    for (size_t i = 0; i < REGISTRY_SIZE; i++) {
        if (sinks->state[i] == NULL)
            continue;
        if (registry[i]->skip != NULL && sinks->go_on && registry[i]->is_full(sinks->state[i]))
            registry[i]->skip(sinks->state[i]);
        else
            registry[i]->sample(sinks->state[i], sample);
    }
}

bool sinks_are_full(struct sinks *sinks)
{
    for (size_t i = 0; i < REGISTRY_SIZE && !sinks->go_on; i++)
        if (sinks->state[i] != NULL && registry[i]->is_full(sinks->state[i]))
            return true;
    return false;
}

bool sinks_are_dead(struct sinks *sinks)
{
    size_t open_count = 0;

    for (size_t i = 0; i < REGISTRY_SIZE; i++) {
        if (sinks->state[i] == NULL)
            continue;
        if (!registry[i]->is_dead(sinks->state[i]))
            return false;
        open_count++;
    }
    return open_count > 0;
}

void sinks_end(struct sinks *sinks, const struct run_end *how)
{
    for (size_t i = 0; i < REGISTRY_SIZE; i++)
        if (sinks->state[i] != NULL && registry[i]->announce_end != NULL)
            registry[i]->announce_end(sinks->state[i], how);
    for (size_t i = 0; i < REGISTRY_SIZE; i++)
        if (sinks->state[i] != NULL)
            registry[i]->end(sinks->state[i], how);
}

void sinks_cancel(struct sinks *sinks)
{
    for (size_t i = 0; i < REGISTRY_SIZE; i++)
        if (sinks->state[i] != NULL)
            registry[i]->cancel(sinks->state[i]);
}

const char *sinks_complaint(struct sinks *sinks)
{
    for (size_t i = 0; i < REGISTRY_SIZE; i++) {
        const char *complaint =
            sinks->state[i] != NULL ? registry[i]->complaint(sinks->state[i]) : NULL;
        if (complaint != NULL)
            return complaint;
    }
    return NULL;
}

bool sinks_close(struct sinks *sinks)
{
    bool all_closed = true;

    for (size_t i = 0; sinks != NULL && i < REGISTRY_SIZE; i++)
        if (sinks->state[i] != NULL && !registry[i]->close(sinks->state[i]))
            all_closed = false;
    if (all_closed)
        free(sinks);
    return all_closed;
}

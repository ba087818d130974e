/*
 * The registry of sinks.
 */
#include "sink/sink.h"

#include <errno.h>
#include <stdlib.h>

/*
 * In the order in which they are told: the digest first, since others read it; then what writes
 * samples; the status line goes from the terminal before the summary comes.
 */
static const struct sink *const registry[] = {
    &digest_sink, &output_sink,
#ifdef TRACKER_NET
    &stream_sink,
#endif
    &live_sink,   &summary_sink, &report_sink,
};

enum { REGISTRY_SIZE = sizeof registry / sizeof registry[0] };

struct sinks {
    void *state[REGISTRY_SIZE]; /* NULL: not wanted in this run */
    bool go_on;                 /* one of them goes on whatever the others do */
};

/* What the user gave that could not be opened, else the sink's name. */
static const char *culprit_of(const struct sink *sink, const struct sink_options *options)
{
    if (sink == &output_sink && options->output != NULL)
        return options->output;
    if (sink == &report_sink && options->report != NULL)
        return options->report;
    return sink->name;
}

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
            *ret_culprit = culprit_of(registry[i], options);
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
        if (sinks->state[i] != NULL && registry[i]->begin != NULL)
            registry[i]->begin(sinks->state[i]);
}

void sinks_expect_last(struct sinks *sinks)
{
    for (size_t i = 0; i < REGISTRY_SIZE; i++)
        if (sinks->state[i] != NULL && registry[i]->expect_last != NULL)
            registry[i]->expect_last(sinks->state[i]);
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
        if (sinks->state[i] != NULL && registry[i]->is_full != NULL &&
            registry[i]->is_full(sinks->state[i]))
            return true;
    return false;
}

bool sinks_are_dead(struct sinks *sinks)
{
    size_t open_count = 0;

    for (size_t i = 0; i < REGISTRY_SIZE; i++) {
        if (sinks->state[i] == NULL || registry[i]->is_dead == NULL)
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
        if (sinks->state[i] != NULL && registry[i]->end != NULL)
            registry[i]->end(sinks->state[i], how);
}

void sinks_cancel(struct sinks *sinks)
{
    for (size_t i = 0; i < REGISTRY_SIZE; i++)
        if (sinks->state[i] != NULL && registry[i]->cancel != NULL)
            registry[i]->cancel(sinks->state[i]);
}

const char *sinks_complaint(struct sinks *sinks, bool may_lose_reader)
{
    for (size_t i = 0; i < REGISTRY_SIZE; i++) {
        if (may_lose_reader && registry[i] == &output_sink && sinks->state[i] != NULL &&
            registry[i]->is_dead(sinks->state[i]))
            continue;
        const char *complaint = sinks->state[i] != NULL && registry[i]->complaint != NULL
                                    ? registry[i]->complaint(sinks->state[i])
                                    : NULL;
        if (complaint != NULL)
            return complaint;
    }
    return NULL;
}

void sinks_hide(struct sinks *sinks)
{
    for (size_t i = 0; i < REGISTRY_SIZE; i++)
        if (sinks->state[i] != NULL && registry[i]->hide != NULL)
            registry[i]->hide(sinks->state[i]);
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

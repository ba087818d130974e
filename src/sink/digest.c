/*
 * Feeds the digest of the run, which the summary and the report read when it has ended.
 */
#include "base/fmt.h"
#include "sink/sink.h"

#include <errno.h>

#define MS_PER_SEC 1000.0

static int digest_open(const struct sink_options *options, void **ret_state)
{
    if (options->digest == NULL)
        return -ENODEV;
    *ret_state = options->digest;
    return 0;
}

static void digest_sample(void *state, const struct sample *sample)
{
    struct digest *digest = state;
    const struct rows *gpus = sample->rows[DEVICE_GPU];
    /* As it is published: whoever reads the samples later gets the same sums. */
    double interval_ms =
        fmt_rounded(sample->interval_secs * MS_PER_SEC, metrics[METRIC_ACTUAL_INTERVAL].decimals);

    digest_add(digest, sample, interval_ms / MS_PER_SEC);
    /* Drivers answer some time after the start. */
    if (isnan(digest->host.gpu_count) && gpus != NULL && gpus->count > 0)
        host_describe_gpus(&digest->host, gpus);
}

static void digest_end(void *state, const struct run_end *how)
{
    digest_set_end(state, how);
}

/* The digest is the caller's. */
static bool digest_close(void *state)
{
    (void)state;
    return true;
}

const struct sink digest_sink = {
    .name = "digest",
    .open = digest_open,
    .sample = digest_sample,
    .end = digest_end,
    .close = digest_close,
};

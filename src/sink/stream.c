#include "sink/stream.h"

#include "base/clock.h"
#include "base/file.h"
#include "encode/csv.h"
#include "encode/registration.h"
#include "net/uploader.h"
#include "sink/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define ROW_INITIAL 1024
#define ROW_MAX (64 * 1024)
/* A GPU's driver may take seconds to start; the run is then registered without its GPUs. */
#define GPU_PATIENCE_NS (5 * NS_PER_SEC)

struct stream {
    const struct stream_options *options;
    struct uploader *uploader;
    struct csv csv;
    struct buf header;
    struct buf row;
    uint64_t begun_ns;
    bool has_looked; /* at who else is busy */
    bool knows_gpus;
    bool told_leave; /* to register */
    bool told_trouble;

    pthread_mutex_t lock; /* guards what follows: samples fill it, the uploader's thread reads it */
    struct stream_look look;

    struct host host; /* the uploader's thread's */
};

/* --- on the uploader's thread --- */

static void look_around(void *context, struct http *http)
{
    struct stream *stream = context;

    stream->options->discover(stream->options->context, http, &stream->host);
}

static int describe(void *context, enum sentinel_dialect dialect, struct buf *out)
{
    struct stream *stream = context;
    const struct stream_options *options = stream->options;

    pthread_mutex_lock(&stream->lock);
    struct stream_look look = stream->look;
    pthread_mutex_unlock(&stream->lock);
    struct host host = stream->host;
    options->conclude(options->context, &look, &host);
    return json_registration(
        options->run, options->pid, &host,
        dialect == SENTINEL_DEPLOYED ? HOST_NAMES_DEPLOYED : HOST_NAMES_SPECIFIED, out);
}

/* --- on the sampling thread --- */

static bool stream_close(void *state)
{
    struct stream *stream = state;

    if (stream->uploader != NULL && !uploader_close(stream->uploader))
        return false;
    buf_free(&stream->header);
    buf_free(&stream->row);
    pthread_mutex_destroy(&stream->lock);
    free(stream);
    return true;
}

static int stream_open(const struct sink_options *options, void **ret_state)
{
    if (options->stream == NULL)
        return -ENODEV;

    struct stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL)
        return -ENOMEM;
    stream->options = options->stream;
    pthread_mutex_init(&stream->lock, NULL);
    host_reset(&stream->host);
    host_reset(&stream->look.gpus);
    stream->look.others_cores = NAN;
    csv_init(&stream->csv, CSV_FULL);
    if (buf_init(&stream->header, ROW_INITIAL, ROW_MAX) < 0 ||
        buf_init(&stream->row, ROW_INITIAL, ROW_MAX) < 0) {
        (void)stream_close(stream);
        return -ENOMEM;
    }
    csv_header(&stream->csv, &stream->header);
    buf_char(&stream->header, '\0');
    *ret_state = stream;
    return 0;
}

/*
 * The token is in our memory: no core of it, neither as a file (too small) nor to a pipe (the
 * kernel takes 1 for "none"); and where the limit may not be changed, none with memory in it. The
 * command was started before and keeps its own settings.
 */
static void forbid_core(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_max != 0) {
        limit.rlim_cur = 1;
        (void)setrlimit(RLIMIT_CORE, &limit);
    }
    int fd = open("/proc/self/coredump_filter", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fd_write_at(fd, "0", 1, 0);
        close(fd);
    }
}

static void stream_begin(void *state)
{
    struct stream *stream = state;
    const struct stream_options *options = stream->options;
    struct uploader_options wanted = {
        .url = options->url,
        .token = options->token,
        .s3_endpoint = options->s3_endpoint,
        .interval_ns = options->interval_ns,
        .header = stream->header.data,
        .folders = {options->folders[0], options->folders[1], options->folders[2]},
        .look_around = look_around,
        .describe = describe,
        .context = stream,
    };

    forbid_core();
    stream->begun_ns = clock_monotonic_ns();
    if (uploader_start(&wanted, &stream->uploader) < 0)
        stream->uploader = NULL;
}

/* Whether the GPUs are known; a driver that has not answered leaves it open how many there are. */
static bool look_at_gpus(struct stream_look *look, const struct sample *sample)
{
    const struct rows *list = sample->rows[DEVICE_GPU];
    bool is_empty = list == NULL || list->count == 0;

    if (is_empty && isnan(sample->value[METRIC_TOTAL_GPU_USAGE]))
        return false;
    host_describe_gpus(&look->gpus, list);
    return true;
}

static void look_at_others(struct stream_look *look, const struct sample *sample)
{
    double job_cores = sample->value[METRIC_PROCESS_CORES_USED];

    look->others_cores = sample->value[METRIC_CPU_UTILIZATION] - (isnan(job_cores) ? 0 : job_cores);
    look->cpus = (double)sample->per_core_count;
}

/* The first sample says who else is busy; GPUs may need some more, and come too late after that. */
static void look_at_sample(struct stream *stream, const struct sample *sample)
{
    pthread_mutex_lock(&stream->lock);
    if (!stream->has_looked)
        look_at_others(&stream->look, sample);
    stream->has_looked = true;
    stream->knows_gpus = look_at_gpus(&stream->look, sample);
    pthread_mutex_unlock(&stream->lock);
    if (stream->told_leave ||
        (!stream->knows_gpus && clock_monotonic_ns() - stream->begun_ns < GPU_PATIENCE_NS))
        return;
    uploader_may_register(stream->uploader);
    stream->told_leave = true;
}

static void stream_sample(void *state, const struct sample *sample)
{
    struct stream *stream = state;

    if (stream->uploader == NULL)
        return;
    buf_reset(&stream->row);
    csv_row(&stream->csv, sample, &stream->row);
    if (!stream->row.overflow)
        uploader_row(stream->uploader, stream->row.data, stream->row.size);
    if (!stream->knows_gpus || !stream->told_leave)
        look_at_sample(stream, sample);
}

static bool stream_is_full(void *state)
{
    (void)state;
    return false;
}

static bool stream_is_dead(void *state)
{
    const struct stream *stream = state;

    return stream->uploader == NULL;
}

/* Being told to end is no failure. */
static void stream_announce_end(void *state, const struct run_end *how)
{
    struct stream *stream = state;
    struct uploader_end end = {
        .has_failed =
            how->has_exit_code ? how->exit_code != 0 : how->signal != 0 && how->signal != SIGTERM,
        .has_exit_code = how->has_exit_code,
        .exit_code = how->exit_code,
        .deadline_ns = how->deadline_ns,
    };

    if (stream->uploader != NULL)
        uploader_announce_end(stream->uploader, &end);
}

static void stream_end(void *state, const struct run_end *how)
{
    struct stream *stream = state;

    (void)how;
    if (stream->uploader != NULL)
        uploader_end(stream->uploader);
}

static void stream_cancel(void *state)
{
    (void)state;
}

static const char *stream_complaint(void *state)
{
    struct stream *stream = state;

    if (stream->uploader != NULL)
        return uploader_message(stream->uploader);
    if (stream->begun_ns == 0 || stream->told_trouble)
        return NULL;
    stream->told_trouble = true;
    return "nothing is streamed: out of memory";
}

const struct sink stream_sink = {
    .name = "stream",
    .goes_on = true,
    .open = stream_open,
    .begin = stream_begin,
    .sample = stream_sample,
    .is_full = stream_is_full,
    .is_dead = stream_is_dead,
    .announce_end = stream_announce_end,
    .end = stream_end,
    .cancel = stream_cancel,
    .complaint = stream_complaint,
    .close = stream_close,
};

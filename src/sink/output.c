/*
 * Samples as JSON Lines or CSV, to a file or to the stdout or stderr we were given.
 */
#include "encode/json.h"
#include "sink/sink.h"
#include "sink/writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A sample of a host with 1,024 CPUs, 500 disks and 1,000 interfaces has about 500 kB. */
#define LINE_INITIAL (8 * 1024)
#define LINE_MAX_BYTES (16 * 1024 * 1024)
/* When a reader is this far behind, ticks pass until it has caught up. */
#define PENDING_ENOUGH (256 * 1024)

struct output {
    const struct run *run;
    const char *name; /* for messages */
    const char *path; /* NULL: a descriptor of somebody else's */
    enum output_format format;
    struct csv csv;
    struct writer writer;
    struct buf line;
    bool warned;
    bool ended;
    bool told_loss;
    bool told_skips;
    unsigned long long skipped; /* samples */
    char message[512];
};

static bool output_close(void *state)
{
    struct output *output = state;

    writer_close(&output->writer);
    buf_free(&output->line);
    free(output);
    return true;
}

static int output_open(const struct sink_options *options, void **ret_state)
{
    if (options->quiet)
        return -ENODEV;

    struct output *output = calloc(1, sizeof *output);
    if (output == NULL)
        return -ENOMEM;
    output->run = options->run;
    output->format = options->format;
    output->path = options->output;
    output->name = options->output != NULL               ? options->output
                   : options->output_fd == STDOUT_FILENO ? "standard output"
                                                         : "standard error";
    csv_init(&output->csv, options->columns);
    int error = options->output != NULL ? writer_open_path(&output->writer, options->output)
                                        : writer_open_fd(&output->writer, options->output_fd);
    if (error == 0)
        error = buf_init(&output->line, LINE_INITIAL, LINE_MAX_BYTES);
    if (error < 0) {
        (void)output_close(output);
        return error;
    }
    *ret_state = output;
    return 0;
}

static void output_begin(void *state)
{
    struct output *output = state;

    writer_truncate(&output->writer);
    if (output->format == FORMAT_CSV) {
        csv_header(&output->csv, &output->line);
        writer_line(&output->writer, &output->line);
    }
}

static void output_sample(void *state, const struct sample *sample)
{
    struct output *output = state;

    buf_reset(&output->line);
    if (output->format == FORMAT_CSV)
        csv_row(&output->csv, sample, &output->line);
    else
        json_sample(output->run, sample, &output->line);
    if (!output->line.overflow)
        writer_line(&output->writer, &output->line);
}

static bool output_is_full(void *state)
{
    struct output *output = state;

    if (output->writer.pending.size > PENDING_ENOUGH)
        writer_flush(&output->writer);
    return output->writer.pending.size > PENDING_ENOUGH;
}

static void output_skip(void *state)
{
    struct output *output = state;

    output->skipped++;
}

static bool output_is_dead(void *state)
{
    const struct output *output = state;

    return output->writer.dead;
}

static void output_end(void *state, const struct run_end *how)
{
    struct output *output = state;

    writer_finish(&output->writer, how->deadline_ns);
    output->ended = true;
}

static void output_cancel(void *state)
{
    struct output *output = state;

    if (output->writer.created && output->writer.is_own_file)
        (void)unlink(output->path);
}

static size_t count_lines(const struct buf *buf)
{
    size_t lines = 0;

    for (size_t i = 0; i < buf->size; i++)
        lines += buf->data[i] == '\n';
    return lines;
}

static const char *complain(struct output *output, const char *consequence)
{
    snprintf(output->message, sizeof output->message, "cannot write samples to %s: %s; %s",
             output->name, strerror(output->writer.error), consequence);
    return output->message;
}

/* Once when it begins to fail, and once at the end if something was lost after all. */
static const char *output_complaint(void *state)
{
    struct output *output = state;
    const struct writer *writer = &output->writer;
    char loss[64];

    if (writer->error != 0 && writer->error != EAGAIN && !output->warned) {
        output->warned = true;
        return complain(output, writer->dead ? "the run goes on without them"
                                             : "they are kept and tried again");
    }
    if (output->ended && writer->pending.size > 0 && !output->told_loss) {
        output->told_loss = true;
        snprintf(loss, sizeof loss, "%zu lines lost", count_lines(&writer->pending));
        return complain(output, loss);
    }
    if (output->ended && output->skipped > 0 && !output->told_skips) {
        output->told_skips = true;
        snprintf(output->message, sizeof output->message,
                 "%s took no samples for a while: %llu are missing there", output->name,
                 output->skipped);
        return output->message;
    }
    return NULL;
}

const struct sink output_sink = {
    .name = "output",
    .open = output_open,
    .begin = output_begin,
    .sample = output_sample,
    .is_full = output_is_full,
    .skip = output_skip,
    .is_dead = output_is_dead,
    .end = output_end,
    .cancel = output_cancel,
    .complaint = output_complaint,
    .close = output_close,
};

/*
 * The summary of the run on standard error, when it has ended.
 */
#include "sink/sink.h"
#include "sink/terminal.h"
#include "sink/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define TEXT_INITIAL (16 * 1024)
#define TEXT_MAX_BYTES (4 * 1024 * 1024)

struct summary {
    const struct digest *digest;
    enum summary_mode mode;
    struct writer writer;
};

static bool summary_close(void *state)
{
    struct summary *summary = state;

    writer_close(&summary->writer);
    free(summary);
    return true;
}

static int summary_open(const struct sink_options *options, void **ret_state)
{
    if (options->digest == NULL ||
        (options->summary != SUMMARY_TEXT && options->summary != SUMMARY_JSON))
        return -ENODEV;

    struct summary *summary = calloc(1, sizeof *summary);
    if (summary == NULL)
        return -ENOMEM;
    summary->digest = options->digest;
    summary->mode = options->summary;
    int error = writer_open_fd(&summary->writer, STDERR_FILENO);
    if (error < 0) {
        (void)summary_close(summary);
        return error;
    }
    *ret_state = summary;
    return 0;
}

/* All is in the digest. */
static void summary_sample(void *state, const struct sample *sample)
{
    (void)state;
    (void)sample;
}

/* What cannot be written to stderr cannot be complained about there either. */
static void summary_end(void *state, const struct run_end *how)
{
    struct summary *summary = state;
    const struct digest *digests[] = {summary->digest};
    struct summary_style style = {
        .colour = terminal_has_colour(STDERR_FILENO),
        .width = terminal_width(STDERR_FILENO),
    };
    struct buf text;

    if (buf_init(&text, TEXT_INITIAL, TEXT_MAX_BYTES) < 0)
        return;
    if (summary->mode == SUMMARY_JSON) {
        summary_json(digests, 1, &text);
    } else {
        /* What the command printed last may have no line end, and is a line of its own. */
        if (how->has_command && isatty(STDERR_FILENO))
            buf_char(&text, '\n');
        summary_text(digests, 1, &style, &text);
    }
    writer_line(&summary->writer, &text);
    writer_finish(&summary->writer, how->deadline_ns);
    buf_free(&text);
}

const struct sink summary_sink = {
    .name = "summary",
    .open = summary_open,
    .sample = summary_sample,
    .end = summary_end,
    .close = summary_close,
};

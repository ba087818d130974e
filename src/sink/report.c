/*
 * The report of the run, when it has ended. Whether it can be written is found out before the run
 * begins; until it ends nothing is there, so there is nothing to take back.
 */
#include "sink/report_file.h"
#include "sink/sink.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct report {
    const struct digest *digest;
    const char *path;
    int held_fd; /* of a pipe; -1 */
    int error;
    char message[512];
};

static int report_open(const struct sink_options *options, void **ret_state)
{
    if (options->digest == NULL || options->report == NULL)
        return -ENODEV;

    struct report *report = calloc(1, sizeof *report);
    if (report == NULL)
        return -ENOMEM;
    report->digest = options->digest;
    report->path = options->report;
    report->held_fd = -1;
    int error = report_file_probe(report->path);
    if (error == 0)
        error = report_file_hold(report->path, &report->held_fd);
    if (error < 0) {
        free(report);
        /* That would mean "not wanted". */
        return error == -ENODEV ? -EIO : error;
    }
    *ret_state = report;
    return 0;
}

/* All is in the digest. */
static void report_sample(void *state, const struct sample *sample)
{
    (void)state;
    (void)sample;
}

static void report_end(void *state, const struct run_end *how)
{
    struct report *report = state;
    const struct digest *digests[] = {report->digest};

    report->error = report_file_write(report->path, digests, 1, how->deadline_ns);
}

static const char *report_complaint(void *state)
{
    struct report *report = state;

    if (report->error == 0)
        return NULL;
    snprintf(report->message, sizeof report->message, "cannot write the report to %s: %s; %s",
             report->path, strerror(-report->error), report_file_rest(report->path));
    report->error = 0;
    return report->message;
}

static bool report_close(void *state)
{
    struct report *report = state;

    if (report->held_fd >= 0)
        close(report->held_fd);
    free(report);
    return true;
}

const struct sink report_sink = {
    .name = "report",
    .open = report_open,
    .sample = report_sample,
    .end = report_end,
    .complaint = report_complaint,
    .close = report_close,
};

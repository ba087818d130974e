/*
 * The contract of a sink: where samples go. `begin` may fail, and then the run does not start;
 * afterwards a sink never fails the run. What went wrong it keeps for `complaint`, which says it
 * once, and the loop prints it. All on the sampling thread.
 */
#ifndef SINK_SINK_H
#define SINK_SINK_H

#include "encode/csv.h"
#include "encode/summary.h"
#include "model/digest.h"
#include "model/run.h"
#include "model/sample.h"

struct stream_options;

enum output_format { FORMAT_JSON, FORMAT_CSV };

struct sink_options {
    const struct run *run;
    enum output_format format;
    enum csv_columns columns;
    const char *output; /* path; NULL: the descriptor below; "-" has become that already */
    int output_fd;      /* borrowed: stdout or stderr */
    bool quiet;
    const struct stream_options *stream; /* NULL: nothing is streamed */

    /*
     * The caller's; NULL when neither summary nor report is wanted. `digest_sink` feeds it and
     * stands first in the registry, so that it is complete when the others are told of the end.
     */
    struct digest *digest;
    enum summary_mode summary; /* SUMMARY_AUTO is settled by then */
    bool live;                 /* a status line on stderr, which is a terminal */
    const char *report;        /* path; NULL: none */
};

/* Members other than name, open, sample and close may be NULL: nothing to be done. */
struct sink {
    const char *name;
    /* Samples are taken for it even while others cannot take more: those go without. */
    bool goes_on;
    /* -ENODEV: not wanted in this run. Creates what it needs, but changes nothing that was there.
     */
    int (*open)(const struct sink_options *options, void **ret_state);
    /* The run is on: earlier content may go. */
    void (*begin)(void *state);
    /* The run is over: the sample that comes now is its last one. */
    void (*expect_last)(void *state);
    void (*sample)(void *state, const struct sample *sample);
    /* Cannot take more for now; the loop then lets ticks pass, and the next sample covers them. */
    bool (*is_full)(void *state);
    /* A sample went by while it was full. NULL: it never is. */
    void (*skip)(void *state);
    /* Nobody will ever read what it writes. NULL: it does not matter whether anybody does. */
    bool (*is_dead)(void *state);
    /* The last sample was given; what can go on while others are waited for begins. NULL: nothing.
     */
    void (*announce_end)(void *state, const struct run_end *how);
    /* Waits for readers until the deadline. */
    void (*end)(void *state, const struct run_end *how);
    /* The run never came to be: leave no trace. */
    void (*cancel)(void *state);
    /* Something to tell the user, at most once each; NULL when there is nothing. */
    const char *(*complaint)(void *state);
    /* Takes away what it shows on the terminal: others are about to write there. */
    void (*hide)(void *state);
    /* False: a thread of its is stuck. Nothing was freed, and the process must end with _exit. */
    bool (*close)(void *state);
};

extern const struct sink output_sink;
extern const struct sink stream_sink; /* where it was built in */
extern const struct sink digest_sink;
extern const struct sink live_sink;
extern const struct sink summary_sink;
extern const struct sink report_sink;

struct sinks;

/* On failure `*ret_culprit` names what could not be opened. */
int sinks_open(const struct sink_options *options, struct sinks **ret_sinks,
               const char **ret_culprit);
void sinks_begin(struct sinks *sinks);
/* The next sample is the last one. */
void sinks_expect_last(struct sinks *sinks);
void sinks_sample(struct sinks *sinks, const struct sample *sample);
bool sinks_are_full(struct sinks *sinks);
/* There were sinks, and none is left that anybody reads. */
bool sinks_are_dead(struct sinks *sinks);
void sinks_end(struct sinks *sinks, const struct run_end *how);
void sinks_cancel(struct sinks *sinks);
/* `may_lose_reader`: that nobody reads the samples any more is nothing to complain about. */
const char *sinks_complaint(struct sinks *sinks, bool may_lose_reader);
void sinks_hide(struct sinks *sinks);
/* False: a thread is stuck, and the process must end with _exit. */
bool sinks_close(struct sinks *sinks);

#endif

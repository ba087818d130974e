/*
 * The sink that streams: rows of CSV to the uploader, and what the API is told of the run. What is
 * found out about the host comes from whoever set it up, since finding it is not this layer's
 * business.
 */
#ifndef SINK_STREAM_H
#define SINK_STREAM_H

#include "model/host.h"
#include "model/run.h"
#include "net/http.h"

#define STREAM_FOLDERS 3

/* What the first samples showed. */
struct stream_look {
    double others_cores; /* that others than the job kept busy; NaN: not known */
    double cpus;
    struct host gpus; /* only its facts about GPUs count */
};

/* Texts are borrowed for as long as the sink lives. */
struct stream_options {
    const struct run *run; /* with what was detected */
    const char *url;
    const char *token;
    const char *s3_endpoint; /* NULL: Amazon's */
    uint64_t interval_ns;    /* between batches */
    /* For what waits and for what is left over, as far as they are not NULL: the first that can. */
    const char *folders[STREAM_FOLDERS];
    pid_t pid; /* of the tracked process; set before the sink begins. 0: none */
    /* Both on the uploader's thread: the first may take seconds, the second comes after it. */
    void (*discover)(void *context, struct http *http, struct host *host);
    void (*conclude)(void *context, const struct stream_look *look, struct host *host);
    void *context;
};

#endif

/*
 * A whole run in bounded space: what the summary and the report are made from. It is fed one sample
 * after another, from the loop or from a recorded file, and never keeps a sample. Memory is taken
 * by digest_init and when devices appear, so a steady run allocates nothing.
 *
 * Figures go in as they are published: rounded to the decimals of their metric. A digest of a run
 * and one of its recorded output are therefore equal to the last bit.
 *
 * Owned by app/ (the tracker or --from); the loop feeds it through the sink `digest_sink`, which
 * stands before all that read it. One thread. Texts are copies: nothing of a caller's is kept.
 */
#ifndef MODEL_DIGEST_H
#define MODEL_DIGEST_H

#include "model/host.h"
#include "model/metric.h"
#include "model/run.h"
#include "model/sample.h"
#include "model/series.h"
#include "model/statistic.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DIGEST_POINTS_MAX SERIES_POINTS_MAX
#define DIGEST_DEVICES_MAX 1024 /* of each list; what comes later is only in the host's totals */
#define DIGEST_CHARTED_MAX 64   /* of each list: the first ones have series */
#define DIGEST_CORES_MAX 1024
#define DIGEST_PHASES_MAX 64
#define DIGEST_FIELDS_MAX 6
#define DIGEST_LABEL_MAX 128

/* --- charts --- */

enum digest_chart {
    CHART_CPU,
    CHART_MEMORY,
    CHART_DISK,
    CHART_NETWORK,
    CHART_GPU,
    CHART_VRAM,
    CHART_PROCESSES
};
enum { CHART_COUNT = CHART_PROCESSES + 1 };

/* Title of a chart and the unit of its series: "cores", "bytes", "bytes/s", "GPUs", "count". */
struct digest_chart_info {
    const char *id;
    const char *title;
    const char *unit;
};
extern const struct digest_chart_info digest_charts[CHART_COUNT];

/* The metrics that have series, in the order of digest.series. */
struct digest_series {
    enum metric_id metric;
    enum digest_chart chart;
    bool is_tree; /* of the tracked tree; else of the host */
    const char *label;
    double scale; /* from the level to the unit of the chart; points have it already */
};
extern const struct digest_series digest_series[];
enum { DIGEST_SERIES_COUNT = 18 };

/* --- devices --- */

/* A figure that is kept for each device of a list. Units and decimals are in fields[]. */
struct digest_field {
    enum field_id field;
    const char *label;
};

/* The first `series_count` fields have series too. */
struct digest_fields {
    const struct digest_field *fields;
    size_t count;
    size_t series_count;
};
extern const struct digest_fields digest_fields[DEVICE_COUNT];

/* An interface, disk, mounted file system or GPU. Known by its name; it may come and go. */
struct digest_device {
    char *name;                   /* interface, device, mount point, UUID */
    char label[DIGEST_LABEL_MAX]; /* model of a disk or GPU, type of a file system; "" */
    bool is_part;                 /* a MIG instance: its figures are in those of its GPU too */
    /* As in digest_fields[list]. Rates are levels: `weighted` is the bytes of the run. */
    struct statistic statistics[DIGEST_FIELDS_MAX];
    /* series_count of them, NULL for all beyond DIGEST_CHARTED_MAX and when none were asked for. */
    struct series *series;
    double throttled_secs;           /* GPU: time in which something held its clock down */
    char throttle[DIGEST_LABEL_MAX]; /* the reasons it gave last */
};

/* One of its statistics; NULL for a field that is not kept. */
const struct statistic *digest_device_statistic(const struct digest_device *device,
                                                enum field_id field);

struct digest_list {
    struct digest_device *devices; /* in the order of their appearance */
    size_t count;
    size_t capacity;
    size_t next;     /* where the next name is looked for first */
    size_t left_out; /* times a device was seen that did not fit */
};

/* One logical CPU each, by position. Its use in percent. */
struct digest_cores {
    size_t count;
    size_t capacity;
    struct statistic *statistics;
    float *means; /* [core * DIGEST_POINTS_MAX + point]; NULL when no series were asked for */
};

/* --- states --- */

/* Time the run spent in a state that an average would hide. */
enum digest_state {
    STATE_HOST_CPU_FULL, /* the host used over 95 % of its CPUs */
    STATE_TREE_CPU_FULL, /* the tree used over 95 % of the CPUs it may use */
    STATE_MEMORY_LOW     /* under 5 % of the memory were available */
};
enum { STATE_COUNT = STATE_MEMORY_LOW + 1 };

/* --- all of it --- */

/* A part of a run: from `elapsed_secs` on it is called this. */
struct digest_phase {
    double elapsed_secs;
    char text[DIGEST_LABEL_MAX];
};

struct digest {
    /* About the run. Texts are copies; title is what a reader shall call it, NULL: the job's name.
     */
    struct run run;
    const char *title;
    struct host host; /* nothing known, until digest_set_host */
    struct run_end end;
    bool has_end;            /* how it ended is known */
    double cpu_limit;        /* CPUs it may use by its cgroup or affinity; NaN: all, or not known */
    double memory_limit_mib; /* of its cgroup; NaN: none, or not known */
    double interval_secs;    /* as it was configured; NaN: not known, see digest_interval() */

    double start_unix_secs; /* NaN in an empty run */
    double duration_secs;   /* time that the samples cover */
    uint64_t sample_count;

    struct statistic metrics[METRIC_COUNT];
    double state_secs[STATE_COUNT];
    double cpu_count; /* the most logical CPUs seen at once; NaN: not known */

    struct digest_list lists[DEVICE_COUNT];
    struct digest_cores cores;

    bool has_series;
    struct axis axis;
    struct series *series; /* DIGEST_SERIES_COUNT, as in digest_series[]; NULL without series */

    struct digest_phase phases[DIGEST_PHASES_MAX];
    size_t phase_count;

    bool ran_out_of_memory; /* some device is missing for it */

    double last_interval_secs; /* NaN: none was told yet, and all so far was taken for a second */
    char **owned;              /* copies of texts */
    size_t owned_count;
    size_t owned_capacity;
    struct tag *tags;
    char **command;
};

/* -ENOMEM, or 0. The digest of an empty run. */
int digest_init(struct digest *digest, bool want_series);
void digest_free(struct digest *digest);

/* Each may be called again, and replaces what was said before. -ENOMEM, or 0. */
int digest_set_run(struct digest *digest, const struct run *run);
int digest_set_title(struct digest *digest, const char *title);
void digest_set_host(struct digest *digest, const struct host *host);
void digest_set_end(struct digest *digest, const struct run_end *end);

/*
 * One sample and the time it covers. NaN: not known; then the last known interval stands in, and
 * before there is one, the next that is known (at the very end: one second).
 */
void digest_add(struct digest *digest, const struct sample *sample, double interval_secs);

/* From now on the run is in another phase. The same text again is no new one. */
void digest_phase(struct digest *digest, const char *text);

/* The configured interval, else the mean of those that were. NaN in an empty run. */
double digest_interval(const struct digest *digest);

/* Whether there was a tracked process tree. */
bool digest_has_tree(const struct digest *digest);

/* Logical CPUs of the host: as seen, else as its facts say; NaN: not known. */
double digest_cpu_count(const struct digest *digest);

/* What the run may be called: its title, else the job's name, else the command, else "". */
const char *digest_name(const struct digest *digest);

#endif

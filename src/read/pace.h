/*
 * How much time each sample covers where it does not say so. CSV rows say when they were taken,
 * mostly in whole seconds, and not since when: a row covers the time since the one before it, and
 * rows of the same second share it evenly. So a second's rows are held until one of another second
 * is seen. How much the first one covers is told by its CPU time.
 *
 * Not all time between two rows is time of a run: a file may hold several runs, one behind the
 * other, and a digit of a timestamp may be damaged.
 */
#ifndef READ_PACE_H
#define READ_PACE_H

#include "model/metric.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rows of one second; more of them make up a second of their own. */
#define PACE_ROWS_MAX 4096

enum pace_remark {
    PACE_FINE,
    PACE_BACK,  /* it was taken before the row before it */
    PACE_GAP,   /* long after it: not all of that time counts */
    PACE_MENDED /* its time fits neither neighbour; it was put between them */
};

struct paced_row {
    double interval_secs; /* NaN: not known */
    double value[METRIC_COUNT];
    const char *file; /* where it is from */
    uint64_t line;
    bool starts_run;
    enum pace_remark remark;
    double remark_secs; /* how far back, how long the gap, how far off */
};

/* The time between samples so far; NaN: not known. */
struct stride {
    double usual_secs;
    double last_secs; /* also where it did not count */
};

/*
 * The time that a sample covers, from its own figures: CPU seconds by cores in use. For the first
 * one, before which there is none. As exact as the printed digits for a busy tree; from the host's
 * figures it is too short by its interrupts' share. NaN when hardly any CPU was in use.
 */
double pace_guess(const double *values);

#define PACE_NO_STRIDE ((struct stride){NAN, NAN})

/*
 * How much of the time since the sample before counts: all of it as a rule. What is far more than
 * usual, or lies before a sample that starts a run, does only when the sample's own guess agrees;
 * else the guess does, or the interval before (`last_secs`). NaN: neither is known.
 */
double pace_settle(struct stride *stride, double growth, double guess, double last_secs,
                   bool starts_run);

struct pace {
    struct paced_row *rows;
    size_t count;
    size_t capacity;
    size_t ready; /* these have their interval, */
    size_t at;    /* and these were taken */
    double previous_secs;
    struct stride stride;
    double share_secs;     /* of the last row */
    size_t previous_count; /* of rows of the last second */
    bool starts_run;       /* the next row does */
};

void pace_init(struct pace *pace);
void pace_free(struct pace *pace);

/* One more row; 0 or -ENOMEM. Not while some are ready. `file` must outlive the row. */
int pace_add(struct pace *pace, const double *values, const char *file, uint64_t line);

/* Another run may begin here. */
void pace_part(struct pace *pace);

/* No more rows come, or not for now. */
void pace_finish(struct pace *pace);

/* The next row that is ready; valid until pace_add. NULL: none is. */
const struct paced_row *pace_next(struct pace *pace);

static inline bool pace_is_empty(const struct pace *pace)
{
    return pace->at == pace->count;
}

#endif

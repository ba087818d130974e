/*
 * How much time each CSV row covers. Rows say when they were taken, mostly in whole seconds, and
 * not since when: a row covers the time since the one before it, and rows of the same second share
 * it evenly. So a second's rows are held until one of another second is seen. How much the first
 * one covers is told by its CPU time.
 */
#ifndef READ_PACE_H
#define READ_PACE_H

#include "model/metric.h"

#include <stdbool.h>
#include <stddef.h>

/* Rows of one second; more of them make up a second of their own. */
#define PACE_ROWS_MAX 4096

struct paced_row {
    double interval_secs; /* NaN: not known */
    double value[METRIC_COUNT];
};

/*
 * The time that a sample covers, from its own figures: CPU seconds by cores in use. For the first
 * one, before which there is none. As exact as the printed digits for a busy tree; from the host's
 * figures it is too short by its interrupts' share. NaN when hardly any CPU was in use.
 */
double pace_guess(const double *values);

struct pace {
    struct paced_row *rows;
    size_t count;
    size_t capacity;
    size_t ready; /* these have their interval, */
    size_t at;    /* and these were taken */
    double previous_secs;
};

void pace_init(struct pace *pace);
void pace_free(struct pace *pace);

/* One more row; 0 or -ENOMEM. Not while some are ready. */
int pace_add(struct pace *pace, const double *values);

/* No more rows come, or not for now. */
void pace_finish(struct pace *pace);

/* The next row that is ready; valid until pace_add. NULL: none is. */
const struct paced_row *pace_next(struct pace *pace);

static inline bool pace_is_empty(const struct pace *pace)
{
    return pace->at == pace->count;
}

#endif

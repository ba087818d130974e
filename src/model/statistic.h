/*
 * What one figure was over a run, in a few numbers. Plain data.
 */
#ifndef MODEL_STATISTIC_H
#define MODEL_STATISTIC_H

#include <stdbool.h>
#include <stdint.h>

/* What a value is; its LEVEL is what mean, min and max are of. */
enum value_kind {
    VALUE_GAUGE, /* as it was at the end of the sample: the level itself */
    VALUE_RATE,  /* an average over the sample: the level itself */
    VALUE_AMOUNT /* of the sample (KIND_DELTA): the level is the amount per second */
};

/*
 * A sample that covers much less time than the others, as the last one of a run often does, counts
 * in sums and means. But no extreme is taken from its rates and amounts: one tick of 10 ms in a
 * sample of 1 ms would make a peak of ten cores out of nothing.
 *
 * With count 0 it was never known; count and the sums are then 0 and all others NaN.
 */
struct statistic {
    uint64_t count;     /* samples that had it */
    double sum;         /* of values: for KIND_DELTA the total of the run */
    double weighted;    /* of level by time */
    double weight_secs; /* time in which it was known */
    double min;
    double max;
    double max_unix_secs;    /* timestamp of the first sample that had the max */
    double max_elapsed_secs; /* and the time since the start of the run at its end */
    double first;            /* levels */
    double last;
};

/* A sample's place in time. */
struct moment {
    double unix_secs;
    double elapsed_secs;  /* since the start of the run, at the end of the sample */
    double interval_secs; /* that it covers; above 0 */
    bool is_short;        /* much less than the sample before */
};

void statistic_init(struct statistic *statistic);

/* Nothing happens when the value is not a number. Returns the level; NaN: there is none to show. */
double statistic_add(struct statistic *statistic, double value, enum value_kind kind,
                     const struct moment *moment);

/* All intervals so far were `factor` times as long as was said. */
void statistic_rescale(struct statistic *statistic, bool is_amount, double factor);

/* Mean over time; NaN when it was never known. */
double statistic_mean(const struct statistic *statistic);

static inline bool statistic_is_known(const struct statistic *statistic)
{
    return statistic->count > 0;
}

#endif

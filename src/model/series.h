/*
 * A figure over the time of a run, in bounded space, for charts. All series of a digest share one
 * axis: when it is full, neighbouring points are merged in pairs and from then on a point takes
 * twice as many samples, so a week at 1 Hz needs no more room than 12 minutes, and no extreme is
 * ever lost. Plain data; nothing here allocates.
 *
 * The last point grows until it has its samples; it can be read like the others at any time.
 */
#ifndef MODEL_SERIES_H
#define MODEL_SERIES_H

#include <stdbool.h>
#include <stddef.h>

#define SERIES_POINTS_MAX 720

struct axis {
    size_t count;
    size_t samples_per_point;
    size_t samples_in_last;
    double end_secs[SERIES_POINTS_MAX]; /* elapsed time of the run at the end of each point */
};

static inline double axis_start_secs(const struct axis *axis, size_t point)
{
    return point > 0 ? axis->end_secs[point - 1] : 0;
}

struct series {
    float min[SERIES_POINTS_MAX]; /* NaN in all three: not known then */
    float mean[SERIES_POINTS_MAX];
    float max[SERIES_POINTS_MAX];
    float weight_secs[SERIES_POINTS_MAX]; /* time for which it is known; 0: none */
    double open_sum;                      /* of the last point: value by time */
    double open_weight;
};

void axis_init(struct axis *axis);

/* Whether the next sample needs a point of its own and there is none: merge everything first. */
bool axis_is_full(const struct axis *axis);

/* Counts a sample that ends at `end_secs`. True: a new point was made for it. */
bool axis_add(struct axis *axis, double end_secs);
void axis_merge(struct axis *axis);

/* Nothing known in any of the axis' points. */
void series_init(struct series *series);

/* The axis has got a new point. */
void series_open_point(struct series *series, const struct axis *axis);

/* One sample, after the axis has counted it. NaN: not known. */
void series_add(struct series *series, const struct axis *axis, double value, double weight_secs);

/* Before the axis itself is merged. */
void series_merge(struct series *series, const struct axis *axis);

/* All intervals so far were `factor` times as long as was said; see statistic_rescale(). */
void axis_rescale(struct axis *axis, double factor);
void series_rescale(struct series *series, const struct axis *axis, bool is_amount, double factor);

#endif

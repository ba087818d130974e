#include "model/series.h"

#include <math.h>

void axis_init(struct axis *axis)
{
    axis->count = 0;
    axis->samples_per_point = 1;
    axis->samples_in_last = 0;
}

bool axis_is_full(const struct axis *axis)
{
    return axis->count == SERIES_POINTS_MAX && axis->samples_in_last == axis->samples_per_point;
}

bool axis_add(struct axis *axis, double end_secs)
{
    bool is_new = axis->count == 0 || axis->samples_in_last == axis->samples_per_point;

    if (is_new) {
        axis->count++;
        axis->samples_in_last = 0;
    }
    axis->samples_in_last++;
    axis->end_secs[axis->count - 1] = end_secs;
    return is_new;
}

/* Only when all points have all their samples, and their number is even. */
void axis_merge(struct axis *axis)
{
    for (size_t i = 0; i < axis->count / 2; i++)
        axis->end_secs[i] = axis->end_secs[2 * i + 1];
    axis->count /= 2;
    axis->samples_per_point *= 2;
    axis->samples_in_last = axis->samples_per_point;
}

void series_init(struct series *series)
{
    for (size_t i = 0; i < SERIES_POINTS_MAX; i++) {
        series->min[i] = series->mean[i] = series->max[i] = NAN;
        series->weight_secs[i] = 0;
    }
    series->open_sum = 0;
    series->open_weight = 0;
}

void series_open_point(struct series *series, const struct axis *axis)
{
    size_t at = axis->count - 1;

    series->open_sum = series->open_weight = 0;
    series->min[at] = series->mean[at] = series->max[at] = NAN;
    series->weight_secs[at] = 0;
}

void series_add(struct series *series, const struct axis *axis, double value, double weight_secs)
{
    size_t at = axis->count - 1;
    float level = (float)value;

    if (!isfinite(value) || !(weight_secs > 0))
        return;
    /* The sums are kept in double: a float that is added to a thousand times would drift. */
    series->open_sum += value * weight_secs;
    series->open_weight += weight_secs;
    series->mean[at] = (float)(series->open_sum / series->open_weight);
    series->weight_secs[at] = (float)series->open_weight;
    if (!(series->min[at] <= level))
        series->min[at] = level;
    if (!(series->max[at] >= level))
        series->max[at] = level;
}

static float smaller(float a, float b)
{
    return a <= b || isnan(b) ? a : b;
}

static float larger(float a, float b)
{
    return a >= b || isnan(b) ? a : b;
}

/* Weighted by the time for which each is known. */
static float mean_of(const struct series *series, size_t a, size_t b)
{
    double weight_a = (double)series->weight_secs[a];
    double weight_b = (double)series->weight_secs[b];

    if (weight_a == 0)
        return series->mean[b];
    if (weight_b == 0)
        return series->mean[a];
    return (float)(((double)series->mean[a] * weight_a + (double)series->mean[b] * weight_b) /
                   (weight_a + weight_b));
}

void series_merge(struct series *series, const struct axis *axis)
{
    for (size_t i = 0; i < axis->count / 2; i++) {
        size_t a = 2 * i;
        size_t b = a + 1;
        series->mean[i] = mean_of(series, a, b);
        series->min[i] = smaller(series->min[a], series->min[b]);
        series->max[i] = larger(series->max[a], series->max[b]);
        series->weight_secs[i] = series->weight_secs[a] + series->weight_secs[b];
    }
}

void axis_rescale(struct axis *axis, double factor)
{
    for (size_t i = 0; i < axis->count; i++)
        axis->end_secs[i] *= factor;
}

void series_rescale(struct series *series, const struct axis *axis, bool is_amount, double factor)
{
    series->open_weight *= factor;
    if (!is_amount)
        series->open_sum *= factor;
    for (size_t i = 0; i < axis->count; i++) {
        series->weight_secs[i] *= (float)factor;
        if (!is_amount)
            continue;
        series->min[i] /= (float)factor;
        series->mean[i] /= (float)factor;
        series->max[i] /= (float)factor;
    }
}

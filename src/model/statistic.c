#include "model/statistic.h"

#include <math.h>

void statistic_init(struct statistic *statistic)
{
    *statistic = (struct statistic){
        .min = NAN,
        .max = NAN,
        .max_unix_secs = NAN,
        .max_elapsed_secs = NAN,
        .first = NAN,
        .last = NAN,
    };
}

static void take_extremes(struct statistic *statistic, double level, const struct moment *moment)
{
    if (!(statistic->min <= level))
        statistic->min = level;
    if (!(statistic->max >= level)) {
        statistic->max = level;
        statistic->max_unix_secs = moment->unix_secs;
        statistic->max_elapsed_secs = moment->elapsed_secs;
    }
}

double statistic_add(struct statistic *statistic, double value, enum value_kind kind,
                     const struct moment *moment)
{
    if (!isfinite(value))
        return NAN;

    bool is_amount = kind == VALUE_AMOUNT;
    double level = is_amount ? value / moment->interval_secs : value;
    statistic->sum += value;
    /* An amount is its own level by time; multiplied back it would not be exact. */
    statistic->weighted += is_amount ? value : level * moment->interval_secs;
    statistic->weight_secs += moment->interval_secs;
    bool tells_nothing = moment->is_short && kind != VALUE_GAUGE && statistic->count > 0;
    if (statistic->count++ == 0)
        statistic->first = level;
    if (tells_nothing)
        return NAN;
    statistic->last = level;
    take_extremes(statistic, level, moment);
    return level;
}

void statistic_rescale(struct statistic *statistic, bool is_amount, double factor)
{
    statistic->weight_secs *= factor;
    statistic->max_elapsed_secs *= factor;
    if (!is_amount) {
        statistic->weighted *= factor;
        return;
    }
    statistic->min /= factor;
    statistic->max /= factor;
    statistic->first /= factor;
    statistic->last /= factor;
}

double statistic_mean(const struct statistic *statistic)
{
    return statistic->weight_secs > 0 ? statistic->weighted / statistic->weight_secs : NAN;
}

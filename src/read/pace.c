#include "read/pace.h"

#include "base/array.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void pace_init(struct pace *pace)
{
    *pace = (struct pace){.previous_secs = NAN};
}

void pace_free(struct pace *pace)
{
    free(pace->rows);
    *pace = (struct pace){0};
}

static double time_of(const struct paced_row *row)
{
    return row->value[METRIC_TIMESTAMP_SECS];
}

/* Below this, what was rounded away when it was printed would show. */
#define CORES_MIN 0.01
#define GUESS_MAX_SECS 1e8

static double divide(double cpu_secs, double cores)
{
    double secs = cpu_secs / cores;

    return cores >= CORES_MIN && secs > 0 && secs < GUESS_MAX_SECS ? secs : NAN;
}

double pace_guess(const double *values)
{
    double tree = divide(values[METRIC_PROCESS_UTIME] + values[METRIC_PROCESS_STIME],
                         values[METRIC_PROCESS_CORES_USED]);

    if (!isnan(tree))
        return tree;
    double steal = isnan(values[METRIC_CPU_STEAL]) ? 0 : values[METRIC_CPU_STEAL];
    return divide(values[METRIC_CPU_UTIME] + values[METRIC_CPU_STIME] + steal,
                  values[METRIC_CPU_UTILIZATION]);
}

/* All rows of the same time; NaN as well where time went back. */
static void set_intervals(struct pace *pace, size_t count)
{
    double now = time_of(&pace->rows[0]);
    double share = now > pace->previous_secs ? (now - pace->previous_secs) / (double)count : NAN;

    for (size_t i = 0; i < count; i++)
        pace->rows[i].interval_secs =
            isnan(pace->previous_secs) ? pace_guess(pace->rows[i].value) : share;
    pace->previous_secs = now;
    pace->ready = count;
}

/* What was taken makes room. */
static void move_up(struct pace *pace)
{
    memmove(pace->rows, pace->rows + pace->at, (pace->count - pace->at) * sizeof *pace->rows);
    pace->count -= pace->at;
    pace->ready = 0;
    pace->at = 0;
}

void pace_finish(struct pace *pace)
{
    if (pace->at > 0)
        move_up(pace);
    if (pace->count > 0)
        set_intervals(pace, pace->count);
}

int pace_add(struct pace *pace, const double *values)
{
    if (pace->at > 0)
        move_up(pace);
    struct paced_row *rows = array_grow(pace->rows, &pace->capacity, pace->count + 1, sizeof *rows);
    if (rows == NULL)
        return -ENOMEM;
    pace->rows = rows;
    memcpy(rows[pace->count].value, values, sizeof rows->value);
    rows[pace->count].interval_secs = NAN;
    pace->count++;
    if (time_of(&rows[pace->count - 1]) != time_of(&rows[0]))
        set_intervals(pace, pace->count - 1);
    else if (pace->count == PACE_ROWS_MAX)
        set_intervals(pace, pace->count);
    return 0;
}

const struct paced_row *pace_next(struct pace *pace)
{
    return pace->at < pace->ready ? &pace->rows[pace->at++] : NULL;
}

#include "read/pace.h"

#include "base/array.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void pace_init(struct pace *pace)
{
    *pace = (struct pace){.previous_secs = NAN, .stride = PACE_NO_STRIDE, .share_secs = NAN};
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

/* --- what counts --- */

/* Times are mostly in whole seconds. */
#define STEP_MIN_SECS 1.0
/* So many steps are a gap; so few may be a step that came late. */
#define GAP_STEPS 10
#define LATE_STEPS 3
/* Where nothing tells what is usual: nobody samples more rarely. */
#define STEP_MAX_SECS 86400.0

static double larger(double left, double right)
{
    return left > right || isnan(right) ? left : right;
}

static double smaller(double left, double right)
{
    return left < right || isnan(right) ? left : right;
}

/* The last one counts too: where the pace has changed, the second step is no gap any more. */
static double usual_step(const struct stride *stride)
{
    double step = larger(stride->usual_secs, stride->last_secs);

    return step < STEP_MIN_SECS ? STEP_MIN_SECS : step;
}

static bool is_far(double growth, double step)
{
    return growth > (isnan(step) ? STEP_MAX_SECS : GAP_STEPS * larger(step, STEP_MIN_SECS));
}

double pace_settle(struct stride *stride, double growth, double guess, double last_secs,
                   bool starts_run)
{
    double step = usual_step(stride);
    bool is_gap = is_far(growth, isnan(step) ? guess : step);
    bool is_late = !(growth <= LATE_STEPS * step + STEP_MIN_SECS);
    double counted = growth;

    stride->last_secs = growth;
    if (guess >= growth / 2 || !(is_gap || starts_run)) {
        stride->usual_secs = growth;
        return growth;
    }
    if (!isnan(guess))
        counted = guess;
    else if (is_gap || is_late)
        counted = last_secs;
    return counted > growth ? growth : counted;
}

/* --- rows --- */

/* A single row that fits neither neighbour, while they fit each other. */
static bool is_damaged(const struct pace *pace, const struct paced_row *row,
                       const struct paced_row *next)
{
    double before = pace->previous_secs;
    double ahead = time_of(next) - before;
    double off = time_of(row) - before;
    double step = usual_step(&pace->stride);

    if (isnan(before) || ahead < 0 || (off >= 0 && off <= ahead) || row->starts_run ||
        next->starts_run)
        return false;
    if (isnan(step))
        step = larger(ahead, STEP_MIN_SECS);
    return (off < 0 ? -off : off) > LATE_STEPS * step + STEP_MIN_SECS && !is_far(ahead, step);
}

static void mend(struct pace *pace, struct paced_row *row, const struct paced_row *next)
{
    double off = time_of(row) - pace->previous_secs;

    row->remark = PACE_MENDED;
    row->remark_secs = off < 0 ? -off : off;
    row->value[METRIC_TIMESTAMP_SECS] =
        pace->previous_secs + (time_of(next) - pace->previous_secs) / 2;
}

static void set_remark(struct paced_row *row, double growth, double total)
{
    if (row->remark != PACE_FINE)
        return;
    if (growth < 0)
        row->remark = PACE_BACK;
    else if (GAP_STEPS * larger(total, STEP_MIN_SECS) < growth)
        row->remark = PACE_GAP;
    row->remark_secs = growth < 0 ? -growth : growth;
}

/* What the rows of a second cover by their own figures; NaN when one of them does not tell. */
static double guess_all(const struct pace *pace, size_t count)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += pace_guess(pace->rows[i].value);
    return sum;
}

/*
 * All rows of the same time. The last second of a run is not a whole one: where rows are shorter
 * than a second, they cover what they say, or as much as those before them.
 */
static double settle_all(struct pace *pace, size_t count, double growth, bool is_last)
{
    double guess = guess_all(pace, count);
    double as_before = pace->share_secs * (double)count;

    if (isnan(growth) || growth < 0)
        return guess;
    if (growth == 0)
        return isnan(guess) ? as_before : guess;
    double total = pace_settle(&pace->stride, growth, guess, as_before, pace->rows[0].starts_run);
    bool is_dense = count > 1 || pace->previous_count > 1;
    if (is_last && is_dense)
        total = smaller(total, isnan(guess) ? as_before : guess);
    return total;
}

static void set_intervals(struct pace *pace, size_t count, bool is_last)
{
    struct paced_row *next = count < pace->count ? &pace->rows[count] : NULL;

    if (count == 1 && next != NULL && is_damaged(pace, &pace->rows[0], next))
        mend(pace, &pace->rows[0], next);
    double now = time_of(&pace->rows[0]);
    double growth = now - pace->previous_secs;
    double total = settle_all(pace, count, growth, is_last || (next != NULL && next->starts_run));
    set_remark(&pace->rows[0], growth, total);
    for (size_t i = 0; i < count; i++)
        pace->rows[i].interval_secs =
            isnan(growth) ? pace_guess(pace->rows[i].value) : total / (double)count;
    if (!isnan(pace->rows[count - 1].interval_secs))
        pace->share_secs = pace->rows[count - 1].interval_secs;
    pace->previous_count = count;
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
        set_intervals(pace, pace->count, true);
}

void pace_part(struct pace *pace)
{
    pace->starts_run = true;
}

int pace_add(struct pace *pace, const double *values, const char *file, uint64_t line)
{
    if (pace->at > 0)
        move_up(pace);
    struct paced_row *rows = array_grow(pace->rows, &pace->capacity, pace->count + 1, sizeof *rows);
    if (rows == NULL)
        return -ENOMEM;
    pace->rows = rows;
    struct paced_row *row = &rows[pace->count++];
    *row = (struct paced_row){
        .interval_secs = NAN, .file = file, .line = line, .starts_run = pace->starts_run};
    memcpy(row->value, values, sizeof row->value);
    pace->starts_run = false;
    if (time_of(row) != time_of(&rows[0]))
        set_intervals(pace, pace->count - 1, false);
    else if (pace->count == PACE_ROWS_MAX)
        set_intervals(pace, pace->count, false);
    return 0;
}

const struct paced_row *pace_next(struct pace *pace)
{
    return pace->at < pace->ready ? &pace->rows[pace->at++] : NULL;
}

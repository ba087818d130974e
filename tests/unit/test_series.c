#include "model/series.h"
#include "scratch.h"

#include <math.h>

static struct axis axis;
static struct series series;
static double elapsed;

static int make(void **state)
{
    (void)state;
    axis_init(&axis);
    series_init(&series);
    elapsed = 0;
    return 0;
}

static void add(double value, double secs)
{
    if (axis_is_full(&axis)) {
        series_merge(&series, &axis);
        axis_merge(&axis);
    }
    elapsed += secs;
    if (axis_add(&axis, elapsed))
        series_open_point(&series, &axis);
    series_add(&series, &axis, value, secs);
}

static void test_a_point_a_sample_while_there_is_room(void **state)
{
    (void)state;
    for (int i = 0; i < SERIES_POINTS_MAX; i++)
        add(i, 1);
    assert_int_equal(axis.count, SERIES_POINTS_MAX);
    assert_int_equal(axis.samples_per_point, 1);
    assert_true(series.mean[5] == 5 && series.min[5] == 5 && series.max[5] == 5);
    assert_true(axis.end_secs[5] == 6);
    assert_true(axis_is_full(&axis));
}

/* One more than there is room for: pairs, and a point that is only begun. */
static void test_merging_keeps_extremes_and_weighs_means(void **state)
{
    (void)state;
    for (int i = 0; i < SERIES_POINTS_MAX; i++)
        add(i % 2 == 0 ? 10 : 40, i % 2 == 0 ? 1 : 2);
    add(7, 1);
    assert_int_equal(axis.count, SERIES_POINTS_MAX / 2 + 1);
    assert_int_equal(axis.samples_per_point, 2);
    for (int i = 0; i < SERIES_POINTS_MAX / 2; i++) {
        assert_true(series.min[i] == 10 && series.max[i] == 40);
        assert_true(series.mean[i] == 30); /* 10 for 1 s, 40 for 2 s */
        assert_true(series.weight_secs[i] == 3);
        assert_true(axis.end_secs[i] == 3 * (i + 1));
    }
    size_t last = axis.count - 1;
    assert_true(series.mean[last] == 7 && axis.end_secs[last] == elapsed);
    add(9, 3);
    assert_int_equal(axis.count, SERIES_POINTS_MAX / 2 + 1);
    assert_true(series.mean[last] == 8.5F && series.min[last] == 7 && series.max[last] == 9);
}

static void test_what_is_not_known_does_not_count(void **state)
{
    (void)state;
    for (int i = 0; i < SERIES_POINTS_MAX; i++)
        add(i % 4 < 2 ? NAN : i % 4 == 2 ? 5 : NAN, 1);
    add(NAN, 1);
    assert_true(isnan(series.mean[0]) && isnan(series.min[0]) && isnan(series.max[0]));
    assert_true(series.weight_secs[0] == 0);
    assert_true(series.mean[1] == 5 && series.min[1] == 5 && series.max[1] == 5);
    assert_true(series.weight_secs[1] == 1);
    assert_true(isnan(series.mean[axis.count - 1]));
}

/* Against the plain computation over all samples. */
static void test_a_week_at_1_hz_is_what_it_was(void **state)
{
    const int samples = 7 * 24 * 3600;
    double sum = 0;

    (void)state;
    for (int i = 0; i < samples; i++) {
        double value = i == 123456 ? 1000 : i == 234567 ? -1000 : (double)(i * 7919LL % 101);
        sum += value;
        add(value, 1);
    }
    assert_true(axis.count <= SERIES_POINTS_MAX && axis.count > SERIES_POINTS_MAX / 2);
    assert_int_equal(axis.samples_per_point, 1024);
    assert_true(axis.end_secs[axis.count - 1] == samples);
    float low = INFINITY;
    float high = -INFINITY;
    double weighted = 0;
    double weight = 0;
    for (size_t i = 0; i < axis.count; i++) {
        low = series.min[i] < low ? series.min[i] : low;
        high = series.max[i] > high ? series.max[i] : high;
        weighted += (double)series.mean[i] * (double)series.weight_secs[i];
        weight += (double)series.weight_secs[i];
    }
    assert_true(low == -1000 && high == 1000);
    assert_true(weight == samples);
    assert_true(fabs(weighted - sum) < 1e-5 * sum);
    assert_true(series.max[123456 / 1024] == 1000);
}

#define TEST(name) cmocka_unit_test_setup(name, make)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_point_a_sample_while_there_is_room),
        TEST(test_merging_keeps_extremes_and_weighs_means),
        TEST(test_what_is_not_known_does_not_count),
        TEST(test_a_week_at_1_hz_is_what_it_was),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "scratch.h"

#include "read/pace.h"

#include <math.h>

static struct pace pace;

static int make(void **state)
{
    (void)state;
    pace_init(&pace);
    return 0;
}

static int drop(void **state)
{
    (void)state;
    pace_free(&pace);
    return 0;
}

static void add(double secs)
{
    double values[METRIC_COUNT];

    for (size_t i = 0; i < METRIC_COUNT; i++)
        values[i] = NAN;
    values[METRIC_TIMESTAMP_SECS] = secs;
    assert_int_equal(pace_add(&pace, values), 0);
}

static void expect(double secs, double interval)
{
    const struct paced_row *row = pace_next(&pace);

    assert_non_null(row);
    assert_true(row->value[METRIC_TIMESTAMP_SECS] == secs);
    assert_true(row->interval_secs == interval || (isnan(interval) && isnan(row->interval_secs)));
}

static void test_a_row_covers_the_time_since_the_one_before(void **state)
{
    (void)state;
    add(100);
    assert_null(pace_next(&pace));
    add(101);
    expect(100, NAN);
    assert_null(pace_next(&pace));
    add(106.5);
    expect(101, 1);
    assert_null(pace_next(&pace));
    assert_false(pace_is_empty(&pace));
    pace_finish(&pace);
    expect(106.5, 5.5);
    assert_null(pace_next(&pace));
    assert_true(pace_is_empty(&pace));
    pace_finish(&pace);
    assert_null(pace_next(&pace));
}

static void test_a_guess_needs_cpu_time(void **state)
{
    double values[METRIC_COUNT];

    (void)state;
    for (size_t i = 0; i < METRIC_COUNT; i++)
        values[i] = NAN;
    assert_true(isnan(pace_guess(values)));
    values[METRIC_CPU_UTIME] = 0.9;
    values[METRIC_CPU_STIME] = 0.1;
    values[METRIC_CPU_UTILIZATION] = 0.5;
    assert_true(pace_guess(values) == 2);
    values[METRIC_CPU_STEAL] = 0.25;
    assert_true(pace_guess(values) == 2.5);
    values[METRIC_PROCESS_UTIME] = 0;
    values[METRIC_PROCESS_STIME] = 0;
    values[METRIC_PROCESS_CORES_USED] = 0;
    assert_true(pace_guess(values) == 2.5);
    values[METRIC_PROCESS_UTIME] = 6;
    values[METRIC_PROCESS_CORES_USED] = 2;
    assert_true(pace_guess(values) == 3);
    values[METRIC_PROCESS_CORES_USED] = 0.0001;
    assert_true(pace_guess(values) == 2.5);
}

static void test_rows_of_a_second_share_it(void **state)
{
    (void)state;
    add(100);
    add(100);
    assert_null(pace_next(&pace));
    add(101);
    expect(100, NAN);
    expect(100, NAN);
    for (int i = 0; i < 3; i++) {
        assert_null(pace_next(&pace));
        add(101);
    }
    add(102);
    for (int i = 0; i < 4; i++)
        expect(101, 0.25);
    pace_finish(&pace);
    expect(102, 1);
}

static void test_time_that_goes_back_covers_nothing_known(void **state)
{
    (void)state;
    add(100);
    add(90);
    expect(100, NAN);
    add(91);
    expect(90, NAN);
    pace_finish(&pace);
    expect(91, 1);
}

static void test_rows_without_end_are_held_only_so_far(void **state)
{
    size_t taken = 0;

    (void)state;
    for (size_t i = 0; i < 3 * PACE_ROWS_MAX; i++) {
        add(100);
        while (pace_next(&pace) != NULL)
            taken++;
    }
    assert_int_equal(taken, 3 * PACE_ROWS_MAX);
    assert_true(pace.capacity < 2 * PACE_ROWS_MAX);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, make, drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_row_covers_the_time_since_the_one_before),
        TEST(test_a_guess_needs_cpu_time),
        TEST(test_rows_of_a_second_share_it),
        TEST(test_time_that_goes_back_covers_nothing_known),
        TEST(test_rows_without_end_are_held_only_so_far),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "scratch.h"

#include "read/pace.h"

#include <math.h>

static struct pace pace;
static uint64_t line;

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

/* A row with this much of CPU time on one core, which is what it covers; NaN: it does not tell. */
static void add_telling(double secs, double guess)
{
    double values[METRIC_COUNT];

    for (size_t i = 0; i < METRIC_COUNT; i++)
        values[i] = NAN;
    values[METRIC_TIMESTAMP_SECS] = secs;
    values[METRIC_CPU_UTIME] = guess;
    values[METRIC_CPU_STIME] = 0;
    values[METRIC_CPU_UTILIZATION] = 1;
    assert_int_equal(pace_add(&pace, values, "f", ++line), 0);
}

static void add(double secs)
{
    add_telling(secs, NAN);
}

static enum pace_remark remark;
static void expect(double secs, double interval)
{
    const struct paced_row *row = pace_next(&pace);

    assert_non_null(row);
    assert_true(row->value[METRIC_TIMESTAMP_SECS] == secs);
    remark = row->remark;
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
    expect(102, 0.25);
}

/* The last second of a run is not a whole one. */
static void test_a_lone_row_covers_what_it_says(void **state)
{
    (void)state;
    add(100);
    for (int i = 0; i < 4; i++)
        add(101);
    expect(100, NAN);
    add_telling(102, 0.125);
    for (int i = 0; i < 4; i++)
        expect(101, 0.25);
    pace_finish(&pace);
    expect(102, 0.125);
}

static void test_a_damaged_time_is_put_between_its_neighbours(void **state)
{
    static const double damaged[] = {1, 90, 109, 1000000};

    for (size_t i = 0; i < sizeof damaged / sizeof damaged[0]; i++) {
        pace_free(&pace);
        (void)make(state);
        add(100);
        add(101);
        expect(100, NAN);
        add(damaged[i]);
        expect(101, 1);
        add(103);
        expect(102, 1);
        assert_int_equal(remark, PACE_MENDED);
        pace_finish(&pace);
        expect(103, 1);
        assert_int_equal(remark, PACE_FINE);
    }
}

/* In the middle of a second, and at the end, where nothing comes behind it. */
static void test_a_damaged_time_in_other_places(void **state)
{
    (void)state;
    add(100);
    add(101);
    expect(100, NAN);
    add(101);
    add(5000);
    expect(101, 0.5);
    expect(101, 0.5);
    add(101);
    expect(101, 0.5);
    assert_int_equal(remark, PACE_MENDED);
    add(102);
    expect(101, 0.5);
    add(9000000);
    expect(102, 1);
    pace_finish(&pace);
    expect(9000000, 1);
    assert_int_equal(remark, PACE_GAP);
}

static void test_a_gap_is_no_time_of_a_run(void **state)
{
    (void)state;
    add(100);
    add(102);
    expect(100, NAN);
    add(5000);
    expect(102, 2);
    add(5002);
    expect(5000, 2);
    assert_int_equal(remark, PACE_GAP);
    add_telling(9000, 0.5);
    expect(5002, 2);
    assert_int_equal(remark, PACE_FINE);
    /* The row itself says that it covers all of it. */
    add_telling(9100, 90);
    expect(9000, 0.5);
    assert_int_equal(remark, PACE_GAP);
    add(9102);
    expect(9100, 100);
    assert_int_equal(remark, PACE_FINE);
}

/* As after a damaged time in the first row. */
static void test_a_gap_before_anything_is_usual(void **state)
{
    (void)state;
    add(7);
    add(1700000000);
    expect(7, NAN);
    add(1700000002);
    expect(1700000000, NAN);
    assert_int_equal(remark, PACE_GAP);
    pace_finish(&pace);
    expect(1700000002, 2);
}

static void test_another_pace_is_a_gap_once(void **state)
{
    (void)state;
    add(100);
    add(101);
    expect(100, NAN);
    add(161);
    expect(101, 1);
    add(221);
    expect(161, 1);
    assert_int_equal(remark, PACE_GAP);
    add(281);
    expect(221, 60);
    pace_finish(&pace);
    expect(281, 60);
    assert_int_equal(remark, PACE_FINE);
}

static void test_a_run_behind_another_one(void **state)
{
    (void)state;
    add(100);
    add(101);
    expect(100, NAN);
    pace_part(&pace);
    add_telling(110, 0.5);
    expect(101, 1);
    add(111);
    expect(110, 0.5);
    pace_part(&pace);
    /* Batches of one run that were joined. */
    add(112);
    expect(111, 1);
    pace_part(&pace);
    add(120);
    expect(112, 1);
    pace_finish(&pace);
    expect(120, 1);
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
        TEST(test_a_lone_row_covers_what_it_says),
        TEST(test_a_damaged_time_is_put_between_its_neighbours),
        TEST(test_a_damaged_time_in_other_places),
        TEST(test_a_gap_is_no_time_of_a_run),
        TEST(test_a_gap_before_anything_is_usual),
        TEST(test_another_pace_is_a_gap_once),
        TEST(test_a_run_behind_another_one),
        TEST(test_time_that_goes_back_covers_nothing_known),
        TEST(test_rows_without_end_are_held_only_so_far),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "model/statistic.h"
#include "scratch.h"

#include <math.h>

static struct statistic statistic;
static struct moment now;

static int make(void **state)
{
    (void)state;
    statistic_init(&statistic);
    now = (struct moment){.unix_secs = 1700000000};
    return 0;
}

static double add(double value, enum value_kind kind, double interval_secs)
{
    now.interval_secs = interval_secs;
    now.elapsed_secs += interval_secs;
    now.unix_secs += interval_secs;
    return statistic_add(&statistic, value, kind, &now);
}

static void test_nothing_is_known_at_first(void **state)
{
    (void)state;
    assert_false(statistic_is_known(&statistic));
    assert_true(isnan(statistic_mean(&statistic)));
    assert_true(isnan(statistic.min) && isnan(statistic.max) && isnan(statistic.first));
    assert_true(isnan(add(NAN, VALUE_GAUGE, 1)));
    assert_true(isnan(add(INFINITY, VALUE_GAUGE, 1)));
    assert_false(statistic_is_known(&statistic));
}

static void test_mean_is_weighted_by_time(void **state)
{
    (void)state;
    add(1, VALUE_GAUGE, 1);
    add(NAN, VALUE_GAUGE, 100); /* not known for that long */
    add(4, VALUE_GAUGE, 3);
    assert_true(statistic_mean(&statistic) == 13.0 / 4);
    assert_true(statistic.weight_secs == 4);
    assert_int_equal(statistic.count, 2);
    assert_true(statistic.sum == 5);
    assert_true(statistic.first == 1 && statistic.last == 4);
}

static void test_extremes_and_when(void **state)
{
    (void)state;
    add(2, VALUE_GAUGE, 1);
    add(7, VALUE_GAUGE, 1);
    add(7, VALUE_GAUGE, 1); /* the first one counts */
    add(-1, VALUE_GAUGE, 1);
    assert_true(statistic.min == -1);
    assert_true(statistic.max == 7);
    assert_true(statistic.max_elapsed_secs == 2);
    assert_true(statistic.max_unix_secs == 1700000002);
}

static void test_amounts_are_levels_per_second(void **state)
{
    (void)state;
    assert_true(add(100, VALUE_AMOUNT, 2) == 50);
    assert_true(add(100, VALUE_AMOUNT, 1) == 100);
    assert_true(statistic.sum == 200);
    assert_true(statistic.weighted == 200);
    assert_true(statistic.max == 100 && statistic.min == 50);
    assert_true(statistic_mean(&statistic) == 200.0 / 3);
}

static void test_short_samples_make_no_peaks(void **state)
{
    (void)state;
    now.is_short = true;
    assert_true(add(3, VALUE_RATE, 0.001) == 3); /* but there is no other */
    now.is_short = false;
    add(1, VALUE_RATE, 1);
    now.is_short = true;
    assert_true(isnan(add(20, VALUE_RATE, 0.001)));
    assert_true(statistic.max == 3);
    assert_true(statistic.sum == 24);
    assert_int_equal(statistic.count, 3);
    assert_true(add(99, VALUE_GAUGE, 0.001) == 99); /* memory is what it is */
    assert_true(statistic.max == 99);
}

static void test_rescaling_is_as_if_it_had_been_known(void **state)
{
    struct statistic wanted;

    (void)state;
    add(100, VALUE_AMOUNT, 1);
    add(40, VALUE_AMOUNT, 1);
    statistic_rescale(&statistic, true, 0.25);
    struct statistic got = statistic;
    (void)make(NULL);
    add(100, VALUE_AMOUNT, 0.25);
    add(40, VALUE_AMOUNT, 0.25);
    wanted = statistic;
    assert_true(got.max == wanted.max && got.min == wanted.min && got.sum == wanted.sum);
    assert_true(statistic_mean(&got) == statistic_mean(&wanted));
    assert_true(got.max_elapsed_secs == wanted.max_elapsed_secs);
}

#define TEST(name) cmocka_unit_test_setup(name, make)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_nothing_is_known_at_first),   TEST(test_mean_is_weighted_by_time),
        TEST(test_extremes_and_when),           TEST(test_amounts_are_levels_per_second),
        TEST(test_short_samples_make_no_peaks), TEST(test_rescaling_is_as_if_it_had_been_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

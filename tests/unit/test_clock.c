#include "base/clock.h"
#include "scratch.h"

static uint64_t plain_ns(clockid_t clock)
{
    struct timespec now;

    assert_int_equal(clock_gettime(clock, &now), 0);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void test_reads_the_clock_it_is_asked_for(void **state)
{
    static const clockid_t clocks[] = {CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_PROCESS_CPUTIME_ID};

    (void)state;
    for (size_t i = 0; i < sizeof clocks / sizeof clocks[0]; i++) {
        uint64_t before = plain_ns(clocks[i]);
        uint64_t now = clock_ns(clocks[i]);
        assert_in_range(now, before, plain_ns(clocks[i]));
    }
    uint64_t before = plain_ns(CLOCK_MONOTONIC);
    uint64_t now = clock_monotonic_ns();
    assert_in_range(now, before, plain_ns(CLOCK_MONOTONIC));
}

static void test_unknown_clock_reads_as_zero(void **state)
{
    (void)state;
    assert_int_equal(clock_ns((clockid_t)12345), 0);
}

static void test_timespec_splits_nanoseconds(void **state)
{
    static const uint64_t values[] = {0,          1,           999999999,
                                      1000000000, 1000000001u, UINT64_C(1000000000999999999)};

    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        struct timespec time = clock_timespec(values[i]);
        assert_in_range(time.tv_nsec, 0, 999999999);
        assert_int_equal((uint64_t)time.tv_sec * NS_PER_SEC + (uint64_t)time.tv_nsec, values[i]);
    }
}

static void test_units(void **state)
{
    (void)state;
    assert_int_equal(NS_PER_SEC, 1000 * NS_PER_MS);
    assert_int_equal(NS_PER_MS, 1000 * NS_PER_US);
    assert_int_equal(NS_PER_US, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_the_clock_it_is_asked_for),
        cmocka_unit_test(test_unknown_clock_reads_as_zero),
        cmocka_unit_test(test_timespec_splits_nanoseconds),
        cmocka_unit_test(test_units),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

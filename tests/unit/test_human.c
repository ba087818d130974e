#include "encode/human.h"
#include "out.h"

#include <math.h>

/* What was written since the last look. */
static const char *written(void)
{
    buf_char(&out, '\0');
    out.size = 0;
    return out.data;
}

static const char *quantity(double value, const char *unit)
{
    human_quantity(&out, value, unit);
    return written();
}

static void test_numbers_have_three_digits(void **state)
{
    (void)state;
    assert_string_equal(quantity(0, "cores"), "0 cores");
    assert_string_equal(quantity(8, "cores"), "8 cores");
    assert_string_equal(quantity(1.256, "cores"), "1.26 cores");
    assert_string_equal(quantity(9.996, "%"), "10.0 %");
    assert_string_equal(quantity(12.34, "%"), "12.3 %");
    assert_string_equal(quantity(99.96, "%"), "100 %");
    assert_string_equal(quantity(1234.5, "W"), "1235 W");
    assert_string_equal(quantity(-1.5, ""), "-1.50");
    assert_string_equal(quantity(17, "count"), "17");
}

static void test_bytes_find_their_unit(void **state)
{
    (void)state;
    assert_string_equal(quantity(0, "bytes"), "0 B");
    assert_string_equal(quantity(1023, "bytes"), "1023 B");
    assert_string_equal(quantity(1024, "bytes"), "1 KiB");
    assert_string_equal(quantity(1023.9 * 1024, "bytes"), "1.00 MiB");
    assert_string_equal(quantity(1.5 * 1024 * 1024, "bytes/s"), "1.50 MiB/s");
    assert_string_equal(quantity(3e12, "bytes"), "2.73 TiB");
    assert_string_equal(quantity(1e19, "bytes"), "8882 PiB");
}

static void test_what_is_no_number_is_not_known(void **state)
{
    (void)state;
    assert_string_equal(quantity(NAN, "bytes"), "not known");
    assert_string_equal(quantity(INFINITY, "cores"), "not known");
}

static const char *duration(double seconds)
{
    human_duration(&out, seconds);
    return written();
}

static void test_durations(void **state)
{
    (void)state;
    assert_string_equal(duration(0), "0 s");
    assert_string_equal(duration(0.25), "0.25 s");
    assert_string_equal(duration(12.34), "12.3 s");
    assert_string_equal(duration(59.96), "1 min 00 s");
    assert_string_equal(duration(245), "4 min 05 s");
    assert_string_equal(duration(3600 * 3 + 245), "3 h 04 min");
    assert_string_equal(duration(604800), "7 d 0 h 00 min");
    assert_string_equal(duration(NAN), "0 s");
    assert_string_equal(duration(-5), "0 s");
    assert_string_equal(duration(INFINITY), "0 min 00 s");
}

static const char *clock_of(double seconds)
{
    human_clock(&out, seconds);
    return written();
}

static void test_moments(void **state)
{
    (void)state;
    assert_string_equal(clock_of(0), "0:00:00");
    assert_string_equal(clock_of(59.6), "0:01:00");
    assert_string_equal(clock_of(86399), "23:59:59");
    assert_string_equal(clock_of(86400 * 7 + 5), "7d 0:00:05");
    assert_string_equal(clock_of(NAN), "0:00:00");
}

static const char *date(double unix_secs)
{
    human_date(&out, unix_secs);
    return written();
}

static void test_dates(void **state)
{
    (void)state;
    assert_string_equal(date(0), "1970-01-01 00:00:00 UTC");
    assert_string_equal(date(1794720000), "2026-11-15 05:20:00 UTC");
    assert_string_equal(date(1e300), "not known");
    assert_string_equal(date(NAN), "not known");
    assert_string_equal(date(-1), "not known");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_have_three_digits),
        cmocka_unit_test(test_bytes_find_their_unit),
        cmocka_unit_test(test_what_is_no_number_is_not_known),
        cmocka_unit_test(test_durations),
        cmocka_unit_test(test_moments),
        cmocka_unit_test(test_dates),
    };

    return cmocka_run_group_tests(tests, out_make, out_drop);
}

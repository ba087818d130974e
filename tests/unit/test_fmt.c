#include "base/fmt.h"
#include "scratch.h"

#include <float.h>
#include <math.h>

/* Reproducible: a failure names the value, and the next run meets it again. */
static uint64_t random_state;

static uint64_t random_u64(void)
{
    random_state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t mixed = random_state;
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ mixed >> 31;
}

static const char *u64_text(uint64_t value)
{
    static char text[FMT_U64_MAX + 2];

    memset(text, '~', sizeof text);
    size_t size = fmt_u64(text, value);
    assert_in_range(size, 1, FMT_U64_MAX);
    assert_int_equal(text[size], '~');
    text[size] = '\0';
    return text;
}

static const char *fixed_text(double value, unsigned decimals)
{
    static char text[FMT_FIXED_MAX + 2];

    memset(text, '~', sizeof text);
    size_t size = fmt_fixed(text, value, decimals);
    assert_in_range(size, 1, FMT_FIXED_MAX);
    assert_int_equal(text[size], '~');
    text[size] = '\0';
    return text;
}

static void test_u64_agrees_with_printf(void **state)
{
    static const uint64_t edges[] = {0,
                                     1,
                                     9,
                                     10,
                                     99,
                                     100,
                                     UINT32_MAX,
                                     UINT64_C(9999999999999999999),
                                     UINT64_C(10000000000000000000),
                                     UINT64_MAX - 1,
                                     UINT64_MAX};
    char wanted[32];

    (void)state;
    random_state = 1;
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++) {
        snprintf(wanted, sizeof wanted, "%llu", (unsigned long long)edges[i]);
        assert_string_equal(u64_text(edges[i]), wanted);
    }
    for (int i = 0; i < 200000; i++) {
        uint64_t value = random_u64() >> (random_u64() & 63);
        snprintf(wanted, sizeof wanted, "%llu", (unsigned long long)value);
        assert_string_equal(u64_text(value), wanted);
    }
}

static double power(unsigned decimals)
{
    double scale = 1;

    while (decimals-- > 0)
        scale *= 10;
    return scale;
}

/*
 * Whether the value, scaled, lies at a tie or within the error of the multiplication from it: there
 * printf rounds to even or sees the binary digits behind the tie, and fmt_fixed rounds up.
 */
static bool is_near_tie(double value, unsigned decimals)
{
    double scaled = fabs(value) * power(decimals);
    double ulp = nextafter(scaled, INFINITY) - scaled;

    return fabs(scaled - floor(scaled) - 0.5) <= ulp;
}

static void expect_like_printf(double value, unsigned decimals)
{
    char wanted[400];
    const char *got = fixed_text(value, decimals);

    snprintf(wanted, sizeof wanted, "%.*f", (int)decimals, value);
    /* Documented: never "-0". */
    const char *plain =
        wanted[0] == '-' && strspn(wanted, "-0.") == strlen(wanted) ? wanted + 1 : wanted;
    if (strcmp(got, plain) == 0)
        return;
    /* Documented: half away from zero. The neighbour one unit further out. */
    double unit = 1 / power(decimals);
    snprintf(wanted, sizeof wanted, "%.*f", (int)decimals,
             strtod(plain, NULL) + (value < 0 ? -unit : unit));
    if (!is_near_tie(value, decimals) || strcmp(got, wanted) != 0)
        fail_msg("%.17g with %u decimals gave %s", value, decimals, got);
}

static void test_fixed_agrees_with_printf_on_random_values(void **state)
{
    (void)state;
    random_state = 2;
    for (int i = 0; i < 400000; i++) {
        unsigned decimals = (unsigned)(random_u64() % (FMT_DECIMALS_MAX + 1));
        double value =
            (double)(random_u64() >> (random_u64() & 63)) / power((unsigned)(random_u64() % 12));
        if (value * power(decimals) >= 0x1p49)
            continue; /* the multiplication leaves too few bits to tell a tie; see below */
        expect_like_printf(random_u64() & 1 ? value : -value, decimals);
    }
}

static void test_fixed_agrees_with_printf_on_short_decimals(void **state)
{
    (void)state;
    for (int i = -30000; i <= 30000; i++)
        for (unsigned decimals = 0; decimals <= 4; decimals++)
            expect_like_printf(i / 1000.0, decimals);
}

/* From 2^52 a double has no digit behind the point: a whole number must come out as it is. */
static void test_fixed_prints_large_whole_numbers_exactly(void **state)
{
    char wanted[400];

    (void)state;
    random_state = 3;
    for (int i = 0; i < 100000; i++) {
        /* up to 2^63, where the scaled value still fits */
        double value = (double)((random_u64() | UINT64_C(1) << 63) >> (1 + random_u64() % 12));
        snprintf(wanted, sizeof wanted, "%.0f", value);
        assert_string_equal(fixed_text(value, 0), wanted);
    }
}

static void test_fixed_keeps_the_last_digit_of_large_values(void **state)
{
    (void)state;
    assert_string_equal(fixed_text(4503599627370497.0, 0), "4503599627370497");
    assert_string_equal(fixed_text(9007199254740991.0, 0), "9007199254740991");
    assert_string_equal(fixed_text(45035996273704.97, 2), "45035996273704.97");
}

static void test_fixed_rounds_half_away_from_zero(void **state)
{
    (void)state;
    assert_string_equal(fixed_text(0.5, 0), "1");
    assert_string_equal(fixed_text(1.5, 0), "2");
    assert_string_equal(fixed_text(2.5, 0), "3");
    assert_string_equal(fixed_text(-2.5, 0), "-3");
    assert_string_equal(fixed_text(0.125, 2), "0.13");
    assert_string_equal(fixed_text(-0.375, 2), "-0.38");
    assert_string_equal(fixed_text(0.96, 1), "1.0");
    assert_string_equal(fixed_text(999.9996, 3), "1000.000");
}

static void test_fixed_never_writes_minus_zero(void **state)
{
    (void)state;
    assert_string_equal(fixed_text(-0.0, 0), "0");
    assert_string_equal(fixed_text(-0.0, 3), "0.000");
    assert_string_equal(fixed_text(-0.0004, 3), "0.000");
    assert_string_equal(fixed_text(-0.0005, 3), "-0.001");
    assert_string_equal(fixed_text(-DBL_MIN, 9), "0.000000000");
    assert_string_equal(fixed_text(-0.4, 0), "0");
}

static void test_fixed_pads_decimals(void **state)
{
    (void)state;
    assert_string_equal(fixed_text(1, 0), "1");
    assert_string_equal(fixed_text(1, 9), "1.000000000");
    assert_string_equal(fixed_text(0.000000001, 9), "0.000000001");
    assert_string_equal(fixed_text(0.05, 3), "0.050");
}

static void test_fixed_saturates(void **state)
{
    (void)state;
    assert_string_equal(fixed_text(0x1p63, 0), "9223372036854775808");
    assert_string_equal(fixed_text(18446744073709549568.0, 0), "18446744073709549568");
    assert_string_equal(fixed_text(0x1p64, 0), "18446744073709551615");
    assert_string_equal(fixed_text(DBL_MAX, 9), "18446744073709551615.000000000");
    assert_string_equal(fixed_text(-DBL_MAX, 9), "-18446744073709551615.000000000");
}

/* Only what does not fit 64 bits after scaling loses its decimals. */
static void test_fixed_keeps_decimals_that_fit(void **state)
{
    (void)state;
    assert_string_equal(fixed_text(9000000000.5, 9), "9000000000.500000000");
    assert_string_equal(fixed_text(12000000000.5, 9), "12000000000.500000000");
    assert_string_equal(fixed_text(20000000000.5, 9), "20000000000.500000000");
}

/* What is parsed back from the text is the same double, for any number of decimals. */
static void test_rounded_is_what_a_reader_gets(void **state)
{
    uint64_t seed = 42;

    (void)state;
    for (int i = 0; i < 200000; i++) {
        seed = seed * 6364136223846793005U + 1442695040888963407U;
        unsigned decimals = (unsigned)(seed >> 60) % 7;
        double value = (double)(int64_t)seed / (double)(UINT64_C(1) << (20 + i % 40));
        char text[FMT_FIXED_MAX + 1];
        text[fmt_fixed(text, value, decimals)] = '\0';
        double rounded = fmt_rounded(value, decimals);
        if (fabs(value) < 1e9 && rounded != strtod(text, NULL))
            fail_msg("%.17g with %u decimals: %.17g, but %s", value, decimals, rounded, text);
    }
    assert_true(isnan(fmt_rounded(NAN, 2)));
    assert_true(isinf(fmt_rounded(-INFINITY, 2)));
    assert_true(fmt_rounded(1e300, 2) == 1e300);
    assert_true(fmt_rounded(-0.004, 2) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_u64_agrees_with_printf),
        cmocka_unit_test(test_fixed_agrees_with_printf_on_random_values),
        cmocka_unit_test(test_fixed_agrees_with_printf_on_short_decimals),
        cmocka_unit_test(test_fixed_prints_large_whole_numbers_exactly),
        cmocka_unit_test(test_fixed_keeps_the_last_digit_of_large_values),
        cmocka_unit_test(test_fixed_rounds_half_away_from_zero),
        cmocka_unit_test(test_fixed_never_writes_minus_zero),
        cmocka_unit_test(test_fixed_pads_decimals),
        cmocka_unit_test(test_fixed_saturates),
        cmocka_unit_test(test_fixed_keeps_decimals_that_fit),
        cmocka_unit_test(test_rounded_is_what_a_reader_gets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

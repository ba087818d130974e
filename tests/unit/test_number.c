#include "scratch.h"

#include "base/fmt.h"
#include "read/number.h"

#include <math.h>

static bool parse(const char *text, double *ret_value)
{
    struct scan scan = scan_over(text, strlen(text));

    return number_parse(&scan, ret_value);
}

static void test_numbers_are_what_the_c_library_says(void **state)
{
    static const char *const texts[] = {"0",
                                        "1",
                                        "-1",
                                        "0.1",
                                        "0.5",
                                        "123.456",
                                        "9007199254740991",
                                        "9007199254740993",
                                        "0.000001",
                                        "1e3",
                                        "1E-3",
                                        "1e+2",
                                        "1.7976931348623157e308",
                                        "5e-324",
                                        "1e-400",
                                        "00012.50",
                                        "123456789012345678901234567890",
                                        "0.1234567890123456789012345",
                                        "1794734174.6650984",
                                        "0.07999999999999999",
                                        "18446744073709551615",
                                        "2.2250738585072011e-308"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        double value;
        assert_true(parse(texts[i], &value));
        double wanted = strtod(texts[i], NULL);
        assert_memory_equal(&value, &wanted, sizeof value);
    }
}

/* What we print comes back: any figure, any number of decimals. */
static void test_what_is_printed_comes_back(void **state)
{
    uint64_t random = 88172645463325252u;

    (void)state;
    for (int i = 0; i < 200000; i++) {
        char text[FMT_FIXED_MAX + 1];
        double value;
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        double printed = (double)(random >> 20) / (double)(1u << random % 31);
        text[fmt_fixed(text, printed, (unsigned)(random % 7))] = '\0';
        assert_true(parse(text, &value));
        assert_true(value == strtod(text, NULL));
    }
}

static void test_what_is_no_number(void **state)
{
    static const char *const texts[] = {"",    "-",   "+1",    ".5",    "1.",     "1e",
                                        "1e+", "nan", "inf",   "0x10",  "1,5",    " 1",
                                        "1 ",  "--1", "1.2.3", "1e999", "-1e999", "null"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        double value = 42;
        assert_false(parse(texts[i], &value));
        assert_true(value == 42);
    }
    static char digits[2000];
    memset(digits, '7', sizeof digits - 1);
    double value;
    assert_false(parse(digits, &value));
}

static void test_a_cursor_stops_behind_the_number(void **state)
{
    struct scan scan = scan_over("12.5,7", 6);
    double value;

    (void)state;
    assert_true(number_scan(&scan, &value));
    assert_true(value == 12.5 && *scan.at == ',');
    assert_false(number_scan(&scan, &value));
    assert_true(*scan.at == ',');
    scan = scan_over("12.5", 2);
    assert_true(number_scan(&scan, &value) && value == 12 && scan.at == scan.end);
}

static void test_figures_and_times(void **state)
{
    (void)state;
    assert_true(number_is_figure(0) && number_is_figure(-0.0) && number_is_figure(1e17));
    assert_false(number_is_figure(-1) || number_is_figure(1e18) || number_is_figure(NAN));
    assert_true(number_is_time(0) && number_is_time(1794734174.5));
    assert_false(number_is_time(-1) || number_is_time(1794734174000.0) || number_is_time(NAN));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_are_what_the_c_library_says),
        cmocka_unit_test(test_what_is_printed_comes_back),
        cmocka_unit_test(test_what_is_no_number),
        cmocka_unit_test(test_a_cursor_stops_behind_the_number),
        cmocka_unit_test(test_figures_and_times),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

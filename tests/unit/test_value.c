#include "app/value.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_seconds(void **state)
{
    static const struct {
        const char *text;
        uint64_t ns;
    } good[] = {
        {"1", 1000000000},
        {"0.05", 50000000},
        {".5", 500000000},
        {"0.001", 1000000},
        {"2.0000000019", 2000000001},
        {"007", UINT64_C(7000000000)},
        {"1000000000", UINT64_C(1000000000000000000)},
    };
    uint64_t ns;

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_null(value_seconds(good[i].text, &ns));
        assert_int_equal(ns, good[i].ns);
    }
}

static void test_t_cfg_03_seconds_that_are_refused(void **state)
{
    static const char *const bad[] = {
        "0",   "0.0",    "-1",  "",   " 1",   "1 ",  "1e3",        "nan",
        "inf", "0.0009", ".",   "1.", "0x10", "1,5", "1000000001", "99999999999999999999",
        "+1",  "1.5.2",  "one", "1s",
    };
    uint64_t ns = 42;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_non_null(value_seconds(bad[i], &ns));
    assert_int_equal(ns, 42);
}

static void test_pids(void **state)
{
    static const char *const bad[] = {"0", "-5", "", " 7", "7 ", "1.5", "me", "2147483648"};
    pid_t pid;

    (void)state;
    assert_null(value_pid("1", &pid));
    assert_int_equal(pid, 1);
    assert_null(value_pid("2147483647", &pid));
    assert_int_equal(pid, INT_MAX);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_non_null(value_pid(bad[i], &pid));
    assert_int_equal(pid, INT_MAX);
}

static void test_choices(void **state)
{
    static const char *const bad[] = {"", "c", "csvx", "json|csv", "|", "JSON"};
    int choice = 42;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_non_null(value_choice("json|csv", bad[i], &choice));
    assert_int_equal(choice, 42);
    assert_null(value_choice("json|csv", "json", &choice));
    assert_int_equal(choice, 0);
    assert_null(value_choice("json|csv", "csv", &choice));
    assert_int_equal(choice, 1);
}

static void test_flags(void **state)
{
    static const char *const yes[] = {"1", "true", "yes", "on"};
    static const char *const no[] = {"0", "false", "no", "off"};
    bool flag;

    (void)state;
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++) {
        assert_null(value_flag(yes[i], &flag));
        assert_true(flag);
        assert_null(value_flag(no[i], &flag));
        assert_false(flag);
    }
    assert_non_null(value_flag("", &flag));
    assert_non_null(value_flag("2", &flag));
}

static void test_switches(void **state)
{
    static const char choices[] = "auto|text|json|none";
    int choice = 42;

    (void)state;
    assert_non_null(value_switch(choices, "", &choice));
    assert_non_null(value_switch(choices, "csv", &choice));
    assert_int_equal(choice, 42);
    assert_null(value_switch(choices, "yes", &choice));
    assert_int_equal(choice, 1);
    assert_null(value_switch(choices, "0", &choice));
    assert_int_equal(choice, 3);
    assert_null(value_switch(choices, "json", &choice));
    assert_int_equal(choice, 2);
    assert_null(value_switch("a|b", "false", &choice));
    assert_int_equal(choice, 1); /* the last is the second */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_seconds), cmocka_unit_test(test_t_cfg_03_seconds_that_are_refused),
        cmocka_unit_test(test_pids),    cmocka_unit_test(test_choices),
        cmocka_unit_test(test_flags),   cmocka_unit_test(test_switches),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

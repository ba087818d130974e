#include "app/toml_scalar.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct example {
    const char *text;
    enum toml_scalar scalar;
};

static void check(const struct example *examples, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (toml_scalar_of(examples[i].text) != examples[i].scalar)
            fail_msg("'%s' is %d", examples[i].text, (int)toml_scalar_of(examples[i].text));
}

#define CHECK(examples) check(examples, sizeof(examples) / sizeof(examples)[0])

static void test_numbers(void **state)
{
    static const struct example examples[] = {
        {"0", SCALAR_INTEGER},     {"-17", SCALAR_INTEGER},   {"1_000", SCALAR_INTEGER},
        {"+9", SCALAR_INTEGER},    {"0.5", SCALAR_FLOAT},     {"1e3", SCALAR_FLOAT},
        {"6.6E-34", SCALAR_FLOAT}, {"1_0.2_5", SCALAR_FLOAT}, {"-0.0", SCALAR_FLOAT},
        {"", SCALAR_NONE},         {"01", SCALAR_NONE},       {"0_1", SCALAR_NONE},
        {"1__0", SCALAR_NONE},     {"_1", SCALAR_NONE},       {"1_", SCALAR_NONE},
        {".5", SCALAR_NONE},       {"5.", SCALAR_NONE},       {"1.e5", SCALAR_NONE},
        {"1e", SCALAR_NONE},       {"1.2.3", SCALAR_NONE},    {"+", SCALAR_NONE},
        {"--1", SCALAR_NONE},      {"1x", SCALAR_NONE},       {"1e5.5", SCALAR_NONE},
    };
    (void)state;
    CHECK(examples);
}

static void test_other_numbers(void **state)
{
    static const struct example examples[] = {
        {"0xDead_beef", SCALAR_OTHER}, {"0o755", SCALAR_OTHER}, {"0b1101", SCALAR_OTHER},
        {"inf", SCALAR_OTHER},         {"-nan", SCALAR_OTHER},  {"0x", SCALAR_NONE},
        {"0xg", SCALAR_NONE},          {"0o8", SCALAR_NONE},    {"0b2", SCALAR_NONE},
        {"0x_1", SCALAR_NONE},         {"0x1_", SCALAR_NONE},   {"+0x1", SCALAR_NONE},
        {"infinity", SCALAR_NONE},
    };
    (void)state;
    CHECK(examples);
}

static void test_dates_and_times(void **state)
{
    static const struct example examples[] = {
        {"1979-05-27", SCALAR_OTHER},
        {"1979-05-27T07:32:00Z", SCALAR_OTHER},
        {"1979-05-27 07:32:00.5", SCALAR_OTHER},
        {"1979-05-27t00:32:00-07:00", SCALAR_OTHER},
        {"07:32:00", SCALAR_OTHER},
        {"07:32", SCALAR_OTHER},
        {"23:59:60.999", SCALAR_OTHER},
        {"1979-13-01", SCALAR_NONE},
        {"1979-00-01", SCALAR_NONE},
        {"1979-01-32", SCALAR_NONE},
        {"79-01-01", SCALAR_NONE},
        {"24:00:00", SCALAR_NONE},
        {"07:60", SCALAR_NONE},
        {"07:32:61", SCALAR_NONE},
        {"07:32:00.", SCALAR_NONE},
        {"1979-05-27T", SCALAR_NONE},
        {"1979-05-27T07:32Q", SCALAR_NONE},
        {"07:32:00Z", SCALAR_NONE},
        {"1979-05-27T07:32:00+7", SCALAR_NONE},
        {"12-3", SCALAR_NONE},
    };
    (void)state;
    CHECK(examples);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_other_numbers),
        cmocka_unit_test(test_dates_and_times),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "scratch.h"

#include "read/names.h"

static struct names names;

static void add(const char *group, const char *text)
{
    struct scan name = scan_over(text, strlen(text));

    names_add(&names, group, &name);
}

static void test_each_is_told_once(void **state)
{
    (void)state;
    memset(&names, 0, sizeof names);
    add("", "a");
    add("cpu", "b");
    add("", "a");
    assert_string_equal(names.list, "a, cpu.b");
    names_start(&names);
    add("cpu", "b");
    add("gpu", "b");
    assert_string_equal(names.list, "gpu.b");
}

static void test_many_and_long_ones_are_bounded(void **state)
{
    static char text[5000];

    (void)state;
    memset(&names, 0, sizeof names);
    memset(text, 'x', sizeof text - 1);
    for (size_t i = 0; i < 1000; i++) {
        text[0] = (char)('a' + i % 26);
        text[1] = (char)('a' + i / 26 % 26);
        text[2] = (char)('a' + i / 676);
        add("", text);
    }
    assert_int_equal(names.count, NAMES_MAX);
    assert_in_range(strlen(names.list), NAMES_LIST_MAX / 2, NAMES_LIST_MAX - 1);
}

static void test_what_does_not_fit_is_counted(void **state)
{
    char text[] = "a_name_of_twenty_one_";
    size_t shown = 0;
    size_t left_out = 0;

    (void)state;
    memset(&names, 0, sizeof names);
    for (char c = 'a'; c <= 'z'; c++) {
        text[sizeof text - 2] = c;
        add("", text);
    }
    for (const char *at = names.list; (at = strstr(at, "a_name")) != NULL; at++)
        shown++;
    const char *end = strstr(names.list, ", and ");
    assert_non_null(end);
    assert_int_equal(sscanf(end, ", and %zu more", &left_out), 1);
    assert_int_equal(shown + left_out, 26);
    assert_string_equal(end + strlen(end) - 5, " more");
    names_start(&names);
    add("", "another");
    assert_string_equal(names.list, "another");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_is_told_once),
        cmocka_unit_test(test_what_does_not_fit_is_counted),
        cmocka_unit_test(test_many_and_long_ones_are_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

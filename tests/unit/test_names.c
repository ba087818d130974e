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
    names.list[0] = '\0';
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
    assert_int_equal(strlen(names.list), NAMES_LIST_MAX - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_is_told_once),
        cmocka_unit_test(test_many_and_long_ones_are_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

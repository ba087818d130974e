#include "scratch.h"

#include "read/problems.h"

static void test_the_first_are_kept_and_all_counted(void **state)
{
    struct problems problems = {0};

    (void)state;
    for (uint64_t line = 1; line <= 100; line++)
        problems_add(&problems, "f", line, "fault %d", (int)line);
    assert_int_equal(problems.kept, PROBLEMS_KEPT);
    assert_int_equal(problems.dropped, 100 - PROBLEMS_KEPT);
    assert_string_equal(problems.list[0].text, "fault 1");
    assert_int_equal(problems.list[19].first_line, 20);
}

static struct problems list;

/* A line with these faults; NULL: none. */
static void look_at(uint64_t line, const char *first, const char *second)
{
    problems_turn(&list);
    if (first != NULL)
        problems_add(&list, "f", line, "%s", first);
    if (second != NULL)
        problems_add(&list, "f", line, "%s", second);
}

static void expect(size_t at, uint64_t first_line, uint64_t last_line, const char *text)
{
    assert_int_equal(list.list[at].first_line, first_line);
    assert_int_equal(list.list[at].last_line, last_line);
    assert_string_equal(list.list[at].text, text);
}

static void test_a_fault_that_goes_on_is_one(void **state)
{
    (void)state;
    memset(&list, 0, sizeof list);
    look_at(3, "x", NULL);
    look_at(4, "x", "y");
    look_at(6, "x", "y"); /* a blank line between them */
    look_at(7, NULL, NULL);
    look_at(8, "x", NULL);
    look_at(9, "y", NULL);
    assert_int_equal(list.kept, 4);
    expect(0, 3, 6, "x");
    expect(1, 4, 6, "y");
    expect(2, 8, 8, "x");
    expect(3, 9, 9, "y");
    problems_add(&list, "f", 0, "y");
    problems_add(&list, "f", 0, "y");
    problems_add(&list, "g", 10, "y");
    assert_int_equal(list.kept, 7);
    assert_string_equal(list.list[6].file, "g");
}

static void test_what_goes_on_beyond_the_list_counts_once(void **state)
{
    struct problems problems = {0};

    (void)state;
    for (uint64_t line = 1; line <= PROBLEMS_KEPT; line++)
        problems_add(&problems, "f", line, "fault %d", (int)line);
    for (uint64_t line = 100; line <= 200; line++)
        problems_add(&problems, "f", line, "garbage");
    assert_int_equal(problems.dropped, 1);
    assert_int_equal(problems.list[PROBLEMS_KEPT - 1].last_line, PROBLEMS_KEPT);
}

static void test_a_text_has_an_end(void **state)
{
    static char text[1000];
    struct problems problems = {0};

    (void)state;
    memset(text, 'x', sizeof text - 1);
    problems_add(&problems, "f", 1, "%s", text);
    assert_int_equal(strlen(problems.list[0].text), PROBLEM_TEXT_MAX - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_first_are_kept_and_all_counted),
        cmocka_unit_test(test_a_fault_that_goes_on_is_one),
        cmocka_unit_test(test_what_goes_on_beyond_the_list_counts_once),
        cmocka_unit_test(test_a_text_has_an_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

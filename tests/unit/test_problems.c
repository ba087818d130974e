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

static void test_a_fault_that_goes_on_is_one(void **state)
{
    struct problems problems = {0};

    (void)state;
    problems_add(&problems, "f", 3, "x");
    problems_add(&problems, "f", 4, "x");
    problems_add(&problems, "f", 6, "x"); /* a blank line between them */
    problems_part(&problems);
    problems_add(&problems, "f", 8, "x");
    problems_add(&problems, "f", 9, "y");
    problems_add(&problems, "f", 0, "y");
    problems_add(&problems, "f", 0, "y");
    problems_add(&problems, "g", 1, "y");
    assert_int_equal(problems.kept, 6);
    assert_int_equal(problems.list[0].first_line, 3);
    assert_int_equal(problems.list[0].last_line, 6);
    assert_int_equal(problems.list[1].first_line, 8);
    assert_int_equal(problems.list[1].last_line, 8);
    assert_string_equal(problems.list[5].file, "g");
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

#include "json_check.h"
#include "out.h"

#include "encode/run_json.h"

#define TEST(function) cmocka_unit_test_setup_teardown(function, out_make, out_drop)

static void expect(const char *wanted)
{
    assert_true(is_json(out.data, out.size));
    buf_char(&out, '\0');
    assert_string_equal(out.data, wanted);
    buf_reset(&out);
}

static void test_tags(void **state)
{
    struct tag tags[] = {{"k", "v"}, {"a \"b\"", ""}, {"k", "again"}};
    struct run run = {.tags = tags};

    (void)state;
    json_run_tags(&run, &out);
    expect("{}");
    run.tag_count = 3;
    json_run_tags(&run, &out);
    expect("{\"k\":\"v\",\"a \\\"b\\\"\":\"\",\"k\":\"again\"}");
}

static void test_words(void **state)
{
    char *none[] = {NULL};
    char *words[] = {"sh", "", "a\"b\n", NULL};

    (void)state;
    json_run_command(none, 0, &out);
    expect("[]");
    json_run_command(words, SIZE_MAX, &out);
    expect("[\"sh\",\"\",\"a\\\"b\\u000a\"]");
}

static void test_words_beyond_the_limit(void **state)
{
    char *words[] = {"ab", "cd", "ef", "gh", NULL};

    (void)state;
    json_run_command(words, 12, &out);
    expect("[\"ab\",\"cd\",\"ef\",\"gh\"]");
    json_run_command(words, 11, &out);
    expect("[\"ab\",\"cd\",\"ef\",\"…\"]");
    json_run_command(words, 6, &out);
    expect("[\"ab\",\"cd\",\"…\"]");
    json_run_command(words, 2, &out);
    expect("[\"…\"]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_tags),
        TEST(test_words),
        TEST(test_words_beyond_the_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

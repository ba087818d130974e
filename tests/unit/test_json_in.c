#include "scratch.h"

#include "json_check.h"
#include "read/json_in.h"

/* A copy that may be changed, exactly as large as it is: a byte read behind it is an error. */
static char *text;
static struct json_in in;

static void start(const char *json)
{
    size_t size = strlen(json);

    free(text);
    text = malloc(size > 0 ? size : 1);
    assert_non_null(text);
    memcpy(text, json, size);
    in = json_in_over(text, size);
}

static int drop(void **state)
{
    (void)state;
    free(text);
    text = NULL;
    return 0;
}

static void expect_text(const char *json, const char *wanted)
{
    const char *got = NULL;

    start(json);
    assert_true(json_in_text(&in, &got));
    assert_string_equal(got, wanted);
    assert_true(json_in_is_done(&in));
}

static void test_texts_without_their_escapes(void **state)
{
    (void)state;
    expect_text("\"\"", "");
    expect_text(" \"plain\" ", "plain");
    expect_text("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t");
    expect_text("\"a\\u0041\\u00e9\\u20ac!\"", "aA\xc3\xa9\xe2\x82\xac!");
    expect_text("\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80");
    expect_text("\"\\ud83d\"", "\xef\xbf\xbd");
    expect_text("\"\\ud83d\\u0041\"", "\xef\xbf\xbd"
                                      "A");
    expect_text("\"\\ude00x\"", "\xef\xbf\xbdx");
    expect_text("\"nul\\u0000byte\"", "nul\xef\xbf\xbd"
                                      "byte");
    expect_text("\"\xff\xfe\"", "\xff\xfe");
}

static void test_texts_that_are_none(void **state)
{
    static const char *const broken[] = {"\"",        "\"abc",       "\"\\",     "\"\\x\"",
                                         "\"\\u12\"", "\"\\u12g4\"", "\"a\nb\"", "\"\\ud83d\\u\""};

    (void)state;
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        const char *got = "untouched";
        start(broken[i]);
        assert_false(json_in_text(&in, &got));
        assert_true(in.is_broken);
        assert_string_equal(got, "untouched");
    }
}

static void test_values_of_another_kind_are_still_to_be_taken(void **state)
{
    const char *got;
    double number;
    uint64_t counter;

    (void)state;
    start("{\"a\":null,\"b\":1.5,\"c\":\"x\",\"d\":18446744073709551615,\"e\":[true,{}],\"f\":-1}");
    struct scan key;
    json_in_enter(&in);
    assert_true(json_in_member(&in, &key) && scan_equals(&key, "a"));
    assert_false(json_in_number(&in, &number) || json_in_text(&in, &got));
    assert_true(json_in_null(&in));
    assert_true(json_in_member(&in, &key) && scan_equals(&key, "b"));
    assert_false(json_in_null(&in) || json_in_u64(&in, &counter));
    assert_true(json_in_number(&in, &number) && number == 1.5);
    assert_true(json_in_member(&in, &key) && scan_equals(&key, "c"));
    assert_false(json_in_number(&in, &number));
    assert_true(json_in_text(&in, &got));
    assert_true(json_in_member(&in, &key) && scan_equals(&key, "d"));
    assert_true(json_in_u64(&in, &counter) && counter == UINT64_MAX);
    assert_true(json_in_member(&in, &key) && scan_equals(&key, "e"));
    assert_int_equal(json_in_next(&in), JSON_IN_LIST);
    json_in_skip(&in);
    assert_true(json_in_member(&in, &key) && scan_equals(&key, "f"));
    assert_false(json_in_u64(&in, &counter));
    json_in_skip(&in);
    assert_false(json_in_member(&in, &key));
    assert_true(json_in_is_done(&in));
    assert_string_equal(got, "x");
}

/* Passing over a value tells JSON from the rest just as another reader of the standard does. */
static void test_what_is_json_and_what_is_not(void **state)
{
    static const char *const texts[] = {"{}",
                                        "[]",
                                        "{ }",
                                        "[ ]",
                                        "[1,2]",
                                        "{\"a\":{\"b\":[[],{}]}}",
                                        " {\"a\" : 1 , \"b\" : null } ",
                                        "true",
                                        "false",
                                        "null",
                                        "-0.5e-3",
                                        "\"\"",
                                        "[\"\\u1234\",\"\\\"\"]",
                                        "",
                                        " ",
                                        "{",
                                        "}",
                                        "[",
                                        "]",
                                        "{]",
                                        "[}",
                                        "[1,]",
                                        "[,1]",
                                        "{\"a\":1,}",
                                        "{,}",
                                        "{\"a\"}",
                                        "{\"a\":}",
                                        "{\"a\" 1}",
                                        "{a:1}",
                                        "{1:2}",
                                        "[1 2]",
                                        "{} {}",
                                        "{}x",
                                        "nul",
                                        "truefalse",
                                        "tru",
                                        "[nul]",
                                        "-",
                                        "--1",
                                        "1.",
                                        ".1",
                                        "\"a",
                                        "[\"a]",
                                        "{\"a\":1",
                                        "{\"a\":[1,{\"b\":2}",
                                        "[1]]",
                                        "{\"a\":\"\n\"}",
                                        "'a'",
                                        "Nan",
                                        "[Inf]",
                                        "{\"a\":1,\"b\"",
                                        "{\"a\":1,"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        start(texts[i]);
        json_in_skip(&in);
        bool is_fine = json_in_is_done(&in);
        if (is_fine != is_json(texts[i], strlen(texts[i])))
            print_error("%s\n", texts[i]);
        assert_int_equal(is_fine, is_json(texts[i], strlen(texts[i])));
    }
}

static void test_depth_has_an_end(void **state)
{
    char deep[200001];

    (void)state;
    memset(deep, '[', 100000);
    memset(deep + 100000, ']', 100000);
    deep[200000] = '\0';
    start(deep);
    json_in_skip(&in);
    assert_true(in.is_broken);
    start(deep + 100000 - JSON_IN_DEPTH_MAX);
    in.end = in.begin + 2 * JSON_IN_DEPTH_MAX;
    json_in_skip(&in);
    assert_true(json_in_is_done(&in));
}

static void test_cut_anywhere_it_is_broken(void **state)
{
    static const char whole[] = "{\"a\":[1,\"x\\n\",{\"b\":null}],\"c\":true}";
    char cut[sizeof whole];

    (void)state;
    for (size_t size = 0; size < sizeof whole - 1; size++) {
        memcpy(cut, whole, size);
        cut[size] = '\0';
        start(cut);
        json_in_skip(&in);
        assert_false(json_in_is_done(&in));
    }
}

#define TEST(function) cmocka_unit_test_teardown(function, drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_texts_without_their_escapes),
        TEST(test_texts_that_are_none),
        TEST(test_values_of_another_kind_are_still_to_be_taken),
        TEST(test_what_is_json_and_what_is_not),
        TEST(test_depth_has_an_end),
        TEST(test_cut_anywhere_it_is_broken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

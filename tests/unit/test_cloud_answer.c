#include "discover/cloud_answer.h"
#include "scratch.h"

static char word[64];

/* A copy that ends where the text ends. */
static bool word_of_bytes(const char *bytes, size_t size, const char *key)
{
    struct cloud_answer answer = {0};
    char *copy = malloc(size > 0 ? size : 1);

    assert_non_null(copy);
    memcpy(copy, bytes, size);
    memset(word, 'x', sizeof word);
    cloud_answer_read(&answer, copy, size);
    bool found = cloud_answer_word(&answer, key, word, sizeof word);
    cloud_answer_free(&answer);
    free(copy);
    return found;
}

static void expect(const char *text, const char *key, const char *wanted)
{
    assert_true(word_of_bytes(text, strlen(text), key));
    assert_string_equal(word, wanted);
}

static void expect_none(const char *text, const char *key)
{
    assert_false(word_of_bytes(text, strlen(text), key));
    assert_string_equal(word, "");
}

static void test_plain_text_is_one_word(void **state)
{
    (void)state;
    expect("us-east-1", NULL, "us-east-1");
    expect(" \r\n\tus-east-1\r\n", NULL, "us-east-1");
    expect_none("", NULL);
    expect_none(" \n", NULL);
    expect_none("Not Found", NULL);
    expect_none("one\ntwo", NULL);
    expect_none("us-east-1\x1b[0m", NULL);
    expect_none("r\xc3\xa9gion", NULL);
    expect_none("a\x7f", NULL);
    assert_false(word_of_bytes("us\0east", 7, NULL));
}

static void test_a_word_that_does_not_fit_is_not_cut(void **state)
{
    char text[65];

    (void)state;
    memset(text, 'a', sizeof text);
    assert_true(word_of_bytes(text, 63, NULL));
    assert_int_equal(strlen(word), 63);
    assert_false(word_of_bytes(text, 64, NULL));
    assert_false(word_of_bytes(text, 65, NULL));
}

static void test_pages_are_no_answers(void **state)
{
    (void)state;
    expect_none("<html>", NULL);
    expect_none("\n<!DOCTYPE html>\nregion: eu-central\n", "region");
    expect_none("a<b>", NULL);
}

static void test_lines(void **state)
{
    static const char text[] = "hostname: box\r\n"
                               "vendor_data: |\n"
                               "  region: wrong\n"
                               "regions: wrong\n"
                               "region:   eu-central\n"
                               "region: second\n"
                               "id: '42'\n"
                               "quote: '\n"
                               "both: \"a\"\n"
                               "none:\n"
                               "last:end";

    (void)state;
    expect(text, "hostname", "box");
    expect(text, "region", "eu-central");
    expect(text, "id", "42");
    expect(text, "quote", "'");
    expect(text, "both", "a");
    expect(text, "last", "end");
    expect_none(text, "none");
    expect_none(text, "vendor");
    expect_none(text, "absent");
    expect_none(text, NULL);
}

static void test_json(void **state)
{
    static const char text[] =
        "\n{\"a\": {\"b\" : {\"c\":\"deep\"}}, \"n\" : 42, \"big\": 9223372036854775807, \"r\": "
        "1.5,"
        " \"neg\": -1, \"null\": null, \"t\": true, \"list\": [\"x\"], \"empty\": \"\","
        " \"two\": \"a b\", \"line\": \"a\\nb\", \"page\": \"<b>\", \"accent\": \"\\u00e9\","
        " \"twice\": 1, \"twice\": 2, \"spaced\": \" s \"}\r\n";

    (void)state;
    expect(text, "a.b.c", "deep");
    expect(text, "n", "42");
    expect(text, "big", "9223372036854775807");
    expect(text, "twice", "2");
    expect(text, "spaced", "s");
    expect("{\"a\": \"b\", \"c\": \"d\\u0000\"}", "a", "b");
    expect_none("{\"a\": \"b\", \"c\": \"d\\u0000\"}", "c");
    static const char *const absent[] = {"a",    "a.b",  "a.b.c.d", "a.x.c", "",      "r",
                                         "neg",  "null", "t",       "list",  "empty", "two",
                                         "line", "page", "accent",  "n.x",   ".",     "list.0"};
    for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++)
        expect_none(text, absent[i]);
    expect_none(text, NULL);
}

static void test_what_is_no_json(void **state)
{
    (void)state;
    expect_none("{\"a\": \"b\"", "a");
    expect_none("{\"a\": \"b\"} x", "a");
    expect_none("{\"a\": \"b\"}{\"a\": \"b\"}", "a");
    expect_none("{a: b}", "a");
    expect_none("{\na: b\n}", "a");
    expect_none("{\"a\": \"b\", \"c\": \"\xff\"}", "a");
    expect_none("{\"a\": \"b\", \"c\": 99999999999999999999}", "a");
    expect_none("[{\"a\": \"b\"}]", "a");
    expect_none("{", NULL);
}

/* Levels of lists inside an object, with the word in front of them. */
static bool nested(size_t levels)
{
    static const char start[] = "{\"a\": \"b\", \"c\": ";
    size_t size = sizeof start - 1 + 2 * levels + 1;
    char *text = malloc(size);

    assert_non_null(text);
    memcpy(text, start, sizeof start - 1);
    memset(text + sizeof start - 1, '[', levels);
    memset(text + sizeof start - 1 + levels, ']', levels);
    text[size - 1] = '}';
    bool found = word_of_bytes(text, size, "a");
    free(text);
    return found;
}

static void test_nesting_is_limited(void **state)
{
    (void)state;
    assert_true(nested(31));
    assert_false(nested(32));
    assert_false(nested(60000));
    expect("{\"a\": \"b\", \"c\": \"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\\\"[[[[[[\"}", "a",
           "b");
}

static void test_lists(void **state)
{
    static const char text[] =
        "{\"services\": [1, {}, {\"type\": \"ntp\", \"address\": \"1.2.3.4\"},"
        " {\"type\": \"dns\", \"address\": 5}, {\"type\": \"dns\", \"address\": \"5.6.7.8\"}],"
        " \"other\": {\"type\": \"dns\"}}";
    struct cloud_answer answer = {0};

    (void)state;
    cloud_answer_read(&answer, text, strlen(text));
    assert_true(cloud_answer_lists(&answer, "services", "type", "dns", "address", "5.6.7.8"));
    assert_false(cloud_answer_lists(&answer, "services", "type", "dns", "address", "1.2.3.4"));
    assert_false(cloud_answer_lists(&answer, "services", "type", "dns", "address", "5"));
    assert_false(cloud_answer_lists(&answer, "other", "type", "dns", "type", "dns"));
    assert_false(cloud_answer_lists(&answer, "absent", "type", "dns", "type", "dns"));
    cloud_answer_free(&answer);
    assert_false(cloud_answer_lists(&answer, "services", "type", "dns", "address", "5.6.7.8"));
}

static void test_an_answer_is_replaced(void **state)
{
    struct cloud_answer answer = {0};

    (void)state;
    cloud_answer_read(&answer, "{\"a\":\"b\"}", 9);
    cloud_answer_read(&answer, "plain", 5);
    assert_true(cloud_answer_word(&answer, NULL, word, sizeof word));
    assert_string_equal(word, "plain");
    cloud_answer_read(&answer, NULL, 0);
    assert_false(cloud_answer_word(&answer, NULL, word, sizeof word));
    cloud_answer_free(&answer);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_text_is_one_word),
        cmocka_unit_test(test_a_word_that_does_not_fit_is_not_cut),
        cmocka_unit_test(test_pages_are_no_answers),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_what_is_no_json),
        cmocka_unit_test(test_nesting_is_limited),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_an_answer_is_replaced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

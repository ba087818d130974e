#include "base/scan.h"
#include "scratch.h"

/* A copy that ends where the text ends, so that a byte read beyond it is an error under ASan. */
static char *held;

static struct scan over(const char *text)
{
    size_t size = strlen(text);

    free(held);
    held = malloc(size > 0 ? size : 1);
    assert_non_null(held);
    memcpy(held, text, size);
    return scan_over(held, size);
}

static int free_held(void **state)
{
    (void)state;
    free(held);
    held = NULL;
    return 0;
}

static void test_lines(void **state)
{
    struct scan scan = over("one\n\nthree\r\nlast");
    struct scan line;

    (void)state;
    assert_true(scan_line(&scan, &line));
    assert_true(scan_equals(&line, "one"));
    assert_true(scan_line(&scan, &line));
    assert_true(scan_equals(&line, ""));
    assert_true(scan_line(&scan, &line));
    assert_true(scan_equals(&line, "three\r"));
    assert_true(scan_line(&scan, &line));
    assert_true(scan_equals(&line, "last"));
    assert_false(scan_line(&scan, &line));
    assert_true(scan_equals(&line, "last")); /* untouched */
}

static void test_line_end_at_the_end_adds_no_line(void **state)
{
    struct scan scan = over("one\n");
    struct scan line;

    (void)state;
    assert_true(scan_line(&scan, &line));
    assert_false(scan_line(&scan, &line));
    scan = over("");
    assert_false(scan_line(&scan, &line));
}

static void test_words(void **state)
{
    struct scan scan = over(" \t a\tbc  d\n ");
    struct scan word;

    (void)state;
    assert_true(scan_word(&scan, &word));
    assert_true(scan_equals(&word, "a"));
    assert_true(scan_word(&scan, &word));
    assert_true(scan_equals(&word, "bc"));
    assert_true(scan_word(&scan, &word));
    assert_true(scan_equals(&word, "d\n")); /* only blanks part words */
    const char *at = scan.at;
    assert_false(scan_word(&scan, &word));
    assert_ptr_equal(scan.at, at);
    assert_int_equal(scan_left(&scan), 1);
}

static void test_blanks_are_spaces_and_tabs(void **state)
{
    struct scan scan = over("  \t\v ");

    (void)state;
    scan_blanks(&scan);
    assert_int_equal(scan_left(&scan), 2);
    scan = over("   ");
    scan_blanks(&scan);
    assert_int_equal(scan_left(&scan), 0);
    scan_blanks(&scan);
    assert_int_equal(scan_left(&scan), 0);
}

static void test_skip_words_is_all_or_nothing(void **state)
{
    struct scan scan = over("a b c");
    const char *start = scan.at;

    (void)state;
    assert_true(scan_skip_words(&scan, 0));
    assert_ptr_equal(scan.at, start);
    assert_false(scan_skip_words(&scan, 4));
    assert_ptr_equal(scan.at, start);
    assert_true(scan_skip_words(&scan, 3));
    assert_int_equal(scan_left(&scan), 0);
    assert_false(scan_skip_words(&scan, 1));
}

static void test_until(void **state)
{
    struct scan scan = over("key: :rest");
    struct scan part;

    (void)state;
    assert_true(scan_until(&scan, ':', &part));
    assert_true(scan_equals(&part, "key"));
    assert_true(scan_until(&scan, ':', &part));
    assert_true(scan_equals(&part, " "));
    const char *at = scan.at;
    assert_false(scan_until(&scan, ':', &part));
    assert_ptr_equal(scan.at, at);
    assert_true(scan_equals(&part, " "));
    assert_true(scan_until(&scan, 't', &part));
    assert_true(scan_equals(&part, "res"));
    assert_false(scan_until(&scan, 't', &part));
}

static void test_until_takes_empty_parts(void **state)
{
    struct scan scan = over("::");
    struct scan part;

    (void)state;
    assert_true(scan_until(&scan, ':', &part));
    assert_int_equal(scan_left(&part), 0);
    assert_true(scan_until(&scan, ':', &part));
    assert_int_equal(scan_left(&part), 0);
    assert_false(scan_until(&scan, ':', &part));
}

static void expect_number(const char *text, uint64_t wanted, size_t left)
{
    struct scan scan = over(text);
    uint64_t value = 77;

    assert_true(scan_u64(&scan, &value));
    assert_int_equal(value, wanted);
    assert_int_equal(scan_left(&scan), left);
}

static void expect_no_number(const char *text)
{
    struct scan scan = over(text);
    const char *start = scan.at;
    uint64_t value = 77;

    assert_false(scan_u64(&scan, &value));
    assert_int_equal(value, 77);
    assert_ptr_equal(scan.at, start);
}

static void test_numbers(void **state)
{
    (void)state;
    expect_number("0", 0, 0);
    expect_number(" \t42 ", 42, 1);
    expect_number("007x", 7, 1);
    expect_number("12-3", 12, 2);
    expect_number("18446744073709551615", UINT64_MAX, 0);
    expect_number("000000000000000000000000000001", 1, 0);
}

static void test_what_is_no_number(void **state)
{
    (void)state;
    expect_no_number("");
    expect_no_number("   ");
    expect_no_number("-1");
    expect_no_number("+1");
    expect_no_number("x1");
    expect_no_number("\n1");
}

static void test_numbers_beyond_64_bits(void **state)
{
    (void)state;
    expect_no_number("18446744073709551616");
    expect_no_number("18446744073709551620");
    expect_no_number("28446744073709551615");
    expect_no_number("99999999999999999999");
    expect_no_number("184467440737095516150");
    expect_no_number("  99999999999999999999999999999999999999999 ");
}

static void test_char(void **state)
{
    struct scan scan = over("ab");

    (void)state;
    assert_false(scan_char(&scan, 'b'));
    assert_int_equal(scan_left(&scan), 2);
    assert_true(scan_char(&scan, 'a'));
    assert_true(scan_char(&scan, 'b'));
    assert_false(scan_char(&scan, 'b'));
    assert_false(scan_char(&scan, '\0'));
}

static void test_comparisons_stay_inside(void **state)
{
    struct scan scan = over("abc");

    (void)state;
    assert_true(scan_equals(&scan, "abc"));
    assert_false(scan_equals(&scan, "ab"));
    assert_false(scan_equals(&scan, "abcd"));
    assert_false(scan_equals(&scan, "abd"));
    assert_true(scan_starts_with(&scan, ""));
    assert_true(scan_starts_with(&scan, "ab"));
    assert_true(scan_starts_with(&scan, "abc"));
    assert_false(scan_starts_with(&scan, "abcd"));
    assert_false(scan_starts_with(&scan, "b"));
    scan = over("");
    assert_true(scan_equals(&scan, ""));
    assert_false(scan_starts_with(&scan, "a"));
}

static void test_copy(void **state)
{
    struct scan scan = over("abcdef");
    char out[8];

    (void)state;
    memset(out, '~', sizeof out);
    assert_true(scan_copy(&scan, out, 7));
    assert_string_equal(out, "abcdef");
    assert_int_equal(out[7], '~');
    assert_false(scan_copy(&scan, out, 6));
    assert_string_equal(out, "abcde");
    assert_false(scan_copy(&scan, out, 1));
    assert_string_equal(out, "");
    scan = over("");
    assert_true(scan_copy(&scan, out, 1));
    assert_string_equal(out, "");
}

static void test_nul_bytes_are_ordinary(void **state)
{
    static const char text[] = {'a', '\0', 'b', ' ', '\0', '\n', '7'};
    struct scan scan = scan_over(text, sizeof text);
    struct scan line;
    struct scan word;

    (void)state;
    assert_true(scan_line(&scan, &line));
    assert_int_equal(scan_left(&line), 5);
    assert_true(scan_word(&line, &word));
    assert_int_equal(scan_left(&word), 3);
    assert_false(scan_equals(&word, "a"));
    assert_true(scan_word(&line, &word));
    assert_int_equal(scan_left(&word), 1);
}

#define TEST(name) cmocka_unit_test_teardown(name, free_held)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_lines),
        TEST(test_line_end_at_the_end_adds_no_line),
        TEST(test_words),
        TEST(test_blanks_are_spaces_and_tabs),
        TEST(test_skip_words_is_all_or_nothing),
        TEST(test_until),
        TEST(test_until_takes_empty_parts),
        TEST(test_numbers),
        TEST(test_what_is_no_number),
        TEST(test_numbers_beyond_64_bits),
        TEST(test_char),
        TEST(test_comparisons_stay_inside),
        TEST(test_copy),
        TEST(test_nul_bytes_are_ordinary),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

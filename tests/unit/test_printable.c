#include "encode/printable.h"
#include "out.h"

static size_t print(const char *text, size_t columns_max)
{
    buf_reset(&out);
    size_t columns = printable_text(&out, text, columns_max);
    size_t size = out.size;
    buf_char(&out, '\0');
    out.size = size;
    return columns;
}

static void expect(const char *text, const char *wanted, size_t columns)
{
    assert_int_equal(print(text, 0), columns);
    assert_string_equal(out.data, wanted);
    assert_int_equal(printable_columns(text), columns);
}

static void test_plain_text_stays(void **state)
{
    (void)state;
    expect("", "", 0);
    expect("train model 3", "train model 3", 13);
    expect("Grüße", "Grüße", 5);
    assert_int_equal(print(NULL, 0), 0);
}

static void test_what_drives_a_terminal_is_shown_as_a_mark(void **state)
{
    (void)state;
    expect("\033[31mred\033[0m", "?[31mred?[0m", 12);
    expect("a\nb\rc\td\b\a\x7f", "a?b?c?d???", 10);
    expect("\xc2\x9b"
           "31m",
           "?31m", 4); /* CSI in one character */
    expect("\x9b"
           "31m",
           "?31m", 4); /* and as a byte that is no UTF-8 */
    expect("a\xe2\x80\xae"
           "b",
           "a?b", 3); /* right-to-left override */
    expect("a\xe2\x81\xa6"
           "b\xef\xbb\xbf",
           "a?b?", 4);
    expect("\xff\xfe\xc0\xaf", "????", 4);
    expect("\xed\xa0\x80", "???", 3); /* half of a pair */
    expect("cut \xe2\x82", "cut ??", 6);
}

static void test_columns(void **state)
{
    (void)state;
    expect("日本", "日本", 4);
    expect("e\xcc\x81", "e\xcc\x81", 1);
}

static void test_long_text_is_cut(void **state)
{
    (void)state;
    assert_int_equal(print("abcdefghij", 10), 10);
    assert_string_equal(out.data, "abcdefghij");
    assert_int_equal(print("abcdefghijk", 10), 10);
    assert_string_equal(out.data, "abcdefg...");
    assert_int_equal(print("日本日本日本", 8), 7); /* no half characters */
    assert_string_equal(out.data, "日本...");
    assert_int_equal(print("abcdef", 2), 2);
    assert_string_equal(out.data, "..");
    assert_int_equal(print("\033\033\033\033\033\033", 5), 5);
    assert_string_equal(out.data, "??...");
}

/* No byte that a terminal obeys comes out, whatever goes in. */
static void test_random_bytes(void **state)
{
    uint64_t seed = 7;

    (void)state;
    for (int round = 0; round < 20000; round++) {
        char text[33];
        for (size_t i = 0; i < 32; i++) {
            seed = seed * 6364136223846793005U + 1442695040888963407U;
            text[i] = (char)((seed >> 56) % 255 + 1);
        }
        text[32] = '\0';
        size_t max = (size_t)(seed >> 40) % 40;
        size_t columns = print(text, max);
        assert_true(max == 0 || columns <= max);
        for (size_t i = 0; i < out.size; i++) {
            unsigned char c = (unsigned char)out.data[i];
            assert_true(c >= 0x20 && c != 0x7f);
            assert_false(c == 0xc2 && (unsigned char)out.data[i + 1] < 0xa0);
        }
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, out_make, out_drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_plain_text_stays), TEST(test_what_drives_a_terminal_is_shown_as_a_mark),
        TEST(test_columns),          TEST(test_long_text_is_cut),
        TEST(test_random_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

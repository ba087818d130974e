#include "encode/html.h"
#include "encode/utf8.h"
#include "out.h"

#include <math.h>

static const char *text_of(const char *text)
{
    buf_reset(&out);
    html_text(&out, text);
    buf_char(&out, '\0');
    return out.data;
}

static void test_markup_becomes_text(void **state)
{
    (void)state;
    assert_string_equal(text_of("<b a='1' c=\"2\">&amp;</b>"),
                        "&lt;b a=&#39;1&#39; c=&quot;2&quot;&gt;&amp;amp;&lt;/b&gt;");
    assert_string_equal(text_of("größer, 大きい"), "größer, 大きい");
    assert_string_equal(text_of("two\nlines\tand a tab"), "two\nlines\tand a tab");
    assert_string_equal(text_of(NULL), "");
}

/* Whatever bytes there are: no character that means something in HTML, and well-formed UTF-8. */
static void test_every_byte_and_every_pair_is_harmless(void **state)
{
    (void)state;
    for (int first = 1; first < 256; first++) {
        for (int second = 0; second < 256; second++) {
            const char text[] = {(char)first, (char)second, '\0'};
            const char *html = text_of(text);
            assert_null(strpbrk(html, "<>\"'"));
            for (const char *at = html; *at != '\0';) {
                size_t length = utf8_length((const unsigned char *)at);
                assert_true(length > 0);
                at += length;
            }
        }
    }
}

static void test_what_is_not_text_is_replaced(void **state)
{
    (void)state;
    assert_string_equal(text_of("a\x1b[31mb\x7f"), "a" UTF8_REPLACEMENT "[31mb" UTF8_REPLACEMENT);
    assert_string_equal(text_of("\xff\xc0\x80"),
                        UTF8_REPLACEMENT UTF8_REPLACEMENT UTF8_REPLACEMENT);
}

/* "gpj.exe" that reads "exe.jpg" */
static void test_marks_that_turn_text_are_replaced(void **state)
{
    static const char *const marks[] = {
        "\u061c", "\u200e", "\u200f", "\u202a", "\u202b", "\u202c",
        "\u202d", "\u202e", "\u2066", "\u2067", "\u2068", "\u2069",
    };
    char text[16];

    (void)state;
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        snprintf(text, sizeof text, "a%sb", marks[i]);
        assert_string_equal(text_of(text), "a" UTF8_REPLACEMENT "b");
    }
    assert_string_equal(text_of("\u2029\u202f\u2065\u206a\u061b"),
                        "\u2029\u202f\u2065\u206a\u061b");
    assert_string_equal(text_of("שלום"), "שלום");
}

static void test_cells(void **state)
{
    (void)state;
    buf_reset(&out);
    html_row_head(&out, "a<b");
    html_text_cell(&out, NULL);
    html_quantity_cell(&out, 1.5, "cores");
    html_quantity_cell(&out, NAN, "cores");
    html_quantity_cell(&out, 90, "s");
    buf_char(&out, '\0');
    assert_string_equal(out.data, "<th scope=\"row\">a&lt;b</th><td class=\"text\"></td>"
                                  "<td>1.50 cores</td><td>–</td><td>1 min 30 s</td>");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_markup_becomes_text),
        cmocka_unit_test(test_every_byte_and_every_pair_is_harmless),
        cmocka_unit_test(test_what_is_not_text_is_replaced),
        cmocka_unit_test(test_marks_that_turn_text_are_replaced),
        cmocka_unit_test(test_cells),
    };

    return cmocka_run_group_tests(tests, out_make, out_drop);
}

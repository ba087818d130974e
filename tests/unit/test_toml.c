#include "app/toml.h"
#include "base/buf.h"
#include "scratch.h"

/* What was visited, a line each: "table|key|type|text". */
static struct buf visited;

static int make(void **state)
{
    (void)state;
    return buf_init(&visited, 4096, 8 << 20);
}

static int drop(void **state)
{
    (void)state;
    buf_free(&visited);
    return 0;
}

static void note(void *context, const char *table, const char *key, enum toml_type type,
                 const char *text)
{
    static const char letters[] = {
        [TOML_STRING] = 's', [TOML_INTEGER] = 'i', [TOML_FLOAT] = 'f', [TOML_BOOLEAN] = 'b'};

    assert_ptr_equal(context, &visited);
    buf_text(&visited, table);
    buf_char(&visited, '|');
    buf_text(&visited, key);
    buf_char(&visited, '|');
    buf_char(&visited, letters[type]);
    buf_char(&visited, '|');
    buf_text(&visited, text);
    buf_char(&visited, '\n');
}

/* A copy that ends where the text ends, so that a byte read beyond it is an error under ASan. */
static long parse_bytes(const char *bytes, size_t size)
{
    char *copy = malloc(size > 0 ? size : 1);

    assert_non_null(copy);
    memcpy(copy, bytes, size);
    buf_reset(&visited);
    long result = toml_parse(copy, size, note, &visited);
    free(copy);
    return result;
}

static void expect(const char *text, const char *wanted)
{
    long line = parse_bytes(text, strlen(text));

    if (line != 0)
        fail_msg("line %ld refused in: %s", line, text);
    buf_char(&visited, '\0');
    assert_string_equal(visited.data, wanted);
}

static void refuse(const char *text, long wanted)
{
    long line = parse_bytes(text, strlen(text));

    if (line != wanted)
        fail_msg("line %ld instead of %ld for: %s", line, wanted, text);
}

/* --- lines, comments, keys, tables --- */

static void test_nothing(void **state)
{
    (void)state;
    expect("", "");
    expect("\n\n", "");
    expect("  \t ", "");
    expect("# comment", "");
    expect("\r\n# comment\r\n", "");
    expect("\xef\xbb\xbf", "");
}

static void test_byte_order_mark_is_passed_over(void **state)
{
    (void)state;
    expect("\xef\xbb\xbfkey = 1", "|key|i|1\n");
    refuse("key = 1\n\xef\xbb\xbfkey = 1", 2);
}

static void test_pairs(void **state)
{
    (void)state;
    expect("a=1", "|a|i|1\n");
    expect("  a  =  1  ", "|a|i|1\n");
    expect("a = 1 # comment\nb = 2", "|a|i|1\n|b|i|2\n");
    expect("a = 1\r\nb = 2\r\n", "|a|i|1\n|b|i|2\n");
    expect("\ta\t=\t1\t#x", "|a|i|1\n");
    expect("a = \"x\"#y", "|a|s|x\n");
}

static void test_tables(void **state)
{
    (void)state;
    expect("[job]\nname = 'x'\n[tracker]\nquiet = true", "job|name|s|x\ntracker|quiet|b|true\n");
    expect("[ job . tags ] # here\nk = 1", "job.tags|k|i|1\n");
    expect("[a]\n[a.b]\nx = 1\n[c]\ny = 2", "a.b|x|i|1\nc|y|i|2\n");
    expect("top = 1\n[t]\nin = 2", "|top|i|1\nt|in|i|2\n");
}

static void test_dotted_keys(void **state)
{
    (void)state;
    expect("a.b.c = 1", "a.b|c|i|1\n");
    expect("[job]\ntags.k = 'v'", "job.tags|k|s|v\n");
    expect("a . b = 1", "a|b|i|1\n");
    expect("3.14 = 1", "3|14|i|1\n");
}

static void test_bare_keys(void **state)
{
    (void)state;
    expect("Az09_- = 1", "|Az09_-|i|1\n");
    expect("1234 = 1", "|1234|i|1\n");
    expect("true = 1", "|true|i|1\n");
    expect("-x = 1", "|-x|i|1\n");
}

static void test_quoted_keys(void **state)
{
    (void)state;
    expect("\"a b\" = 1", "|a b|i|1\n");
    expect("'a\\b' = 1", "|a\\b|i|1\n");
    expect("\"\\u00e4\\t\" = 1", "|\xc3\xa4\t|i|1\n");
    expect("\"\" = 1", "||i|1\n");
    expect("a.\"b.c\".d = 1", "a.b\1c|d|i|1\n");
    expect("[a.'b.c']\nd = 1", "a.b\1c|d|i|1\n");
    expect("[t]\n\"a.b\" = 1", "t|a.b|i|1\n");
    expect("\"a.b\" = 1", "|a.b|i|1\n");
}

static void test_broken_keys(void **state)
{
    (void)state;
    refuse("= 1", 1);
    refuse("a", 1);
    refuse("a =", 1);
    refuse("a = \n1", 1);
    refuse("a. = 1", 1);
    refuse(".a = 1", 1);
    refuse("a..b = 1", 1);
    refuse("a b = 1", 1);
    refuse("a\n= 1", 1);
    refuse("\xc3\xa4 = 1", 1);
    refuse("\"a = 1", 1);
    refuse("'''a''' = 1", 1);
    refuse("\"\"\"a\"\"\" = 1", 1);
    refuse("a = 1 b = 2", 1);
    refuse("a = 1,", 1);
    refuse("a == 1", 1);
    refuse("a : 1", 1);
}

static void test_broken_tables(void **state)
{
    (void)state;
    refuse("[", 1);
    refuse("[]", 1);
    refuse("[a", 1);
    refuse("[a\n]", 1);
    refuse("[a] b = 1", 1);
    refuse("[a]]", 1);
    refuse("[a.]", 1);
    refuse("[.a]", 1);
    refuse("[a b]", 1);
    refuse("[[a]", 1);
    refuse("[[a] ]", 1);
    refuse("[[]]", 1);
    refuse("[a", 1);
}

/* Lists of tables are for other tools: nothing in them is taken for a setting. */
static void test_tables_in_lists_are_kept_apart(void **state)
{
    (void)state;
    expect("[[job]]\nname = 'x'\n[tracker]\nquiet = true",
           "job[]|name|s|x\ntracker|quiet|b|true\n");
    expect("[[a.b]]\nc = 1\n[[a.b]]\nc = 2", "a.b[]|c|i|1\na.b[]|c|i|2\n");
}

/* --- strings --- */

static void test_basic_strings(void **state)
{
    (void)state;
    expect("a = \"\"", "|a|s|\n");
    expect("a = \"x y\"", "|a|s|x y\n");
    expect("a = \"\\b\\t\\n\\f\\r\\\"\\\\\"", "|a|s|\b\t\n\f\r\"\\\n");
    expect("a = \"\\u0041\\u00E9\\u20ac\\U0001F600\"",
           "|a|s|A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\n");
    expect("a = \"\\U0010ffff\\uD7FF\\ue000\"", "|a|s|\xf4\x8f\xbf\xbf\xed\x9f\xbf\xee\x80\x80\n");
    expect("a = \"tab\there # no comment\"", "|a|s|tab\there # no comment\n");
    expect("a = \"\xc3\xa4\"", "|a|s|\xc3\xa4\n");
    expect("a = \"'\"", "|a|s|'\n");
}

static void test_broken_basic_strings(void **state)
{
    (void)state;
    refuse("a = \"", 1);
    refuse("a = \"x", 1);
    refuse("a = \"x\n\"", 1);
    refuse("a = \"x\r\n\"", 1);
    refuse("a = \"\\", 1);
    refuse("a = \"\\\"", 1);
    refuse("a = \"\\q\"", 1);
    refuse("a = \"\\u12\"", 1);
    refuse("a = \"\\u12g4\"", 1);
    refuse("a = \"\\ud800\"", 1);
    refuse("a = \"\\udfff\"", 1);
    refuse("a = \"\\U00110000\"", 1);
    refuse("a = \"\\UFFFFFFFF\"", 1);
    refuse("a = \"\x01\"", 1);
    refuse("a = \"\x7f\"", 1);
    refuse("a = \"\\\n\"", 1);
    refuse("a = \"x\" y", 1);
    refuse("a = \"x\"\"y\"", 1);
}

/* A text with a NUL could not be handed on. */
static void test_nul_is_refused(void **state)
{
    static const char in_string[] = "a = \"x\0y\"";
    static const char in_escape[] = "a = \"\\\0\"";
    static const char alone[] = "\0";

    (void)state;
    refuse("a = \"\\u0000\"", 1);
    assert_int_equal(parse_bytes(in_string, sizeof in_string - 1), 1);
    assert_int_equal(parse_bytes(in_escape, sizeof in_escape - 1), 1);
    assert_int_equal(parse_bytes(alone, 1), 1);
}

static void test_literal_strings(void **state)
{
    (void)state;
    expect("a = ''", "|a|s|\n");
    expect("a = 'C:\\new\\\"'", "|a|s|C:\\new\\\"\n");
    refuse("a = 'x", 1);
    refuse("a = 'x\n'", 1);
    refuse("a = 'it''s'", 1);
    refuse("a = '\x1b'", 1);
}

static void test_multi_line_basic_strings(void **state)
{
    (void)state;
    expect("a = \"\"\"\"\"\"", "|a|s|\n");
    expect("a = \"\"\"x\ny\"\"\"", "|a|s|x\ny\n");
    expect("a = \"\"\"\nx\n\"\"\"", "|a|s|x\n\n");
    expect("a = \"\"\"\r\nx\r\ny\"\"\"", "|a|s|x\ny\n");
    expect("a = \"\"\"x \\\n   \n\n   y\"\"\"", "|a|s|x y\n");
    expect("a = \"\"\"x \\  \r\n  y\"\"\"", "|a|s|x y\n");
    expect("a = \"\"\"\\\n  x\\\n  \"\"\"", "|a|s|x\n");
    expect("a = \"\"\"say \"hi\" and \"\"bye\"\"!\"\"\"", "|a|s|say \"hi\" and \"\"bye\"\"!\n");
    expect("a = \"\"\"\"x\"\"\"", "|a|s|\"x\n");
    expect("a = \"\"\"x\"\"\"\"", "|a|s|x\"\n");
    expect("a = \"\"\"x\"\"\"\"\"", "|a|s|x\"\"\n");
    expect("a = \"\"\"\\u0041\\\\\"\"\"", "|a|s|A\\\n");
    expect("a = \"\"\"x\n# no comment\"\"\" # comment\nb = 1", "|a|s|x\n# no comment\n|b|i|1\n");
}

static void test_multi_line_literal_strings(void **state)
{
    (void)state;
    expect("a = ''''''", "|a|s|\n");
    expect("a = '''\nx\\\ny'''", "|a|s|x\\\ny\n");
    expect("a = '''it's ''here'''", "|a|s|it's ''here\n");
    expect("a = ''''x'''''", "|a|s|'x''\n");
}

static void test_broken_multi_line_strings(void **state)
{
    (void)state;
    refuse("a = \"\"\"", 1);
    refuse("a = \"\"\"x\ny", 2);
    refuse("a = \"\"\"x\n\"\"", 2);
    refuse("a = \"\"\"x\"\"\"\"\"\"", 1);
    refuse("a = \"\"\"\\q\"\"\"", 1);
    refuse("a = \"\"\"x \\ y\"\"\"", 1);
    refuse("a = \"\"\"x\ry\"\"\"", 1);
    refuse("a = \"\"\"x\\\ry\"\"\"", 1);
    refuse("a = '''x\x01'''", 1);
    refuse("a = '''\n\n\nx", 4);
}

/* --- other values --- */

static void test_booleans(void **state)
{
    (void)state;
    expect("a = true", "|a|b|true\n");
    expect("a = false # x", "|a|b|false\n");
    refuse("a = True", 1);
    refuse("a = TRUE", 1);
    refuse("a = truex", 1);
    refuse("a = true1", 1);
    refuse("a = yes", 1);
    refuse("a = t", 1);
}

static void test_integers(void **state)
{
    (void)state;
    expect("a = 0", "|a|i|0\n");
    expect("a = 42", "|a|i|42\n");
    expect("a = +42", "|a|i|42\n");
    expect("a = -17", "|a|i|-17\n");
    expect("a = 1_000_000", "|a|i|1000000\n");
    expect("a = 9223372036854775807", "|a|i|9223372036854775807\n");
    expect("a = -0", "|a|i|-0\n");
}

static void test_floats(void **state)
{
    (void)state;
    expect("a = 0.5", "|a|f|0.5\n");
    expect("a = +1.25", "|a|f|1.25\n");
    expect("a = -0.01", "|a|f|-0.01\n");
    expect("a = 5e22", "|a|f|5e22\n");
    expect("a = 1e-6", "|a|f|1e-6\n");
    expect("a = 6.626E-34", "|a|f|6.626E-34\n");
    expect("a = 9_2.1_5", "|a|f|92.15\n");
    expect("a = 1e06", "|a|f|1e06\n");
}

static void test_signs_of_exponents_go_with_the_number(void **state)
{
    (void)state;
    expect("a = 1e+06", "|a|f|1e06\n");
    expect("a = -1.5E+3", "|a|f|-1.5E3\n");
}

/* TOML, but no setting of ours has such a value. */
static void test_other_scalars_are_passed_over(void **state)
{
    static const char *const values[] = {"0xDEADBEEF",
                                         "0xdead_beef",
                                         "0o755",
                                         "0b1101",
                                         "inf",
                                         "+inf",
                                         "-inf",
                                         "nan",
                                         "+nan",
                                         "1979-05-27T07:32:00Z",
                                         "1979-05-27T00:32:00.999999-07:00",
                                         "1979-05-27 07:32:00Z",
                                         "1979-05-27T07:32:00",
                                         "1979-05-27",
                                         "07:32:00",
                                         "00:32:00.999999",
                                         "1979-05-27 # a day"};

    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char text[128];
        snprintf(text, sizeof text, "a = %s\nb = 1", values[i]);
        expect(text, "|b|i|1\n");
    }
}

static void test_malformed_numbers(void **state)
{
    static const char *const values[] = {
        "1_", "_1",   "1__0", "+",   "-",    "+-1", "1.",   ".1",   "1.e5", "1._5", "1_.5",
        "1e", "1e+",  "e5",   "abc", "1a",   "0x",  "0o",   "0b",   "1.5x", "1 2",  "--1",
        "1-", "1e5e", "1,5",  "inF", "infx", "1:2", "1e_5", "1_e5", "+_1"};

    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char text[64];
        snprintf(text, sizeof text, "\na = %s", values[i]);
        refuse(text, 2);
    }
}

static void test_numbers_that_only_look_like_toml(void **state)
{
    static const char *const values[] = {
        "01",  "-01",  "007",   "00",      "1.2.3", "1e5.5",  "1e5e5", "01.5", "0x1_", "0b2",
        "0o8", "12-3", "99:99", "2024-13", "11:1",  "1_0:00", "0x_1",  "00e1", "0xg"};

    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char text[64];
        snprintf(text, sizeof text, "\na = %s", values[i]);
        refuse(text, 2);
    }
}

static void test_arrays_are_passed_over(void **state)
{
    (void)state;
    expect("a = []\nb = 1", "|b|i|1\n");
    expect("a = [1, 'x', [true, 0.5], {k = 1}]\nb = 1", "|b|i|1\n");
    expect("a = [\n 1, # one\n\n 2,\r\n]\nb = 1", "|b|i|1\n");
    expect("a = [[[]], []]\nb = 1", "|b|i|1\n");
    expect("a = [\"\"\"x\ny\"\"\"]\nb = 1", "|b|i|1\n");
}

static void test_broken_arrays(void **state)
{
    (void)state;
    refuse("a = [", 1);
    refuse("a = [1", 1);
    refuse("a = [1 2]", 1);
    refuse("a = [,]", 1);
    refuse("a = [1,,2]", 1);
    refuse("a = [1]]", 1);
    refuse("a = [1,\n2\n3]", 3);
    refuse("a = [\n\n", 3);
    refuse("a = [x]", 1);
    refuse("a = ['x]", 1);
    refuse("a = [1\r]", 1);
}

static void test_inline_tables(void **state)
{
    (void)state;
    expect("a = {}", "");
    expect("a = { }\nb = 1", "|b|i|1\n");
    expect("tags = {k = 'v', n = 1}", "tags|k|s|v\ntags|n|i|1\n");
    expect("[job]\ntags = {k = 'v'}\nname = 'x'", "job.tags|k|s|v\njob|name|s|x\n");
    expect("a = {b = {c = 1}, d = 2}\ne = 3", "a.b|c|i|1\na|d|i|2\n|e|i|3\n");
    expect("a = {b.c = 1, \"d.e\" = 2}", "a.b|c|i|1\na|d.e|i|2\n");
    expect("a = {b = [1, {c = 2}], d = true}", "a|d|b|true\n");
}

static void test_broken_inline_tables(void **state)
{
    (void)state;
    refuse("a = {", 1);
    refuse("a = {b", 1);
    refuse("a = {b = 1", 1);
    refuse("a = {b = 1,}", 1);
    refuse("a = {, b = 1}", 1);
    refuse("a = {b = 1 c = 2}", 1);
    refuse("a = {b = 1}}", 1);
    refuse("a = {b = 1\n}", 1);
    refuse("a = {\nb = 1}", 1);
    refuse("a = {1}", 1);
}

/* --- the whole and its limits --- */

static void test_line_numbers(void **state)
{
    (void)state;
    refuse("bad", 1);
    refuse("a = 1\nbad", 2);
    refuse("\n\n\nbad\n", 4);
    refuse("a = 1\r\nb = 2\r\nbad\r\n", 3);
    refuse("a = [\n1,\n2\n]\nbad", 5);
    refuse("a = \"\"\"\n\n\n\"\"\"\nbad", 5);
    refuse("# one\n# two\n[table]\nx = 1\nbad =\n", 5);
    refuse("a = 1\rb = 2", 1);
}

/* Values before a bad line were handed on: who wants all or nothing parses twice. */
static void test_values_before_the_error_are_handed_on(void **state)
{
    static const char text[] = "a = 1\nbad";

    (void)state;
    assert_int_equal(parse_bytes(text, strlen(text)), 2);
    buf_char(&visited, '\0');
    assert_string_equal(visited.data, "|a|i|1\n");
}

static char *repeat(const char *before, char c, size_t count, const char *after)
{
    size_t head = strlen(before);
    char *text = malloc(head + count + strlen(after) + 1);

    assert_non_null(text);
    memcpy(text, before, head);
    memset(text + head, c, count);
    strcpy(text + head + count, after);
    return text;
}

static void test_depth_is_bounded(void **state)
{
    (void)state;
    char *text = repeat("a = ", '[', 16, "]]]]]]]]]]]]]]]]\nb = 1");
    expect(text, "|b|i|1\n");
    free(text);
    text = repeat("a = ", '[', 17, "]]]]]]]]]]]]]]]]]");
    refuse(text, 1);
    free(text);
    text = repeat("a = ", '[', 1000000, "");
    refuse(text, 1);
    free(text);

    struct buf bomb;
    assert_int_equal(buf_init(&bomb, 4096, 1 << 20), 0);
    buf_text(&bomb, "a = ");
    for (int i = 0; i < 10000; i++)
        buf_text(&bomb, "{a=");
    assert_int_equal(parse_bytes(bomb.data, bomb.size), 1);
    buf_free(&bomb);
}

static void test_long_keys_are_bounded(void **state)
{
    (void)state;
    char *text = repeat("", 'k', 4000, " = 1");
    assert_int_equal(parse_bytes(text, strlen(text)), 0);
    assert_int_equal(visited.size, 4000 + strlen("||i|1\n"));
    free(text);
    text = repeat("", 'k', 5000, " = 1");
    refuse(text, 1);
    free(text);
    text = repeat("[", 'k', 5000, "]\na = 1");
    refuse(text, 1);
    free(text);
    text = repeat("[", 'k', 4000,
                  "]\naaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa = 1");
    refuse(text, 2);
    free(text);
}

static void test_long_strings_are_bounded(void **state)
{
    (void)state;
    char *text = repeat("a = \"", 'x', 1000000, "\"");
    assert_int_equal(parse_bytes(text, strlen(text)), 0);
    assert_int_equal(visited.size, 1000000 + strlen("|a|s|\n"));
    free(text);
    text = repeat("a = \"", 'x', 1100000, "\"");
    refuse(text, 1);
    assert_int_equal(visited.size, 0);
    free(text);
}

static void test_long_numbers_are_bounded(void **state)
{
    (void)state;
    char *text = repeat("a = ", '1', 1000000, "");
    assert_int_equal(parse_bytes(text, strlen(text)), 0);
    free(text);
    for (size_t size = 1024 * 1024 - 2; size < 1024 * 1024 + 3; size++) {
        text = repeat("a = ", '1', size, "\nb = 2");
        long line = parse_bytes(text, strlen(text));
        assert_int_equal(line, size < 1024 * 1024 ? 0 : 1);
        free(text);
    }
}

/* Every prefix of a file with everything in it ends in order. */
static void test_unfinished_files(void **state)
{
    static const char whole[] =
        "\xef\xbb\xbf# c\r\nt = \"a\\u00e4\\\\\"\n[job.'x.y']\nn = '''\nq'''\nm = \"\"\"\\\n  "
        "z\"\"\"\n"
        "a = [1, [2.5e+3, {k = true}], # c\n 'x',\n]\nd = 1979-05-27 07:32:00Z\n"
        "i = {a.b = 0xff, \"c\" = {}}\n[[list]]\nf = -inf\n";

    (void)state;
    for (size_t size = 0; size < sizeof whole; size++) {
        long line = parse_bytes(whole, size);
        assert_in_range(line, 0, 14);
    }
    assert_int_equal(parse_bytes(whole, sizeof whole - 1), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_nothing),
        TEST(test_byte_order_mark_is_passed_over),
        TEST(test_pairs),
        TEST(test_tables),
        TEST(test_dotted_keys),
        TEST(test_bare_keys),
        TEST(test_quoted_keys),
        TEST(test_broken_keys),
        TEST(test_broken_tables),
        TEST(test_tables_in_lists_are_kept_apart),
        TEST(test_basic_strings),
        TEST(test_broken_basic_strings),
        TEST(test_nul_is_refused),
        TEST(test_literal_strings),
        TEST(test_multi_line_basic_strings),
        TEST(test_multi_line_literal_strings),
        TEST(test_broken_multi_line_strings),
        TEST(test_booleans),
        TEST(test_integers),
        TEST(test_floats),
        TEST(test_signs_of_exponents_go_with_the_number),
        TEST(test_other_scalars_are_passed_over),
        TEST(test_malformed_numbers),
        TEST(test_numbers_that_only_look_like_toml),
        TEST(test_arrays_are_passed_over),
        TEST(test_broken_arrays),
        TEST(test_inline_tables),
        TEST(test_broken_inline_tables),
        TEST(test_line_numbers),
        TEST(test_values_before_the_error_are_handed_on),
        TEST(test_depth_is_bounded),
        TEST(test_long_keys_are_bounded),
        TEST(test_long_strings_are_bounded),
        TEST(test_unfinished_files),
        TEST(test_long_numbers_are_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

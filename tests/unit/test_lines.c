#include "scratch_dir.h"

#include "read/lines.h"

static struct bytes bytes;
static struct lines lines;
static struct line line;

static void open_bytes(const char *text, size_t size)
{
    scratch_write(&dir, "file", text, size);
    int fd = openat(dir.fd, "file", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(bytes_open(&bytes, fd), 0);
    assert_int_equal(lines_open(&lines, &bytes), 0);
}

static void close_bytes(void)
{
    lines_close(&lines);
    bytes_close(&bytes);
}

static void expect(const char *wanted, bool has_end)
{
    assert_true(lines_next(&lines, &line));
    assert_int_equal(line.size, strlen(wanted));
    assert_memory_equal(line.text, wanted, line.size);
    assert_int_equal(line.has_end, has_end);
    assert_false(line.is_too_long);
}

static void test_lines_have_numbers(void **state)
{
    (void)state;
    open_bytes("a\n\nbc\nlast", 10);
    expect("a", true);
    assert_int_equal(line.number, 1);
    expect("", true);
    expect("bc", true);
    expect("last", false);
    assert_int_equal(line.number, 4);
    assert_false(lines_next(&lines, &line));
    assert_false(lines_next(&lines, &line));
    close_bytes();
}

static void test_nothing_has_no_lines(void **state)
{
    (void)state;
    open_bytes("", 0);
    assert_false(lines_next(&lines, &line));
    close_bytes();
}

/* What is punched out of a spool file reads as zeros. */
static void test_zeros_before_a_line_are_no_part_of_it(void **state)
{
    size_t hole = (size_t)3 << 20;
    char *text = calloc(1, hole + 64);

    (void)state;
    assert_non_null(text);
    memcpy(text, "head\n", 5);
    memcpy(text + 5 + hole, "row\nin\0side\n", 12);
    open_bytes(text, hole + 17);
    free(text);
    expect("head", true);
    expect("row", true);
    assert_true(lines_next(&lines, &line));
    assert_int_equal(line.size, 7);
    assert_memory_equal(line.text, "in\0side", 7);
    assert_true(lines.capacity < hole);
    close_bytes();
}

static void test_long_lines_and_longer_ones(void **state)
{
    size_t most = LINE_MAX_SIZE;
    char *text = malloc(2 * most + 100);

    (void)state;
    assert_non_null(text);
    memset(text, 'x', 2 * most + 100);
    text[most - 1] = '\n';      /* as long as a line can be */
    text[2 * most + 10] = '\n'; /* longer */
    memcpy(text + 2 * most + 11, "ok\n", 3);
    open_bytes(text, 2 * most + 14);
    free(text);
    assert_true(lines_next(&lines, &line));
    assert_int_equal(line.size, most - 1);
    assert_false(line.is_too_long);
    assert_true(lines_next(&lines, &line));
    assert_true(line.is_too_long);
    assert_false(line.has_end);
    expect("ok", true);
    assert_int_equal(line.number, 3);
    assert_false(lines_next(&lines, &line));
    close_bytes();
}

static void test_lines_of_every_length_around_the_buffer(void **state)
{
    (void)state;
    for (size_t size = 65534; size < 65540; size++) {
        char *text = malloc(4 * (size + 1));
        assert_non_null(text);
        memset(text, 'y', 4 * (size + 1));
        for (size_t i = 1; i <= 4; i++)
            text[i * (size + 1) - 1] = '\n';
        open_bytes(text, 4 * (size + 1));
        free(text);
        for (size_t i = 0; i < 4; i++) {
            assert_true(lines_next(&lines, &line));
            assert_int_equal(line.size, size);
        }
        assert_false(lines_next(&lines, &line));
        close_bytes();
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, make, drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_lines_have_numbers),
        TEST(test_nothing_has_no_lines),
        TEST(test_zeros_before_a_line_are_no_part_of_it),
        TEST(test_long_lines_and_longer_ones),
        TEST(test_lines_of_every_length_around_the_buffer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "scratch.h"

#include "net/gzip.h"
#include "read/gunzip.h"

static struct buf packed;

static int make(void **state)
{
    (void)state;
    return buf_init(&packed, 4096, 64 << 20);
}

static int drop(void **state)
{
    (void)state;
    buf_free(&packed);
    return 0;
}

static void pack(const char *text)
{
    assert_int_equal(gzip_compress(text, strlen(text), &packed), 0);
}

/* All that comes out, in pieces of `room`; the last answer in *ret_last. */
static char *unpack(size_t room, size_t *ret_size, ssize_t *ret_last)
{
    struct gunzip gunzip;
    char *out = malloc(16 << 20);
    size_t size = 0;

    assert_non_null(out);
    assert_int_equal(gunzip_open(&gunzip, packed.data, packed.size), 0);
    while ((*ret_last = gunzip_read(&gunzip, out + size, room)) > 0) {
        size += (size_t)*ret_last;
        assert_true(size < (16 << 20) - room);
    }
    gunzip_close(&gunzip);
    out[size] = '\0';
    *ret_size = size;
    return out;
}

static void expect(size_t room, const char *wanted, ssize_t last)
{
    size_t size;
    ssize_t got;
    char *out = unpack(room, &size, &got);

    assert_string_equal(out, wanted);
    assert_int_equal(size, strlen(wanted));
    assert_int_equal(got, last);
    free(out);
}

static void test_members_follow_each_other(void **state)
{
    (void)state;
    pack("one\ntw");
    pack("");
    pack("o\nthree\n");
    expect(100, "one\ntwo\nthree\n", 0);
    expect(1, "one\ntwo\nthree\n", 0);
}

static void test_a_member_larger_than_the_first_room(void **state)
{
    size_t size = 5 << 20;
    char *text = malloc(size + 1);
    size_t got;
    ssize_t last;

    (void)state;
    assert_non_null(text);
    for (size_t i = 0; i < size; i++)
        text[i] = (char)('a' + i * i % 23);
    text[size] = '\0';
    pack(text);
    char *out = unpack(65536, &got, &last);
    assert_int_equal(got, size);
    assert_int_equal(last, 0);
    assert_memory_equal(out, text, size);
    free(out);
    free(text);
}

static void test_zeros_behind_are_padding(void **state)
{
    (void)state;
    pack("rows\n");
    for (size_t i = 0; i < 1000; i++)
        buf_char(&packed, '\0');
    expect(10, "rows\n", 0);
}

static void test_what_is_cut_off_or_damaged_comes_last(void **state)
{
    (void)state;
    pack("first\n");
    size_t first = packed.size;
    pack("second, which is somewhat longer than the first\n");
    size_t whole = packed.size;
    for (size_t size = first + 1; size < whole; size++) {
        packed.size = size;
        expect(7, "first\n", -EBADMSG);
    }
    packed.size = whole;
    packed.data[whole - 6] = (char)(packed.data[whole - 6] ^ 1);
    expect(7, "first\n", -EBADMSG);
    packed.size = first;
    buf_text(&packed, "garbage");
    expect(7, "first\n", -EBADMSG);
}

/* A few bytes become megabytes; there is an end to it. */
static void test_a_bomb_ends_at_the_limit(void **state)
{
    struct gunzip gunzip;
    char out[16];
    size_t size = (size_t)3 << 20;
    char *zeros = calloc(1, size);

    (void)state;
    assert_non_null(zeros);
    assert_int_equal(gzip_compress(zeros, size, &packed), 0);
    free(zeros);
    assert_int_equal(gunzip_open(&gunzip, packed.data, packed.size), 0);
    gunzip.total = GUNZIP_TOTAL_MAX - size + 1;
    assert_int_equal(gunzip_read(&gunzip, out, sizeof out), -EFBIG);
    gunzip.total = GUNZIP_TOTAL_MAX - size;
    assert_int_equal(gunzip_read(&gunzip, out, sizeof out), sizeof out);
    gunzip_close(&gunzip);
}

static void test_what_gzip_data_begins_with(void **state)
{
    (void)state;
    pack("x");
    assert_true(gunzip_is_gzip(packed.data, packed.size));
    assert_false(gunzip_is_gzip(packed.data, 1));
    assert_false(gunzip_is_gzip("{\"", 2));
    assert_false(gunzip_is_gzip("", 0));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, make, drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_members_follow_each_other), TEST(test_a_member_larger_than_the_first_room),
        TEST(test_zeros_behind_are_padding),  TEST(test_what_is_cut_off_or_damaged_comes_last),
        TEST(test_a_bomb_ends_at_the_limit),  TEST(test_what_gzip_data_begins_with),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

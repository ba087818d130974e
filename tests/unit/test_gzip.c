#include "net/gzip.h"

#include <errno.h>
#include <libdeflate.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define OUT_MAX ((size_t)1 << 20)

/* What is packed there is `data`, and nothing is left over. */
static void expect(const char *packed, size_t packed_size, const void *data, size_t size)
{
    struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
    char *unpacked = malloc(size + 1);
    size_t read = 0;
    size_t written = 0;

    assert_non_null(decompressor);
    assert_non_null(unpacked);
    assert_int_equal(libdeflate_gzip_decompress_ex(decompressor, packed, packed_size, unpacked,
                                                   size + 1, &read, &written),
                     LIBDEFLATE_SUCCESS);
    assert_int_equal(read, packed_size);
    assert_int_equal(written, size);
    assert_memory_equal(unpacked, data, size);
    libdeflate_free_decompressor(decompressor);
    free(unpacked);
}

static void test_comes_back_as_it_was(void **state)
{
    static char rows[200000];
    struct buf out;

    (void)state;
    for (size_t i = 0; i + 20 < sizeof rows; i += 20)
        snprintf(rows + i, 21, "%019zu\n", i * i);
    assert_int_equal(buf_init(&out, 16, OUT_MAX), 0);
    assert_int_equal(gzip_compress(rows, sizeof rows, &out), 0);
    assert_true(out.size < sizeof rows / 2);
    expect(out.data, out.size, rows, sizeof rows);
    buf_free(&out);
}

static void test_nothing_is_a_member_too(void **state)
{
    struct buf out;

    (void)state;
    assert_int_equal(buf_init(&out, 16, OUT_MAX), 0);
    assert_int_equal(gzip_compress(NULL, 0, &out), 0);
    expect(out.data, out.size, "", 0);
    buf_free(&out);
}

static void test_same_bytes_in_same_bytes_out(void **state)
{
    static const char data[] = "timestamp,processes\n1,2\n";
    struct buf out;

    (void)state;
    assert_int_equal(buf_init(&out, 16, OUT_MAX), 0);
    assert_int_equal(gzip_compress(data, sizeof data, &out), 0);
    size_t once = out.size;
    assert_memory_equal(out.data, "\x1f\x8b\x08\0\0\0\0\0", 8); /* no flags, no time */
    assert_int_equal(gzip_compress(data, sizeof data, &out), 0);
    assert_int_equal(out.size, 2 * once);
    assert_memory_equal(out.data, out.data + once, once);
    buf_free(&out);
}

static void test_appends(void **state)
{
    struct buf out;

    (void)state;
    assert_int_equal(buf_init(&out, 16, OUT_MAX), 0);
    buf_text(&out, "before");
    assert_int_equal(gzip_compress("x", 1, &out), 0);
    assert_memory_equal(out.data, "before", 6);
    expect(out.data + 6, out.size - 6, "x", 1);
    buf_free(&out);
}

/* What is written counts, not what the worst input of that size would need. */
static void test_maximum(void **state)
{
    static const char zeros[5000];
    char noise[256];
    struct buf out;

    (void)state;
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (char)(i * 167);
    assert_int_equal(buf_init(&out, 16, 200), 0);
    assert_int_equal(gzip_compress(zeros, sizeof zeros, &out), 0);
    expect(out.data, out.size, zeros, sizeof zeros);
    size_t size = out.size;
    assert_int_equal(gzip_compress(noise, sizeof noise, &out), -ENOMEM);
    assert_int_equal(out.size, size);
    assert_false(out.overflow);
    buf_free(&out);

    assert_int_equal(buf_init(&out, 16, size - 1), 0);
    assert_int_equal(gzip_compress(zeros, sizeof zeros, &out), -ENOMEM);
    assert_int_equal(out.size, 0);
    buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_comes_back_as_it_was),
        cmocka_unit_test(test_nothing_is_a_member_too),
        cmocka_unit_test(test_same_bytes_in_same_bytes_out),
        cmocka_unit_test(test_appends),
        cmocka_unit_test(test_maximum),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

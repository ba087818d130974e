#include "memory_search.h"

#include "net/secret.h"

#include <malloc.h>

enum { SEED = 1 };

static void test_what_is_freed_is_wiped(void **state)
{
    (void)state;
    skip_under_sanitizers();
    for (size_t size = NEEDLE_LENGTH; size <= 1 << 20; size *= 2) {
        char *memory = secret_malloc(size);
        assert_non_null(memory);
        /* To the last byte that malloc gave. */
        needle_write(SEED, memory + malloc_usable_size(memory) - NEEDLE_LENGTH);
        assert_int_equal(needle_copies(SEED), 1);
        secret_free(memory);
        assert_int_equal(needle_copies(SEED), 0);
    }
}

static void test_moving_leaves_nothing_behind(void **state)
{
    (void)state;
    skip_under_sanitizers();
    char *memory = secret_calloc(2, 500);
    needle_write(SEED, memory + 400);
    memory = secret_realloc(memory, 5000);
    assert_int_equal(needle_count(SEED, memory, memory + 5000), 1);
    assert_int_equal(needle_copies(SEED), 1);
    /* Smaller: the end is not kept. */
    memory = secret_realloc(memory, 300);
    assert_int_equal(needle_copies(SEED), 0);
    secret_free(memory);
}

static void test_they_do_what_the_usual_ones_do(void **state)
{
    (void)state;
    char *text = secret_strdup("text");
    assert_string_equal(text, "text");
    text = secret_realloc(text, 100);
    assert_string_equal(text, "text");
    free(text);
    secret_free(malloc(10));
    secret_free(NULL);
    text = secret_realloc(NULL, 8);
    assert_non_null(text);
    secret_free(text);
    static const char zeros[300];
    char *cleared = secret_calloc(3, 100);
    assert_memory_equal(cleared, zeros, sizeof zeros);
    secret_free(cleared);
}

static void test_a_buffer_leaves_nothing_behind(void **state)
{
    struct buf buf;
    char secret[NEEDLE_LENGTH];

    (void)state;
    skip_under_sanitizers();
    assert_int_equal(buf_init(&buf, 64, 1 << 20), 0);
    needle_write(SEED, secret);
    secret_buf_bytes(&buf, secret, sizeof secret);
    sodium_memzero(secret, sizeof secret);
    for (size_t i = 0; i < 10000; i++)
        secret_buf_bytes(&buf, "0123456789", 10);
    assert_false(buf.overflow);
    assert_int_equal(buf.size, NEEDLE_LENGTH + 100000);
    assert_memory_equal(buf.data + buf.size - 20, "01234567890123456789", 20);
    assert_int_equal(needle_copies(SEED), 1);
    secret_buf_free(&buf);
    assert_int_equal(needle_copies(SEED), 0);
    assert_null(buf.data);
    secret_buf_free(&buf);
}

static void test_a_buffer_has_a_maximum(void **state)
{
    struct buf buf;

    (void)state;
    assert_int_equal(buf_init(&buf, 4, 10), 0);
    secret_buf_bytes(&buf, "0123456789", 10);
    assert_false(buf.overflow);
    assert_int_equal(buf.capacity, 10);
    secret_buf_bytes(&buf, "", 0);
    assert_false(buf.overflow);
    secret_buf_bytes(&buf, "x", 1);
    assert_true(buf.overflow);
    assert_int_equal(buf.size, 10);
    buf.size = 0;
    secret_buf_bytes(&buf, "x", 1);
    assert_int_equal(buf.size, 0);
    secret_buf_free(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_freed_is_wiped),
        cmocka_unit_test(test_moving_leaves_nothing_behind),
        cmocka_unit_test(test_they_do_what_the_usual_ones_do),
        cmocka_unit_test(test_a_buffer_leaves_nothing_behind),
        cmocka_unit_test(test_a_buffer_has_a_maximum),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "base/buf.h"
#include "scratch.h"

static void expect(const struct buf *buf, const char *text)
{
    assert_int_equal(buf->size, strlen(text));
    assert_memory_equal(buf->data, text, buf->size);
}

static void test_puts_everything_in_order(void **state)
{
    struct buf buf;

    (void)state;
    assert_int_equal(buf_init(&buf, 4, 1024), 0);
    buf_text(&buf, "a=");
    buf_u64(&buf, 18446744073709551615u);
    buf_char(&buf, ',');
    buf_fixed(&buf, -2.5, 2);
    buf_bytes(&buf, ";xyz", 2);
    buf_text(&buf, "");
    expect(&buf, "a=18446744073709551615,-2.50;x");
    assert_false(buf.overflow);
    buf_free(&buf);
}

static void test_grows_to_its_maximum_and_not_beyond(void **state)
{
    struct buf buf;

    (void)state;
    assert_int_equal(buf_init(&buf, 3, 100), 0);
    for (int i = 0; i < 100; i++)
        buf_char(&buf, (char)('a' + i % 26));
    assert_false(buf.overflow);
    assert_int_equal(buf.size, 100);
    assert_int_equal(buf.capacity, 100);
    for (int i = 0; i < 100; i++)
        assert_int_equal(buf.data[i], 'a' + i % 26);
    buf_char(&buf, '!');
    assert_true(buf.overflow);
    assert_int_equal(buf.size, 100);
    buf_free(&buf);
}

static void test_overflow_drops_whole_pieces_until_reset(void **state)
{
    struct buf buf;

    (void)state;
    assert_int_equal(buf_init(&buf, 8, 10), 0);
    buf_text(&buf, "12345");
    buf_text(&buf, "too long");
    assert_true(buf.overflow);
    expect(&buf, "12345");
    buf_char(&buf, 'x'); /* would fit, but what comes after a gap is worth nothing */
    buf_u64(&buf, 1);
    buf_fixed(&buf, 1, 0);
    expect(&buf, "12345");
    assert_null(buf_room(&buf, 1));
    buf_reset(&buf);
    assert_false(buf.overflow);
    buf_text(&buf, "0123456789");
    expect(&buf, "0123456789");
    buf_free(&buf);
}

static void test_reuse_does_not_allocate(void **state)
{
    struct buf buf;
    static const char block[5000];

    (void)state;
    assert_int_equal(buf_init(&buf, 16, 1 << 20), 0);
    buf_bytes(&buf, block, sizeof block);
    const char *data = buf.data;
    size_t capacity = buf.capacity;
    for (int i = 0; i < 100; i++) {
        buf_reset(&buf);
        buf_bytes(&buf, block, sizeof block);
        assert_ptr_equal(buf.data, data);
        assert_int_equal(buf.capacity, capacity);
    }
    buf_free(&buf);
}

static void test_room_is_writable_to_its_end(void **state)
{
    struct buf buf;

    (void)state;
    assert_int_equal(buf_init(&buf, 1, 4096), 0);
    buf_text(&buf, "head ");
    char *room = buf_room(&buf, 4000);
    assert_non_null(room);
    memset(room, 'r', 4000);
    buf.size += 4000;
    assert_int_equal(buf.size, 4005);
    assert_memory_equal(buf.data, "head r", 6);
    assert_null(buf_room(&buf, 92));
    buf_free(&buf);
}

static void test_drop_front(void **state)
{
    struct buf buf;

    (void)state;
    assert_int_equal(buf_init(&buf, 16, 64), 0);
    buf_text(&buf, "abcdef");
    buf_drop_front(&buf, 0);
    expect(&buf, "abcdef");
    buf_drop_front(&buf, 4);
    expect(&buf, "ef");
    buf_text(&buf, "gh");
    expect(&buf, "efgh");
    buf_drop_front(&buf, 4);
    expect(&buf, "");
    buf_free(&buf);
}

static void test_zeroed_buffer_may_be_used_and_freed(void **state)
{
    struct buf buf = {0};

    (void)state;
    buf_char(&buf, 'x'); /* its maximum is 0 */
    assert_true(buf.overflow);
    assert_int_equal(buf.size, 0);
    buf_free(&buf);
    buf_free(&buf);
    assert_null(buf.data);
    buf = (struct buf){.max = 100};
    buf_text(&buf, "grows from nothing");
    expect(&buf, "grows from nothing");
    buf_free(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_puts_everything_in_order),
        cmocka_unit_test(test_grows_to_its_maximum_and_not_beyond),
        cmocka_unit_test(test_overflow_drops_whole_pieces_until_reset),
        cmocka_unit_test(test_reuse_does_not_allocate),
        cmocka_unit_test(test_room_is_writable_to_its_end),
        cmocka_unit_test(test_drop_front),
        cmocka_unit_test(test_zeroed_buffer_may_be_used_and_freed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

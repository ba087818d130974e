#include "scratch.h"

#include "base/clock.h"
#include "net/retry.h"

static uint64_t pause_after(struct retry *retry, unsigned wait_secs)
{
    uint64_t now_ns = 1000 * NS_PER_SEC;

    retry_later(retry, now_ns, wait_secs);
    return retry->due_ns - now_ns;
}

static void assert_about(uint64_t pause_ns, uint64_t wanted_ns)
{
    assert_in_range(pause_ns, wanted_ns, wanted_ns + wanted_ns / 4);
}

static void test_twice_as_long_each_time(void **state)
{
    static const unsigned halves[] = {1, 2, 4, 8, 16, 32, 64, 120, 120, 120};
    struct retry retry = {0};

    (void)state;
    for (size_t i = 0; i < sizeof halves / sizeof halves[0]; i++)
        assert_about(pause_after(&retry, 0), halves[i] * NS_PER_SEC / 2);
    for (int i = 0; i < 1000; i++)
        assert_about(pause_after(&retry, 0), 60 * NS_PER_SEC);
    retry_reset(&retry);
    assert_about(pause_after(&retry, 0), NS_PER_SEC / 2);
}

static void test_never_sooner_than_asked(void **state)
{
    struct retry retry = {0};

    (void)state;
    assert_about(pause_after(&retry, 7), 7 * NS_PER_SEC);
    assert_about(pause_after(&retry, 90), 90 * NS_PER_SEC);
}

static void test_there_is_chance_in_it(void **state)
{
    uint64_t first = 0;
    bool differs = false;

    (void)state;
    for (int i = 0; i < 50; i++) {
        struct retry retry = {.failures = 6};
        uint64_t pause_ns = pause_after(&retry, 0);
        differs = differs || (i > 0 && pause_ns != first);
        first = pause_ns;
    }
    assert_true(differs);
}

static void test_what_servers_ask_for(void **state)
{
    /* 15 Nov 2026, 08:00:00. */
    uint64_t now_secs = 1794729600;

    (void)state;
    assert_int_equal(retry_after_secs("7", now_secs), 7);
    assert_int_equal(retry_after_secs("0", now_secs), 0);
    assert_int_equal(retry_after_secs("", now_secs), 0);
    assert_int_equal(retry_after_secs("soon", now_secs), 0);
    assert_int_equal(retry_after_secs("7 days", now_secs), 0);
    assert_int_equal(retry_after_secs("-7", now_secs), 0);
    assert_int_equal(retry_after_secs("86400", now_secs), 300);
    assert_int_equal(retry_after_secs("99999999999999999999999", now_secs), 0);
    assert_int_equal(retry_after_secs("Sun, 15 Nov 2026 08:00:09 GMT", now_secs), 9);
    assert_int_equal(retry_after_secs("Sun, 15 Nov 2026 07:00:09 GMT", now_secs), 0);
    assert_int_equal(retry_after_secs("Mon, 16 Nov 2026 08:00:09 GMT", now_secs), 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_twice_as_long_each_time),
        cmocka_unit_test(test_never_sooner_than_asked),
        cmocka_unit_test(test_there_is_chance_in_it),
        cmocka_unit_test(test_what_servers_ask_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

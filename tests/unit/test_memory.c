#include "support.h"

#include <stdlib.h>
#include <string.h>

static const char *const all_hosts[] = {
    "this-machine", "cores-256", "storage", "container", "network",
};

static const enum metric_id all_figures[] = {
    METRIC_MEMORY_TOTAL,         METRIC_MEMORY_FREE,       METRIC_MEMORY_AVAILABLE,
    METRIC_MEMORY_USED,          METRIC_MEMORY_USED_PCT,   METRIC_MEMORY_BUFFERS,
    METRIC_MEMORY_CACHED,        METRIC_MEMORY_SWAP_TOTAL, METRIC_MEMORY_SWAP_USED,
    METRIC_MEMORY_SWAP_USED_PCT, METRIC_MEMORY_ACTIVE,     METRIC_MEMORY_INACTIVE,
};

static const struct sample *read_text(const char *text)
{
    support_open_empty();
    support_write("proc/meminfo", text);
    support_start(&memory_collector);
    return support_read(SECOND);
}

static void assert_nothing_known(const struct sample *sample)
{
    for (size_t i = 0; i < sizeof all_figures / sizeof all_figures[0]; i++)
        assert_absent(sample->value[all_figures[i]]);
}

/* MemTotal 16384000 kB is 16000 MiB, and so on by 1024. */
static void test_figures_are_whole_mib(void **state)
{
    (void)state;
    support_open("storage");
    support_start(&memory_collector);
    const double *value = support_step_and_read()->value;

    assert_number(value[METRIC_MEMORY_TOTAL], 16000);
    assert_number(value[METRIC_MEMORY_FREE], 4000);
    assert_number(value[METRIC_MEMORY_AVAILABLE], 10000);
    assert_number(value[METRIC_MEMORY_BUFFERS], 200);
    assert_number(value[METRIC_MEMORY_CACHED], 5500); /* 5000 cached, 500 reclaimable */
    assert_number(value[METRIC_MEMORY_USED], 6300);   /* 16000 - 4000 - 200 - 5500 */
    assert_number(value[METRIC_MEMORY_USED_PCT], 39.375);
    assert_number(value[METRIC_MEMORY_ACTIVE], 6000);
    assert_number(value[METRIC_MEMORY_INACTIVE], 3000);
    assert_number(value[METRIC_MEMORY_SWAP_TOTAL], 8192);
    assert_number(value[METRIC_MEMORY_SWAP_USED], 8);
    assert_number(value[METRIC_MEMORY_SWAP_USED_PCT], 100.0 * 8 / 8192);
}

static void test_a_part_of_a_mib_is_cut(void **state)
{
    (void)state;
    const double *value = read_text("MemTotal: 2047 kB\nMemFree: 1023 kB\n")->value;
    assert_number(value[METRIC_MEMORY_TOTAL], 1);
    assert_number(value[METRIC_MEMORY_FREE], 0);
}

static void test_the_file_is_read_anew_each_time(void **state)
{
    (void)state;
    assert_number(read_text("MemTotal: 2048 kB\n")->value[METRIC_MEMORY_TOTAL], 2);
    support_write("proc/meminfo", "MemTotal: 4096 kB\n");
    assert_number(support_read(SECOND)->value[METRIC_MEMORY_TOTAL], 4);
}

static void test_t_mem_01_parts_are_at_most_the_total(void **state)
{
    static const char *const hosts[] = {"this-machine", "cores-256", "storage", "network"};

    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        support_open(hosts[i]);
        support_start(&memory_collector);
        const double *value = support_step_and_read()->value;
        assert_true(value[METRIC_MEMORY_FREE] + value[METRIC_MEMORY_USED] +
                        value[METRIC_MEMORY_BUFFERS] + value[METRIC_MEMORY_CACHED] <=
                    value[METRIC_MEMORY_TOTAL]);
        assert_int_equal(support_teardown(state), 0);
    }
}

static void test_t_mem_02_used_pct_is_a_share(void **state)
{
    for (size_t i = 0; i < sizeof all_hosts / sizeof all_hosts[0]; i++) {
        support_open(all_hosts[i]);
        support_start(&memory_collector);
        double used = support_step_and_read()->value[METRIC_MEMORY_USED_PCT];
        assert_true(used >= 0 && used <= 100);
        assert_int_equal(support_teardown(state), 0);
    }
}

/* In a container MemTotal may be its limit and the rest the host's. */
static void test_t_mem_02_parts_beyond_the_total_leave_nothing_used(void **state)
{
    (void)state;
    support_open("container");
    support_start(&memory_collector);
    const double *value = support_step_and_read()->value;

    assert_number(value[METRIC_MEMORY_TOTAL], 2048);
    assert_number(value[METRIC_MEMORY_USED], 0);
    assert_number(value[METRIC_MEMORY_USED_PCT], 0);
}

static void test_t_mem_03_no_swap_is_no_share_of_it(void **state)
{
    (void)state;
    support_open("network");
    support_start(&memory_collector);
    const double *value = support_step_and_read()->value;

    assert_number(value[METRIC_MEMORY_SWAP_TOTAL], 0);
    assert_number(value[METRIC_MEMORY_SWAP_USED], 0);
    assert_number(value[METRIC_MEMORY_SWAP_USED_PCT], 0);
}

static void test_t_mem_04_available_is_at_most_the_total(void **state)
{
    for (size_t i = 0; i < sizeof all_hosts / sizeof all_hosts[0]; i++) {
        support_open(all_hosts[i]);
        support_start(&memory_collector);
        const double *value = support_step_and_read()->value;
        assert_true(value[METRIC_MEMORY_AVAILABLE] <= value[METRIC_MEMORY_TOTAL]);
        assert_int_equal(support_teardown(state), 0);
    }
}

/* --- ugly files --- */

static void test_without_the_file_there_is_no_collector(void **state)
{
    (void)state;
    support_open_empty();
    assert_true(support_start_only(&memory_collector) < 0);
}

static void test_an_empty_file_tells_nothing(void **state)
{
    (void)state;
    assert_nothing_known(read_text(""));
}

static void test_garbage_tells_nothing(void **state)
{
    static const char garbage[] =
        "MemTotal\nMemFree:\nBuffers: kB\nCached: x1 kB\n:\n::::\n\0\xff\n"
        "MemAvailable: 99999999999999999999 kB\n memtotal: 4 kB\n"
        "SwapTotal: -1 kB\nActive(file): 2048 kB\n";
    (void)state;
    support_open_empty();
    support_write_bytes("proc/meminfo", garbage, sizeof garbage - 1);
    support_start(&memory_collector);
    assert_nothing_known(support_read(SECOND));
}

static void test_similar_keys_are_not_taken(void **state)
{
    (void)state;
    const double *value = read_text("SwapCached: 1048576 kB\nActive(anon): 1048576 kB\n"
                                    "Inactive(file): 1048576 kB\nCached: 2048 kB\n"
                                    "Active: 4096 kB\nInactive: 8192 kB\n")
                              ->value;
    assert_number(value[METRIC_MEMORY_CACHED], 2);
    assert_number(value[METRIC_MEMORY_ACTIVE], 4);
    assert_number(value[METRIC_MEMORY_INACTIVE], 8);
}

static void test_what_is_missing_is_not_zero(void **state)
{
    (void)state;
    /* Kernels before 3.14 have no MemAvailable, those before 2.6.19 no SReclaimable. */
    const double *value =
        read_text("MemTotal: 8192 kB\nMemFree: 1024 kB\nBuffers: 1024 kB\nCached: 2048 kB\n")
            ->value;
    assert_absent(value[METRIC_MEMORY_AVAILABLE]);
    assert_absent(value[METRIC_MEMORY_SWAP_TOTAL]);
    assert_absent(value[METRIC_MEMORY_SWAP_USED]);
    assert_absent(value[METRIC_MEMORY_SWAP_USED_PCT]);
    assert_number(value[METRIC_MEMORY_CACHED], 2);
    assert_number(value[METRIC_MEMORY_USED], 4);
}

static void test_used_needs_all_of_its_parts(void **state)
{
    static const char *const parts[] = {
        "MemFree: 1024 kB\nBuffers: 1024 kB\nCached: 2048 kB\n",
        "MemTotal: 8192 kB\nBuffers: 1024 kB\nCached: 2048 kB\n",
        "MemTotal: 8192 kB\nMemFree: 1024 kB\nCached: 2048 kB\n",
        "MemTotal: 8192 kB\nMemFree: 1024 kB\nBuffers: 1024 kB\n",
    };

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const struct sample *sample = read_text(parts[i]);
        assert_absent(sample->value[METRIC_MEMORY_USED]);
        assert_absent(sample->value[METRIC_MEMORY_USED_PCT]);
        assert_int_equal(support_teardown(state), 0);
    }
}

static void test_a_cut_file_keeps_what_stands_before(void **state)
{
    (void)state;
    const double *value =
        read_text("MemTotal:       16384000 kB\nMemFree:         4096000 kB\nBuff")->value;
    assert_number(value[METRIC_MEMORY_TOTAL], 16000);
    assert_number(value[METRIC_MEMORY_FREE], 4000);
    assert_absent(value[METRIC_MEMORY_BUFFERS]);
    assert_absent(value[METRIC_MEMORY_USED]);
}

static void test_numbers_at_their_end_stay_shares(void **state)
{
    (void)state;
    const double *value = read_text("MemTotal: 18446744073709551614 kB\n"
                                    "MemFree: 18446744073709551614 kB\nBuffers: 0 kB\n"
                                    "Cached: 0 kB\nSwapTotal: 18446744073709551614 kB\n"
                                    "SwapFree: 0 kB\n")
                              ->value;
    assert_number(value[METRIC_MEMORY_TOTAL], (double)(UINT64_MAX / 1024));
    assert_number(value[METRIC_MEMORY_USED], 0);
    assert_number(value[METRIC_MEMORY_USED_PCT], 0);
    assert_number(value[METRIC_MEMORY_SWAP_USED_PCT], 100);
}

static void test_more_swap_free_than_there_is_leaves_none_used(void **state)
{
    (void)state;
    const double *value = read_text("SwapTotal: 2048 kB\nSwapFree: 4096 kB\n")->value;
    assert_number(value[METRIC_MEMORY_SWAP_USED], 0);
    assert_number(value[METRIC_MEMORY_SWAP_USED_PCT], 0);
}

static void test_a_huge_line_is_passed_over(void **state)
{
    enum { SIZE = 40000 };
    char *text = malloc(SIZE + 64);

    (void)state;
    assert_non_null(text);
    memset(text, 'x', SIZE);
    stpcpy(text + SIZE, ": 1 kB\nMemTotal: 2048 kB\n");
    support_open_empty();
    support_write("proc/meminfo", text);
    free(text);
    support_start(&memory_collector);
    assert_number(support_read(SECOND)->value[METRIC_MEMORY_TOTAL], 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_figures_are_whole_mib),
        TEST(test_a_part_of_a_mib_is_cut),
        TEST(test_the_file_is_read_anew_each_time),
        TEST(test_t_mem_01_parts_are_at_most_the_total),
        TEST(test_t_mem_02_used_pct_is_a_share),
        TEST(test_t_mem_02_parts_beyond_the_total_leave_nothing_used),
        TEST(test_t_mem_03_no_swap_is_no_share_of_it),
        TEST(test_t_mem_04_available_is_at_most_the_total),
        TEST(test_without_the_file_there_is_no_collector),
        TEST(test_an_empty_file_tells_nothing),
        TEST(test_garbage_tells_nothing),
        TEST(test_similar_keys_are_not_taken),
        TEST(test_what_is_missing_is_not_zero),
        TEST(test_used_needs_all_of_its_parts),
        TEST(test_a_cut_file_keeps_what_stands_before),
        TEST(test_numbers_at_their_end_stay_shares),
        TEST(test_more_swap_free_than_there_is_leaves_none_used),
        TEST(test_a_huge_line_is_passed_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

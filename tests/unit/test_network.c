#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD                                                                                       \
    "Inter-|   Receive                                                |  Transmit\n"               \
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs "     \
    "drop fifo colls carrier compressed\n"

static double rate_in(const struct sample *sample, const char *name)
{
    return support_cell(sample, name, FIELD_NET_RX_RATE)->number;
}

static double rate_out(const struct sample *sample, const char *name)
{
    return support_cell(sample, name, FIELD_NET_TX_RATE)->number;
}

static bool is_listed(const struct sample *sample, const char *name)
{
    return support_row(sample->rows[DEVICE_NETWORK], FIELD_NET_INTERFACE, name) != ROW_NONE;
}

static void assert_totals(const struct sample *sample, double received, double sent)
{
    assert_number(sample->value[METRIC_TOTAL_NET_RECV], received);
    assert_number(sample->value[METRIC_TOTAL_NET_SENT], sent);
}

static void start_with(const char *dev)
{
    support_open_empty();
    support_write("proc/net/dev", dev);
    support_start(&network_collector);
}

static const struct sample *read_after(const char *dev)
{
    support_write("proc/net/dev", dev);
    return support_read(SECOND);
}

/* --- what the figures are --- */

static void test_rates_are_growth_over_the_elapsed_time(void **state)
{
    (void)state;
    support_open("network");
    support_start(&network_collector);
    support_step();
    const struct sample *sample = support_read(2 * SECOND);

    assert_number(rate_in(sample, "eno1"), 500000);
    assert_number(rate_out(sample, "eno1"), 250000);
    assert_int_equal(support_cell(sample, "eno1", FIELD_NET_RX_TOTAL)->counter, 51000000);
    assert_int_equal(support_cell(sample, "eno1", FIELD_NET_TX_TOTAL)->counter, 20500000);
}

/* bond0, br0, veth0a, bond0.100, tun0 and wg0 carry the bytes of eno1 and eno2 once more. */
static void test_totals_count_each_byte_once(void **state)
{
    (void)state;
    support_open("network");
    support_start(&network_collector);
    const struct sample *sample = support_step_and_read();

    assert_number(rate_in(sample, "bond0"), 1200000);
    assert_number(rate_in(sample, "br0"), 1100000);
    assert_number(rate_out(sample, "veth0a"), 60000);
    assert_number(rate_in(sample, "wg0"), 9000);
    assert_number(rate_out(sample, "dummy0"), 400);
    assert_totals(sample, 1000000 + 200000, 500000 + 100000);
}

/* CSV byte columns are counter differences, not rates times the interval. */
static void test_totals_do_not_depend_on_the_elapsed_time(void **state)
{
    (void)state;
    support_open("network");
    support_start(&network_collector);
    support_step();
    assert_totals(support_read(3 * SECOND / 7), 1200000, 600000);
}

static void test_a_container_counts_its_veth(void **state)
{
    (void)state;
    support_open("container");
    support_start(&network_collector);
    const struct sample *sample = support_step_and_read();

    assert_int_equal(sample->rows[DEVICE_NETWORK]->count, 1);
    assert_totals(sample, 4096, 512);
    assert_null(support_cell(sample, "eth0", FIELD_NET_DRIVER)->text);
    assert_totals(support_step_and_read(), 0, 512);
}

/* Without root a container's way out is a tap that a user-space network stack feeds. */
static void test_a_container_whose_only_way_out_is_a_tap_counts_it(void **state)
{
    (void)state;
    support_open_empty();
    support_write("sys/class/net/tap0/type", "1\n");
    support_write("sys/class/net/tap0/tun_flags", "0x1002\n");
    support_write("sys/class/net/tap0/uevent", "INTERFACE=tap0\nIFINDEX=2\n");
    support_write("proc/net/dev", HEAD "lo: 9 0 0 0 0 0 0 0 9 0 0 0 0 0 0 0\n"
                                       "tap0: 1000 0 0 0 0 0 0 0 2000 0 0 0 0 0 0 0\n");
    support_start(&network_collector);
    assert_totals(read_after(HEAD "lo: 99 0 0 0 0 0 0 0 99 0 0 0 0 0 0 0\n"
                                  "tap0: 1500 0 0 0 0 0 0 0 2700 0 0 0 0 0 0 0\n"),
                  500, 700);
}

/* A VLAN that was moved into a container has its card in another namespace. */
static void test_a_container_whose_only_way_out_is_a_vlan_counts_it(void **state)
{
    (void)state;
    support_open_empty();
    support_write("sys/class/net/eth0/type", "1\n");
    support_write("sys/class/net/eth0/uevent", "DEVTYPE=vlan\nINTERFACE=eth0\nIFINDEX=9\n");
    support_write("proc/net/dev", HEAD "eth0: 1000 0 0 0 0 0 0 0 2000 0 0 0 0 0 0 0\n");
    support_start(&network_collector);
    assert_totals(read_after(HEAD "eth0: 1500 0 0 0 0 0 0 0 2700 0 0 0 0 0 0 0\n"), 500, 700);
}

static void test_facts_of_a_card(void **state)
{
    (void)state;
    support_open("network");
    support_start(&network_collector);
    const struct sample *sample = support_step_and_read();

    assert_string_equal(support_cell(sample, "eno1", FIELD_NET_MAC)->text, "02:00:00:00:02:01");
    assert_string_equal(support_cell(sample, "eno1", FIELD_NET_DRIVER)->text, "ixgbe");
    assert_string_equal(support_cell(sample, "eno1", FIELD_NET_OPERSTATE)->text, "up");
    assert_number(support_cell(sample, "eno1", FIELD_NET_SPEED)->number, 10000);
    assert_number(support_cell(sample, "eno1", FIELD_NET_MTU)->number, 1500);
}

static void test_facts_that_are_missing(void **state)
{
    (void)state;
    support_open("network");
    support_start(&network_collector);
    const struct sample *sample = support_step_and_read();

    assert_null(support_cell(sample, "wg0", FIELD_NET_MAC)->text);
    assert_null(support_cell(sample, "wg0", FIELD_NET_DRIVER)->text);
    assert_number(support_cell(sample, "wg0", FIELD_NET_SPEED)->number, -1);
    assert_number(support_cell(sample, "eno3", FIELD_NET_SPEED)->number, -1);
    assert_string_equal(support_cell(sample, "eno3", FIELD_NET_OPERSTATE)->text, "down");
}

static void test_without_sys_there_are_counters_still(void **state)
{
    (void)state;
    start_with(HEAD "  eth0: 100 1 0 0 0 0 0 0 200 2 0 0 0 0 0 0\n");
    const struct sample *sample = read_after(HEAD "  eth0:150 1 0 0 0 0 0 0 290 2 0 0 0 0 0 0\n");

    assert_totals(sample, 50, 90);
    assert_null(support_cell(sample, "eth0", FIELD_NET_MAC)->text);
    assert_null(support_cell(sample, "eth0", FIELD_NET_OPERSTATE)->text);
    assert_number(support_cell(sample, "eth0", FIELD_NET_SPEED)->number, -1);
    assert_absent(support_cell(sample, "eth0", FIELD_NET_MTU)->number);
}

static void test_facts_are_looked_up_again_in_time(void **state)
{
    (void)state;
    support_open("network");
    support_start(&network_collector);
    support_write("sys/class/net/eno3/operstate", "up\n");
    support_write("sys/class/net/eno3/speed", "1000\n");
    const struct sample *sample = support_read(31 * SECOND);

    assert_string_equal(support_cell(sample, "eno3", FIELD_NET_OPERSTATE)->text, "up");
    assert_number(support_cell(sample, "eno3", FIELD_NET_SPEED)->number, 1000);
}

static void test_odd_speeds_are_not_reported(void **state)
{
    static const char *const speeds[] = {"-1\n", "4294967295\n", "2147483647\n", "", "fast\n"};

    (void)state;
    start_with(HEAD "eth0: 1 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0\n");
    for (size_t i = 0; i < sizeof speeds / sizeof speeds[0]; i++) {
        support_write("sys/class/net/eth0/speed", speeds[i]);
        support_prime();
        assert_number(support_cell(support_read(SECOND), "eth0", FIELD_NET_SPEED)->number, -1);
    }
}

/* Another network namespace than ours: that of the first process of the /proc that was named. */
static void test_a_foreign_proc_is_read_through_its_first_process(void **state)
{
    (void)state;
    support_open_empty();
    support_root()->proc_is_foreign = true;
    support_write("proc/net/dev", HEAD "mine: 1 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0\n");
    support_write("proc/1/net/dev", HEAD "theirs: 1 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0\n");
    support_start(&network_collector);
    const struct sample *sample = support_read(SECOND);

    assert_true(is_listed(sample, "theirs"));
    assert_false(is_listed(sample, "mine"));
}

static void test_a_foreign_proc_may_have_no_first_process(void **state)
{
    (void)state;
    support_open_empty();
    support_root()->proc_is_foreign = true;
    support_write("proc/net/dev", HEAD "eth0: 1 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0\n");
    support_start(&network_collector);
    assert_true(is_listed(support_read(SECOND), "eth0"));
}

/* --- requirements over all hosts --- */

static const char *const all_hosts[] = {
    "this-machine", "cores-256", "storage", "container", "network",
};

static void for_each_moment(void **state, void (*check)(const struct sample *sample))
{
    for (size_t i = 0; i < sizeof all_hosts / sizeof all_hosts[0]; i++) {
        support_open(all_hosts[i]);
        support_start(&network_collector);
        for (unsigned moment = 1; moment < support_moments(all_hosts[i]); moment++)
            check(support_step_and_read());
        assert_int_equal(support_teardown(state), 0);
    }
}

static void check_rates(const struct sample *sample)
{
    const struct rows *rows = sample->rows[DEVICE_NETWORK];

    for (size_t i = 0; i < rows->count; i++) {
        assert_true(rows_cell(rows, i, FIELD_NET_RX_RATE)->number >= 0);
        assert_true(rows_cell(rows, i, FIELD_NET_TX_RATE)->number >= 0);
    }
}

static void test_t_net_01_rates_are_not_negative(void **state)
{
    for_each_moment(state, check_rates);
}

static void test_t_net_02_totals_do_not_decrease(void **state)
{
    static const char *const names[] = {"eno1", "bond0", "br0", "veth0a", "wg0"};
    uint64_t before[sizeof names / sizeof names[0]] = {0};

    (void)state;
    support_open("network");
    support_start(&network_collector);
    for (unsigned moment = 1; moment < support_moments("network"); moment++) {
        const struct sample *sample = support_step_and_read();
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            uint64_t now = support_cell(sample, names[i], FIELD_NET_RX_TOTAL)->counter;
            assert_true(now >= before[i]);
            before[i] = now;
        }
    }
}

static void check_no_loopback(const struct sample *sample)
{
    assert_false(is_listed(sample, "lo"));
}

static void test_t_net_03_loopback_is_not_listed(void **state)
{
    for_each_moment(state, check_no_loopback);
}

static void test_only_a_loopback_is_an_empty_list(void **state)
{
    (void)state;
    support_open("storage");
    support_start(&network_collector);
    const struct sample *sample = support_step_and_read();

    assert_int_equal(sample->rows[DEVICE_NETWORK]->count, 0);
    assert_totals(sample, 0, 0);
}

/* --- interfaces come and go, counters are reset --- */

static void test_a_new_card_starts_from_its_first_reading(void **state)
{
    (void)state;
    support_open("network");
    support_start(&network_collector);
    const struct sample *sample = support_step_and_read();

    assert_number(rate_in(sample, "enx0200000002ee"), 0);
    assert_int_equal(support_cell(sample, "enx0200000002ee", FIELD_NET_RX_TOTAL)->counter, 5000);
    assert_string_equal(support_cell(sample, "enx0200000002ee", FIELD_NET_DRIVER)->text, "r8152");
    assert_int_equal(sample->rows[DEVICE_NETWORK]->count, 12);
}

static void test_departed_interfaces_leave_the_list(void **state)
{
    (void)state;
    support_open("network");
    support_start(&network_collector);
    support_step_and_read();
    const struct sample *sample = support_step_and_read();

    assert_int_equal(sample->rows[DEVICE_NETWORK]->count, 10);
    assert_false(is_listed(sample, "enx0200000002ee"));
    assert_false(is_listed(sample, "veth0b"));
    /* Those behind them in the list are still themselves. */
    assert_string_equal(support_cell(sample, "dummy0", FIELD_NET_MAC)->text, "02:00:00:00:02:0d");
    assert_int_equal(support_cell(sample, "dummy0", FIELD_NET_TX_TOTAL)->counter, 4400);
}

static void test_a_counter_that_goes_backwards_counts_nothing(void **state)
{
    (void)state;
    support_open("network");
    support_start(&network_collector);
    support_step_and_read();
    const struct sample *sample = support_step_and_read();

    assert_number(rate_in(sample, "eno2"), 0);
    assert_number(rate_out(sample, "eno2"), 0);
    assert_int_equal(support_cell(sample, "eno2", FIELD_NET_RX_TOTAL)->counter, 1500);
    assert_totals(sample, 4096, 512); /* eno1's */
}

static void test_a_reset_counter_goes_on_from_there(void **state)
{
    (void)state;
    start_with(HEAD "eth0: 9000 0 0 0 0 0 0 0 9000 0 0 0 0 0 0 0\n");
    assert_totals(read_after(HEAD "eth0: 100 0 0 0 0 0 0 0 200 0 0 0 0 0 0 0\n"), 0, 0);
    assert_totals(read_after(HEAD "eth0: 150 0 0 0 0 0 0 0 270 0 0 0 0 0 0 0\n"), 50, 70);
}

static void test_an_interface_that_comes_back_starts_anew(void **state)
{
    (void)state;
    start_with(HEAD "eth0: 100 0 0 0 0 0 0 0 100 0 0 0 0 0 0 0\n");
    assert_int_equal(read_after(HEAD)->rows[DEVICE_NETWORK]->count, 0);
    const struct sample *sample = read_after(HEAD "eth0: 900 0 0 0 0 0 0 0 900 0 0 0 0 0 0 0\n");
    assert_number(rate_in(sample, "eth0"), 0);
    assert_totals(read_after(HEAD "eth0: 905 0 0 0 0 0 0 0 907 0 0 0 0 0 0 0\n"), 5, 7);
}

static void test_the_order_may_change(void **state)
{
    (void)state;
    start_with(HEAD "a: 100 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0\nb: 200 0 0 0 0 0 0 0 2 0 0 0 0 0 0 0\n");
    const struct sample *sample = read_after(
        HEAD "b: 207 0 0 0 0 0 0 0 2 0 0 0 0 0 0 0\na: 105 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0\n");

    assert_number(rate_in(sample, "a"), 5);
    assert_number(rate_in(sample, "b"), 7);
}

static void test_many_interfaces(void **state)
{
    enum { COUNT = 2000 };
    static char before[COUNT * 64];
    static char after[COUNT * 64];
    char *end[] = {before, after};

    (void)state;
    for (int i = 0; i < COUNT; i++) {
        end[0] += sprintf(end[0], "if%d: %d 0 0 0 0 0 0 0 %d 0 0 0 0 0 0 0\n", i, i, i);
        end[1] += sprintf(end[1], "if%d: %d 0 0 0 0 0 0 0 %d 0 0 0 0 0 0 0\n", i, 2 * i, i + 1);
    }
    start_with(before);
    const struct sample *sample = read_after(after);
    assert_int_equal(sample->rows[DEVICE_NETWORK]->count, COUNT);
    assert_totals(sample, COUNT * (COUNT - 1) / 2, COUNT);
    assert_number(rate_in(sample, "if1999"), 1999);
}

/* --- ugly files --- */

static void test_without_the_file_there_is_no_collector(void **state)
{
    (void)state;
    support_open_empty();
    assert_true(support_start_only(&network_collector) < 0);
}

static void test_an_empty_file_lists_nothing(void **state)
{
    (void)state;
    start_with("");
    const struct sample *sample = support_read(SECOND);
    assert_int_equal(sample->rows[DEVICE_NETWORK]->count, 0);
    assert_totals(sample, 0, 0);
}

static void test_garbage_lists_nothing(void **state)
{
    static const char garbage[] =
        "eth0\neth0:\n: 1 0 0 0 0 0 0 0 1 0\n  :\neth0: x y\n\0\xff\xfe: 1\n"
        "eth0: 1 2 3 4 5 6 7 8\neth0: 99999999999999999999 0 0 0 0 0 0 0 1\n"
        "eth0: 1 0 0 0 0 0 0 0 -1\n";
    (void)state;
    start_with("");
    support_write_bytes("proc/net/dev", garbage, sizeof garbage - 1);
    assert_int_equal(support_read(SECOND)->rows[DEVICE_NETWORK]->count, 0);
}

static void test_names_that_would_leave_the_folder_are_ignored(void **state)
{
    static const char *const names[] = {
        "../../etc", "/etc", "/", ".", "..", "name-with-more-than-thirty-one-bytes",
    };
    char text[256];

    (void)state;
    start_with("");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(text, sizeof text, "%s: 1 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0\n", names[i]);
        assert_int_equal(read_after(text)->rows[DEVICE_NETWORK]->count, 0);
    }
}

static void test_a_file_cut_anywhere_gives_no_negative_rate(void **state)
{
    static const char after[] = HEAD
        "eth0: 1500 0 0 0 0 0 0 0 2700 0 0 0 0 0 0 0\nwlan0: 1 0 0 0 0 0 0 0 2 0 0 0 0 0 0 0\n";
    (void)state;
    start_with(HEAD "eth0: 1000 0 0 0 0 0 0 0 2000 0 0 0 0 0 0 0\n");
    for (size_t size = sizeof after - 1; size > 0; size--) {
        support_write_bytes("proc/net/dev", after, size);
        const struct sample *sample = support_read(SECOND);
        check_rates(sample);
        assert_true(sample->rows[DEVICE_NETWORK]->count <= 2);
        assert_true(sample->value[METRIC_TOTAL_NET_RECV] <= 1500);
    }
}

static void test_counters_at_their_end(void **state)
{
    (void)state;
    start_with(HEAD "eth0: 18446744073709551605 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
    const struct sample *sample =
        read_after(HEAD "eth0: 18446744073709551614 0 0 0 0 0 0 0 7 0 0 0 0 0 0 0\n");
    assert_number(rate_in(sample, "eth0"), 9);
    assert_true(support_cell(sample, "eth0", FIELD_NET_RX_TOTAL)->counter == UINT64_MAX - 1);
    /* It wraps around. */
    assert_totals(read_after(HEAD "eth0: 5 0 0 0 0 0 0 0 7 0 0 0 0 0 0 0\n"), 0, 0);
}

static void test_a_huge_line_is_passed_over(void **state)
{
    enum { SIZE = 300000 };
    char *text = malloc(SIZE + 128);

    (void)state;
    assert_non_null(text);
    memset(text, 'x', SIZE);
    stpcpy(text + SIZE, ": 1 0\neth0: 1 0 0 0 0 0 0 0 2 0 0 0 0 0 0 0\n");
    start_with("");
    support_write("proc/net/dev", text);
    free(text);
    const struct sample *sample = support_read(SECOND);
    assert_int_equal(sample->rows[DEVICE_NETWORK]->count, 1);
    assert_true(is_listed(sample, "eth0"));
}

static void test_facts_may_be_garbage(void **state)
{
    (void)state;
    support_open_empty();
    support_write("sys/class/net/eth0/address", "");
    support_write_bytes("sys/class/net/eth0/operstate", "\0\0\n", 3);
    support_write("sys/class/net/eth0/mtu", "big\n");
    support_link("sys/class/net/eth0/device/driver", "virtio_net");
    support_write("proc/net/dev", HEAD "eth0: 1 0 0 0 0 0 0 0 2 0 0 0 0 0 0 0\n");
    support_start(&network_collector);
    const struct sample *sample = support_read(SECOND);

    assert_null(support_cell(sample, "eth0", FIELD_NET_MAC)->text);
    assert_null(support_cell(sample, "eth0", FIELD_NET_OPERSTATE)->text);
    assert_absent(support_cell(sample, "eth0", FIELD_NET_MTU)->number);
    assert_string_equal(support_cell(sample, "eth0", FIELD_NET_DRIVER)->text, "virtio_net");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_rates_are_growth_over_the_elapsed_time),
        TEST(test_totals_count_each_byte_once),
        TEST(test_totals_do_not_depend_on_the_elapsed_time),
        TEST(test_a_container_counts_its_veth),
        TEST(test_a_container_whose_only_way_out_is_a_tap_counts_it),
        TEST(test_a_container_whose_only_way_out_is_a_vlan_counts_it),
        TEST(test_facts_of_a_card),
        TEST(test_facts_that_are_missing),
        TEST(test_without_sys_there_are_counters_still),
        TEST(test_facts_are_looked_up_again_in_time),
        TEST(test_odd_speeds_are_not_reported),
        TEST(test_a_foreign_proc_is_read_through_its_first_process),
        TEST(test_a_foreign_proc_may_have_no_first_process),
        TEST(test_t_net_01_rates_are_not_negative),
        TEST(test_t_net_02_totals_do_not_decrease),
        TEST(test_t_net_03_loopback_is_not_listed),
        TEST(test_only_a_loopback_is_an_empty_list),
        TEST(test_a_new_card_starts_from_its_first_reading),
        TEST(test_departed_interfaces_leave_the_list),
        TEST(test_a_counter_that_goes_backwards_counts_nothing),
        TEST(test_a_reset_counter_goes_on_from_there),
        TEST(test_an_interface_that_comes_back_starts_anew),
        TEST(test_the_order_may_change),
        TEST(test_many_interfaces),
        TEST(test_without_the_file_there_is_no_collector),
        TEST(test_an_empty_file_lists_nothing),
        TEST(test_garbage_lists_nothing),
        TEST(test_names_that_would_leave_the_folder_are_ignored),
        TEST(test_a_file_cut_anywhere_gives_no_negative_rate),
        TEST(test_counters_at_their_end),
        TEST(test_a_huge_line_is_passed_over),
        TEST(test_facts_may_be_garbage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "gpu_fixture.h"

#include <errno.h>
#include <stdio.h>

/* In the processor, with i915; a card behind a switch of its own, with xe. */
#define INTEGRATED "0000:00:02.0"
#define CARD "0000:03:00.0"

#define INTEGRATED_FOLDER "sys/devices/pci0000:00/" INTEGRATED
#define INTEGRATED_NODE INTEGRATED_FOLDER "/drm/card0"
#define CARD_FOLDER "sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:01.0/" CARD
#define CARD_NODE CARD_FOLDER "/drm/card1"
#define CARD_HWMON CARD_FOLDER "/hwmon/hwmon4"

#define MIB (UINT64_C(1) << 20)

static void start(void)
{
    support_open("intel-gpus");
    gpu_start(&gpu_intel);
}

static void start_and_read(void)
{
    start();
    gpu_read_after(SECOND);
}

static void step(void)
{
    support_step();
    gpu_read_after(SECOND);
}

static const char *throttle(const char *uuid)
{
    return gpu_cell(gpu_named(uuid), FIELD_GPU_THROTTLE)->text;
}

/* --- facts --- */

static void test_a_host_without_the_drivers_is_not_looked_at(void **state)
{
    (void)state;
    support_open_empty();
    struct gpu_places places = {.root = support_root()};

    assert_false(gpu_intel.probe(&places));
    assert_int_equal(gpu_open(&gpu_intel), -ENODEV);
    support_write("sys/module/xe/initstate", "live\n");
    assert_true(gpu_intel.probe(&places));
    support_remove("sys/module/xe");
    support_write("sys/module/i915/initstate", "live\n");
    assert_true(gpu_intel.probe(&places));
    assert_int_equal(gpu_open(&gpu_intel), -ENODEV);
}

static void test_facts(void **state)
{
    (void)state;
    start();
    assert_int_equal(gpu.table.count, 2);
    assert_string_equal(gpu.table.devices[0].uuid, INTEGRATED);
    assert_string_equal(gpu.table.devices[1].uuid, CARD);
    assert_string_equal(gpu_named(CARD)->host_id, CARD);
    assert_string_equal(gpu_named(CARD)->name, "Intel GPU 8086:56a0");
    assert_string_equal(gpu_named(INTEGRATED)->name, "Intel GPU 8086:5917");
    assert_string_equal(gpu_detail(CARD, "driver"), "xe");
    assert_string_equal(gpu_detail(INTEGRATED, "driver"), "i915");
    assert_string_equal(gpu_detail(CARD, "pci_id"), "8086:56a0");
    assert_string_equal(gpu_detail(CARD, "pci_bus_id"), CARD);
    assert_string_equal(gpu_detail(CARD, "node"), "card1");
}

/* --- figures --- */

static void test_utilization_is_what_idle_time_leaves(void **state)
{
    (void)state;
    start_and_read();
    assert_absent(gpu_number(INTEGRATED, FIELD_GPU_UTILIZATION));
    assert_absent(gpu_number(CARD, FIELD_GPU_UTILIZATION));
    step();
    /* Of two units the busier: 700 and 900 of 1,000 ms idle. */
    assert_number(gpu_number(INTEGRATED, FIELD_GPU_UTILIZATION), 100 * (1 - 0.7));
    /* 250 ms idle; the other unit says more than there were, which is all. */
    assert_number(gpu_number(CARD, FIELD_GPU_UTILIZATION), 75);
}

static void test_rates_are_over_the_elapsed_time(void **state)
{
    (void)state;
    start_and_read();
    support_step();
    gpu_read_after(2 * SECOND);
    assert_number(gpu_number(INTEGRATED, FIELD_GPU_UTILIZATION), 100 * (1 - 0.35));
    assert_number(gpu_number(CARD, FIELD_GPU_POWER), 95.5 / 2);
}

/* The last reading may come right after another: a millisecond has no rate in a counter of them. */
static void test_two_readings_close_together_say_the_same(void **state)
{
    (void)state;
    start_and_read();
    step();
    support_write(CARD_FOLDER "/tile0/gt0/gtidle/idle_residency_ms", "5251\n");
    support_write(CARD_FOLDER "/tile0/gt1/gtidle/idle_residency_ms", "8200\n");
    gpu_read_after(2 * NS_PER_MS);
    assert_number(gpu_number(CARD, FIELD_GPU_UTILIZATION), 75);
    assert_number(gpu_number(CARD, FIELD_GPU_POWER), 95.5);
    gpu_read_after(98 * NS_PER_MS);
    assert_number(gpu_number(CARD, FIELD_GPU_UTILIZATION), 100 * (1 - 0.01));
}

static void test_a_clock_that_goes_backwards(void **state)
{
    (void)state;
    start_and_read();
    support_step();
    gpu.now_ns -= SECOND;
    gpu_read_after(0);
    assert_absent(gpu_number(CARD, FIELD_GPU_UTILIZATION));
    assert_absent(gpu_number(CARD, FIELD_GPU_POWER));
}

static void test_figures(void **state)
{
    (void)state;
    start_and_read();
    assert_number(gpu_number(INTEGRATED, FIELD_GPU_FREQUENCY), 300);
    assert_number(gpu_number(CARD, FIELD_GPU_FREQUENCY), 600);
    assert_number(gpu_number(CARD, FIELD_GPU_TEMPERATURE), 45);
    assert_number(gpu_number(CARD, FIELD_GPU_POWER_LIMIT), 190);
    assert_absent(gpu_number(CARD, FIELD_GPU_POWER));
    step();
    assert_number(gpu_number(INTEGRATED, FIELD_GPU_FREQUENCY), 1050);
    assert_number(gpu_number(CARD, FIELD_GPU_FREQUENCY), 2400);
    assert_number(gpu_number(CARD, FIELD_GPU_TEMPERATURE), 62);
    assert_number(gpu_number(CARD, FIELD_GPU_POWER), 95.5);
}

static void test_what_there_is_not_is_unavailable(void **state)
{
    (void)state;
    start_and_read();
    step();
    assert_absent(gpu_number(INTEGRATED, FIELD_GPU_POWER));
    assert_absent(gpu_number(INTEGRATED, FIELD_GPU_TEMPERATURE));
    assert_absent(gpu_number(INTEGRATED, FIELD_GPU_PCIE_GENERATION));
    assert_absent(gpu_number(CARD, FIELD_GPU_FAN));
    assert_absent(gpu_number(CARD, FIELD_GPU_MEMORY_UTILIZATION));
}

/* The endpoint behind the card's own switch claims one lane of the first generation. */
static void test_the_link_is_that_of_the_slot(void **state)
{
    (void)state;
    start_and_read();
    assert_number(gpu_number(CARD, FIELD_GPU_PCIE_GENERATION), 4);
    assert_number(gpu_number(CARD, FIELD_GPU_PCIE_WIDTH), 16);
}

static void test_older_kernels_have_other_files(void **state)
{
    (void)state;
    support_open("intel-gpus");
    support_remove(INTEGRATED_NODE "/gt");
    support_remove(CARD_FOLDER "/tile0/gt0/freq0/act_freq");
    gpu_start(&gpu_intel);
    gpu_read_after(SECOND);
    assert_number(gpu_number(INTEGRATED, FIELD_GPU_FREQUENCY), 310);
    assert_number(gpu_number(CARD, FIELD_GPU_FREQUENCY), 650);
    assert_null(throttle(INTEGRATED));
    support_write(INTEGRATED_NODE "/power/rc6_residency_ms", "100400\n");
    support_remove(INTEGRATED_NODE "/gt_act_freq_mhz");
    gpu_read_after(SECOND);
    assert_number(gpu_number(INTEGRATED, FIELD_GPU_UTILIZATION), 60);
    gpu_find();
    gpu_read_after(SECOND);
    assert_number(gpu_number(INTEGRATED, FIELD_GPU_FREQUENCY), 320);
}

static void test_reasons_to_throttle(void **state)
{
    (void)state;
    start_and_read();
    assert_string_equal(throttle(INTEGRATED), "none");
    assert_string_equal(throttle(CARD), "thermal");
    step();
    assert_string_equal(throttle(INTEGRATED), "pl1,thermal");
    assert_string_equal(throttle(CARD), "none");
    support_write(CARD_FOLDER "/tile0/gt0/freq0/throttle/status", "1\n");
    gpu_read_after(SECOND);
    assert_string_equal(throttle(CARD), "other");
    support_write(CARD_FOLDER "/tile0/gt0/freq0/throttle/status", "?\n");
    gpu_read_after(SECOND);
    assert_null(throttle(CARD));
}

static void test_energy_is_a_detail(void **state)
{
    (void)state;
    start();
    for (size_t i = 0; i < gpu.table.count; i++)
        gpu_intel.read_detail(gpu.state, i, gpu.now_ns, &gpu.table.devices[i]);
    assert_number(gpu_number(CARD, FIELD_GPU_ENERGY), 1000);
    assert_absent(gpu_number(INTEGRATED, FIELD_GPU_ENERGY));
}

/* --- memory --- */

static void test_t_gpu_04_a_gpu_without_memory_uses_none(void **state)
{
    (void)state;
    start_and_read();
    assert_int_equal(gpu_counter(INTEGRATED, FIELD_GPU_VRAM_TOTAL), 0);
    assert_int_equal(gpu_counter(INTEGRATED, FIELD_GPU_VRAM_USED), 0);
    assert_number(gpu_number(INTEGRATED, FIELD_GPU_VRAM_USED_PCT), 0);
}

static void test_memory_of_a_card(void **state)
{
    (void)state;
    start_and_read();
    assert_int_equal(gpu_counter(CARD, FIELD_GPU_VRAM_TOTAL), 17079205888);
    assert_int_equal(gpu_counter(CARD, FIELD_GPU_VRAM_USED), COUNTER_UNKNOWN);
    assert_absent(gpu_number(CARD, FIELD_GPU_VRAM_USED_PCT));
    support_remove(CARD_FOLDER "/tile0/physical_vram_size_bytes");
    gpu_find();
    gpu_read_after(SECOND);
    assert_int_equal(gpu_counter(CARD, FIELD_GPU_VRAM_TOTAL), COUNTER_UNKNOWN);
    assert_absent(gpu_number(CARD, FIELD_GPU_VRAM_USED_PCT));
}

static void test_t_gpu_03_used_memory_is_at_most_the_total(void **state)
{
    (void)state;
    support_open("intel-gpus");
    support_write(CARD_NODE "/lmem_total_bytes", "1000\n");
    support_write(CARD_NODE "/lmem_avail_bytes", "250\n");
    gpu_start(&gpu_intel);
    gpu_read_after(SECOND);
    assert_int_equal(gpu_counter(CARD, FIELD_GPU_VRAM_USED), 750);
    assert_number(gpu_number(CARD, FIELD_GPU_VRAM_USED_PCT), 75);
    support_write(CARD_NODE "/lmem_avail_bytes", "1001\n");
    gpu_read_after(SECOND);
    assert_int_equal(gpu_counter(CARD, FIELD_GPU_VRAM_USED), COUNTER_UNKNOWN);
}

/* --- counters that are not what they should be --- */

static void set_idle(const char *text)
{
    support_write(CARD_FOLDER "/tile0/gt0/gtidle/idle_residency_ms", text);
    support_write(CARD_FOLDER "/tile0/gt1/gtidle/idle_residency_ms", text);
}

static void test_t_gpu_02_utilization_is_between_0_and_100(void **state)
{
    static const char *const texts[] = {"9999999\n", "18446744073709551615\n", "0\n", "1\n",
                                        "",          "99999999999999999999\n", "7\n", "7\n"};

    (void)state;
    start_and_read();
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        set_idle(texts[i]);
        gpu_read_after(SECOND);
    }
    /* Idle for none of the time. */
    assert_number(gpu_number(CARD, FIELD_GPU_UTILIZATION), 100);
}

static void test_a_counter_that_goes_backwards(void **state)
{
    (void)state;
    start_and_read();
    set_idle("10\n");
    support_write(CARD_HWMON "/energy1_input", "10\n");
    gpu_read_after(SECOND);
    assert_absent(gpu_number(CARD, FIELD_GPU_UTILIZATION));
    assert_absent(gpu_number(CARD, FIELD_GPU_POWER));
    set_idle("510\n");
    support_write(CARD_HWMON "/energy1_input", "25000010\n");
    gpu_read_after(SECOND);
    assert_number(gpu_number(CARD, FIELD_GPU_UTILIZATION), 50);
    assert_number(gpu_number(CARD, FIELD_GPU_POWER), 25);
}

/* Power saving is switched off: nothing is ever counted. */
static void test_a_gpu_that_was_never_idle(void **state)
{
    (void)state;
    support_open("intel-gpus");
    set_idle("0\n");
    gpu_start(&gpu_intel);
    gpu_read_after(SECOND);
    gpu_read_after(SECOND);
    assert_absent(gpu_number(CARD, FIELD_GPU_UTILIZATION));
}

static void test_energy_that_cannot_be(void **state)
{
    (void)state;
    start_and_read();
    support_write(CARD_HWMON "/energy1_input", "18446744073709551615\n");
    gpu_read_after(SECOND);
    assert_absent(gpu_number(CARD, FIELD_GPU_POWER));
}

static void test_garbage_is_unavailable(void **state)
{
    static const char *const texts[] = {"", "\n", "unknown\n", "-1\n", "99999999999999999999\n"};

    (void)state;
    start_and_read();
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        set_idle(texts[i]);
        support_write(CARD_HWMON "/energy1_input", texts[i]);
        support_write(CARD_HWMON "/temp2_input", texts[i]);
        support_write(CARD_HWMON "/power1_max", texts[i]);
        support_write(CARD_FOLDER "/tile0/gt0/freq0/act_freq", texts[i]);
        support_write(CARD_FOLDER "/tile0/gt0/freq0/cur_freq", texts[i]);
        support_write(CARD_FOLDER "/tile0/gt0/freq0/throttle/status", texts[i]);
        gpu_read_after(SECOND);
        assert_absent(gpu_number(CARD, FIELD_GPU_UTILIZATION));
        assert_absent(gpu_number(CARD, FIELD_GPU_POWER));
        assert_absent(gpu_number(CARD, FIELD_GPU_TEMPERATURE));
        assert_absent(gpu_number(CARD, FIELD_GPU_POWER_LIMIT));
        assert_absent(gpu_number(CARD, FIELD_GPU_FREQUENCY));
        assert_null(throttle(CARD));
    }
}

/* --- sleep --- */

static void test_a_sleeping_card_is_not_touched(void **state)
{
    (void)state;
    start_and_read();
    support_write(CARD_FOLDER "/power/runtime_status", "suspended\n");
    step();
    assert_number(gpu_number(CARD, FIELD_GPU_UTILIZATION), 0);
    assert_absent(gpu_number(CARD, FIELD_GPU_POWER));
    assert_absent(gpu_number(CARD, FIELD_GPU_FREQUENCY));
    assert_absent(gpu_number(CARD, FIELD_GPU_TEMPERATURE));
    assert_absent(gpu_number(CARD, FIELD_GPU_PCIE_WIDTH));
    assert_null(throttle(CARD));
    gpu_intel.read_detail(gpu.state, 1, gpu.now_ns, &gpu.table.devices[1]);
    assert_absent(gpu_number(CARD, FIELD_GPU_ENERGY));
}

/* Nothing counts idle time while it sleeps, so the time asleep must not look busy. */
static void test_rates_begin_anew_after_sleep(void **state)
{
    (void)state;
    start_and_read();
    support_write(CARD_FOLDER "/power/runtime_status", "suspended\n");
    gpu_read_after(10 * SECOND);
    support_write(CARD_FOLDER "/power/runtime_status", "active\n");
    gpu_read_after(SECOND);
    assert_absent(gpu_number(CARD, FIELD_GPU_UTILIZATION));
    set_idle("7800\n");
    support_write(CARD_FOLDER "/tile0/gt0/gtidle/idle_residency_ms", "5800\n");
    gpu_read_after(SECOND);
    assert_number(gpu_number(CARD, FIELD_GPU_UTILIZATION), 100 * (1 - 0.8));
}

/* --- coming and going --- */

static void test_a_card_that_disappears_and_comes_back(void **state)
{
    struct gpu_device device = {0};

    (void)state;
    start_and_read();
    support_remove("sys/class/drm/card1");
    support_remove(CARD_NODE);
    assert_int_equal(gpu_intel.read(gpu.state, 1, gpu.now_ns, &device), -ENODEV);
    assert_true(gpu_intel.has_changed(gpu.state));
    gpu_find();
    assert_int_equal(gpu.table.count, 1);
    gpu_read_after(SECOND);

    support_link("sys/class/drm/card7/device", "../../../../" CARD_FOLDER);
    assert_true(gpu_intel.has_changed(gpu.state));
    gpu_find();
    assert_false(gpu_intel.has_changed(gpu.state));
    assert_int_equal(gpu.table.count, 2);
    assert_string_equal(gpu_detail(CARD, "node"), "card7");
    gpu_read_after(SECOND);
    assert_absent(gpu_number(CARD, FIELD_GPU_UTILIZATION));
    gpu_read_after(SECOND);
    assert_number(gpu_number(CARD, FIELD_GPU_UTILIZATION), 100);
}

/* --- the tracked tree --- */

static void test_a_tree_with_clients_of_both_drivers(void **state)
{
    (void)state;
    start_and_read();
    GPU_READ_TREE(2000);
    assert_absent(gpu_number(CARD, FIELD_GPU_PROCESS_UTILIZATION));
    assert_int_equal(gpu_counter(CARD, FIELD_GPU_PROCESS_VRAM), 256 * MIB);
    step();
    GPU_READ_TREE(2000);
    /* Of 19.2 million cycles 4.8 on the one engine, 15.36 on the two others together. */
    assert_number(gpu_number(CARD, FIELD_GPU_PROCESS_UTILIZATION), 40);
    assert_int_equal(gpu_counter(CARD, FIELD_GPU_PROCESS_VRAM), 512 * MIB);
    /* 0.1 s on one, 0.5 s on two. */
    assert_number(gpu_number(INTEGRATED, FIELD_GPU_PROCESS_UTILIZATION), 25);
    assert_int_equal(gpu_counter(INTEGRATED, FIELD_GPU_PROCESS_VRAM), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GPU_TEST(test_a_host_without_the_drivers_is_not_looked_at),
        GPU_TEST(test_facts),
        GPU_TEST(test_utilization_is_what_idle_time_leaves),
        GPU_TEST(test_rates_are_over_the_elapsed_time),
        GPU_TEST(test_two_readings_close_together_say_the_same),
        GPU_TEST(test_a_clock_that_goes_backwards),
        GPU_TEST(test_figures),
        GPU_TEST(test_what_there_is_not_is_unavailable),
        GPU_TEST(test_the_link_is_that_of_the_slot),
        GPU_TEST(test_older_kernels_have_other_files),
        GPU_TEST(test_reasons_to_throttle),
        GPU_TEST(test_energy_is_a_detail),
        GPU_TEST(test_t_gpu_04_a_gpu_without_memory_uses_none),
        GPU_TEST(test_memory_of_a_card),
        GPU_TEST(test_t_gpu_03_used_memory_is_at_most_the_total),
        GPU_TEST(test_t_gpu_02_utilization_is_between_0_and_100),
        GPU_TEST(test_a_counter_that_goes_backwards),
        GPU_TEST(test_a_gpu_that_was_never_idle),
        GPU_TEST(test_energy_that_cannot_be),
        GPU_TEST(test_garbage_is_unavailable),
        GPU_TEST(test_a_sleeping_card_is_not_touched),
        GPU_TEST(test_rates_begin_anew_after_sleep),
        GPU_TEST(test_a_card_that_disappears_and_comes_back),
        GPU_TEST(test_a_tree_with_clients_of_both_drivers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

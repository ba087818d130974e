#include "support.h"

static struct collectors *collectors;
static struct sample sample;

static int close_collectors(void **state)
{
    collectors_close(collectors);
    collectors = NULL;
    return support_teardown(state);
}

#define ALL_TEST(function) cmocka_unit_test_teardown(function, close_collectors)

static void prime(void)
{
    struct tick tick = {.now_ns = support_now_ns(), .priming = true};

    collectors_read(collectors, &tick, &sample);
}

static void read_after_seconds(uint64_t seconds)
{
    uint64_t now_ns = support_now_ns() + seconds * SECOND;

    collectors_read(collectors,
                    &(struct tick){.now_ns = now_ns, .elapsed_ns = SECOND, .due_ns = now_ns},
                    &sample);
}

static void open_host(const char *host)
{
    support_open(host);
    assert_int_equal(
        collectors_open(&(struct collect_context){.root = support_root()}, &collectors), 0);
    prime();
    collectors_describe(collectors);
}

static void test_a_sample_has_every_group(void **state)
{
    (void)state;
    open_host("cores-256");
    support_step();
    read_after_seconds(1);

    assert_number(sample.value[METRIC_CPU_UTILIZATION], 105);
    assert_number(sample.value[METRIC_MEMORY_TOTAL], 1031996);
    assert_number(sample.value[METRIC_TOTAL_NET_RECV], 12500000);
    assert_number(sample.value[METRIC_TOTAL_DISK_WRITE], 80 * 512);
    assert_number(sample.value[METRIC_TOTAL_SPACE_TOTAL], 1919);
    assert_true(sample.value[METRIC_TRACKER_SAMPLE] > 0);
    assert_true(sample.value[METRIC_TRACKER_CPU] > 0);
    assert_int_equal(sample.per_core_count, 240);
    assert_int_equal(sample.rows[DEVICE_NETWORK]->count, 1);
    assert_int_equal(sample.rows[DEVICE_DISK]->count, 1);
}

/* The first sample may come before anybody asked for the facts. */
static void test_facts_are_there_without_describe(void **state)
{
    (void)state;
    support_open("cores-256");
    assert_int_equal(
        collectors_open(&(struct collect_context){.root = support_root()}, &collectors), 0);
    prime();
    read_after_seconds(1);
    assert_string_equal(support_cell(&sample, "ens1", FIELD_NET_DRIVER)->text, "mlx5_core");
    assert_string_equal(support_cell(&sample, "nvme0n1", FIELD_DISK_MODEL)->text,
                        "Example NVMe 1920");
}

/* Without a priming reading the first has counters, but no growth. */
static void test_a_first_reading_without_priming(void **state)
{
    (void)state;
    support_open("storage");
    assert_int_equal(
        collectors_open(&(struct collect_context){.root = support_root()}, &collectors), 0);
    read_after_seconds(1);
    assert_number(sample.value[METRIC_CPU_UTILIZATION], 0);
    assert_number(sample.value[METRIC_TOTAL_DISK_READ], 0);
    assert_number(sample.value[METRIC_TOTAL_NET_RECV], 0);
    assert_int_equal(support_cell(&sample, "sda", FIELD_DISK_READ_TOTAL)->counter, 40000 * 512);
}

static void test_a_sum_over_no_gpu_is_zero(void **state)
{
    (void)state;
    open_host("container");
    read_after_seconds(1);
    assert_int_equal(sample.rows[DEVICE_GPU]->count, 0);
    assert_number(sample.value[METRIC_TOTAL_GPU_USAGE], 0);
    assert_number(sample.value[METRIC_TOTAL_GPU_VRAM], 0);
    assert_number(sample.value[METRIC_TOTAL_GPU_UTILIZED], 0);
}

static void assert_host_unknown(void)
{
    assert_absent(sample.value[METRIC_CPU_UTILIZATION]);
    assert_absent(sample.value[METRIC_MEMORY_TOTAL]);
    assert_absent(sample.value[METRIC_TOTAL_NET_RECV]);
    assert_absent(sample.value[METRIC_TOTAL_DISK_READ]);
    assert_absent(sample.value[METRIC_TOTAL_SPACE_TOTAL]);
    assert_true(sample.value[METRIC_TRACKER_CPU] > 0);
}

static void test_an_empty_host_gives_an_empty_sample(void **state)
{
    (void)state;
    support_open_empty();
    assert_int_equal(
        collectors_open(&(struct collect_context){.root = support_root()}, &collectors), 0);
    prime();
    collectors_describe(collectors);
    read_after_seconds(1);
    assert_host_unknown();
    assert_number(sample.value[METRIC_CPU_PROCESS_COUNT], 0);
}

static void test_no_host_at_all_gives_an_empty_sample(void **state)
{
    (void)state;
    support_open_empty();
    sysroot_close(support_root());
    assert_int_equal(
        collectors_open(&(struct collect_context){.root = support_root()}, &collectors), 0);
    prime();
    collectors_describe(collectors);
    read_after_seconds(1);
    assert_host_unknown();
    assert_absent(sample.value[METRIC_CPU_PROCESS_COUNT]);
}

/* A figure of the last sample does not stand in for one that can no longer be read. */
static void test_old_figures_do_not_stay(void **state)
{
    (void)state;
    open_host("storage");
    read_after_seconds(1);
    assert_number(sample.value[METRIC_MEMORY_TOTAL], 16000);
    support_write("proc/meminfo", "");
    support_write("proc/stat", "");
    support_write("proc/loadavg", "");
    support_step();
    support_write("proc/stat", "");
    read_after_seconds(2);
    assert_absent(sample.value[METRIC_MEMORY_TOTAL]);
    assert_absent(sample.value[METRIC_CPU_UTILIZATION]);
    assert_absent(sample.value[METRIC_CPU_LOAD_1M]);
    assert_int_equal(sample.per_core_count, 0);
}

static void test_closing_nothing_is_fine(void **state)
{
    (void)state;
    collectors_close(NULL);
    support_open("storage");
    assert_int_equal(
        collectors_open(&(struct collect_context){.root = support_root()}, &collectors), 0);
}

static void test_this_very_host_can_be_read(void **state)
{
    struct sysroot root;
    const char *culprit;

    (void)state;
    assert_int_equal(sysroot_open(&root, NULL, NULL, &culprit), 0);
    assert_int_equal(collectors_open(&(struct collect_context){.root = &root}, &collectors), 0);
    struct tick tick = {.now_ns = clock_monotonic_ns(), .priming = true};
    collectors_read(collectors, &tick, &sample);
    collectors_describe(collectors);
    tick = (struct tick){.now_ns = tick.now_ns + SECOND, .elapsed_ns = SECOND};
    collectors_read(collectors, &tick, &sample);
    sysroot_close(&root);

    assert_true(sample.value[METRIC_CPU_PROCESS_COUNT] >= 1);
    assert_true(sample.value[METRIC_MEMORY_TOTAL] > 0);
    assert_true(sample.value[METRIC_MEMORY_USED] <= sample.value[METRIC_MEMORY_TOTAL]);
    assert_true(sample.per_core_count >= 1);
    assert_true(sample.value[METRIC_CPU_UTILIZATION] <= (double)sample.per_core_count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALL_TEST(test_a_sample_has_every_group),
        ALL_TEST(test_facts_are_there_without_describe),
        ALL_TEST(test_a_first_reading_without_priming),
        ALL_TEST(test_a_sum_over_no_gpu_is_zero),
        ALL_TEST(test_an_empty_host_gives_an_empty_sample),
        ALL_TEST(test_no_host_at_all_gives_an_empty_sample),
        ALL_TEST(test_old_figures_do_not_stay),
        ALL_TEST(test_closing_nothing_is_fine),
        ALL_TEST(test_this_very_host_can_be_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

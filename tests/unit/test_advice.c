#include "model/advice.h"
#include "play.h"

#include <signal.h>

#define GIB 1024.0

static struct digest digest;
static struct advice advice;

static int make(void **state)
{
    (void)state;
    play_reset(4);
    return digest_init(&digest, false);
}

static int drop(void **state)
{
    (void)state;
    digest_free(&digest);
    play_free();
    return 0;
}

static void set(enum metric_id id, double value)
{
    play_sample.value[id] = value;
}

static void run_for(double secs)
{
    for (; secs > 0; secs--)
        play_add(&digest, 1);
}

static const struct hint *find(enum hint_kind kind)
{
    for (size_t i = 0; i < advice.hint_count; i++)
        if (advice.hints[i].kind == kind)
            return &advice.hints[i];
    return NULL;
}

static void expect(enum hint_kind kind, const char *text)
{
    advise(&digest, &advice);
    const struct hint *found = find(kind);
    if (found == NULL)
        fail_msg("no hint %s", hint_ids[kind]);
    else
        assert_string_equal(found->text, text);
}

static void expect_none(enum hint_kind kind)
{
    advise(&digest, &advice);
    if (find(kind) != NULL)
        fail_msg("an unfounded hint: %s", find(kind)->text);
}

/* --- what to ask for --- */

static void test_memory_is_rounded_up(void **state)
{
    static const struct {
        double peak_mib;
        double wanted_mib;
    } cases[] = {
        {10 * GIB, 12 * GIB}, /* the example of the specification */
        {10 * GIB + 1, 13 * GIB},
        {5 * GIB, 6 * GIB},
        {15 * GIB, 18 * GIB},
        {100 * GIB, 120 * GIB},
        {1000 * GIB, 1200 * GIB},
        {GIB, 2 * GIB},
        {900, 2 * GIB}, /* 1080 MiB */
        {850, GIB},     /* 1020 MiB */
        {800, 1024},    /* 960 MiB */
        {700, 896},     /* 840 MiB */
        {100, 128},
        {320.0 / 3, 128}, /* exactly 128 */
        {1, 128},
        {0.01, 128},
        {0, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (advice_memory_mib(cases[i].peak_mib) != cases[i].wanted_mib)
            fail_msg("%g MiB give %g MiB instead of %g", cases[i].peak_mib,
                     advice_memory_mib(cases[i].peak_mib), cases[i].wanted_mib);
}

static void test_a_job_of_10_gib(void **state)
{
    (void)state;
    set(METRIC_PROCESS_CORES_USED, 3.4);
    set(METRIC_PROCESS_PSS, 10 * GIB);
    set(METRIC_PROCESS_RSS, 11 * GIB);
    set(METRIC_PROCESS_PEAK_RSS, 11 * GIB);
    run_for(3);
    advise(&digest, &advice);
    assert_true(advice.is_of_tree);
    assert_true(advice.cpus.amount == 3);
    assert_string_equal(advice.cpus.rule, "mean of 3.40 cores, rounded, at least 1");
    assert_true(advice.memory.amount == 12 * GIB);
    assert_string_equal(advice.memory.rule, "1.2 x peak of 10.0 GiB, rounded up to whole GiB");
    assert_true(advice.gpus.is_known && advice.gpus.amount == 0);
    assert_false(advice.vram.is_known);
}

static void test_cpus_are_rounded_and_at_least_one(void **state)
{
    static const double cases[][2] = {{0, 1}, {0.2, 1}, {1.49, 1}, {1.5, 2}, {2.5, 3}, {63.7, 64}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        digest_free(&digest);
        assert_int_equal(digest_init(&digest, false), 0);
        set(METRIC_PROCESS_CORES_USED, cases[i][0]);
        run_for(2);
        advise(&digest, &advice);
        assert_true(advice.cpus.amount == cases[i][1]);
    }
}

/* The command ended before the first sample: all that is known is what the kernel kept. */
static void test_a_peak_between_samples_counts(void **state)
{
    (void)state;
    set(METRIC_PROCESS_CORES_USED, 1);
    set(METRIC_PROCESS_PSS, 0);
    set(METRIC_PROCESS_RSS, 0);
    set(METRIC_PROCESS_PEAK_RSS, 5 * GIB);
    run_for(1);
    advise(&digest, &advice);
    assert_true(advice.memory.amount == 6 * GIB);
}

/* Many processes share their pages: the sum of their resident sizes is no demand. */
static void test_shared_memory_counts_once(void **state)
{
    (void)state;
    set(METRIC_PROCESS_CORES_USED, 1);
    set(METRIC_PROCESS_PSS, 2 * GIB);
    set(METRIC_PROCESS_RSS, 64 * GIB);
    set(METRIC_PROCESS_PEAK_RSS, 64 * GIB);
    run_for(1);
    advise(&digest, &advice);
    assert_true(advice.memory.amount == 3 * GIB);
}

static void test_without_a_tree_the_host_counts(void **state)
{
    (void)state;
    set(METRIC_CPU_UTILIZATION, 2.6);
    set(METRIC_MEMORY_USED, 700);
    run_for(1);
    advise(&digest, &advice);
    assert_false(advice.is_of_tree);
    assert_true(advice.cpus.amount == 3);
    assert_true(advice.memory.amount == 896);
    assert_string_equal(advice.memory.rule, "1.2 x peak of 700 MiB, rounded up to 128 MiB");
}

static void test_gpus_and_vram(void **state)
{
    (void)state;
    set(METRIC_PROCESS_CORES_USED, 1);
    set(METRIC_PROCESS_GPU_USAGE, 1.7);
    set(METRIC_PROCESS_GPU_VRAM, 30 * GIB);
    run_for(2);
    advise(&digest, &advice);
    assert_true(advice.gpus.amount == 2);
    assert_true(advice.vram.amount == 36 * GIB);
    assert_string_equal(advice.vram.rule, "1.2 x peak of 30.0 GiB, rounded up to whole GiB");
}

/* A job that could not be told apart on a busy GPU: nothing is said rather than something wrong. */
static void test_gpus_of_others_are_not_asked_for(void **state)
{
    (void)state;
    set(METRIC_PROCESS_CORES_USED, 1);
    set(METRIC_TOTAL_GPU_USAGE, 1);
    set(METRIC_TOTAL_GPU_VRAM, 30 * GIB);
    run_for(2);
    advise(&digest, &advice);
    assert_false(advice.gpus.is_known);
    assert_false(advice.vram.is_known);
}

static void test_an_empty_run_gives_no_advice(void **state)
{
    (void)state;
    advise(&digest, &advice);
    assert_false(advice.cpus.is_known || advice.memory.is_known || advice.gpus.is_known ||
                 advice.vram.is_known);
    assert_int_equal(advice.hint_count, 0);
}

/* --- where it was bound --- */

static void test_an_idle_run_has_no_hints(void **state)
{
    (void)state;
    for (size_t i = 0; i < METRIC_COUNT; i++)
        if (i != METRIC_TIMESTAMP_SECS)
            set((enum metric_id)i, 0);
    set(METRIC_MEMORY_TOTAL, 16000);
    set(METRIC_MEMORY_AVAILABLE, 12000);
    run_for(5);
    advise(&digest, &advice);
    assert_int_equal(advice.hint_count, 0);
}

static void test_cpu_full(void **state)
{
    (void)state;
    set(METRIC_PROCESS_CORES_USED, 3.5);
    run_for(4);
    expect_none(HINT_CPU_FULL);
    set(METRIC_PROCESS_CORES_USED, 3.99);
    run_for(12);
    expect(HINT_CPU_FULL, "CPU: the job used 3.87 of 4 CPUs on average, and nearly all of them "
                          "75 % of the time");
    expect_none(HINT_HOST_CPU_FULL);
}

static void test_cpu_full_by_its_limit(void **state)
{
    (void)state;
    digest.cpu_limit = 1.5;
    set(METRIC_PROCESS_CORES_USED, 1.5);
    set(METRIC_CPU_UTILIZATION, 2);
    run_for(4);
    expect(HINT_CPU_FULL, "CPU: the job used 1.50 of 1.5 CPUs it may use on average, and nearly "
                          "all of them 100 % of the time");
}

static void test_host_cpu_full(void **state)
{
    (void)state;
    set(METRIC_PROCESS_CORES_USED, 0.5);
    set(METRIC_CPU_UTILIZATION, 3.98);
    run_for(3);
    set(METRIC_CPU_UTILIZATION, 1);
    run_for(1);
    expect(HINT_HOST_CPU_FULL, "CPU: nearly all 4 CPUs of the host were busy 75 % of the time");
}

static void test_an_instant_has_no_shares_of_time(void **state)
{
    (void)state;
    set(METRIC_PROCESS_CORES_USED, 4);
    set(METRIC_CPU_UTILIZATION, 4);
    set(METRIC_CPU_STEAL, 2);
    set(METRIC_CPU_IOWAIT, 2);
    play_devices(DEVICE_DISK, 1, "sd");
    play_cell(0, FIELD_DISK_BUSY)->number = 100;
    play_add(&digest, 0.004);
    advise(&digest, &advice);
    assert_int_equal(advice.hint_count, 0);
    play_add(&digest, 1);
    advise(&digest, &advice);
    assert_non_null(find(HINT_CPU_FULL));
    assert_non_null(find(HINT_DISK_BUSY));
}

static void test_steal_and_iowait(void **state)
{
    (void)state;
    set(METRIC_CPU_STEAL, 0.1);
    set(METRIC_CPU_IOWAIT, 0.4);
    run_for(2);
    expect_none(HINT_STEAL);
    expect_none(HINT_IOWAIT);
    set(METRIC_CPU_STEAL, 0.9);
    set(METRIC_CPU_IOWAIT, 1.6);
    run_for(2);
    expect(HINT_STEAL, "steal: the hypervisor took 12 % of the CPU time away");
    expect(HINT_IOWAIT, "I/O: 1.00 CPUs on average were idle waiting for a disk");
}

static void test_memory_low_and_killed(void **state)
{
    (void)state;
    set(METRIC_MEMORY_TOTAL, 16000);
    set(METRIC_MEMORY_AVAILABLE, 900);
    set(METRIC_MEMORY_USED_PCT, 89);
    run_for(1);
    expect_none(HINT_MEMORY_LOW);
    digest_set_end(&digest, &(struct run_end){.has_command = true, .signal = SIGKILL});
    expect_none(HINT_KILLED); /* somebody may have had a reason */
    set(METRIC_MEMORY_USED_PCT, 91.26);
    run_for(1);
    expect(HINT_MEMORY_LOW, "memory: 91.3 % of the host's were in use at one time");
    set(METRIC_MEMORY_AVAILABLE, 700);
    run_for(1);
    expect(HINT_MEMORY_LOW, "memory: only 700 MiB of the host's were available at one time");
    assert_non_null(find(HINT_KILLED));
    assert_int_equal(advice.hints[0].kind, HINT_KILLED); /* the first to be told */
}

static void test_memory_limit(void **state)
{
    (void)state;
    digest.memory_limit_mib = 4 * GIB;
    set(METRIC_PROCESS_CORES_USED, 1);
    set(METRIC_PROCESS_PSS, 3.5 * GIB);
    run_for(1);
    expect_none(HINT_MEMORY_LIMIT);
    set(METRIC_PROCESS_PSS, 3.8 * GIB);
    run_for(1);
    expect(HINT_MEMORY_LIMIT, "memory: the job had 3.80 GiB, 95 % of its limit of 4.00 GiB");
}

static void test_swapping(void **state)
{
    (void)state;
    set(METRIC_MEMORY_SWAP_USED, 5000); /* old swap is no sign */
    run_for(2);
    expect_none(HINT_SWAPPING);
    set(METRIC_MEMORY_SWAP_USED, 5300);
    run_for(1);
    set(METRIC_MEMORY_SWAP_USED, 4000);
    run_for(1);
    expect(HINT_SWAPPING, "swapping: swap in use grew by 300 MiB");
}

static void test_disk_full(void **state)
{
    (void)state;
    play_devices(DEVICE_MOUNT, 500, "/mnt/");
    for (size_t i = 0; i < 500; i++)
        play_cell(i, FIELD_MOUNT_USED_PCT)->number = 20;
    play_cell(7, FIELD_MOUNT_USED_PCT)->number = 100;
    play_cell(7, FIELD_MOUNT_FILESYSTEM)->text = "squashfs";
    run_for(1);
    expect_none(HINT_DISK_FULL);
    play_cell(8, FIELD_MOUNT_USED_PCT)->number = 96;
    play_cell(9, FIELD_MOUNT_USED_PCT)->number = 99.5;
    run_for(1);
    play_cell(9, FIELD_MOUNT_USED_PCT)->number = 10;
    run_for(1);
    expect(HINT_DISK_FULL, "disk: /mnt/9 was 99.5 % full, and 1 more file system was over 95 %");
}

static void test_disk_busy(void **state)
{
    (void)state;
    play_devices(DEVICE_DISK, 2, "sd");
    play_cell(1, FIELD_DISK_BUSY)->number = 97;
    run_for(2);
    expect(HINT_DISK_BUSY, "disk: sd1 was busy 97 % of the time");
}

static void test_gpus(void **state)
{
    (void)state;
    play_devices(DEVICE_GPU, 16, "GPU-");
    for (size_t i = 0; i < 16; i++) {
        play_cell(i, FIELD_GPU_UTILIZATION)->number = i == 3 ? 99 : 50;
        play_cell(i, FIELD_GPU_VRAM_USED_PCT)->number = i < 2 ? 93.5 : 10;
        play_cell(i, FIELD_GPU_THROTTLE)->text = i == 5 ? "power_cap" : "none";
    }
    set(METRIC_TRACKER_GPU_STALL, 12);
    run_for(4);
    expect(HINT_GPU_FULL, "GPU 3 was busy, up to 99 % on average");
    expect(HINT_VRAM_FULL, "VRAM: 2 GPUs were nearly out of it, up to 93.5 % in use");
    expect(HINT_GPU_THROTTLED, "GPU 5 was throttled, up to 100 % of the time (power_cap)");
    expect(HINT_GPU_SILENT, "the GPU driver did not answer for 12 s");
    assert_true(find(HINT_GPU_SILENT)->is_note);
    assert_false(find(HINT_GPU_FULL)->is_note);
}

static void test_old_pss(void **state)
{
    (void)state;
    set(METRIC_PROCESS_CORES_USED, 1);
    set(METRIC_PROCESS_PSS_AGE, 75);
    run_for(1);
    expect(HINT_PSS_OLD,
           "PSS was up to 75 s old: reading it more often would have slowed the job down");
}

static void test_every_hint_has_a_name(void **state)
{
    (void)state;
    for (int i = 0; i < HINT_COUNT; i++)
        assert_true(hint_ids[i] != NULL && hint_ids[i][0] != '\0');
    assert_true(HINT_COUNT <= ADVICE_HINTS_MAX);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_memory_is_rounded_up),
        TEST(test_a_job_of_10_gib),
        TEST(test_cpus_are_rounded_and_at_least_one),
        TEST(test_a_peak_between_samples_counts),
        TEST(test_shared_memory_counts_once),
        TEST(test_without_a_tree_the_host_counts),
        TEST(test_gpus_and_vram),
        TEST(test_gpus_of_others_are_not_asked_for),
        TEST(test_an_empty_run_gives_no_advice),
        TEST(test_an_idle_run_has_no_hints),
        TEST(test_cpu_full),
        TEST(test_cpu_full_by_its_limit),
        TEST(test_host_cpu_full),
        TEST(test_an_instant_has_no_shares_of_time),
        TEST(test_steal_and_iowait),
        TEST(test_memory_low_and_killed),
        TEST(test_memory_limit),
        TEST(test_swapping),
        TEST(test_disk_full),
        TEST(test_disk_busy),
        TEST(test_gpus),
        TEST(test_old_pss),
        TEST(test_every_hint_has_a_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

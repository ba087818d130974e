/*
 * The collector over the real workers, with the NVIDIA backend on a library that is not the real
 * one (tests/fakes/nvml.c), and AMD and Intel on fixtures. Every tick is a "last" one, for which a
 * reading is made and waited for.
 */
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "build/fakes/nvml.so"
#define PATIENCE (20 * NS_PER_SEC)
#define MIB (1024.0 * 1024.0)

static struct collect_context context;
static void *gpu;
static struct sample sample;
static uint64_t now_ns;
static char script[64];

static int set_up(void **state)
{
    (void)state;
    snprintf(script, sizeof script, "/tmp/tracker-unit-nvml-%d", (int)getpid());
    setenv("FAKE_NVML", script, 1);
    now_ns = clock_monotonic_ns();
    return 0;
}

static int tear_down(void **state)
{
    if (gpu != NULL)
        gpu_collector.close(gpu);
    gpu = NULL;
    unlink(script);
    return support_teardown(state);
}

#define GPU_TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

static void say(const char *text)
{
    char next[80];

    snprintf(next, sizeof next, "%s.new", script);
    int fd = open(next, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    assert_int_equal(rename(next, script), 0);
}

static void start(pid_t tracked)
{
    context = (struct collect_context){
        .root = support_root(),
        .tracked_pid = tracked,
        .interval_ns = 3600 * SECOND,
        .gpu_patience_ns = PATIENCE,
        .nvml = LIBRARY,
    };
    /* As the host's: its numbers are the driver's. */
    support_write("proc/2/comm", "kthreadd\n");
    assert_int_equal(gpu_collector.open(&context, &gpu), 0);
    gpu_collector.read(gpu, &(struct tick){.now_ns = now_ns, .priming = true}, &sample);
    gpu_collector.describe(gpu);
}

/* A host with NVIDIA's driver, which says `text`. */
static void start_nvidia(const char *text, pid_t tracked)
{
    support_open_empty();
    support_write("sys/module/nvidia/version", "580.0\n");
    say(text);
    start(tracked);
}

static void take(const pid_t *pids, size_t count)
{
    now_ns += SECOND;
    sample_reset(&sample);
    if (pids != NULL)
        sample.tree = (struct tree_pids){true, pids, count};
    gpu_collector.read(gpu, &(struct tick){.now_ns = now_ns, .elapsed_ns = SECOND, .is_last = true},
                       &sample);
}

static const union cell *cell_at(size_t row, enum field_id field)
{
    assert_true(row < sample.rows[DEVICE_GPU]->count);
    return rows_cell(sample.rows[DEVICE_GPU], row, field);
}

static void assert_totals(double usage, double vram_mib, double utilized)
{
    assert_number(sample.value[METRIC_TOTAL_GPU_USAGE], usage);
    assert_number(sample.value[METRIC_TOTAL_GPU_VRAM], vram_mib);
    assert_number(sample.value[METRIC_TOTAL_GPU_UTILIZED], utilized);
}

static void assert_tree(double usage, double vram_mib, double utilized)
{
    assert_number(sample.value[METRIC_PROCESS_GPU_USAGE], usage);
    assert_number(sample.value[METRIC_PROCESS_GPU_VRAM], vram_mib);
    assert_number(sample.value[METRIC_PROCESS_GPU_UTILIZED], utilized);
}

/* --- hosts --- */

static void test_t_gpu_01_a_host_without_gpu_has_none_and_no_thread(void **state)
{
    (void)state;
    support_open("this-machine");
    start(77);
    take((pid_t[]){77}, 1);
    assert_int_equal(sample.rows[DEVICE_GPU]->count, 0);
    assert_totals(0, 0, 0);
    assert_tree(0, 0, 0);
    assert_absent(sample.value[METRIC_TRACKER_GPU_READ]);
    assert_absent(sample.value[METRIC_TRACKER_GPU_STALL]);
    assert_null(gpu_collector.remark(gpu));
}

static void test_no_gpu_is_not_opened(void **state)
{
    (void)state;
    support_open("this-machine");
    assert_int_equal(
        gpu_collector.open(&(struct collect_context){.root = support_root(), .no_gpu = true}, &gpu),
        -ENODEV);
    gpu = NULL;
}

static void test_totals_are_sums_over_devices(void **state)
{
    (void)state;
    start_nvidia("gpus=3\n"
                 "gpu0.util=50\ngpu0.total=1073741824\ngpu0.used=104857600\n"
                 "gpu1.util=0\ngpu1.total=1073741824\ngpu1.used=209715200\n"
                 "gpu2.util=100\ngpu2.total=1073741824\ngpu2.used=52428800\n",
                 0);
    take(NULL, 0);
    assert_int_equal(sample.rows[DEVICE_GPU]->count, 3);
    assert_number(cell_at(2, FIELD_GPU_UTILIZATION)->number, 100);
    assert_totals(1.5, 350, 2);
    assert_tree(NAN, NAN, NAN);
    assert_true(sample.value[METRIC_TRACKER_GPU_READ] > 0);
    assert_number(sample.value[METRIC_TRACKER_GPU_STALL], 0);
}

static void test_parts_are_listed_but_not_summed(void **state)
{
    (void)state;
    start_nvidia("gpus=2\ngpu0.mig=2\ngpu0.total=1073741824\ngpu0.used=104857600\n"
                 "gpu0.mig0.used=52428800\ngpu0.mig1.used=52428800\n"
                 "gpu1.util=40\ngpu1.total=1073741824\ngpu1.used=104857600\n",
                 0);
    take(NULL, 0);
    assert_int_equal(sample.rows[DEVICE_GPU]->count, 4);
    assert_string_equal(cell_at(1, FIELD_GPU_TYPE)->text, "MIG");
    assert_absent(cell_at(0, FIELD_GPU_UTILIZATION)->number);
    assert_totals(0.4, 200, 1);
}

static void test_figures_that_nobody_tells_are_not_0(void **state)
{
    (void)state;
    start_nvidia("gpus=1\nfail=nvmlDeviceGetUtilizationRates:999 nvmlDeviceGetMemoryInfo_v2:999 "
                 "nvmlDeviceGetMemoryInfo:999\n",
                 0);
    take(NULL, 0);
    assert_int_equal(sample.rows[DEVICE_GPU]->count, 1);
    assert_totals(NAN, NAN, 0);
}

static void test_a_device_that_is_lost_keeps_its_name_only(void **state)
{
    (void)state;
    start_nvidia("gpus=2\ngpu0.util=10\ngpu1.util=20\n", 9);
    take((pid_t[]){9}, 1);
    assert_number(sample.value[METRIC_TOTAL_GPU_USAGE], 0.3);
    say("gpus=2\ngpu0.util=10\ngpu1.util=20\ngpu1.lost=1\n");
    take((pid_t[]){9}, 1);
    assert_int_equal(sample.rows[DEVICE_GPU]->count, 2);
    assert_non_null(cell_at(1, FIELD_GPU_NAME)->text);
    assert_absent(cell_at(1, FIELD_GPU_UTILIZATION)->number);
    assert_absent(cell_at(1, FIELD_GPU_TEMPERATURE)->number);
    assert_number(sample.value[METRIC_TOTAL_GPU_USAGE], 0.1);
    /* What the tree had of it is not known. */
    assert_tree(NAN, NAN, NAN);
    say("gpus=2\ngpu0.util=10\ngpu1.util=20\n");
    take((pid_t[]){9}, 1);
    assert_number(sample.value[METRIC_TOTAL_GPU_USAGE], 0.3);
}

/* --- the tree --- */

static void test_the_tree_has_its_own_share(void **state)
{
    (void)state;
    start_nvidia("gpus=2\n"
                 "gpu0.compute=100:104857600 500:1048576000\n"
                 "gpu0.graphics=100:104857600\n"
                 "gpu1.compute=101:52428800\n"
                 "gpu0.util_samples=100:30 500:60\n"
                 "gpu1.util_samples=101:20\n",
                 100);
    take((pid_t[]){100, 101}, 2);
    take((pid_t[]){100, 101}, 2);
    assert_tree(0.5, 150, 2);
    assert_number(cell_at(0, FIELD_GPU_PROCESS_UTILIZATION)->number, 30);
    assert_true(cell_at(0, FIELD_GPU_PROCESS_VRAM)->counter == (uint64_t)(100 * MIB));
}

static void test_an_empty_tree_has_nothing_whatever_the_host_does(void **state)
{
    (void)state;
    start_nvidia("gpus=1\ngpu0.util=90\ngpu0.compute=500:1048576\ngpu0.util_samples=500:90\n", 100);
    take((pid_t[]){100}, 1);
    take((pid_t[]){0}, 0);
    assert_tree(0, 0, 0);
}

/* It came since the last sample, so nobody was told of it; but its parent was. */
static void test_a_child_counts_from_its_first_moment(void **state)
{
    (void)state;
    start_nvidia("gpus=1\ngpu0.compute=300:104857600 400:104857600\n", 100);
    support_write("proc/100/stat", "100 (sh) S 1 100 100 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0\n");
    support_write("proc/200/stat",
                  "200 (sh) S 100 100 100 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 6 0 0\n");
    support_write("proc/300/stat",
                  "300 (job) S 200 100 100 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 7 0 0\n");
    support_write("proc/400/stat",
                  "400 (other) S 1 400 400 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 8 0 0\n");
    take((pid_t[]){100}, 1);
    assert_number(sample.value[METRIC_PROCESS_GPU_VRAM], 100);
}

/* Its PIDs are of the real /proc, whatever another one shows under the same numbers. */
static void test_a_command_of_ours_is_not_looked_up_in_another_proc(void **state)
{
    pid_t self = getpid();
    char stat[160];

    (void)state;
    support_open_empty();
    support_write("sys/module/nvidia/version", "580.0\n");
    /* Above the kernel's limit: no process, this one least of all, has the number by chance. */
    say("gpus=1\ngpu0.compute=5000000:104857600\n");
    snprintf(stat, sizeof stat, "5000000 (x) S %d 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0\n",
             (int)self);
    support_write("proc/5000000/stat", stat);
    start(self);
    gpu_collector.close(gpu);
    context.tracked_is_ours = true;
    assert_int_equal(gpu_collector.open(&context, &gpu), 0);
    gpu_collector.read(gpu, &(struct tick){.now_ns = now_ns, .priming = true}, &sample);
    gpu_collector.describe(gpu);
    take(&self, 1);
    assert_number(sample.value[METRIC_PROCESS_GPU_VRAM], 0);
}

static void test_a_tree_that_is_not_known_has_no_figures(void **state)
{
    (void)state;
    start_nvidia("gpus=1\ngpu0.compute=100:1048576\n", 100);
    take(NULL, 0);
    assert_tree(NAN, NAN, NAN);
}

static void test_without_permission_the_tree_has_no_figures(void **state)
{
    (void)state;
    start_nvidia("gpus=2\ngpu0.compute=100:1048576\ngpu1.procs=4\n", 100);
    take((pid_t[]){100}, 1);
    assert_tree(NAN, NAN, NAN);
}

/* Who ended in this interval has used the GPU in it, but holds no memory any more. */
static void test_the_last_use_of_a_process_is_counted(void **state)
{
    (void)state;
    start_nvidia("gpus=1\ngpu0.compute=100:1048576\ngpu0.util_samples=100:80\n", 100);
    take((pid_t[]){100}, 1);
    say("gpus=1\ngpu0.util_samples=100:40\n");
    take((pid_t[]){0}, 0);
    assert_tree(0.4, 0, 1);
    take((pid_t[]){0}, 0);
    assert_tree(0, 0, 0);
}

/* --- drivers that fail --- */

static void test_a_broken_library_is_remarked_once(void **state)
{
    char path[128];

    (void)state;
    support_open_empty();
    support_write("sys/module/nvidia/version", "580.0\n");
    support_write("broken.so", "no library\n");
    snprintf(path, sizeof path, "%.*s/broken.so", (int)(strlen(support_root()->dev) - 4),
             support_root()->dev);
    start(0);
    gpu_collector.close(gpu);
    context.nvml = path;
    assert_int_equal(gpu_collector.open(&context, &gpu), 0);
    gpu_collector.read(gpu, &(struct tick){.now_ns = now_ns, .priming = true}, &sample);
    gpu_collector.describe(gpu);
    take(NULL, 0);
    assert_int_equal(sample.rows[DEVICE_GPU]->count, 0);
    assert_totals(0, 0, 0);
    const char *remark = gpu_collector.remark(gpu);
    assert_non_null(remark);
    assert_non_null(strstr(remark, "broken.so"));
    assert_null(gpu_collector.remark(gpu));
}

static void test_a_driver_that_cannot_be_initialised_is_remarked(void **state)
{
    (void)state;
    start_nvidia("init=9\n", 5);
    take((pid_t[]){5}, 1);
    assert_totals(0, 0, 0);
    assert_tree(0, 0, 0);
    assert_non_null(gpu_collector.remark(gpu));
}

/* Nothing found is not the same as nothing told. */
static void test_a_driver_that_does_not_list_its_devices_is_not_a_host_without(void **state)
{
    (void)state;
    start_nvidia("gpus=1\ngpu0.util=50\nfail=nvmlDeviceGetCount_v2:999\n", 5);
    take((pid_t[]){5}, 1);
    assert_int_equal(sample.rows[DEVICE_GPU]->count, 0);
    assert_totals(NAN, NAN, 0);
    assert_tree(NAN, NAN, NAN);
    assert_non_null(gpu_collector.remark(gpu));
    say("gpus=1\ngpu0.util=50\n");
    now_ns += 6 * SECOND;
    take((pid_t[]){5}, 1);
    assert_number(sample.value[METRIC_TOTAL_GPU_USAGE], 0.5);
}

static void test_a_device_without_a_handle_is_not_left_out(void **state)
{
    (void)state;
    start_nvidia("gpus=2\ngpu0.util=50\ngpu1.util=50\ngpu1.lost=1\n", 5);
    take((pid_t[]){5}, 1);
    assert_int_equal(sample.rows[DEVICE_GPU]->count, 2);
    assert_null(cell_at(1, FIELD_GPU_UUID)->text);
    assert_number(sample.value[METRIC_TOTAL_GPU_USAGE], 0.5);
    assert_tree(NAN, NAN, NAN);
    say("gpus=2\ngpu0.util=50\ngpu1.util=50\n");
    for (int look = 0; look < 7; look++) {
        now_ns += 6 * SECOND;
        take((pid_t[]){5}, 1);
    }
    assert_number(sample.value[METRIC_TOTAL_GPU_USAGE], 1);
}

/* What the device says of itself and what the lists say are told apart. */
static void test_the_tree_has_figures_on_a_device_that_has_none(void **state)
{
    (void)state;
    start_nvidia("gpus=1\ngpu0.compute=100:104857600\ngpu0.util_samples=100:80\n"
                 "fail=nvmlDeviceGetUtilizationRates:3\n",
                 100);
    take((pid_t[]){100}, 1);
    take((pid_t[]){100}, 1);
    assert_tree(0.8, 100, 1);
    assert_totals(NAN, sample.value[METRIC_TOTAL_GPU_VRAM], 0);
}

/* --- the other vendors --- */

static void test_amd_and_intel_come_through_their_workers(void **state)
{
    (void)state;
    support_open("amd-gpus");
    start(0);
    take(NULL, 0);
    support_step();
    take(NULL, 0);
    assert_true(sample.rows[DEVICE_GPU]->count >= 2);
    assert_non_null(cell_at(0, FIELD_GPU_UUID)->text);
    assert_true(sample.value[METRIC_TOTAL_GPU_VRAM] > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GPU_TEST(test_t_gpu_01_a_host_without_gpu_has_none_and_no_thread),
        GPU_TEST(test_no_gpu_is_not_opened),
        GPU_TEST(test_totals_are_sums_over_devices),
        GPU_TEST(test_parts_are_listed_but_not_summed),
        GPU_TEST(test_figures_that_nobody_tells_are_not_0),
        GPU_TEST(test_a_device_that_is_lost_keeps_its_name_only),
        GPU_TEST(test_the_tree_has_its_own_share),
        GPU_TEST(test_an_empty_tree_has_nothing_whatever_the_host_does),
        GPU_TEST(test_a_child_counts_from_its_first_moment),
        GPU_TEST(test_a_command_of_ours_is_not_looked_up_in_another_proc),
        GPU_TEST(test_a_tree_that_is_not_known_has_no_figures),
        GPU_TEST(test_a_driver_that_does_not_list_its_devices_is_not_a_host_without),
        GPU_TEST(test_a_device_without_a_handle_is_not_left_out),
        GPU_TEST(test_the_tree_has_figures_on_a_device_that_has_none),
        GPU_TEST(test_without_permission_the_tree_has_no_figures),
        GPU_TEST(test_the_last_use_of_a_process_is_counted),
        GPU_TEST(test_a_broken_library_is_remarked_once),
        GPU_TEST(test_a_driver_that_cannot_be_initialised_is_remarked),
        GPU_TEST(test_amd_and_intel_come_through_their_workers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

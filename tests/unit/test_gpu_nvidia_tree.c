/* What a tracked tree has of NVIDIA devices, over a fake NVML. */
#include "fake_nvml.h"

#define ME 100
#define CHILD 101
#define STRANGER 999

static uint64_t vram(size_t index)
{
    return counter(index, FIELD_GPU_PROCESS_VRAM);
}

static double usage(size_t index)
{
    return number(index, FIELD_GPU_PROCESS_UTILIZATION);
}

static void read_empty_tree(void)
{
    read_tree_of((const pid_t[]){0});
}

/* --- memory --- */

static void test_memory_of_the_tree_is_summed(void **state)
{
    (void)state;
    say("gpu0.compute=100:1000 101:200 999:5000\n");
    start_gpus();
    read_tree(ME, CHILD);
    assert_int_equal(vram(0), 1200);
    read_tree(ME);
    assert_int_equal(vram(0), 1000);
    read_tree(STRANGER, CHILD);
    assert_int_equal(vram(0), 5200);
}

static void test_an_empty_tree_has_nothing_whatever_the_host_has(void **state)
{
    (void)state;
    say("gpus=2\ngpu0.compute=100:1000\ngpu1.graphics=101:5\ngpu0.util_samples=100:50\n");
    start_gpus();
    for (int round = 0; round < 3; round++) {
        read_empty_tree();
        for (size_t i = 0; i < 2; i++) {
            assert_int_equal(vram(i), 0);
            assert_number(usage(i), 0);
        }
    }
}

static void test_strangers_do_not_count(void **state)
{
    (void)state;
    say("gpus=2\ngpu0.compute=999:1000 1000:7\ngpu0.graphics=999:5\ngpu0.mps=999:9\n"
        "gpu0.util_samples=999:90\n");
    start_gpus();
    for (int round = 0; round < 3; round++) {
        read_tree(ME, CHILD);
        assert_int_equal(vram(0), 0);
        assert_int_equal(vram(1), 0);
        assert_number(usage(0), 0);
    }
}

static void test_a_process_in_several_lists_counts_once_with_the_larger_figure(void **state)
{
    (void)state;
    say("gpu0.compute=100:1000 101:1\ngpu0.graphics=100:3000 101:2\ngpu0.mps=100:2000 101:4\n");
    start_gpus();
    read_tree(ME, CHILD);
    assert_int_equal(vram(0), 3004);
}

static void test_a_process_twice_in_one_list_counts_once(void **state)
{
    (void)state;
    say("gpu0.compute=100:1000 100:1000\n");
    start_gpus();
    read_tree(ME);
    assert_int_equal(vram(0), 1000);
}

static void test_a_process_on_two_devices_counts_on_both(void **state)
{
    (void)state;
    say("gpus=3\ngpu0.compute=100:1000\ngpu1.compute=101:50\ngpu2.compute=100:3000 101:1\n");
    start_gpus();
    read_tree(ME, CHILD);
    assert_int_equal(vram(0), 1000);
    assert_int_equal(vram(1), 50);
    assert_int_equal(vram(2), 3001);
}

static void test_each_list_alone_counts(void **state)
{
    static const char *const lists[] = {"compute", "graphics", "mps"};

    (void)state;
    start_gpus();
    for (size_t i = 0; i < 3; i++) {
        say("gpu0.%s=100:1234\n", lists[i]);
        read_tree(ME);
        assert_int_equal(vram(0), 1234);
    }
}

static void test_memory_that_the_driver_does_not_tell_is_unavailable(void **state)
{
    (void)state;
    start_gpus();
    say("gpu0.compute=100:na\n");
    read_tree(ME);
    assert_unknown(0, FIELD_GPU_PROCESS_VRAM);
    say("gpu0.compute=100:500 101:na\n");
    read_tree(ME, CHILD);
    assert_unknown(0, FIELD_GPU_PROCESS_VRAM);
    /* That of a stranger is none of ours. */
    read_tree(ME);
    assert_int_equal(vram(0), 500);
    /* One list tells what another does not. */
    say("gpu0.compute=100:na\ngpu0.graphics=100:70\n");
    read_tree(ME);
    assert_int_equal(vram(0), 70);
    say("gpu0.compute=100:70\ngpu0.graphics=100:na\n");
    read_tree(ME);
    assert_int_equal(vram(0), 70);
}

static void test_sums_beyond_64_bits_are_unavailable(void **state)
{
    (void)state;
    say("gpu0.compute=100:0x8000000000000000 101:0x8000000000000000\n");
    start_gpus();
    read_tree(ME, CHILD);
    assert_unknown(0, FIELD_GPU_PROCESS_VRAM);
}

static void test_lists_that_cannot_be_read_make_it_unavailable(void **state)
{
    static const int codes[] = {1, 2, 3, 4, 6, 9, 13, 15, 25, 999};

    (void)state;
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        say("gpus=2\ngpu0.compute=100:1000\ngpu0.procs=%d\ngpu1.compute=100:20\n", codes[i]);
        start_gpus();
        for (int round = 0; round < 2; round++) {
            read_tree(ME);
            assert_unknown(0, FIELD_GPU_PROCESS_VRAM);
            assert_unknown(0, FIELD_GPU_PROCESS_UTILIZATION);
            assert_int_equal(vram(1), 20);
        }
        say("gpus=2\ngpu0.compute=100:1000\n");
        read_tree(ME);
        assert_int_equal(vram(0), 1000);
        close_gpus();
    }
}

static void test_more_memory_than_the_device_has_is_not_believed(void **state)
{
    (void)state;
    say("gpu0.total=1000\ngpu0.used=10\ngpu0.compute=100:1001\n");
    start_gpus();
    read_tree(ME);
    assert_unknown(0, FIELD_GPU_PROCESS_VRAM);
    say("gpu0.total=1000\ngpu0.used=10\ngpu0.compute=100:1000\n");
    read_tree(ME);
    assert_int_equal(vram(0), 1000);
}

/* A device without graphics, or a driver without MPS, still has its other processes. */
static void test_kinds_of_lists_that_are_not_supported_are_empty(void **state)
{
    static const char *const kinds[] = {"nvmlDeviceGetGraphicsRunningProcesses*:3",
                                        "nvmlDeviceGetMPSComputeRunningProcesses*:3",
                                        "nvmlDeviceGetMPSComputeRunningProcesses*:13"};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        say("gpu0.compute=100:1000\nfail=%s\n", kinds[i]);
        start_gpus();
        read_tree(ME);
        assert_int_equal(vram(0), 1000);
        close_gpus();
    }
}

static void test_an_error_in_any_list_is_not_taken_for_nothing(void **state)
{
    static const char *const kinds[] = {"Compute", "Graphics", "MPSCompute"};

    (void)state;
    start_gpus();
    for (size_t i = 0; i < 3; i++) {
        say("gpu0.compute=100:1000\nfail=nvmlDeviceGet%sRunningProcesses*:999\n", kinds[i]);
        read_tree(ME);
        assert_unknown(0, FIELD_GPU_PROCESS_VRAM);
    }
}

static void test_long_lists(void **state)
{
    static char list[400000];
    size_t size = 0;

    (void)state;
    for (int pid = 1000; pid < 11000; pid++)
        size += (size_t)snprintf(list + size, sizeof list - size, "%d:2 ", pid);
    say("gpu0.compute=%s\n", list);
    start_gpus();
    read_tree(1000, 5000, 10999, 11000);
    assert_int_equal(vram(0), 6);
    say("gpu0.compute=100:1\n");
    read_tree(ME);
    assert_int_equal(vram(0), 1);
}

static void test_lists_that_lie_about_their_length(void **state)
{
    (void)state;
    start_gpus();
    say("gpu0.compute=100:1000\ngpu0.procs_count=4000000000\n");
    read_tree(ME);
    assert_unknown(0, FIELD_GPU_PROCESS_VRAM);
    say("gpu0.compute=100:1000\ngpu0.procs_count=3000\n");
    read_tree(ME);
    assert_unknown(0, FIELD_GPU_PROCESS_VRAM);
    say("gpu0.compute=100:1000\ngpu0.procs_need=4000000000\n");
    read_tree(ME);
    assert_unknown(0, FIELD_GPU_PROCESS_VRAM);
    say("gpu0.compute=100:1000\ngpu0.procs_need=100\n");
    read_tree(ME);
    assert_unknown(0, FIELD_GPU_PROCESS_VRAM);
    say("gpu0.compute=100:1000\n");
    read_tree(ME);
    assert_int_equal(vram(0), 1000);
}

/* --- versions --- */

/* Infos of 16 bytes: the second one is at another place than in newer versions. */
static void test_lists_of_an_old_driver(void **state)
{
    (void)state;
    gpu.places.nvml = "build/fakes/nvml_old.so";
    say("gpu0.compute=100:1000 999:1 101:30 102:8\ngpu0.graphics=999:1 103:400\n");
    start_gpus();
    read_tree(ME, CHILD, 102, 103);
    assert_int_equal(vram(0), 1438);
    assert_unknown(0, FIELD_GPU_PROCESS_UTILIZATION);
}

static void test_the_second_version_is_used_where_there_is_no_third(void **state)
{
    (void)state;
    hide("nvmlDeviceGetComputeRunningProcesses_v3");
    hide("nvmlDeviceGetComputeRunningProcesses");
    hide("nvmlDeviceGetGraphicsRunningProcesses_v3");
    hide("nvmlDeviceGetGraphicsRunningProcesses");
    hide("nvmlDeviceGetMPSComputeRunningProcesses_v3");
    hide("nvmlDeviceGetMPSComputeRunningProcesses");
    say("gpu0.compute=100:1000 999:1 101:30\ngpu0.graphics=999:1 102:8\ngpu0.mps=999:1 103:400\n");
    start_gpus();
    read_tree(ME, CHILD, 102, 103);
    assert_int_equal(vram(0), 1438);
}

static void test_without_any_list_it_is_unavailable(void **state)
{
    (void)state;
    gpu.places.nvml = "build/fakes/nvml_bare.so";
    start_gpus();
    read_tree(ME);
    assert_unknown(0, FIELD_GPU_PROCESS_VRAM);
    assert_unknown(0, FIELD_GPU_PROCESS_UTILIZATION);
}

static void test_no_function_for_utilisation(void **state)
{
    (void)state;
    hide("nvmlDeviceGetProcessUtilization");
    say("gpu0.compute=100:1000\n");
    start_gpus();
    read_tree(ME);
    assert_int_equal(vram(0), 1000);
    assert_unknown(0, FIELD_GPU_PROCESS_UTILIZATION);
}

/* --- utilisation --- */

static void test_utilisation_of_the_tree_is_summed(void **state)
{
    (void)state;
    say("gpus=2\ngpu0.compute=100:1 101:1 999:1\ngpu0.util_samples=100:20 101:5 999:70\n"
        "gpu1.compute=101:1\ngpu1.util_samples=101:33\n");
    start_gpus();
    for (int round = 0; round < 3; round++) {
        read_tree(ME, CHILD);
        assert_number(usage(0), 25);
        assert_number(usage(1), 33);
    }
}

static void test_t_gpu_02_utilisation_of_the_tree_is_between_0_and_100(void **state)
{
    (void)state;
    start_gpus();
    say("gpu0.compute=100:1 101:1\ngpu0.util_samples=100:80 101:70\n");
    read_tree(ME, CHILD);
    assert_number(usage(0), 100);
    say("gpu0.compute=100:1 101:1\ngpu0.util_samples=100:100 101:0\n");
    read_tree(ME, CHILD);
    assert_number(usage(0), 100);
}

static void test_garbage_samples_are_not_believed(void **state)
{
    static const char *const garbage[] = {"101", "4294967295", "2147483648"};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        say("gpu0.compute=100:1 101:1\ngpu0.util_samples=100:30 101:%s\n", garbage[i]);
        start_gpus();
        read_tree(ME, CHILD);
        assert_true(isnan(usage(0)) || usage(0) == 30);
        close_gpus();
    }
}

static void test_only_garbage_is_not_idleness(void **state)
{
    (void)state;
    say("gpu0.compute=100:1\ngpu0.util_samples=100:4294967295\n");
    start_gpus();
    read_tree(ME);
    assert_unknown(0, FIELD_GPU_PROCESS_UTILIZATION);
}

static void test_samples_from_before_the_tree_came_are_ignored(void **state)
{
    (void)state;
    say("%s", "");
    start_gpus();
    read_tree(ME);
    say("gpu0.compute=100:1\ngpu0.samples_stale=1\ngpu0.util_samples=100:90@1000000\n");
    for (int round = 0; round < 3; round++) {
        read_tree(ME);
        assert_number(usage(0), 0);
    }
}

static void test_samples_that_were_seen_are_ignored(void **state)
{
    (void)state;
    say("gpu0.compute=100:1 101:1\ngpu0.samples_stale=1\ngpu0.util_samples=100:40@1000\n");
    start_gpus();
    read_tree(ME, CHILD);
    assert_number(usage(0), 40);
    /* A newer one of one process; the old one of the other was counted already. */
    say("gpu0.compute=100:1 101:1\ngpu0.samples_stale=1\n"
        "gpu0.util_samples=100:40@1000 101:7@2000\n");
    read_tree(ME, CHILD);
    assert_number(usage(0), 7);
    say("gpu0.compute=100:1 101:1\ngpu0.samples_stale=1\n"
        "gpu0.util_samples=100:40@1000 101:7@2000 100:1@1999\n");
    for (int round = 0; round < 3; round++)
        read_tree(ME, CHILD);
    assert_number(usage(0), 0);
}

static void test_no_sample_for_seconds_is_no_use(void **state)
{
    (void)state;
    say("gpu0.compute=100:1\ngpu0.util_samples=100:40@1000\n");
    start_gpus();
    read_tree(ME);
    assert_number(usage(0), 40);
    for (int round = 0; round < 3; round++)
        read_tree(ME);
    assert_number(usage(0), 0);
}

/* One sample with a time stamp that cannot be must not make all later ones look old. */
static void test_a_time_stamp_from_the_future_does_not_end_it(void **state)
{
    (void)state;
    say("gpu0.compute=100:1\ngpu0.samples_stale=1\ngpu0.util_samples=100:40@na\n");
    start_gpus();
    read_tree(ME);
    say("gpu0.compute=100:1\ngpu0.samples_stale=1\ngpu0.util_samples=100:25\n");
    for (int round = 0; round < 5; round++)
        read_tree(ME);
    assert_true(isnan(usage(0)) || usage(0) == 25);
}

static void test_errors_of_utilisation_make_it_unavailable(void **state)
{
    static const int codes[] = {1, 2, 3, 4, 9, 13, 15, 25, 999};

    (void)state;
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        say("gpu0.compute=100:1000\ngpu0.util_samples=100:40\n"
            "fail=nvmlDeviceGetProcessUtilization:%d\n",
            codes[i]);
        start_gpus();
        for (int round = 0; round < 2; round++) {
            read_tree(ME);
            assert_unknown(0, FIELD_GPU_PROCESS_UTILIZATION);
            assert_int_equal(vram(0), 1000);
        }
        close_gpus();
    }
}

static void test_sample_counts_that_lie(void **state)
{
    (void)state;
    start_gpus();
    say("gpu0.compute=100:1\ngpu0.util_samples=100:40\ngpu0.samples_count=4000000000\n");
    read_tree(ME);
    assert_unknown(0, FIELD_GPU_PROCESS_UTILIZATION);
    say("gpu0.compute=100:1\ngpu0.util_samples=100:40\ngpu0.samples_count=3000\n");
    read_tree(ME);
    assert_unknown(0, FIELD_GPU_PROCESS_UTILIZATION);
    say("gpu0.compute=100:1\ngpu0.util_samples=100:40\ngpu0.samples_need=4000000000\n");
    read_tree(ME);
    assert_unknown(0, FIELD_GPU_PROCESS_UTILIZATION);
    say("gpu0.compute=100:1\ngpu0.util_samples=100:40\ngpu0.samples_need=100\n");
    read_tree(ME);
    assert_unknown(0, FIELD_GPU_PROCESS_UTILIZATION);
    say("gpu0.compute=100:1\ngpu0.util_samples=100:40\n");
    read_tree(ME);
    assert_number(usage(0), 40);
}

static void test_many_samples(void **state)
{
    static char list[100000];
    size_t size = 0;

    (void)state;
    for (int pid = 1000; pid < 3000; pid++)
        size += (size_t)snprintf(list + size, sizeof list - size, "%d:1 ", pid);
    say("gpu0.compute=1000:1\ngpu0.util_samples=%s\n", list);
    start_gpus();
    read_tree(1000, 2000, 2999);
    assert_number(usage(0), 3);
}

/* It costs milliseconds, so it is asked of devices that the tree is on only. */
static void test_devices_without_the_tree_are_not_asked_for_utilisation(void **state)
{
    (void)state;
    say("gpus=4\ngpu2.compute=100:1\ngpu2.util_samples=100:9\n");
    assert_int_equal(setenv("FAKE_NVML_LOG", scratch_path(&gpu.dir, "log").text, 1), 0);
    start_gpus();
    for (int round = 0; round < 3; round++)
        read_tree(ME);
    unsetenv("FAKE_NVML_LOG");
    char *calls = scratch_read(&gpu.dir, "log");
    size_t asked = 0;
    for (const char *at = calls; (at = strstr(at, "nvmlDeviceGetProcessUtilization\n")) != NULL;
         at++)
        asked++;
    free(calls);
    assert_int_equal(asked, 3);
    assert_number(usage(2), 9);
}

/* --- MIG --- */

static void test_mig_has_what_its_instances_have(void **state)
{
    (void)state;
    say("gpus=2\ngpu0.mig=2\ngpu0.mig0.compute=100:1000 999:4\ngpu0.mig1.compute=101:30 100:5\n"
        "gpu1.compute=100:7\n");
    start_gpus();
    read_tree(ME, CHILD);
    assert_int_equal(gpu.now.count, 4);
    assert_int_equal(vram(1), 1000);
    assert_int_equal(vram(2), 35);
    assert_int_equal(vram(0), 1035);
    assert_int_equal(vram(3), 7);
    /* The driver tells no utilisation under MIG. */
    assert_unknown(0, FIELD_GPU_PROCESS_UTILIZATION);
    assert_unknown(1, FIELD_GPU_PROCESS_UTILIZATION);
    assert_number(usage(3), 0);
}

static void test_mig_instances_are_enough_where_the_whole_is_not_open_to_us(void **state)
{
    (void)state;
    say("gpu0.mig=2\ngpu0.procs=4\ngpu0.mig0.compute=100:1000\n");
    start_gpus();
    read_tree(ME);
    assert_int_equal(vram(0), 1000);
    assert_int_equal(vram(1), 1000);
    assert_int_equal(vram(2), 0);
}

static void test_mig_of_which_an_instance_cannot_be_read(void **state)
{
    (void)state;
    say("gpu0.mig=2\ngpu0.mig0.compute=100:1000\ngpu0.mig1.procs=4\n");
    start_gpus();
    read_tree(ME);
    assert_int_equal(vram(1), 1000);
    assert_unknown(2, FIELD_GPU_PROCESS_VRAM);
    assert_unknown(0, FIELD_GPU_PROCESS_VRAM);
}

static void test_mig_without_our_processes_is_nothing(void **state)
{
    (void)state;
    say("gpu0.mig=2\ngpu0.mig0.compute=999:1000\n");
    start_gpus();
    read_tree(ME);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(vram(i), 0);
        assert_number(usage(i), 0);
    }
}

/* --- PID namespaces --- */

/* A process of our proc, with an open file. */
static void make_process(pid_t pid, const char *open_file)
{
    char path[64];

    snprintf(path, sizeof path, "proc/%d/stat", pid);
    support_write(path, "");
    snprintf(path, sizeof path, "proc/%d/fd/3", pid);
    support_link(path, open_file);
}

static void test_in_a_namespace_an_open_device_proves_that_pids_are_ours(void **state)
{
    (void)state;
    gpu.places.pids_are_global = false;
    make_process(ME, "/dev/nvidia0");
    say("gpu0.compute=100:1000 999:5\n");
    start_gpus();
    for (int round = 0; round < 8; round++) {
        read_tree(ME);
        assert_int_equal(vram(0), 1000);
    }
}

/* 100 is another process than ours here: whoever is 999 is not in this namespace. */
static void test_in_a_namespace_pids_that_nobody_has_are_foreign(void **state)
{
    (void)state;
    gpu.places.pids_are_global = false;
    make_process(ME, "/dev/null");
    say("gpu0.compute=100:1000 999:5\n");
    start_gpus();
    for (int round = 0; round < 8; round++)
        read_tree(ME);
    assert_unknown(0, FIELD_GPU_PROCESS_VRAM);
    assert_unknown(0, FIELD_GPU_PROCESS_UTILIZATION);
}

/* The driver lists nobody of ours, but one of ours has a GPU open. */
static void test_in_a_namespace_a_user_that_is_not_listed_makes_it_unavailable(void **state)
{
    (void)state;
    gpu.places.pids_are_global = false;
    make_process(ME, "/dev/nvidia-uvm");
    make_process(STRANGER, "/dev/null");
    say("gpu0.compute=999:5\n");
    start_gpus();
    for (int round = 0; round < 8; round++) {
        read_tree(ME);
        assert_unknown(0, FIELD_GPU_PROCESS_VRAM);
        assert_unknown(0, FIELD_GPU_PROCESS_UTILIZATION);
    }
}

static void test_in_a_namespace_a_tree_without_a_gpu_has_nothing(void **state)
{
    (void)state;
    gpu.places.pids_are_global = false;
    make_process(ME, "/dev/null");
    say("%s", "");
    start_gpus();
    for (int round = 0; round < 8; round++) {
        read_tree(ME);
        assert_int_equal(vram(0), 0);
        assert_number(usage(0), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GPU_TEST(test_memory_of_the_tree_is_summed),
        GPU_TEST(test_an_empty_tree_has_nothing_whatever_the_host_has),
        GPU_TEST(test_strangers_do_not_count),
        GPU_TEST(test_a_process_in_several_lists_counts_once_with_the_larger_figure),
        GPU_TEST(test_a_process_twice_in_one_list_counts_once),
        GPU_TEST(test_a_process_on_two_devices_counts_on_both),
        GPU_TEST(test_each_list_alone_counts),
        GPU_TEST(test_memory_that_the_driver_does_not_tell_is_unavailable),
        GPU_TEST(test_sums_beyond_64_bits_are_unavailable),
        GPU_TEST(test_lists_that_cannot_be_read_make_it_unavailable),
        GPU_TEST(test_more_memory_than_the_device_has_is_not_believed),
        GPU_TEST(test_kinds_of_lists_that_are_not_supported_are_empty),
        GPU_TEST(test_an_error_in_any_list_is_not_taken_for_nothing),
        GPU_TEST(test_long_lists),
        GPU_TEST(test_lists_that_lie_about_their_length),
        GPU_TEST(test_lists_of_an_old_driver),
        GPU_TEST(test_the_second_version_is_used_where_there_is_no_third),
        GPU_TEST(test_without_any_list_it_is_unavailable),
        GPU_TEST(test_no_function_for_utilisation),
        GPU_TEST(test_utilisation_of_the_tree_is_summed),
        GPU_TEST(test_t_gpu_02_utilisation_of_the_tree_is_between_0_and_100),
        GPU_TEST(test_garbage_samples_are_not_believed),
        GPU_TEST(test_only_garbage_is_not_idleness),
        GPU_TEST(test_samples_from_before_the_tree_came_are_ignored),
        GPU_TEST(test_samples_that_were_seen_are_ignored),
        GPU_TEST(test_no_sample_for_seconds_is_no_use),
        GPU_TEST(test_a_time_stamp_from_the_future_does_not_end_it),
        GPU_TEST(test_errors_of_utilisation_make_it_unavailable),
        GPU_TEST(test_sample_counts_that_lie),
        GPU_TEST(test_many_samples),
        GPU_TEST(test_devices_without_the_tree_are_not_asked_for_utilisation),
        GPU_TEST(test_mig_has_what_its_instances_have),
        GPU_TEST(test_mig_instances_are_enough_where_the_whole_is_not_open_to_us),
        GPU_TEST(test_mig_of_which_an_instance_cannot_be_read),
        GPU_TEST(test_mig_without_our_processes_is_nothing),
        GPU_TEST(test_in_a_namespace_an_open_device_proves_that_pids_are_ours),
        GPU_TEST(test_in_a_namespace_pids_that_nobody_has_are_foreign),
        GPU_TEST(test_in_a_namespace_a_user_that_is_not_listed_makes_it_unavailable),
        GPU_TEST(test_in_a_namespace_a_tree_without_a_gpu_has_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

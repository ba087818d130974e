/* NVIDIA devices over a fake NVML: what they are and what is read of them. */
#include "fake_nvml.h"

/* Which function tells which fields. */
struct told_by {
    const char *function;
    enum field_id told[3];
};

static const struct told_by facts[] = {
    {"nvmlDeviceGetName", {FIELD_GPU_NAME}},
    {"nvmlDeviceGetUUID", {FIELD_GPU_UUID}},
    {"nvmlDeviceGetPciInfo_v3", {FIELD_GPU_HOST_ID}},
    {"nvmlDeviceGetNumGpuCores", {FIELD_GPU_CORES}},
};
enum { FACT_COUNT = sizeof facts / sizeof facts[0] };

static const struct told_by readings[] = {
    {"nvmlDeviceGetUtilizationRates", {FIELD_GPU_UTILIZATION, FIELD_GPU_MEMORY_UTILIZATION}},
    {"nvmlDeviceGetMemoryInfo*",
     {FIELD_GPU_VRAM_TOTAL, FIELD_GPU_VRAM_USED, FIELD_GPU_VRAM_USED_PCT}},
    {"nvmlDeviceGetTemperature", {FIELD_GPU_TEMPERATURE}},
    {"nvmlDeviceGetPowerUsage", {FIELD_GPU_POWER}},
    {"nvmlDeviceGetEnforcedPowerLimit", {FIELD_GPU_POWER_LIMIT}},
    {"nvmlDeviceGetClockInfo", {FIELD_GPU_FREQUENCY, FIELD_GPU_MEMORY_FREQUENCY}},
    {"nvmlDeviceGetFanSpeed", {FIELD_GPU_FAN}},
    {"nvmlDeviceGetCurrentClocks*", {FIELD_GPU_THROTTLE}},
    {"nvmlDeviceGetTotalEccErrors", {FIELD_GPU_ECC_CORRECTED, FIELD_GPU_ECC_UNCORRECTED}},
    {"nvmlDeviceGetCurrPcieLinkGeneration", {FIELD_GPU_PCIE_GENERATION}},
    {"nvmlDeviceGetCurrPcieLinkWidth", {FIELD_GPU_PCIE_WIDTH}},
};
enum { READING_COUNT = sizeof readings / sizeof readings[0] };

/* Uninitialised, invalid, not supported, no permission, not found, too small, not found, unknown.
 */
static const int codes[] = {1, 2, 3, 4, 6, 7, 9, 13, 25, 999, -1, 123456};
enum { CODE_COUNT = sizeof codes / sizeof codes[0], LOST = 15 };

static bool tells(const struct told_by *by, enum field_id field)
{
    /* Field 0 ends the list: it is none of a GPU's. */
    return by->told[0] == field || (by->told[1] != 0 && by->told[1] == field) ||
           (by->told[2] != 0 && by->told[2] == field);
}

/* --- being there --- */

static void test_it_is_probed_by_module_or_device_node(void **state)
{
    (void)state;
    assert_false(gpu_nvidia.probe(&gpu.places));
    support_write("sys/module/nvidia/version", "580\n");
    assert_true(gpu_nvidia.probe(&gpu.places));
    support_remove("sys/module/nvidia");
    assert_false(gpu_nvidia.probe(&gpu.places));
    support_write("dev/nvidiactl", "");
    assert_true(gpu_nvidia.probe(&gpu.places));
}

static void test_a_library_that_is_not_there_is_an_error(void **state)
{
    (void)state;
    gpu.places.nvml = "build/fakes/no-such-library.so";
    assert_true(open_gpus() < 0);
    assert_null(gpu.state);
}

static void test_a_file_that_is_no_library_is_named(void **state)
{
    struct scratch_path path = scratch_path(&gpu.dir, "text.so");

    (void)state;
    scratch_text(&gpu.dir, "text.so", "not a library\n");
    gpu.places.nvml = path.text;
    assert_true(open_gpus() < 0);
    assert_non_null(strstr(gpu.remark, path.text));
}

static void test_init_may_refuse(void **state)
{
    (void)state;
    for (size_t i = 0; i < CODE_COUNT; i++) {
        say("init=%d\n", codes[i]);
        assert_true(open_gpus() < 0);
        assert_null(gpu.state);
    }
}

static void test_without_functions_to_list_devices_it_is_an_error(void **state)
{
    static const char *const needed[] = {"nvmlInit_v2", "nvmlDeviceGetCount_v2",
                                         "nvmlDeviceGetHandleByIndex_v2"};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        gpu.places.nvml = FAKE_NVML;
        hide(needed[i]);
        assert_true(open_gpus() < 0);
        assert_null(gpu.state);
    }
}

/* --- how many --- */

/* The fake's defaults, which differ from GPU to GPU. */
static void assert_is_fake(size_t i)
{
    char wanted[64];
    double index = (double)i;

    assert_int_equal(gpu.result[i], 0);
    assert_false(gpu.now.devices[i].is_part);
    snprintf(wanted, sizeof wanted, "GPU-00000000-0000-0000-0000-%012zu", i);
    assert_string_equal(text(i, FIELD_GPU_UUID), wanted);
    snprintf(wanted, sizeof wanted, "Fake GPU %zu", i);
    assert_string_equal(text(i, FIELD_GPU_NAME), wanted);
    assert_string_equal(text(i, FIELD_GPU_TYPE), "GPU");
    snprintf(wanted, sizeof wanted, "0000:%02zx:00.0", i + 1);
    assert_string_equal(text(i, FIELD_GPU_HOST_ID), wanted);
    assert_number(number(i, FIELD_GPU_CORES), 6912 + 128 * index);
    assert_number(number(i, FIELD_GPU_UTILIZATION), (double)((10 + 3 * i) % 101));
    assert_number(number(i, FIELD_GPU_MEMORY_UTILIZATION), (double)((5 + 2 * i) % 101));
    assert_int_equal(counter(i, FIELD_GPU_VRAM_TOTAL), (16 + i) * GIB);
    assert_int_equal(counter(i, FIELD_GPU_VRAM_USED), (1 + i) * GIB + i);
    assert_number(number(i, FIELD_GPU_VRAM_USED_PCT),
                  (double)((1 + i) * GIB + i) / (double)((16 + i) * GIB) * 100);
    assert_number(number(i, FIELD_GPU_TEMPERATURE), 40 + index);
    assert_number(number(i, FIELD_GPU_POWER), 100.123 + index);
    assert_number(number(i, FIELD_GPU_POWER_LIMIT), 300 + index);
    assert_number(number(i, FIELD_GPU_FREQUENCY), 1200 + index);
    assert_number(number(i, FIELD_GPU_MEMORY_FREQUENCY), 5000 + index);
    assert_number(number(i, FIELD_GPU_FAN), 30 + index);
    assert_string_equal(text(i, FIELD_GPU_THROTTLE), "idle");
    assert_int_equal(counter(i, FIELD_GPU_ECC_CORRECTED), 200 + i);
    assert_int_equal(counter(i, FIELD_GPU_ECC_UNCORRECTED), i);
    assert_number(number(i, FIELD_GPU_PCIE_GENERATION), (double)(3 + i % 3));
    assert_number(number(i, FIELD_GPU_PCIE_WIDTH), i % 2 == 0 ? 16 : 8);
    assert_unknown(i, FIELD_GPU_PROCESS_VRAM);
    assert_unknown(i, FIELD_GPU_PROCESS_UTILIZATION);
}

static void check_count(size_t count)
{
    say("gpus=%zu\n", count);
    start_gpus();
    for (int round = 0; round < 3; round++) {
        read_gpus();
        assert_int_equal(gpu.now.count, count);
        for (size_t i = 0; i < count; i++)
            assert_is_fake(i);
    }
    close_gpus();
}

static void test_no_gpu_at_all(void **state)
{
    (void)state;
    check_count(0);
}

static void test_every_gpu_has_its_own_figures(void **state)
{
    (void)state;
    check_count(1);
    check_count(8);
    check_count(16);
}

static void test_more_gpus_than_any_machine_has(void **state)
{
    (void)state;
    say("gpus=1000\n");
    start_gpus();
    read_gpus();
    assert_int_equal(gpu.now.count, GPU_DEVICES_MAX);
    for (size_t i = 0; i < GPU_DEVICES_MAX; i++)
        assert_number(number(i, FIELD_GPU_FREQUENCY), 1200 + (double)i);
}

static void test_a_count_that_is_not_true(void **state)
{
    (void)state;
    say("gpus=2\ncount=4000000000\n");
    start_gpus();
    read_gpus();
    assert_int_equal(gpu.now.count, 2);
    assert_is_fake(1);
}

static void test_no_count_or_no_handle_is_no_device(void **state)
{
    static const char *const calls[] = {"nvmlDeviceGetCount_v2", "nvmlDeviceGetHandleByIndex_v2"};

    (void)state;
    for (size_t call = 0; call < 2; call++)
        for (size_t code = 0; code < CODE_COUNT; code++) {
            say("gpus=2\nfail=%s:%d\n", calls[call], codes[code]);
            assert_int_equal(open_gpus(), 0);
            int error = gpu_nvidia.find(gpu.state, &gpu.found);
            /* Without a count nothing is known; a device that is lost is one all the same. */
            assert_int_equal(error < 0, call == 0);
            assert_int_equal(gpu.found.count, call == 1 && codes[code] == 15 ? 2 : 0);
            close_gpus();
        }
}

/* Some turn faster than they were built for. */
static void test_a_fan_is_at_100_at_the_most(void **state)
{
    (void)state;
    start_gpus();
    say("gpu0.fan=107\n");
    read_gpus();
    assert_number(number(0, FIELD_GPU_FAN), 100);
    say("gpu0.fan=4294967295\n");
    read_gpus();
    assert_absent(number(0, FIELD_GPU_FAN));
}

static void test_another_device_in_the_place_of_one_is_a_change(void **state)
{
    (void)state;
    support_link("sys/bus/pci/drivers/nvidia/0000:01:00.0", "x");
    say("%s", "");
    start_gpus();
    assert_false(gpu_nvidia.has_changed(gpu.state));
    support_remove("sys/bus/pci/drivers/nvidia/0000:01:00.0");
    support_link("sys/bus/pci/drivers/nvidia/0000:02:00.0", "x");
    assert_true(gpu_nvidia.has_changed(gpu.state));
    assert_int_equal(gpu_nvidia.find(gpu.state, &gpu.found), 0);
    assert_false(gpu_nvidia.has_changed(gpu.state));
}

static void test_instances_that_come_and_go_are_a_change(void **state)
{
    (void)state;
    say("gpus=1\n");
    start_gpus();
    assert_false(gpu_nvidia.has_changed(gpu.state));
    say("gpus=1\ngpu0.mig=2\n");
    assert_true(gpu_nvidia.has_changed(gpu.state));
    assert_int_equal(gpu_nvidia.find(gpu.state, &gpu.found), 0);
    assert_int_equal(gpu.found.count, 3);
    assert_false(gpu_nvidia.has_changed(gpu.state));
    say("gpus=1\ngpu0.mig=1\n");
    assert_true(gpu_nvidia.has_changed(gpu.state));
}

/* The other figure for once would look like a jump. */
static void test_an_error_in_the_second_version_does_not_give_the_first(void **state)
{
    (void)state;
    say("gpu0.used=1000\ngpu0.reserved=500\n");
    start_gpus();
    say("gpu0.used=1000\ngpu0.reserved=500\nfail=nvmlDeviceGetMemoryInfo_v2:999\n");
    read_gpus();
    assert_unknown(0, FIELD_GPU_VRAM_USED);
    say("gpu0.used=1000\ngpu0.reserved=500\nfail=nvmlDeviceGetMemoryInfo_v2:25\n");
    read_gpus();
    assert_int_equal(counter(0, FIELD_GPU_VRAM_USED), 1500);
}

static void test_one_handle_that_is_refused_leaves_the_others(void **state)
{
    (void)state;
    say("gpus=3\ngpu1.handle=4\n");
    start_gpus();
    read_gpus();
    assert_int_equal(gpu.now.count, 2);
    assert_is_fake(0);
    assert_string_equal(text(1, FIELD_GPU_NAME), "Fake GPU 2");
    assert_number(number(1, FIELD_GPU_TEMPERATURE), 42);
}

/* --- facts --- */

static void test_details_tell_driver_and_node(void **state)
{
    (void)state;
    say("driver=535.104\ncuda=12020\ngpu0.minor=7\ngpu0.cc=90\n");
    start_gpus();
    read_gpus();
    assert_string_equal(detail(0, "driver_version"), "535.104");
    assert_string_equal(detail(0, "cuda_version"), "12.2");
    assert_string_equal(detail(0, "compute_capability"), "9.0");
    assert_string_equal(detail(0, "node"), "nvidia7");
    assert_non_null(detail(0, "pci_bus_id"));
}

static void test_details_are_left_out_one_by_one(void **state)
{
    static const struct {
        const char *function, *name;
    } details[] = {{"nvmlSystemGetDriverVersion", "driver_version"},
                   {"nvmlSystemGetCudaDriverVersion_v2", "cuda_version"},
                   {"nvmlDeviceGetCudaComputeCapability", "compute_capability"},
                   {"nvmlDeviceGetMinorNumber", "node"},
                   {"nvmlDeviceGetPciInfo_v3", "pci_bus_id"}};
    enum { COUNT = sizeof details / sizeof details[0] };

    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        say("fail=%s:999\n", details[i].function);
        start_gpus();
        read_gpus();
        for (size_t other = 0; other < COUNT; other++)
            assert_int_equal(detail(0, details[other].name) == NULL, other == i);
        close_gpus();
    }
}

static void test_texts_that_are_not_ended(void **state)
{
    char wide[300];

    (void)state;
    memset(wide, 'w', sizeof wide - 1);
    wide[sizeof wide - 1] = '\0';
    say("driver=%s\ngpu0.name=%s\ngpu0.uuid=%s\ngpu0.busid=%s\n", wide, wide, wide, wide);
    start_gpus();
    read_gpus();
    assert_in_range(strlen(text(0, FIELD_GPU_NAME)), 64, GPU_TEXT_MAX - 1);
    assert_in_range(strlen(text(0, FIELD_GPU_UUID)), 64, GPU_TEXT_MAX - 1);
    assert_in_range(strlen(detail(0, "pci_bus_id")), 12, 32);
    assert_in_range(strlen(detail(0, "driver_version")), 15, GPU_TEXT_MAX - 1);
    assert_int_equal(strspn(text(0, FIELD_GPU_NAME), "w"), strlen(text(0, FIELD_GPU_NAME)));
}

static void test_empty_texts_are_unavailable(void **state)
{
    (void)state;
    say("gpu0.name=\ngpu0.uuid=\\x00hidden\ngpu0.busid=\ndriver=\n");
    start_gpus();
    read_gpus();
    assert_unknown(0, FIELD_GPU_NAME);
    assert_unknown(0, FIELD_GPU_UUID);
    assert_null(detail(0, "pci_bus_id"));
    assert_null(detail(0, "driver_version"));
}

static void test_hostile_bytes_in_texts_do_not_matter(void **state)
{
    (void)state;
    say("gpu0.name=\\xff\\xfe\\x01\"\\x7f\ngpu0.uuid=\\xc3\n");
    start_gpus();
    read_gpus();
    assert_number(number(0, FIELD_GPU_TEMPERATURE), 40);
}

/* --- what fails --- */

/* Only what the function tells is unavailable; the rest is as usual. */
static void assert_lacks_only(const struct told_by *by)
{
    static union cell usual[GPU_FIELD_COUNT];

    for (int field = FIELD_GPU_FIRST; field < FIELD_GPU_END; field++) {
        enum field_id id = (enum field_id)field;
        bool is_process = id == FIELD_GPU_PROCESS_UTILIZATION || id == FIELD_GPU_PROCESS_VRAM;
        bool is_detail = id >= FIELD_GPU_PCIE_RX && id <= FIELD_GPU_ENERGY;
        if (id == FIELD_GPU_DETAIL || is_process || is_detail)
            continue;
        if (by == NULL)
            usual[field - FIELD_GPU_FIRST] = *cell_of(0, id);
        else if (tells(by, id))
            assert_unknown(0, id);
        else if (fields[id].type != TYPE_TEXT)
            assert_same(0, id, usual[field - FIELD_GPU_FIRST]);
        else if (!is_known(0, id))
            fail_msg("without %s there is no %s", by->function, fields[id].key);
    }
}

static void learn_the_usual(void)
{
    say("%s", "");
    start_gpus();
    read_gpus();
    assert_is_fake(0);
    assert_lacks_only(NULL);
    close_gpus();
}

static void check_codes(const struct told_by *table, size_t count)
{
    learn_the_usual();
    for (size_t i = 0; i < count; i++)
        for (size_t code = 0; code < CODE_COUNT; code++) {
            say("fail=%s:%d\n", table[i].function, codes[code]);
            start_gpus();
            for (int round = 0; round < 2; round++) {
                read_gpus();
                assert_int_equal(gpu.result[0], 0);
                assert_lacks_only(&table[i]);
            }
            close_gpus();
        }
}

static void test_each_error_makes_only_its_figures_unavailable(void **state)
{
    (void)state;
    check_codes(facts, FACT_COUNT);
    check_codes(readings, READING_COUNT);
}

static void test_an_error_of_later_makes_figures_unavailable_again(void **state)
{
    (void)state;
    learn_the_usual();
    start_gpus();
    for (size_t i = 0; i < READING_COUNT; i++) {
        say("fail=%s:999\n", readings[i].function);
        gpu.now_ns += 20 * SECOND;
        read_gpus();
        assert_lacks_only(&readings[i]);
        say("%s", "");
        gpu.now_ns += 20 * SECOND;
        read_gpus();
        assert_is_fake(0);
    }
}

static void test_each_function_may_be_missing(void **state)
{
    (void)state;
    learn_the_usual();
    for (size_t i = 0; i < FACT_COUNT + READING_COUNT; i++) {
        const struct told_by *by = i < FACT_COUNT ? &facts[i] : &readings[i - FACT_COUNT];
        gpu.places.nvml = FAKE_NVML;
        if (strcmp(by->function, "nvmlDeviceGetMemoryInfo*") == 0) {
            hide("nvmlDeviceGetMemoryInfo");
            hide("nvmlDeviceGetMemoryInfo_v2");
        } else if (strcmp(by->function, "nvmlDeviceGetCurrentClocks*") == 0) {
            hide("nvmlDeviceGetCurrentClocksThrottleReasons");
            hide("nvmlDeviceGetCurrentClocksEventReasons");
        } else {
            hide(by->function);
        }
        start_gpus();
        read_gpus();
        assert_lacks_only(by);
        close_gpus();
    }
}

static void test_functions_that_tell_no_field_may_be_missing(void **state)
{
    static const char *const others[] = {
        "nvmlShutdown",
        "nvmlSystemGetDriverVersion",
        "nvmlSystemGetCudaDriverVersion_v2",
        "nvmlDeviceGetMinorNumber",
        "nvmlDeviceGetCudaComputeCapability",
        "nvmlDeviceGetMigMode",
        "nvmlDeviceGetMaxMigDeviceCount",
        "nvmlDeviceGetMigDeviceHandleByIndex",
    };

    (void)state;
    say("gpus=2\n");
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        gpu.places.nvml = FAKE_NVML;
        hide(others[i]);
        start_gpus();
        find_gpus();
        read_gpus();
        assert_int_equal(gpu.now.count, 2);
        assert_is_fake(1);
        close_gpus();
    }
}

static void test_a_library_of_an_old_driver(void **state)
{
    (void)state;
    gpu.places.nvml = "build/fakes/nvml_old.so";
    say("gpus=2\ngpu1.used=%ju\ngpu1.reserved=%ju\n", (uintmax_t)(5 * GIB), (uintmax_t)GIB);
    start_gpus();
    read_gpus();
    assert_int_equal(gpu.now.count, 2);
    assert_number(number(1, FIELD_GPU_UTILIZATION), 13);
    assert_int_equal(counter(1, FIELD_GPU_VRAM_USED), 6 * GIB);
    assert_string_equal(text(1, FIELD_GPU_THROTTLE), "idle");
    assert_unknown(1, FIELD_GPU_CORES);
}

static void test_a_library_that_only_lists_devices(void **state)
{
    (void)state;
    gpu.places.nvml = "build/fakes/nvml_bare.so";
    say("gpus=3\n");
    start_gpus();
    read_tree(1, 2);
    read_detail();
    assert_int_equal(gpu.now.count, 3);
    for (size_t i = 0; i < 3; i++)
        for (int field = FIELD_GPU_FIRST; field < FIELD_GPU_END; field++)
            if (field != FIELD_GPU_TYPE && field != FIELD_GPU_DETAIL)
                assert_unknown(i, (enum field_id)field);
}

static void test_what_a_device_does_not_support_is_not_asked_again(void **state)
{
    struct scratch_path log = scratch_path(&gpu.dir, "log");
    size_t asked = 0;

    (void)state;
    say("fail=nvmlDeviceGetFanSpeed:3\n");
    assert_int_equal(setenv("FAKE_NVML_LOG", log.text, 1), 0);
    start_gpus();
    for (int round = 0; round < 5; round++)
        read_gpus();
    unsetenv("FAKE_NVML_LOG");
    char *calls = scratch_read(&gpu.dir, "log");
    for (const char *at = calls; (at = strstr(at, "nvmlDeviceGetFanSpeed\n")) != NULL; at++)
        asked++;
    assert_non_null(strstr(calls, "nvmlDeviceGetTemperature\n"));
    free(calls);
    assert_int_equal(asked, 1);
}

/* --- figures --- */

static void test_memory_is_that_of_the_second_version(void **state)
{
    (void)state;
    say("gpu0.total=%ju\ngpu0.used=%ju\ngpu0.reserved=%ju\n", (uintmax_t)(100 * GIB),
        (uintmax_t)(30 * GIB), (uintmax_t)GIB);
    start_gpus();
    read_gpus();
    assert_int_equal(counter(0, FIELD_GPU_VRAM_USED), 30 * GIB);
    assert_number(number(0, FIELD_GPU_VRAM_USED_PCT), 30);
}

static void test_memory_falls_back_to_the_first_version(void **state)
{
    static const int refusals[] = {3, 13, 25};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        say("gpu0.total=%ju\ngpu0.used=%ju\ngpu0.reserved=%ju\n"
            "fail=nvmlDeviceGetMemoryInfo_v2:%d\n",
            (uintmax_t)(100 * GIB), (uintmax_t)(30 * GIB), (uintmax_t)GIB, refusals[i]);
        start_gpus();
        read_gpus();
        assert_int_equal(counter(0, FIELD_GPU_VRAM_USED), 31 * GIB);
        close_gpus();
    }
}

static void test_t_gpu_02_utilization_is_between_0_and_100(void **state)
{
    static const struct {
        const char *told;
        double wanted;
    } cases[] = {{"0", 0},           {"1", 1},     {"99", 99},     {"100", 100},
                 {"101", NAN},       {"250", NAN}, {"65535", NAN}, {"4294967295", NAN},
                 {"2147483648", NAN}};

    (void)state;
    start_gpus();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        say("gpu0.util=%s\ngpu0.mem_util=%s\n", cases[i].told, cases[i].told);
        read_gpus();
        assert_number(number(0, FIELD_GPU_UTILIZATION), cases[i].wanted);
        assert_number(number(0, FIELD_GPU_MEMORY_UTILIZATION), cases[i].wanted);
    }
}

static void test_t_gpu_03_no_more_is_used_than_there_is(void **state)
{
    (void)state;
    say("gpu0.total=1000\ngpu0.used=1001\ngpu0.reserved=0\n");
    start_gpus();
    read_gpus();
    assert_unknown(0, FIELD_GPU_VRAM_USED);
    assert_unknown(0, FIELD_GPU_VRAM_USED_PCT);
    say("gpu0.total=1000\ngpu0.used=1000\ngpu0.reserved=0\n");
    read_gpus();
    assert_int_equal(counter(0, FIELD_GPU_VRAM_USED), 1000);
    assert_number(number(0, FIELD_GPU_VRAM_USED_PCT), 100);
    say("gpu0.total=1000\ngpu0.used=na\ngpu0.reserved=0\n");
    read_gpus();
    assert_unknown(0, FIELD_GPU_VRAM_USED);
}

static void test_t_gpu_04_share_of_no_memory_is_0(void **state)
{
    (void)state;
    say("gpu0.total=0\ngpu0.used=0\ngpu0.reserved=0\n");
    start_gpus();
    read_gpus();
    assert_int_equal(counter(0, FIELD_GPU_VRAM_TOTAL), 0);
    assert_int_equal(counter(0, FIELD_GPU_VRAM_USED), 0);
    assert_number(number(0, FIELD_GPU_VRAM_USED_PCT), 0);
}

static void test_figures_that_cannot_be_are_not_believed(void **state)
{
    (void)state;
    say("gpu0.temp=4294967295\ngpu0.power=4294967295\ngpu0.limit=4294967295\n"
        "gpu0.clock=4294967295\ngpu0.memclock=4294967295\ngpu0.ecc0=na\ngpu0.ecc1=na\n"
        "gpu0.gen=4294967295\ngpu0.width=4294967295\n");
    start_gpus();
    read_gpus();
    for (size_t i = 2; i < READING_COUNT; i++)
        for (size_t told = 0; told < 3 && readings[i].told[told] != 0; told++)
            if (readings[i].told[told] != FIELD_GPU_FAN &&
                readings[i].told[told] != FIELD_GPU_THROTTLE)
                assert_unknown(0, readings[i].told[told]);
}

static void test_zero_is_a_figure(void **state)
{
    (void)state;
    say("gpu0.temp=0\ngpu0.power=0\ngpu0.clock=0\ngpu0.ecc0=0\ngpu0.ecc1=0\ngpu0.used=0\n");
    start_gpus();
    read_gpus();
    assert_number(number(0, FIELD_GPU_TEMPERATURE), 0);
    assert_number(number(0, FIELD_GPU_POWER), 0);
    assert_number(number(0, FIELD_GPU_FREQUENCY), 0);
    assert_int_equal(counter(0, FIELD_GPU_ECC_CORRECTED), 0);
    assert_int_equal(counter(0, FIELD_GPU_VRAM_USED), 0);
}

static void test_throttle_reasons_are_named(void **state)
{
    (void)state;
    start_gpus();
    say("gpu0.throttle=0\n");
    read_gpus();
    assert_string_equal(text(0, FIELD_GPU_THROTTLE), "none");
    say("gpu0.throttle=0x44\n");
    read_gpus();
    assert_string_equal(text(0, FIELD_GPU_THROTTLE), "power_cap,hw_thermal");
    say("gpu0.throttle=0x1ff\n");
    read_gpus();
    assert_string_equal(text(0, FIELD_GPU_THROTTLE),
                        "idle,application_clocks,power_cap,hw_slowdown,sync_boost,thermal,"
                        "hw_thermal,hw_power_brake,display_clocks");
}

static void test_a_throttle_reason_without_a_name_is_not_none(void **state)
{
    (void)state;
    say("gpu0.throttle=0x80000\n");
    start_gpus();
    read_gpus();
    assert_true(!is_known(0, FIELD_GPU_THROTTLE) ||
                strcmp(text(0, FIELD_GPU_THROTTLE), "none") != 0);
}

/* --- MIG --- */

static void test_mig_parts_stand_behind_their_gpu(void **state)
{
    (void)state;
    say("gpus=3\ngpu1.mig=3\ngpu1.mig1.total=1000\ngpu1.mig1.used=250\ngpu1.mig1.reserved=100\n");
    start_gpus();
    read_gpus();
    assert_int_equal(gpu.now.count, 6);
    assert_is_fake(0);
    assert_string_equal(text(1, FIELD_GPU_NAME), "Fake GPU 1");
    assert_string_equal(text(1, FIELD_GPU_TYPE), "GPU");
    assert_unknown(1, FIELD_GPU_UTILIZATION);
    assert_number(number(1, FIELD_GPU_TEMPERATURE), 41);
    for (size_t i = 2; i <= 4; i++) {
        assert_true(gpu.now.devices[i].is_part);
        assert_string_equal(text(i, FIELD_GPU_TYPE), "MIG");
        assert_int_equal(strncmp(text(i, FIELD_GPU_UUID), "MIG-", 4), 0);
        assert_non_null(strstr(text(i, FIELD_GPU_NAME), "Fake GPU 1 MIG 1g."));
        assert_string_equal(text(i, FIELD_GPU_HOST_ID), text(1, FIELD_GPU_HOST_ID));
        assert_unknown(i, FIELD_GPU_UTILIZATION);
        assert_unknown(i, FIELD_GPU_TEMPERATURE);
        assert_unknown(i, FIELD_GPU_POWER);
    }
    assert_int_equal(counter(3, FIELD_GPU_VRAM_TOTAL), 1000);
    assert_int_equal(counter(3, FIELD_GPU_VRAM_USED), 250);
    assert_number(number(3, FIELD_GPU_VRAM_USED_PCT), 25);
    assert_false(gpu.now.devices[5].is_part);
    assert_string_equal(text(5, FIELD_GPU_NAME), "Fake GPU 2");
}

static void test_mig_without_instances_is_one_device(void **state)
{
    (void)state;
    say("gpu0.mig=0\n");
    start_gpus();
    read_gpus();
    assert_int_equal(gpu.now.count, 1);
    assert_is_fake(0);
}

static void test_mig_that_cannot_be_asked_is_one_device(void **state)
{
    static const char *const calls[] = {"nvmlDeviceGetMigMode", "nvmlDeviceGetMaxMigDeviceCount",
                                        "nvmlDeviceGetMigDeviceHandleByIndex"};

    (void)state;
    for (size_t call = 0; call < 3; call++)
        for (size_t code = 0; code < CODE_COUNT; code++) {
            say("gpus=2\ngpu0.mig=2\nfail=%s:%d\n", calls[call], codes[code]);
            start_gpus();
            read_gpus();
            assert_int_equal(gpu.now.count, 2);
            assert_is_fake(1);
            close_gpus();
        }
}

static void test_a_maximum_of_instances_that_is_not_true(void **state)
{
    (void)state;
    say("gpus=2\ngpu0.mig=2\ngpu0.mig_max=4000000000\n");
    start_gpus();
    read_gpus();
    assert_int_equal(gpu.now.count, 4);
    assert_string_equal(text(3, FIELD_GPU_NAME), "Fake GPU 1");
}

/* --- while it runs --- */

static void assert_has_only_facts(size_t index)
{
    for (size_t i = 0; i < READING_COUNT; i++)
        for (size_t told = 0; told < 3 && readings[i].told[told] != 0; told++)
            assert_unknown(index, readings[i].told[told]);
}

static void test_a_lost_device_says_so_and_may_come_back(void **state)
{
    (void)state;
    say("gpus=3\n");
    start_gpus();
    read_gpus();
    say("gpus=3\ngpu1.lost=1\n");
    for (int round = 0; round < 3; round++) {
        read_tree(77);
        assert_int_equal(gpu.result[1], -ENODEV);
        assert_has_only_facts(1);
        assert_unknown(1, FIELD_GPU_PROCESS_VRAM);
        assert_unknown(1, FIELD_GPU_PROCESS_UTILIZATION);
        assert_int_equal(gpu.result[0], 0);
        assert_number(number(0, FIELD_GPU_TEMPERATURE), 40);
        assert_number(number(2, FIELD_GPU_TEMPERATURE), 42);
        assert_int_equal(counter(2, FIELD_GPU_PROCESS_VRAM), 0);
    }
    say("gpus=3\n");
    gpu.now_ns += 10 * SECOND;
    read_gpus();
    for (size_t i = 0; i < 3; i++)
        assert_is_fake(i);
}

static void test_a_call_that_says_lost_is_believed(void **state)
{
    (void)state;
    for (size_t i = 0; i < READING_COUNT; i++) {
        say("fail=%s:%d\n", readings[i].function, LOST);
        start_gpus();
        read_gpus();
        assert_int_equal(gpu.result[0], -ENODEV);
        close_gpus();
    }
}

static void test_a_change_is_seen_by_the_driver_s_folder(void **state)
{
    (void)state;
    support_link("sys/bus/pci/drivers/nvidia/0000:01:00.0", "../x");
    support_link("sys/bus/pci/drivers/nvidia/0000:02:00.0", "../x");
    support_write("sys/bus/pci/drivers/nvidia/bind", "");
    say("gpus=2\nfrozen=1\n");
    start_gpus();
    assert_false(gpu_nvidia.has_changed(gpu.state));
    support_write("sys/bus/pci/drivers/nvidia/new_id", "");
    support_link("sys/bus/pci/drivers/nvidia/module", "../x");
    assert_false(gpu_nvidia.has_changed(gpu.state));

    support_remove("sys/bus/pci/drivers/nvidia/0000:02:00.0");
    assert_true(gpu_nvidia.has_changed(gpu.state));
    say("gpus=1\nfrozen=1\n");
    find_gpus();
    assert_false(gpu_nvidia.has_changed(gpu.state));
    read_gpus();
    assert_int_equal(gpu.now.count, 1);
    assert_is_fake(0);

    support_link("sys/bus/pci/drivers/nvidia/0000:02:00.0", "../x");
    support_link("sys/bus/pci/drivers/nvidia/0000:03:00.0", "../x");
    assert_true(gpu_nvidia.has_changed(gpu.state));
    say("gpus=3\nfrozen=1\n");
    find_gpus();
    assert_false(gpu_nvidia.has_changed(gpu.state));
    read_gpus();
    assert_int_equal(gpu.now.count, 3);
    assert_is_fake(2);
}

static void test_all_devices_may_go_and_come(void **state)
{
    (void)state;
    support_link("sys/bus/pci/drivers/nvidia/0000:01:00.0", "../x");
    start_gpus();
    support_remove("sys/bus/pci/drivers/nvidia/0000:01:00.0");
    say("gpus=0\n");
    assert_true(gpu_nvidia.has_changed(gpu.state));
    (void)gpu_nvidia.find(gpu.state, &gpu.found);
    assert_int_equal(gpu.found.count, 0);
    read_tree(1);
    support_link("sys/bus/pci/drivers/nvidia/0000:01:00.0", "../x");
    say("gpus=1\n");
    assert_true(gpu_nvidia.has_changed(gpu.state));
    find_gpus();
    read_gpus();
    assert_int_equal(gpu.now.count, 1);
    assert_is_fake(0);
}

static void test_without_the_driver_s_folder_nothing_changes(void **state)
{
    (void)state;
    start_gpus();
    assert_false(gpu_nvidia.has_changed(gpu.state));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GPU_TEST(test_it_is_probed_by_module_or_device_node),
        GPU_TEST(test_a_library_that_is_not_there_is_an_error),
        GPU_TEST(test_a_file_that_is_no_library_is_named),
        GPU_TEST(test_init_may_refuse),
        GPU_TEST(test_without_functions_to_list_devices_it_is_an_error),
        GPU_TEST(test_no_gpu_at_all),
        GPU_TEST(test_every_gpu_has_its_own_figures),
        GPU_TEST(test_more_gpus_than_any_machine_has),
        GPU_TEST(test_a_count_that_is_not_true),
        GPU_TEST(test_no_count_or_no_handle_is_no_device),
        GPU_TEST(test_a_fan_is_at_100_at_the_most),
        GPU_TEST(test_another_device_in_the_place_of_one_is_a_change),
        GPU_TEST(test_instances_that_come_and_go_are_a_change),
        GPU_TEST(test_an_error_in_the_second_version_does_not_give_the_first),
        GPU_TEST(test_one_handle_that_is_refused_leaves_the_others),
        GPU_TEST(test_details_tell_driver_and_node),
        GPU_TEST(test_details_are_left_out_one_by_one),
        GPU_TEST(test_texts_that_are_not_ended),
        GPU_TEST(test_empty_texts_are_unavailable),
        GPU_TEST(test_hostile_bytes_in_texts_do_not_matter),
        GPU_TEST(test_each_error_makes_only_its_figures_unavailable),
        GPU_TEST(test_an_error_of_later_makes_figures_unavailable_again),
        GPU_TEST(test_each_function_may_be_missing),
        GPU_TEST(test_functions_that_tell_no_field_may_be_missing),
        GPU_TEST(test_a_library_of_an_old_driver),
        GPU_TEST(test_a_library_that_only_lists_devices),
        GPU_TEST(test_what_a_device_does_not_support_is_not_asked_again),
        GPU_TEST(test_memory_is_that_of_the_second_version),
        GPU_TEST(test_memory_falls_back_to_the_first_version),
        GPU_TEST(test_t_gpu_02_utilization_is_between_0_and_100),
        GPU_TEST(test_t_gpu_03_no_more_is_used_than_there_is),
        GPU_TEST(test_t_gpu_04_share_of_no_memory_is_0),
        GPU_TEST(test_figures_that_cannot_be_are_not_believed),
        GPU_TEST(test_zero_is_a_figure),
        GPU_TEST(test_throttle_reasons_are_named),
        GPU_TEST(test_a_throttle_reason_without_a_name_is_not_none),
        GPU_TEST(test_mig_parts_stand_behind_their_gpu),
        GPU_TEST(test_mig_without_instances_is_one_device),
        GPU_TEST(test_mig_that_cannot_be_asked_is_one_device),
        GPU_TEST(test_a_maximum_of_instances_that_is_not_true),
        GPU_TEST(test_a_lost_device_says_so_and_may_come_back),
        GPU_TEST(test_a_call_that_says_lost_is_believed),
        GPU_TEST(test_a_change_is_seen_by_the_driver_s_folder),
        GPU_TEST(test_all_devices_may_go_and_come),
        GPU_TEST(test_without_the_driver_s_folder_nothing_changes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

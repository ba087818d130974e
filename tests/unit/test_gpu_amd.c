#include "gpu_fixture.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* The cards of the fixture. Behind a switch of its own; directly at a root port; asleep. */
#define NAVI "0000:03:00.0"
#define VEGA "0000:09:00.0"
#define SLEEPER "0000:0c:00.0"

#define NAVI_FOLDER "sys/devices/pci0000:00/0000:00:01.1/0000:01:00.0/0000:02:00.0/" NAVI
#define VEGA_FOLDER "sys/devices/pci0000:00/0000:00:03.1/" VEGA
#define SLEEPER_FOLDER "sys/devices/pci0000:00/0000:00:03.2/" SLEEPER
#define NAVI_HWMON NAVI_FOLDER "/hwmon/hwmon5"

#define FAKE_LIBRARY "build/fakes/libdrm_amdgpu.so"
/* Any library that has none of the functions. */
#define OTHER_LIBRARY "build/fakes/countalloc.so"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

static void start(void)
{
    support_open("amd-gpus");
    gpu.places.pids_are_global = true;
    gpu_start(&gpu_amd);
}

static void step(void)
{
    support_step();
    gpu_read_after(SECOND);
}

static size_t index_of(const char *uuid)
{
    return (size_t)(gpu_named(uuid) - gpu.table.devices);
}

/* --- facts --- */

static void test_a_host_without_the_driver_is_not_looked_at(void **state)
{
    (void)state;
    support_open_empty();
    struct gpu_places places = {.root = support_root()};

    assert_false(gpu_amd.probe(&places));
    assert_int_equal(gpu_open(&gpu_amd), -ENODEV);
    support_write("sys/module/amdgpu/version", "6\n");
    assert_true(gpu_amd.probe(&places));
    assert_int_equal(gpu_open(&gpu_amd), -ENODEV);
}

static void test_a_host_without_sys_has_none(void **state)
{
    (void)state;
    support_open_empty();
    struct sysroot root = *support_root();
    struct gpu_places places = {.root = &root};
    char remark[GPU_REMARK_MAX];
    void *opened;

    root.sys_fd = -1;
    assert_false(gpu_amd.probe(&places));
    assert_int_equal(gpu_amd.open(&places, &opened, remark), -ENODEV);
}

static void test_cards_are_found_in_the_order_of_their_addresses(void **state)
{
    (void)state;
    start();
    assert_int_equal(gpu.table.count, 3);
    assert_string_equal(gpu.table.devices[0].uuid, NAVI);
    assert_string_equal(gpu.table.devices[1].uuid, VEGA);
    assert_string_equal(gpu.table.devices[2].uuid, SLEEPER);
    assert_false(gpu_amd.has_changed(gpu.state));
}

static void test_t_gpu_05_the_uuid_is_the_pci_address(void **state)
{
    (void)state;
    start();
    for (size_t i = 0; i < gpu.table.count; i++) {
        const struct gpu_device *device = &gpu.table.devices[i];
        assert_string_equal(device->uuid, device->host_id);
        assert_string_equal(gpu_detail(device->uuid, "pci_bus_id"), device->uuid);
        assert_int_equal(strlen(device->uuid), strlen("0000:03:00.0"));
    }
}

static void test_facts(void **state)
{
    (void)state;
    start();
    assert_string_equal(gpu_detail(NAVI, "driver_version"), "6.8.5");
    assert_string_equal(gpu_detail(NAVI, "pci_id"), "1002:744c");
    assert_string_equal(gpu_detail(NAVI, "vbios"), "113-D7020100-102");
    assert_string_equal(gpu_detail(NAVI, "node"), "card1");
    assert_null(gpu_detail(NAVI, "rocm_version"));
}

/* --- names --- */

static void test_without_the_library_the_card_names_itself(void **state)
{
    (void)state;
    start();
    assert_string_equal(gpu_named(VEGA)->name, "Radeon RX Vega");
    assert_string_equal(gpu_named(NAVI)->name, "AMD GPU 1002:744c");
    assert_string_equal(gpu_named(SLEEPER)->name, "AMD GPU 1002:73ff");
}

static void start_with_library(const char *library)
{
    if (access(library, R_OK) < 0) {
        print_message("%s is not there: run `make fakes` first\n", library);
        skip();
    }
    support_open("amd-gpus");
    support_write("dev/dri/renderD128", "");
    support_write("dev/dri/renderD129", "AMD Radeon RX 7900 XTX");
    support_write("dev/dri/renderD130", "must not be opened");
    gpu.places.drm_amdgpu = library;
    gpu_start(&gpu_amd);
}

static void test_the_library_names_the_model(void **state)
{
    (void)state;
    start_with_library(FAKE_LIBRARY);
    assert_string_equal(gpu_named(NAVI)->name, "AMD Radeon RX 7900 XTX");
    /* It does not know this one. */
    assert_string_equal(gpu_named(VEGA)->name, "Radeon RX Vega");
    /* Opening its node would wake it. */
    assert_string_equal(gpu_named(SLEEPER)->name, "AMD GPU 1002:73ff");
}

static void test_a_device_that_the_library_refuses(void **state)
{
    (void)state;
    start_with_library(FAKE_LIBRARY);
    support_write("dev/dri/renderD129", "broken");
    gpu_find();
    assert_string_equal(gpu_named(NAVI)->name, "AMD GPU 1002:744c");
}

static void test_a_library_without_the_functions(void **state)
{
    (void)state;
    start_with_library(OTHER_LIBRARY);
    assert_string_equal(gpu_named(NAVI)->name, "AMD GPU 1002:744c");
}

static void test_a_library_that_is_none(void **state)
{
    (void)state;
    start_with_library("Makefile");
    assert_string_equal(gpu_named(NAVI)->name, "AMD GPU 1002:744c");
}

/* --- figures --- */

static void test_figures(void **state)
{
    (void)state;
    start();
    gpu_read_after(SECOND);
    assert_number(gpu_number(NAVI, FIELD_GPU_UTILIZATION), 12);
    assert_number(gpu_number(NAVI, FIELD_GPU_MEMORY_UTILIZATION), 3);
    assert_number(gpu_number(NAVI, FIELD_GPU_TEMPERATURE), 47);
    assert_number(gpu_number(NAVI, FIELD_GPU_POWER), 63);
    assert_number(gpu_number(NAVI, FIELD_GPU_POWER_LIMIT), 339);
    assert_number(gpu_number(NAVI, FIELD_GPU_FREQUENCY), 1251);
    assert_number(gpu_number(NAVI, FIELD_GPU_MEMORY_FREQUENCY), 97);
    assert_number(gpu_number(NAVI, FIELD_GPU_FAN), 20);
    assert_int_equal(gpu_counter(NAVI, FIELD_GPU_VRAM_TOTAL), 25753026560);
    assert_int_equal(gpu_counter(NAVI, FIELD_GPU_VRAM_USED), GIB);
    assert_int_equal(gpu_counter(NAVI, FIELD_GPU_ECC_CORRECTED), 17);
    assert_int_equal(gpu_counter(NAVI, FIELD_GPU_ECC_UNCORRECTED), 1);

    step();
    assert_number(gpu_number(NAVI, FIELD_GPU_UTILIZATION), 87);
    assert_number(gpu_number(NAVI, FIELD_GPU_TEMPERATURE), 71);
    assert_number(gpu_number(NAVI, FIELD_GPU_POWER), 312.5);
    assert_number(gpu_number(NAVI, FIELD_GPU_FREQUENCY), 2482);
    assert_number(gpu_number(NAVI, FIELD_GPU_MEMORY_FREQUENCY), 1249);
    assert_number(gpu_number(NAVI, FIELD_GPU_FAN), 60);
    assert_number(gpu_number(NAVI, FIELD_GPU_VRAM_USED_PCT), 16.0 * GIB / 25753026560 * 100);
}

/* An older card: power under another name, clocks only as a list with a star. */
static void test_figures_of_another_generation(void **state)
{
    (void)state;
    start();
    gpu_read_after(SECOND);
    assert_number(gpu_number(VEGA, FIELD_GPU_POWER), 28);
    assert_number(gpu_number(VEGA, FIELD_GPU_FREQUENCY), 852);
    assert_number(gpu_number(VEGA, FIELD_GPU_MEMORY_FREQUENCY), 167);
    assert_number(gpu_number(VEGA, FIELD_GPU_FAN), 0);
    assert_number(gpu_number(VEGA, FIELD_GPU_UTILIZATION), 0);
    step();
    assert_number(gpu_number(VEGA, FIELD_GPU_POWER), 215);
    assert_number(gpu_number(VEGA, FIELD_GPU_FREQUENCY), 1630);
    assert_number(gpu_number(VEGA, FIELD_GPU_MEMORY_FREQUENCY), 945);
    assert_number(gpu_number(VEGA, FIELD_GPU_FAN), 100);
    assert_number(gpu_number(VEGA, FIELD_GPU_VRAM_USED_PCT), 100);
}

static void test_what_a_card_does_not_have_is_unavailable(void **state)
{
    (void)state;
    start();
    gpu_read_after(SECOND);
    assert_absent(gpu_number(VEGA, FIELD_GPU_MEMORY_UTILIZATION));
    assert_int_equal(gpu_counter(VEGA, FIELD_GPU_ECC_CORRECTED), COUNTER_UNKNOWN);
    assert_int_equal(gpu_counter(VEGA, FIELD_GPU_ECC_UNCORRECTED), COUNTER_UNKNOWN);
    assert_absent(gpu_number(NAVI, FIELD_GPU_CORES));
    assert_null(gpu_cell(gpu_named(NAVI), FIELD_GPU_THROTTLE)->text);
}

/* The switch on the card always has 16 lanes behind it; the slot has 8. */
static void test_the_link_is_that_of_the_slot(void **state)
{
    (void)state;
    start();
    gpu_read_after(SECOND);
    assert_number(gpu_number(NAVI, FIELD_GPU_PCIE_GENERATION), 4);
    assert_number(gpu_number(NAVI, FIELD_GPU_PCIE_WIDTH), 8);
    assert_number(gpu_number(VEGA, FIELD_GPU_PCIE_GENERATION), 3);
    assert_number(gpu_number(VEGA, FIELD_GPU_PCIE_WIDTH), 16);
}

static void test_link_and_errors_are_looked_at_rarely(void **state)
{
    (void)state;
    start();
    gpu_read_after(SECOND);
    support_write(VEGA_FOLDER "/current_link_speed", "2.5 GT/s PCIe\n");
    support_write(NAVI_FOLDER "/ras/umc_err_count", "ue: 2\nce: 18\n");
    gpu_read_after(9 * SECOND);
    assert_number(gpu_number(VEGA, FIELD_GPU_PCIE_GENERATION), 3);
    assert_int_equal(gpu_counter(NAVI, FIELD_GPU_ECC_CORRECTED), 17);
    gpu_read_after(SECOND);
    assert_number(gpu_number(VEGA, FIELD_GPU_PCIE_GENERATION), 1);
    assert_int_equal(gpu_counter(NAVI, FIELD_GPU_ECC_CORRECTED), 18);
    assert_int_equal(gpu_counter(NAVI, FIELD_GPU_ECC_UNCORRECTED), 2);
}

static void test_details_are_bandwidth_and_energy(void **state)
{
    (void)state;
    start();
    for (size_t i = 0; i < gpu.table.count; i++)
        gpu_amd.read_detail(gpu.state, i, gpu.now_ns, &gpu.table.devices[i]);
    assert_number(gpu_number(VEGA, FIELD_GPU_PCIE_RX), 6641 * 256);
    assert_number(gpu_number(VEGA, FIELD_GPU_PCIE_TX), 815 * 256);
    assert_absent(gpu_number(VEGA, FIELD_GPU_ENERGY));
    assert_absent(gpu_number(NAVI, FIELD_GPU_PCIE_RX));
    assert_number(gpu_number(NAVI, FIELD_GPU_ENERGY), 123456.789);
    assert_absent(gpu_number(SLEEPER, FIELD_GPU_ENERGY));

    support_write(VEGA_FOLDER "/pcie_bw", "6641 815\n");
    gpu_amd.read_detail(gpu.state, index_of(VEGA), gpu.now_ns, gpu_named(VEGA));
    assert_absent(gpu_number(VEGA, FIELD_GPU_PCIE_RX));
    support_write(VEGA_FOLDER "/pcie_bw", "18446744073709551615 0 18446744073709551615\n");
    gpu_amd.read_detail(gpu.state, index_of(VEGA), gpu.now_ns, gpu_named(VEGA));
    assert_absent(gpu_number(VEGA, FIELD_GPU_PCIE_RX));
    assert_number(gpu_number(VEGA, FIELD_GPU_PCIE_TX), 0);
}

/* --- requirements --- */

static void test_t_gpu_02_utilization_is_between_0_and_100(void **state)
{
    static const char *const texts[] = {"101\n", "255\n",  "-1\n", "99999999999999999999\n",
                                        "",      "busy\n", "\n",   "18446744073709551615\n",
                                        "5 5\n", "0x10\n", "1.5\n"};

    (void)state;
    start();
    gpu_read_after(SECOND);
    step();
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        support_write(NAVI_FOLDER "/gpu_busy_percent", texts[i]);
        gpu_read_after(SECOND);
        assert_absent(gpu_number(NAVI, FIELD_GPU_UTILIZATION));
    }
    support_write(NAVI_FOLDER "/gpu_busy_percent", "100\n");
    gpu_read_after(SECOND);
    assert_number(gpu_number(NAVI, FIELD_GPU_UTILIZATION), 100);
}

static void test_t_gpu_03_used_memory_is_at_most_the_total(void **state)
{
    (void)state;
    start();
    gpu_read_after(SECOND);
    step();
    support_write(NAVI_FOLDER "/mem_info_vram_used", "25753026561\n");
    gpu_read_after(SECOND);
    assert_int_equal(gpu_counter(NAVI, FIELD_GPU_VRAM_TOTAL), 25753026560);
    assert_int_equal(gpu_counter(NAVI, FIELD_GPU_VRAM_USED), COUNTER_UNKNOWN);
    assert_absent(gpu_number(NAVI, FIELD_GPU_VRAM_USED_PCT));
}

static void test_t_gpu_04_no_memory_is_none_used(void **state)
{
    (void)state;
    support_open("amd-gpus");
    support_write(NAVI_FOLDER "/mem_info_vram_total", "0\n");
    support_write(NAVI_FOLDER "/mem_info_vram_used", "0\n");
    gpu_start(&gpu_amd);
    gpu_read_after(SECOND);
    assert_int_equal(gpu_counter(NAVI, FIELD_GPU_VRAM_TOTAL), 0);
    assert_number(gpu_number(NAVI, FIELD_GPU_VRAM_USED_PCT), 0);
}

/* --- sleep --- */

static void test_a_sleeping_card_is_not_touched(void **state)
{
    (void)state;
    start();
    gpu_read_after(SECOND);
    assert_number(gpu_number(SLEEPER, FIELD_GPU_UTILIZATION), 0);
    for (size_t i = 0; i < GPU_FIELD_COUNT; i++) {
        enum field_id field = (enum field_id)((size_t)FIELD_GPU_FIRST + i);
        if (fields[field].type == TYPE_NUMBER && field != FIELD_GPU_UTILIZATION)
            assert_absent(gpu_number(SLEEPER, field));
    }
    assert_int_equal(gpu_counter(SLEEPER, FIELD_GPU_VRAM_TOTAL), 8573157376);
    assert_int_equal(gpu_counter(SLEEPER, FIELD_GPU_VRAM_USED), COUNTER_UNKNOWN);
    assert_int_equal(gpu_counter(SLEEPER, FIELD_GPU_ECC_CORRECTED), COUNTER_UNKNOWN);
}

static void test_a_card_that_wakes_and_sleeps_again(void **state)
{
    (void)state;
    start();
    gpu_read_after(SECOND);
    support_write(SLEEPER_FOLDER "/power/runtime_status", "active\n");
    gpu_read_after(SECOND);
    assert_number(gpu_number(SLEEPER, FIELD_GPU_UTILIZATION), 99);
    assert_number(gpu_number(SLEEPER, FIELD_GPU_TEMPERATURE), 99);
    assert_int_equal(gpu_counter(SLEEPER, FIELD_GPU_VRAM_USED), 999);
    support_write(SLEEPER_FOLDER "/power/runtime_status", "suspended\n");
    gpu_read_after(SECOND);
    assert_number(gpu_number(SLEEPER, FIELD_GPU_UTILIZATION), 0);
    assert_absent(gpu_number(SLEEPER, FIELD_GPU_TEMPERATURE));
    assert_int_equal(gpu_counter(SLEEPER, FIELD_GPU_ECC_CORRECTED), 9);
}

/* --- coming and going --- */

static void test_a_card_that_disappears(void **state)
{
    struct gpu_device device = {0};

    (void)state;
    start();
    size_t index = index_of(NAVI);
    support_remove("sys/class/drm/card1");
    support_remove(NAVI_FOLDER);
    assert_int_equal(gpu_amd.read(gpu.state, index, gpu.now_ns, &device), -ENODEV);
    assert_true(gpu_amd.has_changed(gpu.state));
    gpu_find();
    assert_int_equal(gpu.table.count, 2);
    assert_false(gpu_amd.has_changed(gpu.state));
    gpu_read_after(SECOND);
    assert_number(gpu_number(VEGA, FIELD_GPU_POWER), 28);
}

/* The PCI device stays when only its driver is taken off. */
static void test_a_card_whose_driver_leaves(void **state)
{
    struct gpu_device device = {0};

    (void)state;
    start();
    support_remove("sys/class/drm/card1");
    support_remove(NAVI_FOLDER "/drm");
    support_remove(NAVI_FOLDER "/driver");
    assert_int_equal(gpu_amd.read(gpu.state, index_of(NAVI), gpu.now_ns, &device), -ENODEV);
    assert_true(gpu_amd.has_changed(gpu.state));
}

static void test_a_card_that_appears(void **state)
{
    (void)state;
    support_open("amd-gpus");
    support_remove("sys/class/drm/card0");
    gpu_start(&gpu_amd);
    assert_int_equal(gpu.table.count, 2);
    support_link("sys/class/drm/card0", "../../devices/pci0000:00/0000:00:03.1/" VEGA "/drm/card0");
    assert_true(gpu_amd.has_changed(gpu.state));
    gpu_find();
    assert_int_equal(gpu.table.count, 3);
    gpu_read_after(SECOND);
}

static void test_the_last_card_leaves(void **state)
{
    (void)state;
    start();
    support_remove("sys/class/drm");
    assert_true(gpu_amd.has_changed(gpu.state));
    gpu_find();
    assert_int_equal(gpu.table.count, 0);
    gpu_read_after(SECOND);
    GPU_READ_TREE(1200);
}

/* --- files that are not what they should be --- */

static void test_garbage_is_unavailable(void **state)
{
    static const char *const texts[] = {
        "", "\n", "N/A\n", "-40000\n", "99999999999999999999\n", "18446744073709551615\n"};
    static const char *const files[] = {"temp1_input", "power1_average", "power1_cap",
                                        "freq1_input", "freq2_input",    "pwm1"};
    char path[256];

    (void)state;
    start();
    support_remove(NAVI_FOLDER "/pp_dpm_sclk");
    support_write(NAVI_FOLDER "/pp_dpm_mclk", "");
    gpu_find();
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        for (size_t j = 0; j < sizeof files / sizeof files[0]; j++) {
            snprintf(path, sizeof path, NAVI_HWMON "/%s", files[j]);
            support_write(path, texts[i]);
        }
        gpu_read_after(SECOND);
        assert_absent(gpu_number(NAVI, FIELD_GPU_TEMPERATURE));
        assert_absent(gpu_number(NAVI, FIELD_GPU_POWER));
        assert_absent(gpu_number(NAVI, FIELD_GPU_POWER_LIMIT));
        assert_absent(gpu_number(NAVI, FIELD_GPU_FREQUENCY));
        assert_absent(gpu_number(NAVI, FIELD_GPU_MEMORY_FREQUENCY));
        assert_absent(gpu_number(NAVI, FIELD_GPU_FAN));
    }
}

/* A folder opens like a file and fails to be read, as an attribute does whose driver is busy. */
static void test_an_attribute_that_cannot_be_read(void **state)
{
    (void)state;
    support_open("amd-gpus");
    support_remove(NAVI_FOLDER "/gpu_busy_percent");
    support_write(NAVI_FOLDER "/gpu_busy_percent/x", "");
    support_remove(NAVI_HWMON "/power1_average");
    support_write(NAVI_HWMON "/power1_average/x", "");
    support_write(NAVI_HWMON "/power1_input", "77000000\n");
    gpu_start(&gpu_amd);
    gpu_read_after(SECOND);
    assert_absent(gpu_number(NAVI, FIELD_GPU_UTILIZATION));
    assert_number(gpu_number(NAVI, FIELD_GPU_POWER), 77);
}

static void test_lists_of_clocks_that_are_odd(void **state)
{
    static const char *const texts[] = {
        "",       "*\n",        "0: 852Mhz\n1: 991Mhz\n",         "0 852Mhz *\n",
        "0: *\n", "0: 852 *\n", "0: 18446744073709551615Mhz *\n", "0: 99999999999999999999Mhz *\n",
        ":*"};

    (void)state;
    start();
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        support_write(VEGA_FOLDER "/pp_dpm_sclk", texts[i]);
        gpu_read_after(SECOND);
        assert_absent(gpu_number(VEGA, FIELD_GPU_FREQUENCY));
    }
    /* Newer kernels show a clock that sleeps. */
    support_write(VEGA_FOLDER "/pp_dpm_sclk", "S: 19Mhz *\n0: 800Mhz \n1: 1100Mhz \n");
    gpu_read_after(SECOND);
    assert_number(gpu_number(VEGA, FIELD_GPU_FREQUENCY), 19);
}

static void test_a_bare_card(void **state)
{
    (void)state;
    support_open_empty();
    support_link("sys/class/drm/card0/device", "../../../devices/" NAVI);
    support_link("sys/devices/" NAVI "/driver", "../../bus/pci/drivers/amdgpu");
    gpu_start(&gpu_amd);
    assert_int_equal(gpu.table.count, 1);
    gpu_read_after(SECOND);
    assert_string_equal(gpu_named(NAVI)->name, "AMD GPU");
    assert_absent(gpu_number(NAVI, FIELD_GPU_UTILIZATION));
    assert_int_equal(gpu_counter(NAVI, FIELD_GPU_VRAM_TOTAL), COUNTER_UNKNOWN);
    assert_int_equal(gpu_counter(NAVI, FIELD_GPU_VRAM_USED), COUNTER_UNKNOWN);
}

/* --- the tracked tree --- */

/* Three descriptors and a child that inherited one: one client. */
static void test_a_tree_with_clients_on_two_cards(void **state)
{
    (void)state;
    start();
    gpu_read_after(SECOND);
    GPU_READ_TREE(1200, 1201, 1202);
    assert_absent(gpu_number(NAVI, FIELD_GPU_PROCESS_UTILIZATION));
    assert_int_equal(gpu_counter(NAVI, FIELD_GPU_PROCESS_VRAM), 512 * MIB);
    step();
    GPU_READ_TREE(1200, 1201, 1202);
    assert_number(gpu_number(NAVI, FIELD_GPU_PROCESS_UTILIZATION), 60);
    assert_int_equal(gpu_counter(NAVI, FIELD_GPU_PROCESS_VRAM), 768 * MIB);
    assert_number(gpu_number(VEGA, FIELD_GPU_PROCESS_UTILIZATION), 10);
    assert_int_equal(gpu_counter(VEGA, FIELD_GPU_PROCESS_VRAM), 64 * MIB);
    assert_number(gpu_number(SLEEPER, FIELD_GPU_PROCESS_UTILIZATION), 0);
    assert_int_equal(gpu_counter(SLEEPER, FIELD_GPU_PROCESS_VRAM), 0);
}

/* KFD has 4 GiB of it, of which its DRM client shows 1: they are not added up. */
static void test_memory_of_a_rocm_process_counts_once(void **state)
{
    (void)state;
    start();
    gpu_read_after(SECOND);
    GPU_READ_TREE(1203);
    assert_int_equal(gpu_counter(NAVI, FIELD_GPU_PROCESS_VRAM), 4 * GIB);
    step();
    GPU_READ_TREE(1203);
    assert_int_equal(gpu_counter(NAVI, FIELD_GPU_PROCESS_VRAM), 4 * GIB);
    assert_absent(gpu_number(NAVI, FIELD_GPU_PROCESS_UTILIZATION));
    assert_int_equal(gpu_counter(VEGA, FIELD_GPU_PROCESS_VRAM), 0);
    assert_number(gpu_number(VEGA, FIELD_GPU_PROCESS_UTILIZATION), 0);
}

static void test_rocm_and_graphics_together(void **state)
{
    (void)state;
    start();
    gpu_read_after(SECOND);
    GPU_READ_TREE(1200, 1201, 1202, 1203);
    step();
    GPU_READ_TREE(1200, 1201, 1202, 1203);
    assert_int_equal(gpu_counter(NAVI, FIELD_GPU_PROCESS_VRAM), 768 * MIB + 4 * GIB);
    assert_number(gpu_number(NAVI, FIELD_GPU_PROCESS_UTILIZATION), 60);
}

static void test_a_client_with_more_than_kfd_tells(void **state)
{
    (void)state;
    start();
    support_write("sys/class/kfd/kfd/proc/1203/vram_50432", "4096\n");
    GPU_READ_TREE(1203);
    assert_int_equal(gpu_counter(NAVI, FIELD_GPU_PROCESS_VRAM), GIB);
}

/* In another PID namespace KFD's numbers are other processes'. */
static void test_kfd_is_not_asked_about_pids_of_another_namespace(void **state)
{
    (void)state;
    support_open("amd-gpus");
    gpu_start(&gpu_amd);
    gpu_read_after(SECOND);
    GPU_READ_TREE(1203);
    step();
    GPU_READ_TREE(1203);
    assert_int_equal(gpu_counter(NAVI, FIELD_GPU_PROCESS_VRAM), GIB);
    assert_absent(gpu_number(NAVI, FIELD_GPU_PROCESS_UTILIZATION));
    /* It has the compute device open: it may use this card too. */
    assert_int_equal(gpu_counter(VEGA, FIELD_GPU_PROCESS_VRAM), COUNTER_UNKNOWN);
    gpu.now_ns += SECOND;
    GPU_READ_TREE(1202);
    assert_int_equal(gpu_counter(VEGA, FIELD_GPU_PROCESS_VRAM), 0);
}

static void test_figures_of_kfd_that_are_garbage(void **state)
{
    static const char *const texts[] = {"", "much\n", "-1\n", "18446744073709551615\n"};

    (void)state;
    start();
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        support_write("sys/class/kfd/kfd/proc/1203/vram_50432", texts[i]);
        gpu.now_ns += SECOND;
        GPU_READ_TREE(1203);
        assert_int_equal(gpu_counter(NAVI, FIELD_GPU_PROCESS_VRAM), COUNTER_UNKNOWN);
        assert_absent(gpu_number(NAVI, FIELD_GPU_PROCESS_UTILIZATION));
    }
}

static void test_an_empty_tree_uses_nothing(void **state)
{
    (void)state;
    start();
    gpu_read_tree(NULL, 0);
    gpu.now_ns += SECOND;
    gpu_read_tree(NULL, 0);
    assert_number(gpu_number(NAVI, FIELD_GPU_PROCESS_UTILIZATION), 0);
    assert_int_equal(gpu_counter(NAVI, FIELD_GPU_PROCESS_VRAM), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GPU_TEST(test_a_host_without_the_driver_is_not_looked_at),
        GPU_TEST(test_a_host_without_sys_has_none),
        GPU_TEST(test_cards_are_found_in_the_order_of_their_addresses),
        GPU_TEST(test_t_gpu_05_the_uuid_is_the_pci_address),
        GPU_TEST(test_facts),
        GPU_TEST(test_without_the_library_the_card_names_itself),
        GPU_TEST(test_the_library_names_the_model),
        GPU_TEST(test_a_device_that_the_library_refuses),
        GPU_TEST(test_a_library_without_the_functions),
        GPU_TEST(test_a_library_that_is_none),
        GPU_TEST(test_figures),
        GPU_TEST(test_figures_of_another_generation),
        GPU_TEST(test_what_a_card_does_not_have_is_unavailable),
        GPU_TEST(test_the_link_is_that_of_the_slot),
        GPU_TEST(test_link_and_errors_are_looked_at_rarely),
        GPU_TEST(test_details_are_bandwidth_and_energy),
        GPU_TEST(test_t_gpu_02_utilization_is_between_0_and_100),
        GPU_TEST(test_t_gpu_03_used_memory_is_at_most_the_total),
        GPU_TEST(test_t_gpu_04_no_memory_is_none_used),
        GPU_TEST(test_a_sleeping_card_is_not_touched),
        GPU_TEST(test_a_card_that_wakes_and_sleeps_again),
        GPU_TEST(test_a_card_that_disappears),
        GPU_TEST(test_a_card_whose_driver_leaves),
        GPU_TEST(test_a_card_that_appears),
        GPU_TEST(test_the_last_card_leaves),
        GPU_TEST(test_garbage_is_unavailable),
        GPU_TEST(test_an_attribute_that_cannot_be_read),
        GPU_TEST(test_lists_of_clocks_that_are_odd),
        GPU_TEST(test_a_bare_card),
        GPU_TEST(test_a_tree_with_clients_on_two_cards),
        GPU_TEST(test_memory_of_a_rocm_process_counts_once),
        GPU_TEST(test_rocm_and_graphics_together),
        GPU_TEST(test_a_client_with_more_than_kfd_tells),
        GPU_TEST(test_kfd_is_not_asked_about_pids_of_another_namespace),
        GPU_TEST(test_figures_of_kfd_that_are_garbage),
        GPU_TEST(test_an_empty_tree_uses_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

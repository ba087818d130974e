#include "support.h"

#include "model/host.h"

#include <string.h>

#define GIB (UINT64_C(1) << 30)

static struct rows list;

static int make_list(void **state)
{
    (void)state;
    rows_init(&list, DEVICE_GPU);
    return 0;
}

static int free_list(void **state)
{
    (void)state;
    rows_free(&list);
    return 0;
}

#define HOST_TEST(function) cmocka_unit_test_setup_teardown(function, make_list, free_list)

static void add(const char *name, const char *type, uint64_t vram_bytes)
{
    size_t row = list.count;

    assert_int_equal(rows_resize(&list, row + 1), 0);
    cells_clear(rows_cell(&list, row, FIELD_GPU_FIRST), DEVICE_GPU);
    rows_cell(&list, row, FIELD_GPU_NAME)->text = name;
    rows_cell(&list, row, FIELD_GPU_TYPE)->text = type;
    rows_cell(&list, row, FIELD_GPU_VRAM_TOTAL)->counter = vram_bytes;
}

static struct host describe(void)
{
    struct host host;

    host_reset(&host);
    host_describe_gpus(&host, &list);
    return host;
}

static void test_a_host_without_gpu(void **state)
{
    struct host host;

    (void)state;
    host_reset(&host);
    assert_absent(host.gpu_count);
    host_describe_gpus(&host, NULL);
    assert_number(host.gpu_count, 0);
    assert_string_equal(host.gpu_model, "");
    assert_number(host.gpu_vram_mib, 0);
    assert_number(describe().gpu_count, 0);
}

static void test_devices_are_counted_and_their_memory_added(void **state)
{
    (void)state;
    add("A GPU", "GPU", 80 * GIB);
    add("A GPU", "GPU", 80 * GIB);
    struct host host = describe();
    assert_number(host.gpu_count, 2);
    assert_string_equal(host.gpu_model, "A GPU");
    assert_number(host.gpu_vram_mib, 163840);
}

static void test_instances_are_no_devices(void **state)
{
    (void)state;
    add("A GPU", "GPU", 80 * GIB);
    add("A GPU MIG 1g.10gb", "MIG", 10 * GIB);
    assert_number(describe().gpu_count, 1);
    assert_number(describe().gpu_vram_mib, 81920);
}

static void test_what_a_device_does_not_tell_is_not_made_up(void **state)
{
    (void)state;
    add(NULL, "GPU", COUNTER_UNKNOWN);
    assert_number(describe().gpu_count, 1);
    assert_string_equal(describe().gpu_model, "");
    assert_absent(describe().gpu_vram_mib);
}

/* --- what the user says --- */

static void test_nothing_is_known_at_first(void **state)
{
    struct host host;

    (void)state;
    host_reset(&host);
    for (size_t i = 0; i < host_fact_count; i++)
        if (host_facts[i].type == HOST_TEXT)
            assert_string_equal(host_text(&host, &host_facts[i]), "");
        else
            assert_absent(*host_number(&host, &host_facts[i]));
}

static void test_the_environment_replaces_and_suppresses(void **state)
{
    char *environment[] = {"TRACKER_HOST_NAME=box",
                           "TRACKER_HOST_IP=",
                           "TRACKER_HOST_ID=0",
                           "TRACKER_HOST_VCPUS=12",
                           "RESOURCE_TRACKER_HOST_STORAGE_GB=1.5",
                           "TRACKER_CLOUD_REGION_ID=moon-1",
                           "RESOURCE_TRACKER_CLOUD_REGION_ID=mars-1",
                           "TRACKER_HOST_NAMES=no",
                           "XTRACKER_HOST_NAME=no",
                           NULL};
    struct host host;

    (void)state;
    host_reset(&host);
    strcpy(host.ip, "10.0.0.1");
    strcpy(host.id, "i-1");
    strcpy(host.cpu_model, "kept");
    assert_null(host_override(&host, environment));
    assert_string_equal(host.name, "box");
    assert_string_equal(host.ip, "");
    assert_string_equal(host.id, "");
    assert_string_equal(host.cpu_model, "kept");
    assert_string_equal(host.cloud_region_id, "moon-1");
    assert_number(host.vcpus, 12);
    assert_number(host.storage_gb, 1.5);
}

static void test_a_value_that_is_no_number_is_named_and_passed_over(void **state)
{
    static const char *const values[] = {"many", "-1", "1.5", "1e999", "nan", " 4", "4x", "0x10"};

    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char variable[64] = "TRACKER_HOST_VCPUS=";
        char *environment[] = {variable, NULL};
        struct host host;
        strcat(variable, values[i]);
        host_reset(&host);
        host.vcpus = 8;
        assert_string_equal(host_override(&host, environment), variable);
        assert_number(host.vcpus, 8);
    }
}

static void test_long_values_are_cut(void **state)
{
    char variable[4 * HOST_TEXT_MAX] = "TRACKER_HOST_NAME=";
    char *environment[] = {variable, NULL};
    struct host host;

    (void)state;
    memset(variable + strlen(variable), 'x', 3 * HOST_TEXT_MAX);
    host_reset(&host);
    assert_null(host_override(&host, environment));
    assert_int_equal(strlen(host.name), HOST_TEXT_MAX - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOST_TEST(test_a_host_without_gpu),
        HOST_TEST(test_devices_are_counted_and_their_memory_added),
        HOST_TEST(test_instances_are_no_devices),
        HOST_TEST(test_what_a_device_does_not_tell_is_not_made_up),
        HOST_TEST(test_nothing_is_known_at_first),
        HOST_TEST(test_the_environment_replaces_and_suppresses),
        HOST_TEST(test_a_value_that_is_no_number_is_named_and_passed_over),
        HOST_TEST(test_long_values_are_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

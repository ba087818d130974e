#include "support.h"

#include "model/host.h"

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

static struct host_gpu describe(void)
{
    struct host_gpu gpu;

    host_gpu_describe(&gpu, &list);
    return gpu;
}

static void test_a_host_without_gpu(void **state)
{
    struct host_gpu gpu;

    (void)state;
    host_gpu_describe(&gpu, NULL);
    assert_int_equal(gpu.count, 0);
    assert_string_equal(gpu.model, "");
    assert_number(gpu.vram_mib, 0);
    assert_int_equal(describe().count, 0);
}

static void test_devices_are_counted_and_their_memory_added(void **state)
{
    (void)state;
    add("A GPU", "GPU", 80 * GIB);
    add("A GPU", "GPU", 80 * GIB);
    struct host_gpu gpu = describe();
    assert_int_equal(gpu.count, 2);
    assert_string_equal(gpu.model, "A GPU");
    assert_number(gpu.vram_mib, 163840);
}

static void test_instances_are_no_devices(void **state)
{
    (void)state;
    add("A GPU", "GPU", 80 * GIB);
    add("A GPU MIG 1g.10gb", "MIG", 10 * GIB);
    assert_int_equal(describe().count, 1);
    assert_number(describe().vram_mib, 81920);
}

static void test_what_a_device_does_not_tell_is_not_made_up(void **state)
{
    (void)state;
    add(NULL, "GPU", COUNTER_UNKNOWN);
    assert_int_equal(describe().count, 1);
    assert_string_equal(describe().model, "");
    assert_absent(describe().vram_mib);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOST_TEST(test_a_host_without_gpu),
        HOST_TEST(test_devices_are_counted_and_their_memory_added),
        HOST_TEST(test_instances_are_no_devices),
        HOST_TEST(test_what_a_device_does_not_tell_is_not_made_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "support.h"

#include "collect/gpu.h"

#include <string.h>

static struct gpu_table table;

static int free_table(void **state)
{
    (void)state;
    gpu_table_free(&table);
    return 0;
}

#define TABLE_TEST(function) cmocka_unit_test_teardown(function, free_table)

static const union cell *cell_of(const struct gpu_device *device, enum field_id field)
{
    return &device->cells[field - FIELD_GPU_FIRST];
}

static void test_nothing_is_known_of_a_new_device(void **state)
{
    (void)state;
    struct gpu_device *device = gpu_table_add(&table);

    for (int id = FIELD_GPU_FIRST; id < FIELD_GPU_END; id++)
        if (fields[id].type == TYPE_NUMBER)
            assert_absent(cell_of(device, (enum field_id)id)->number);
        else if (fields[id].type == TYPE_COUNTER)
            assert_true(cell_of(device, (enum field_id)id)->counter == COUNTER_UNKNOWN);
        else
            assert_null(cell_of(device, (enum field_id)id)->text);
}

/* A copy outlives what it was made from. */
static void test_texts_of_a_copy_are_its_own(void **state)
{
    struct gpu_table copy = {0};

    (void)state;
    struct gpu_device *device = gpu_table_add(&table);
    gpu_set_uuid(device, "GPU-1");
    gpu_set_name(device, "A GPU");
    gpu_set_host_id(device, "0000:01:00.0");
    gpu_add_detail(device, "driver_version", "1.2");
    gpu_add_detail(device, "empty", "");
    assert_int_equal(gpu_table_copy(&copy, &table), 0);
    memset(table.devices, 'x', sizeof *table.devices);

    const struct gpu_device *got = &copy.devices[0];
    assert_int_equal(copy.count, 1);
    assert_string_equal(cell_of(got, FIELD_GPU_UUID)->text, "GPU-1");
    assert_string_equal(cell_of(got, FIELD_GPU_NAME)->text, "A GPU");
    assert_string_equal(cell_of(got, FIELD_GPU_TYPE)->text, "GPU");
    assert_string_equal(cell_of(got, FIELD_GPU_HOST_ID)->text, "0000:01:00.0");
    assert_null(cell_of(got, FIELD_GPU_THROTTLE)->text);
    const struct text_map *detail = cell_of(got, FIELD_GPU_DETAIL)->map;
    assert_int_equal(detail->count, 1);
    assert_string_equal(detail->pairs[0].name, "driver_version");
    assert_string_equal(detail->pairs[0].value, "1.2");
    gpu_table_free(&copy);
}

static void test_long_texts_are_cut(void **state)
{
    char text[4 * GPU_TEXT_MAX];

    (void)state;
    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = '\0';
    struct gpu_device *device = gpu_table_add(&table);
    gpu_set_uuid(device, text);
    gpu_set_throttle(device, text);
    for (int i = 0; i < 2 * TEXT_MAP_MAX; i++)
        gpu_add_detail(device, "key", text);
    assert_int_equal(strlen(device->uuid), GPU_TEXT_MAX - 1);
    assert_int_equal(strlen(device->throttle), sizeof device->throttle - 1);
    assert_int_equal(device->detail.count, TEXT_MAP_MAX);
    assert_int_equal(strlen(device->detail_text[0]), GPU_TEXT_MAX - 1);
}

static void test_t_gpu_02_a_share_beyond_0_to_100_is_not_believed(void **state)
{
    (void)state;
    struct gpu_device *device = gpu_table_add(&table);

    gpu_set_percent(device, FIELD_GPU_UTILIZATION, 100);
    assert_number(cell_of(device, FIELD_GPU_UTILIZATION)->number, 100);
    gpu_set_percent(device, FIELD_GPU_UTILIZATION, 101);
    assert_absent(cell_of(device, FIELD_GPU_UTILIZATION)->number);
    gpu_set_percent(device, FIELD_GPU_UTILIZATION, 0);
    assert_number(cell_of(device, FIELD_GPU_UTILIZATION)->number, 0);
    gpu_set_percent(device, FIELD_GPU_UTILIZATION, -1);
    assert_absent(cell_of(device, FIELD_GPU_UTILIZATION)->number);
}

static void test_t_gpu_03_more_used_than_there_is_is_not_believed(void **state)
{
    (void)state;
    struct gpu_device *device = gpu_table_add(&table);

    gpu_set_vram(device, 1000, 250);
    assert_int_equal(cell_of(device, FIELD_GPU_VRAM_USED)->counter, 250);
    assert_number(cell_of(device, FIELD_GPU_VRAM_USED_PCT)->number, 25);
    gpu_set_vram(device, 1000, 1001);
    assert_int_equal(cell_of(device, FIELD_GPU_VRAM_TOTAL)->counter, 1000);
    assert_true(cell_of(device, FIELD_GPU_VRAM_USED)->counter == COUNTER_UNKNOWN);
    assert_absent(cell_of(device, FIELD_GPU_VRAM_USED_PCT)->number);
    gpu_set_vram(device, COUNTER_UNKNOWN, 5);
    assert_true(cell_of(device, FIELD_GPU_VRAM_USED)->counter == COUNTER_UNKNOWN);
}

static void test_t_gpu_04_the_share_of_no_memory_is_0(void **state)
{
    (void)state;
    struct gpu_device *device = gpu_table_add(&table);

    gpu_set_vram(device, 0, 0);
    assert_number(cell_of(device, FIELD_GPU_VRAM_USED_PCT)->number, 0);
    assert_int_equal(cell_of(device, FIELD_GPU_VRAM_USED)->counter, 0);
}

static void test_a_table_has_an_end(void **state)
{
    (void)state;
    for (int i = 0; i < GPU_DEVICES_MAX; i++)
        assert_non_null(gpu_table_add(&table));
    assert_null(gpu_table_add(&table));
    assert_int_equal(table.count, GPU_DEVICES_MAX);
}

static void test_a_request_knows_its_pids(void **state)
{
    pid_t pids[] = {5, 7};
    struct gpu_request request = {.pids = pids, .pid_count = 2};

    (void)state;
    assert_true(gpu_request_has(&request, 7));
    assert_false(gpu_request_has(&request, 6));
    assert_false(gpu_request_has(&(struct gpu_request){0}, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TABLE_TEST(test_nothing_is_known_of_a_new_device),
        TABLE_TEST(test_texts_of_a_copy_are_its_own),
        TABLE_TEST(test_long_texts_are_cut),
        TABLE_TEST(test_t_gpu_02_a_share_beyond_0_to_100_is_not_believed),
        TABLE_TEST(test_t_gpu_03_more_used_than_there_is_is_not_believed),
        TABLE_TEST(test_t_gpu_04_the_share_of_no_memory_is_0),
        TABLE_TEST(test_a_table_has_an_end),
        TABLE_TEST(test_a_request_knows_its_pids),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

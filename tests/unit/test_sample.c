#include "model/sample.h"
#include "scratch.h"

static void test_reset_makes_everything_unavailable_but_gpu_sums(void **state)
{
    static const double cores[2] = {1, 2};
    static const struct rows some_rows;
    struct sample sample;

    (void)state;
    for (size_t i = 0; i < METRIC_COUNT; i++)
        sample.value[i] = 5;
    sample.per_core = cores;
    sample.per_core_count = 2;
    for (size_t i = 0; i < DEVICE_COUNT; i++)
        sample.rows[i] = &some_rows;
    sample_reset(&sample);
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        bool is_gpu_sum = i == METRIC_TOTAL_GPU_USAGE || i == METRIC_TOTAL_GPU_VRAM ||
                          i == METRIC_TOTAL_GPU_UTILIZED;
        assert_int_equal(isnan(sample.value[i]) != 0, !is_gpu_sum);
        assert_true(!is_gpu_sum || sample.value[i] == 0);
    }
    assert_null(sample.per_core);
    assert_int_equal(sample.per_core_count, 0);
    for (size_t i = 0; i < DEVICE_COUNT; i++)
        assert_null(sample.rows[i]);
}

static void test_cells_do_not_overlap(void **state)
{
    struct rows rows;
    const struct device_info *info = &devices[DEVICE_DISK];

    (void)state;
    rows_init(&rows, DEVICE_DISK);
    assert_int_equal(rows.count, 0);
    assert_int_equal(rows_resize(&rows, 3), 0);
    assert_int_equal(rows.count, 3);
    for (size_t row = 0; row < 3; row++)
        for (size_t i = 0; i < info->field_count; i++)
            rows_cell(&rows, row, (enum field_id)((size_t)info->first + i))->counter =
                row * 100 + i;
    for (size_t row = 0; row < 3; row++)
        for (size_t i = 0; i < info->field_count; i++)
            assert_int_equal(
                rows_cell(&rows, row, (enum field_id)((size_t)info->first + i))->counter,
                row * 100 + i);
    rows_free(&rows);
}

static void test_rows_allocate_only_beyond_the_largest_count(void **state)
{
    struct rows rows;

    (void)state;
    rows_init(&rows, DEVICE_NETWORK);
    assert_int_equal(rows_resize(&rows, 50), 0);
    const union cell *cells = rows.cells;
    for (size_t count = 0; count <= 50; count++) {
        assert_int_equal(rows_resize(&rows, count), 0);
        assert_int_equal(rows.count, count);
        assert_ptr_equal(rows.cells, cells);
    }
    rows_free(&rows);
}

static void test_impossible_count_leaves_the_rows(void **state)
{
    struct rows rows;

    (void)state;
    rows_init(&rows, DEVICE_NETWORK);
    assert_int_equal(rows_resize(&rows, 2), 0);
    assert_int_equal(rows_resize(&rows, SIZE_MAX / 2), -ENOMEM);
    assert_int_equal(rows.count, 2);
    rows_cell(&rows, 1, FIELD_NET_TX_TOTAL)->counter = 1;
    rows_free(&rows);
}

static void test_freed_rows_may_be_used_again(void **state)
{
    struct rows rows;

    (void)state;
    rows_init(&rows, DEVICE_MOUNT);
    rows_free(&rows);
    rows_free(&rows);
    assert_int_equal(rows_resize(&rows, 1), 0);
    assert_int_equal(rows.count, 1);
    rows_free(&rows);
    assert_int_equal(rows.count, 0);
}

static void test_growth_is_never_huge(void **state)
{
    (void)state;
    assert_int_equal(counter_growth(10, 3), 7);
    assert_int_equal(counter_growth(3, 3), 0);
    assert_int_equal(counter_growth(3, 10), 0);
    assert_int_equal(counter_growth(0, UINT64_MAX), 0);
    assert_int_equal(counter_growth(UINT64_MAX, 0), UINT64_MAX);
}

static void test_rates(void **state)
{
    (void)state;
    assert_true(per_second(500, 1000000000) == 500);
    assert_true(per_second(500, 250000000) == 2000);
    assert_true(per_second(0, 1) == 0);
    assert_true(per_second(500, 0) == 0);
    assert_true(isfinite(per_second(UINT64_MAX, 1)));
}

static void test_empty_text_is_none(void **state)
{
    (void)state;
    assert_null(text_or_null(""));
    assert_string_equal(text_or_null("x"), "x");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reset_makes_everything_unavailable_but_gpu_sums),
        cmocka_unit_test(test_cells_do_not_overlap),
        cmocka_unit_test(test_rows_allocate_only_beyond_the_largest_count),
        cmocka_unit_test(test_impossible_count_leaves_the_rows),
        cmocka_unit_test(test_freed_rows_may_be_used_again),
        cmocka_unit_test(test_growth_is_never_huge),
        cmocka_unit_test(test_rates),
        cmocka_unit_test(test_empty_text_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

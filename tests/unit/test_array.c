#include "base/array.h"
#include "scratch.h"

static void test_first_growth_allocates(void **state)
{
    size_t capacity = 0;
    int *array = array_grow(NULL, &capacity, 3, sizeof *array);

    (void)state;
    assert_non_null(array);
    assert_true(capacity >= 3);
    for (size_t i = 0; i < capacity; i++)
        array[i] = (int)i;
    free(array);
}

static void test_nothing_needed_still_gives_an_array(void **state)
{
    size_t capacity = 0;
    int *array = array_grow(NULL, &capacity, 0, sizeof *array);

    (void)state;
    assert_non_null(array);
    free(array);
}

static void test_enough_room_changes_nothing(void **state)
{
    size_t capacity = 0;
    int *array = array_grow(NULL, &capacity, 10, sizeof *array);
    size_t before = capacity;

    (void)state;
    assert_ptr_equal(array_grow(array, &capacity, 0, sizeof *array), array);
    assert_ptr_equal(array_grow(array, &capacity, before, sizeof *array), array);
    assert_int_equal(capacity, before);
    free(array);
}

static void test_content_survives_and_growth_is_geometric(void **state)
{
    size_t capacity = 0;
    size_t growths = 0;
    uint32_t *array = NULL;

    (void)state;
    for (uint32_t i = 0; i < 100000; i++) {
        size_t before = capacity;
        array = array_grow(array, &capacity, i + 1, sizeof *array);
        assert_non_null(array);
        assert_true(capacity > i);
        growths += capacity != before;
        array[i] = i * 7;
    }
    for (uint32_t i = 0; i < 100000; i++)
        assert_int_equal(array[i], i * 7);
    assert_true(growths < 40);
    free(array);
}

static void test_impossible_size_leaves_the_array_alone(void **state)
{
    size_t capacity = 0;
    uint64_t *array = array_grow(NULL, &capacity, 4, sizeof *array);
    size_t before = capacity;

    (void)state;
    array[3] = 42;
    assert_null(array_grow(array, &capacity, SIZE_MAX, sizeof *array));
    assert_null(array_grow(array, &capacity, SIZE_MAX / sizeof *array, sizeof *array));
    assert_int_equal(capacity, before);
    assert_int_equal(array[3], 42);
    free(array);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_growth_allocates),
        cmocka_unit_test(test_nothing_needed_still_gives_an_array),
        cmocka_unit_test(test_enough_room_changes_nothing),
        cmocka_unit_test(test_content_survives_and_growth_is_geometric),
        cmocka_unit_test(test_impossible_size_leaves_the_array_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

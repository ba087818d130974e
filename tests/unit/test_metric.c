#include "base/fmt.h"
#include "model/metric.h"
#include "scratch.h"

static bool is_plain(const char *text, const char *unwanted)
{
    for (const char *at = text; *at != '\0'; at++)
        if (*at < 0x20 || *at > 0x7e || strchr(unwanted, *at) != NULL)
            return false;
    return true;
}

static bool is_key(const char *key)
{
    return key[0] != '\0' && strspn(key, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(key);
}

static void test_every_metric_is_complete(void **state)
{
    (void)state;
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        const struct metric *metric = &metrics[i];
        assert_non_null(metric->key);
        assert_true(is_key(metric->key));
        assert_int_equal(metric->key_length, strlen(metric->key));
        assert_in_range(metric->group, 0, GROUP_COUNT - 1);
        assert_true(metric->decimals <= FMT_DECIMALS_MAX);
        assert_true(is_plain(metric->unit, ""));
        assert_true(metric->source[0] != '\0' && is_plain(metric->source, ""));
        assert_true(metric->meaning[0] != '\0' && is_plain(metric->meaning, ""));
    }
}

static void test_keys_are_unique_within_their_object(void **state)
{
    (void)state;
    for (size_t a = 0; a < METRIC_COUNT; a++)
        for (size_t b = a + 1; b < METRIC_COUNT; b++) {
            bool same_object =
                strcmp(group_keys[metrics[a].group], group_keys[metrics[b].group]) == 0;
            assert_false(same_object && strcmp(metrics[a].key, metrics[b].key) == 0);
        }
    for (size_t a = 0; a < FIELD_COUNT; a++)
        assert_int_equal(fields[a].key_length, strlen(fields[a].key));
    for (size_t a = 0; a < FIELD_COUNT; a++)
        for (size_t b = a + 1; b < FIELD_COUNT; b++)
            assert_false(fields[a].list == fields[b].list &&
                         strcmp(fields[a].key, fields[b].key) == 0);
}

/* JSON goes through the table once and prints each group as one object. */
static void test_groups_stand_in_the_order_of_printing(void **state)
{
    (void)state;
    for (size_t i = 1; i < METRIC_COUNT; i++)
        assert_true(metrics[i].group >= metrics[i - 1].group);
    for (size_t group = 0; group < GROUP_COUNT; group++)
        assert_non_null(group_keys[group]);
}

static void test_csv_positions_are_one_sequence(void **state)
{
    size_t columns = 0;

    (void)state;
    for (size_t i = 0; i < METRIC_COUNT; i++)
        columns += metrics[i].csv_position > 0;
    for (unsigned position = 1; position <= columns; position++) {
        size_t holders = 0;
        for (size_t i = 0; i < METRIC_COUNT; i++)
            holders += metrics[i].csv_position == position;
        assert_int_equal(holders, 1);
    }
}

static void test_csv_names_need_no_quotes_and_are_unique(void **state)
{
    (void)state;
    for (size_t a = 0; a < METRIC_COUNT; a++) {
        assert_int_equal(metrics[a].csv_position > 0, metrics[a].csv_name[0] != '\0');
        if (metrics[a].csv_position == 0)
            continue;
        assert_true(is_key(metrics[a].csv_name));
        for (size_t b = a + 1; b < METRIC_COUNT; b++)
            assert_string_not_equal(metrics[a].csv_name, metrics[b].csv_name);
    }
}

static void test_csv_order(void **state)
{
    struct csv_order order;

    (void)state;
    csv_order_init(&order);
    assert_int_equal(order.basic_count, 21);
    assert_int_equal(order.full_count, 32);
    for (size_t i = 0; i < order.full_count; i++)
        assert_int_equal(metrics[order.column[i]].csv_position, i + 1);
    csv_order_init(&order); /* anew, not in addition */
    assert_int_equal(order.full_count, 32);
}

static void test_only_the_series_is_one(void **state)
{
    (void)state;
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        assert_int_equal(metrics[i].kind == KIND_SERIES, i == METRIC_CPU_PER_CORE);
        assert_false(metrics[i].kind == KIND_SERIES && metrics[i].csv_position > 0);
    }
}

static void test_every_field_is_complete(void **state)
{
    (void)state;
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        const struct field *field = &fields[i];
        assert_non_null(field->key);
        assert_true(is_key(field->key));
        assert_in_range(field->list, 0, DEVICE_COUNT - 1);
        assert_true(field->decimals <= FMT_DECIMALS_MAX);
        assert_true(field->type == TYPE_NUMBER || field->decimals == 0);
        assert_true(field->source[0] != '\0' && is_plain(field->source, ""));
        assert_true(field->meaning[0] != '\0' && is_plain(field->meaning, ""));
    }
}

static void test_device_lists_cover_the_fields(void **state)
{
    size_t covered = 0;

    (void)state;
    for (size_t list = 0; list < DEVICE_COUNT; list++) {
        const struct device_info *info = &devices[list];
        assert_true(is_key(info->key));
        assert_int_equal(info->nested, list == DEVICE_MOUNT);
        for (size_t i = 0; i < info->field_count; i++)
            assert_int_equal(fields[(size_t)info->first + i].list, list);
        covered += info->field_count;
    }
    assert_int_equal(covered, FIELD_COUNT);
    assert_int_equal(devices[DEVICE_NETWORK].first, FIELD_NET_INTERFACE);
    assert_int_equal(devices[DEVICE_DISK].first, FIELD_DISK_DEVICE);
    assert_int_equal(devices[DEVICE_MOUNT].first, FIELD_MOUNT_POINT);
}

static void test_nested_list_hangs_on_a_field(void **state)
{
    size_t nested = 0;

    (void)state;
    for (size_t i = 0; i < FIELD_COUNT; i++)
        if (fields[i].type == TYPE_NESTED) {
            assert_string_equal(fields[i].key, devices[DEVICE_MOUNT].key);
            nested++;
        }
    assert_int_equal(nested, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_metric_is_complete),
        cmocka_unit_test(test_keys_are_unique_within_their_object),
        cmocka_unit_test(test_groups_stand_in_the_order_of_printing),
        cmocka_unit_test(test_csv_positions_are_one_sequence),
        cmocka_unit_test(test_csv_names_need_no_quotes_and_are_unique),
        cmocka_unit_test(test_csv_order),
        cmocka_unit_test(test_only_the_series_is_one),
        cmocka_unit_test(test_every_field_is_complete),
        cmocka_unit_test(test_device_lists_cover_the_fields),
        cmocka_unit_test(test_nested_list_hangs_on_a_field),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

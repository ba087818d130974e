#include "base/scan.h"
#include "encode/catalog.h"
#include "out.h"

static const char *metric_name(enum metric_id id)
{
    buf_reset(&out);
    catalog_metric_name(&metrics[id], &out);
    buf_char(&out, '\0');
    return out.data;
}

static const char *field_name(enum field_id id)
{
    buf_reset(&out);
    catalog_field_name(&fields[id], &out);
    buf_char(&out, '\0');
    return out.data;
}

static void test_names_say_where_json_has_it(void **state)
{
    (void)state;
    assert_string_equal(metric_name(METRIC_TIMESTAMP_SECS), "timestamp_secs");
    assert_string_equal(metric_name(METRIC_CPU_UTIME), "cpu.utime_secs");
    assert_string_equal(metric_name(METRIC_CPU_PER_CORE), "cpu.per_core_pct[]");
    assert_string_equal(metric_name(METRIC_TRACKED_PID), "tracked_pid");
    assert_string_equal(field_name(FIELD_NET_MTU), "network[].mtu");
    assert_string_equal(field_name(FIELD_MOUNT_USED_PCT), "disk[].mounts[].used_pct");
}

/* The next column: up to the next two blanks. */
static struct scan column(struct scan *line)
{
    struct scan rest = *line;
    const char *gap = memmem(line->at, scan_left(line), "  ", 2);

    if (gap == NULL) {
        line->at = line->end;
        return rest;
    }
    rest.end = gap;
    line->at = gap;
    scan_blanks(line);
    return rest;
}

static void expect_line(struct scan *text, const char *name, const char *unit, const char *source,
                        const char *meaning)
{
    struct scan line;

    assert_true(scan_line(text, &line));
    struct scan cells[4];
    for (size_t i = 0; i < 4; i++)
        cells[i] = column(&line);
    const char *const wanted[] = {name, unit[0] != '\0' ? unit : "-", source, meaning};
    for (size_t i = 0; i < 4; i++)
        if (!scan_equals(&cells[i], wanted[i]))
            fail_msg("%s: got '%.*s' instead of '%s'", name, (int)scan_left(&cells[i]), cells[i].at,
                     wanted[i]);
    assert_int_equal(scan_left(&line), 0);
}

static void test_every_metric_has_its_line_of_four_columns(void **state)
{
    struct buf table;

    (void)state;
    assert_int_equal(buf_init(&table, 64, 1 << 20), 0);
    catalog_print(&table);
    assert_false(table.overflow);
    struct scan text = scan_over(table.data, table.size);
    expect_line(&text, "NAME", "UNIT", "SOURCE", "MEANING");
    for (int i = 0; i < METRIC_COUNT; i++)
        expect_line(&text, metric_name((enum metric_id)i), metrics[i].unit, metrics[i].source,
                    metrics[i].meaning);
    for (int i = 0; i < FIELD_COUNT; i++)
        expect_line(&text, field_name((enum field_id)i), fields[i].unit, fields[i].source,
                    fields[i].meaning);
    assert_int_equal(scan_left(&text), 0);
    assert_int_equal(table.data[table.size - 1], '\n');
    buf_free(&table);
}

static void test_columns_are_aligned(void **state)
{
    struct buf table;
    struct scan line;

    (void)state;
    assert_int_equal(buf_init(&table, 64, 1 << 20), 0);
    catalog_print(&table);
    struct scan text = scan_over(table.data, table.size);
    assert_true(scan_line(&text, &line));
    const char *unit = memmem(line.at, scan_left(&line), "UNIT", 4);
    size_t unit_column = (size_t)(unit - line.at);
    while (scan_line(&text, &line)) {
        size_t name_width = strcspn(line.at, " ");
        if (name_width + 2 > unit_column)
            continue;
        assert_int_equal(line.at[unit_column - 1], ' ');
        assert_int_not_equal(line.at[unit_column], ' ');
    }
    buf_free(&table);
}

static void test_a_full_buffer_ends_it(void **state)
{
    struct buf table;

    (void)state;
    assert_int_equal(buf_init(&table, 16, 100), 0);
    catalog_print(&table);
    assert_true(table.overflow);
    assert_true(table.size <= 100);
    buf_free(&table);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, out_make, out_drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_names_say_where_json_has_it),
        TEST(test_every_metric_has_its_line_of_four_columns),
        TEST(test_columns_are_aligned),
        TEST(test_a_full_buffer_ends_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "scratch.h"

#include "encode/csv.h"
#include "read/columns.h"

static struct columns columns;

static enum columns_verdict read_header(const char *text, bool quotes_count)
{
    memset(&columns, 0, sizeof columns);
    return columns_read(&columns, scan_over(text, strlen(text)), quotes_count);
}

static void expect(size_t at, int metric, double factor)
{
    assert_true(at < columns.count);
    assert_int_equal(columns.list[at].metric, metric);
    assert_true(columns.list[at].factor == factor);
}

static void test_our_own_headers(void **state)
{
    (void)state;
    for (int kind = CSV_BASIC; kind <= CSV_FULL; kind++) {
        struct csv csv;
        struct buf out;
        csv_init(&csv, (enum csv_columns)kind);
        assert_int_equal(buf_init(&out, 64, 65536), 0);
        csv_header(&csv, &out);
        out.data[out.size - 1] = '\0';
        assert_int_equal(read_header(out.data, true), COLUMNS_FOUND);
        assert_int_equal(columns.count,
                         kind == CSV_FULL ? csv.order.full_count : COLUMN_BASIC_LAST);
        for (size_t i = 0; i < columns.count; i++)
            expect(i, (int)csv.order.column[i], 1);
        assert_string_equal(columns.unknown.list, "");
        assert_string_equal(columns.missing.list, "");
        assert_null(columns.remark);
        buf_free(&out);
    }
}

static void test_units_of_the_old_python_tool(void **state)
{
    (void)state;
    assert_int_equal(read_header("\"timestamp\",\"processes\",\"utime\",\"memory_free\","
                                 "\"memory_active_anon\",\"disk_space_total_gb\",\"gpu_vram\"",
                                 true),
                     COLUMNS_FOUND);
    expect(1, COLUMN_PASSED, 1);
    expect(2, METRIC_CPU_UTIME, 0.01);
    expect(3, METRIC_MEMORY_FREE, 1.0 / 1024);
    expect(4, COLUMN_PASSED, 1);
    expect(5, METRIC_TOTAL_SPACE_TOTAL, 1.073741824);
    expect(6, METRIC_TOTAL_GPU_VRAM, 1);
    assert_string_equal(columns.unknown.list, "");
    assert_int_equal(read_header("\"timestamp\",\"processes\",\"utime\",\"memory_free\"", true),
                     COLUMNS_FOUND);
    expect(1, METRIC_CPU_PROCESS_COUNT, 1);
    expect(2, METRIC_CPU_UTIME, 1);
    expect(3, METRIC_MEMORY_FREE, 1.0 / 1024);
    /* Ours after a program that quotes had it in hand. */
    assert_int_equal(read_header("\"timestamp\",\"utime\",\"memory_free\"", false), COLUMNS_FOUND);
    expect(2, METRIC_MEMORY_FREE, 1);
}

static void test_files_of_a_process(void **state)
{
    (void)state;
    assert_int_equal(read_header("\"timestamp\",\"pid\",\"children\",\"utime\",\"memory\","
                                 "\"read_bytes\",\"gpu_vram\"",
                                 true),
                     COLUMNS_FOUND);
    expect(1, METRIC_TRACKED_PID, 1);
    expect(2, METRIC_PROCESS_CHILD_COUNT, 1);
    expect(3, METRIC_PROCESS_UTIME, 1);
    expect(4, METRIC_PROCESS_PSS, 1.0 / 1024);
    expect(5, METRIC_PROCESS_DISK_READ, 1);
    expect(6, METRIC_PROCESS_GPU_VRAM, 1);
    assert_int_equal(read_header("\"timestamp\",\"pid\",\"memory_mib\",\"disk_read_bytes\","
                                 "\"cpu_usage\",\"gpu_vram_mib\"",
                                 true),
                     COLUMNS_FOUND);
    expect(2, METRIC_PROCESS_PSS, 1);
    expect(3, METRIC_PROCESS_DISK_READ, 1);
    expect(4, METRIC_PROCESS_CORES_USED, 1);
    expect(5, METRIC_PROCESS_GPU_VRAM, 1);
}

static void test_what_is_not_known_and_what_is_missing(void **state)
{
    (void)state;
    assert_int_equal(read_header("timestamp,system_utime,mystery,,process_pid", true),
                     COLUMNS_FOUND);
    assert_string_equal(columns.unknown.list, "mystery");
    expect(2, COLUMN_PASSED, 1);
    expect(3, COLUMN_PASSED, 1);
    assert_non_null(strstr(columns.missing.list, "system_stime"));
    assert_null(strstr(columns.missing.list, "system_utime"));
}

static void test_only_the_rust_and_python_tools_are_remarked_on(void **state)
{
    (void)state;
    assert_int_equal(
        read_header("timestamp,system_utime,system_memory_used_mib,system_steal_time", true),
        COLUMNS_FOUND);
    expect(3, METRIC_CPU_STEAL, 1);
    assert_non_null(columns.remark);
    assert_int_equal(read_header("timestamp,system_utime,system_memory_used_mib", true),
                     COLUMNS_FOUND);
    assert_null(columns.remark);
}

static void test_what_is_no_header(void **state)
{
    static const char *const texts[] = {"",
                                        ",",
                                        "timestamp",
                                        "hello",
                                        "a,b,c",
                                        "timestamp,b,c",
                                        "processes,utime",
                                        "1700000000,1,2,3",
                                        "resource-tracker: a message, with commas"};
    static char wide[8 * COLUMNS_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_int_equal(read_header(texts[i], true), COLUMNS_NONE);
    assert_int_equal(read_header("processes,utime,stime", true), COLUMNS_TIMELESS);
    memset(wide, ',', sizeof wide - 1);
    memcpy(wide, "timestamp,utime", 15);
    assert_int_equal(read_header(wide, true), COLUMNS_TOO_MANY);
    assert_int_equal(columns.count, 0);
}

static void expect_cells(const char *text, size_t count, const char *const *wanted)
{
    struct scan at = scan_over(text, strlen(text));
    struct scan cell;
    bool is_quoted;

    for (size_t i = 0; i < count; i++) {
        assert_true(columns_next_cell(&at, &cell, &is_quoted));
        assert_true(scan_equals(&cell, wanted[i]));
    }
    assert_false(columns_next_cell(&at, &cell, &is_quoted));
}

static void test_cells(void **state)
{
    (void)state;
    expect_cells("", 1, (const char *[]){""});
    expect_cells(",", 2, (const char *[]){"", ""});
    expect_cells("a, b ,\"c\",\"d,e\",\"\",f\r", 6,
                 (const char *[]){"a", "b", "c", "d,e", "", "f"});
    expect_cells("\"", 1, (const char *[]){"\""});
    expect_cells("\"a,b", 2, (const char *[]){"\"a", "b"});
    expect_cells("\"a\"x,b", 2, (const char *[]){"\"a\"x", "b"});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_our_own_headers),
        cmocka_unit_test(test_units_of_the_old_python_tool),
        cmocka_unit_test(test_files_of_a_process),
        cmocka_unit_test(test_what_is_not_known_and_what_is_missing),
        cmocka_unit_test(test_only_the_rust_and_python_tools_are_remarked_on),
        cmocka_unit_test(test_what_is_no_header),
        cmocka_unit_test(test_cells),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "scratch.h"

#include "encode/json.h"
#include "read/jsonl.h"

#include <math.h>

static struct jsonl jsonl;
static struct sample sample;
static char *line;
static struct buf out;

static int make(void **state)
{
    (void)state;
    jsonl_init(&jsonl);
    return buf_init(&out, 4096, 64 << 20);
}

static int drop(void **state)
{
    (void)state;
    jsonl_free(&jsonl);
    buf_free(&out);
    free(line);
    line = NULL;
    return 0;
}

/* Exactly as large as it is: a byte touched behind it is an error under ASan. */
static int read_bytes(const char *text, size_t size)
{
    size_t at = SIZE_MAX;

    free(line);
    line = malloc(size > 0 ? size : 1);
    assert_non_null(line);
    memcpy(line, text, size);
    int result = jsonl_read(&jsonl, line, size, &sample, &at);
    assert_int_equal(result == -EBADMSG, at != SIZE_MAX);
    assert_true(result != -EBADMSG || at <= size);
    return result;
}

static int read_text(const char *text)
{
    return read_bytes(text, strlen(text));
}

/* What was printed, read and printed again is the same to the byte, but for the version. */
static void check_round_trip(const char *text, size_t size)
{
    struct run run = {0};

    assert_int_equal(read_bytes(text, size), 0);
    run.job_name = jsonl.job_name;
    assert_string_equal(jsonl.unknown.list, "");
    assert_string_equal(jsonl.wrong.list, "");
    buf_reset(&out);
    json_sample(&run, &sample, &out);
    size_t compared =
        (size_t)((char *)memmem(text, size, "\"resource-tracker-version\"", 26) - text);
    assert_true(compared < size && out.size > compared);
    assert_memory_equal(out.data, text, compared);
}

static void check_golden(const char *path)
{
    FILE *file = fopen(path, "re");
    char *text = NULL;
    size_t capacity = 0;
    ssize_t size;
    size_t count = 0;

    assert_non_null(file);
    for (; (size = getline(&text, &capacity, file)) > 0; count++)
        check_round_trip(text, (size_t)size - 1);
    fclose(file);
    free(text);
    assert_true(count > 0);
}

static void test_golden_outputs_come_back(void **state)
{
    (void)state;
    check_golden("tests/golden/this-machine.jsonl");
    check_golden("tests/golden/storage.jsonl");
    check_golden("tests/golden/network.jsonl");
    check_golden("tests/golden/cores-256.jsonl");
    check_golden("tests/golden/amd-gpus.jsonl");
    check_golden("tests/golden/container.jsonl");
}

static void test_a_sample_with_everything_comes_back(void **state)
{
    static const double cores[] = {0, 12.34, NAN, 100};
    static const struct text_map map = {2, {{"a", "1"}, {"b", NULL}}};
    struct run run = {.job_name = "job \"7\"\n\xc3\xa9\x01"};
    struct rows rows[DEVICE_COUNT];
    struct sample made;

    (void)state;
    sample_reset(&made);
    for (size_t id = 0; id < METRIC_COUNT; id++)
        made.value[id] = id % 7 == 3 ? NAN : (double)id * 1234.56789;
    made.value[METRIC_TIMESTAMP_SECS] = 1700000000;
    made.text[METRIC_PROCESS_CPU_SOURCE] = "cgroup";
    made.per_core = cores;
    made.per_core_count = 4;
    for (size_t list = 0; list < DEVICE_COUNT; list++) {
        rows_init(&rows[list], (enum device_list)list);
        assert_int_equal(rows_resize(&rows[list], 3), 0);
        for (size_t row = 0; row < 3; row++) {
            cells_clear(rows_cell(&rows[list], row, devices[list].first), (enum device_list)list);
            for (size_t i = 0; row > 0 && i < devices[list].field_count; i++) {
                enum field_id id = (enum field_id)((size_t)devices[list].first + i);
                union cell *cell = rows_cell(&rows[list], row, id);
                if (fields[id].type == TYPE_TEXT)
                    cell->text = "text \\ \"with\" \t things";
                else if (fields[id].type == TYPE_NUMBER)
                    cell->number = i % 2 == 0 ? -1 : (double)i * 0.37;
                else if (fields[id].type == TYPE_COUNTER)
                    cell->counter = UINT64_MAX - i - 1;
                else if (fields[id].type == TYPE_MAP)
                    cell->map = &map;
                else
                    cell->nested = (struct row_range){(uint32_t)row - 1, 2};
            }
        }
        made.rows[list] = &rows[list];
    }
    json_sample(&run, &made, &out);
    char *printed = strndup(out.data, out.size);
    assert_non_null(printed);
    check_round_trip(printed, strlen(printed) - 1);
    assert_string_equal(jsonl.job_name, "job \"7\"\n\xc3\xa9\x01");
    assert_string_equal(rows_cell(sample.rows[DEVICE_GPU], 2, FIELD_GPU_DETAIL)->map->pairs[0].name,
                        "a");
    assert_true(rows_cell(sample.rows[DEVICE_DISK], 1, FIELD_DISK_CAPACITY)->counter >
                UINT64_MAX - 20);
    free(printed);
    for (size_t list = 0; list < DEVICE_COUNT; list++)
        rows_free(&rows[list]);
}

static void test_keys_may_stand_in_any_order(void **state)
{
    (void)state;
    assert_int_equal(
        read_text("{\"tracked_pid\":7,\"memory\":{\"used_mib\":5,\"total_mib\":9},"
                  "\"cpu\":{\"stime_secs\":2,\"utime_secs\":1,\"per_core_pct\":[3,null]},"
                  "\"timestamp_secs\":100,\"actual_interval_ms\":250}"),
        0);
    assert_true(sample.value[METRIC_TRACKED_PID] == 7);
    assert_true(sample.value[METRIC_MEMORY_USED] == 5 && sample.value[METRIC_MEMORY_TOTAL] == 9);
    assert_true(sample.value[METRIC_CPU_UTIME] == 1 && sample.value[METRIC_CPU_STIME] == 2);
    assert_int_equal(sample.per_core_count, 2);
    assert_true(sample.per_core[0] == 3 && isnan(sample.per_core[1]));
    assert_true(sample.value[METRIC_ACTUAL_INTERVAL] == 250);
    assert_true(isnan(sample.value[METRIC_TOTAL_GPU_USAGE]));
    assert_null(sample.rows[DEVICE_GPU]);
}

static void test_what_is_not_known_is_named_once(void **state)
{
    static const char text[] = "{\"timestamp_secs\":1,\"new\":{\"deep\":[1,{}]},\"cpu\":{\"x\":1},"
                               "\"gpu\":[{\"y\":2,\"name\":\"G\"}]}";

    (void)state;
    assert_int_equal(read_text(text), 0);
    assert_string_equal(jsonl.unknown.list, "new, cpu.x, gpu.y");
    assert_string_equal(rows_cell(sample.rows[DEVICE_GPU], 0, FIELD_GPU_NAME)->text, "G");
    assert_int_equal(read_text(text), 0);
    assert_string_equal(jsonl.unknown.list, "");
}

static void expect_wrong(const char *text, const char *key)
{
    assert_int_equal(read_text(text), 0);
    assert_string_equal(jsonl.wrong.list, key);
}

static void test_values_of_the_wrong_kind_stay_unknown(void **state)
{
    (void)state;
    expect_wrong("{\"timestamp_secs\":1,\"cpu\":5}", "cpu");
    expect_wrong("{\"timestamp_secs\":1,\"cpu\":{\"utime_secs\":\"1\"}}", "utime_secs");
    assert_true(isnan(sample.value[METRIC_CPU_UTIME]));
    expect_wrong("{\"timestamp_secs\":1,\"cpu\":{\"utime_secs\":-1}}", "utime_secs");
    assert_true(isnan(sample.value[METRIC_CPU_UTIME]));
    expect_wrong("{\"timestamp_secs\":1,\"cpu\":{\"per_core_pct\":7}}", "per_core_pct");
    expect_wrong("{\"timestamp_secs\":1,\"gpu\":{}}", "gpu");
    expect_wrong("{\"timestamp_secs\":1,\"gpu\":[3]}", "gpu");
    expect_wrong("{\"timestamp_secs\":1,\"disk\":[{\"mounts\":1}]}", "mounts");
    expect_wrong("{\"timestamp_secs\":1,\"gpu\":[{\"detail\":[]}]}", "detail");
    expect_wrong(
        "{\"timestamp_secs\":1,\"cpu\":{\"utime_secs\":\"1\",\"stime_secs\":[]},\"gpu\":1}",
        "utime_secs, stime_secs, gpu");
    expect_wrong("{\"timestamp_secs\":1,\"job_name\":1}", "job_name");
    assert_null(jsonl.job_name);
    assert_int_equal(read_text("{\"timestamp_secs\":1,\"cpu\":null,\"gpu\":null}"), 0);
    assert_string_equal(jsonl.wrong.list, "");
}

/* Python writes them for floats that are no numbers. */
static void test_what_is_no_number_is_unavailable(void **state)
{
    (void)state;
    assert_int_equal(read_text("{\"timestamp_secs\":1,\"cpu\":{\"utime_secs\":NaN,"
                               "\"stime_secs\":-Infinity,\"utilization_pct\":Infinity,"
                               "\"per_core_pct\":[NaN,2]},\"x\":[NaN,-Infinity],"
                               "\"memory\":{\"free_mib\":3}}"),
                     0);
    assert_string_equal(jsonl.wrong.list, "");
    assert_true(isnan(sample.value[METRIC_CPU_UTIME]) && isnan(sample.value[METRIC_CPU_STIME]));
    assert_true(isnan(sample.value[METRIC_CPU_UTILIZATION]));
    assert_true(isnan(sample.per_core[0]) && sample.per_core[1] == 2);
    assert_true(sample.value[METRIC_MEMORY_FREE] == 3);
    assert_int_equal(read_text("{\"timestamp_secs\":1,\"x\":Nan}"), -EBADMSG);
    assert_int_equal(read_text("{\"timestamp_secs\":1,\"x\":-Inf}"), -EBADMSG);
    assert_int_equal(read_text("{\"timestamp_secs\":1,\"x\":Infinity5}"), -EBADMSG);
}

static void test_counters_in_other_clothes(void **state)
{
    (void)state;
    assert_int_equal(read_text("{\"timestamp_secs\":1,\"disk\":[{\"capacity_bytes\":1e3},"
                               "{\"capacity_bytes\":5.0},{\"capacity_bytes\":-5},"
                               "{\"capacity_bytes\":18446744073709551614}]}"),
                     0);
    const struct rows *rows = sample.rows[DEVICE_DISK];
    assert_int_equal(rows->count, 4);
    assert_true(rows_cell(rows, 0, FIELD_DISK_CAPACITY)->counter == 1000);
    assert_true(rows_cell(rows, 1, FIELD_DISK_CAPACITY)->counter == 5);
    assert_true(rows_cell(rows, 2, FIELD_DISK_CAPACITY)->counter == COUNTER_UNKNOWN);
    assert_true(rows_cell(rows, 3, FIELD_DISK_CAPACITY)->counter == UINT64_MAX - 1);
}

static void test_what_is_no_sample(void **state)
{
    (void)state;
    assert_int_equal(read_text("{}"), -ENODATA);
    assert_int_equal(read_text("{\"timestamp_secs\":null}"), -ENODATA);
    assert_int_equal(read_text("{\"timestamp_secs\":\"1\"}"), -ENODATA);
    assert_int_equal(read_text("{\"timestamp_secs\":1e15}"), -ENODATA);
    assert_int_equal(read_text("[]"), -EBADMSG);
    assert_int_equal(read_text("x"), -EBADMSG);
    assert_int_equal(read_text("{\"timestamp_secs\":1}}"), -EBADMSG);
    assert_int_equal(read_text("{\"timestamp_secs\":1} {\"timestamp_secs\":2}"), -EBADMSG);
    assert_int_equal(read_bytes("{\"timestamp_secs\":1\0}", 21), -EBADMSG);
}

static void test_a_line_cut_anywhere_is_no_sample(void **state)
{
    size_t size;
    FILE *file = fopen("tests/golden/amd-gpus.jsonl", "re");
    char *text = NULL;
    size_t capacity = 0;

    (void)state;
    assert_non_null(file);
    size = (size_t)getline(&text, &capacity, file) - 1;
    fclose(file);
    for (size_t cut = 0; cut < size; cut++)
        assert_int_equal(read_bytes(text, cut), -EBADMSG);
    assert_int_equal(read_bytes(text, size), 0);
    free(text);
}

static void test_lists_have_an_end(void **state)
{
    (void)state;
    buf_text(&out, "{\"timestamp_secs\":1,\"network\":[{}");
    for (size_t i = 0; i < JSONL_ROWS_MAX + 10; i++)
        buf_text(&out, ",{}");
    buf_text(&out, "],\"cpu\":{\"per_core_pct\":[0");
    for (size_t i = 0; i < JSONL_CORES_MAX + 10; i++)
        buf_text(&out, ",1");
    buf_text(&out, "]}}");
    assert_int_equal(read_bytes(out.data, out.size), 0);
    assert_int_equal(sample.rows[DEVICE_NETWORK]->count, JSONL_ROWS_MAX);
    assert_int_equal(sample.per_core_count, JSONL_CORES_MAX);
}

static void test_the_rust_tools_lines(void **state)
{
    FILE *file = fopen("tests/fixtures/foreign/rust-0.1.18.jsonl", "re");
    char *text = NULL;
    size_t capacity = 0;

    (void)state;
    assert_non_null(file);
    ssize_t size = getline(&text, &capacity, file);
    fclose(file);
    assert_int_equal(read_bytes(text, (size_t)size - 1), 0);
    assert_true(sample.value[METRIC_MEMORY_TOTAL] == 24104);
    assert_int_equal(sample.rows[DEVICE_NETWORK]->count, 3);
    assert_int_equal(sample.rows[DEVICE_MOUNT]->count, 1);
    assert_string_equal(jsonl.version, "0.1.18");
    free(text);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, make, drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_golden_outputs_come_back),
        TEST(test_a_sample_with_everything_comes_back),
        TEST(test_keys_may_stand_in_any_order),
        TEST(test_what_is_not_known_is_named_once),
        TEST(test_values_of_the_wrong_kind_stay_unknown),
        TEST(test_what_is_no_number_is_unavailable),
        TEST(test_counters_in_other_clothes),
        TEST(test_what_is_no_sample),
        TEST(test_a_line_cut_anywhere_is_no_sample),
        TEST(test_lists_have_an_end),
        TEST(test_the_rust_tools_lines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

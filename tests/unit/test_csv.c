#include "encode/csv.h"
#include "encode/json.h"
#include "out.h"

#define BASIC_HEADER                                                                               \
    "timestamp,processes,utime,stime,cpu_usage,memory_free,memory_used,memory_buffers,"            \
    "memory_cached,memory_active,memory_inactive,disk_read_bytes,disk_write_bytes,"                \
    "disk_space_total_gb,disk_space_used_gb,disk_space_free_gb,net_recv_bytes,net_sent_bytes,"     \
    "gpu_usage,gpu_vram,gpu_utilized\n"

#define FULL_HEADER                                                                                \
    "timestamp,system_processes,system_utime,system_stime,system_cpu_usage,"                       \
    "system_memory_free_mib,system_memory_used_mib,system_memory_buffers_mib,"                     \
    "system_memory_cached_mib,system_memory_active_mib,system_memory_inactive_mib,"                \
    "system_disk_read_bytes,system_disk_write_bytes,system_disk_space_total_gb,"                   \
    "system_disk_space_used_gb,system_disk_space_free_gb,system_net_recv_bytes,"                   \
    "system_net_sent_bytes,system_gpu_usage,system_gpu_vram_mib,system_gpu_utilized,"              \
    "process_pid,process_children,process_utime,process_stime,process_cpu_usage,"                  \
    "process_memory_mib,process_disk_read_bytes,process_disk_write_bytes,process_gpu_usage,"       \
    "process_gpu_vram_mib,process_gpu_utilized\n"

static struct sample sample;

static int make(void **state)
{
    sample_reset(&sample);
    return out_make(state);
}

static const char *header(enum csv_columns columns)
{
    struct csv csv;

    csv_init(&csv, columns);
    buf_reset(&out);
    csv_header(&csv, &out);
    buf_char(&out, '\0');
    return out.data;
}

static const char *row(enum csv_columns columns)
{
    struct csv csv;

    csv_init(&csv, columns);
    buf_reset(&out);
    csv_row(&csv, &sample, &out);
    buf_char(&out, '\0');
    return out.data;
}

static size_t count(const char *text, char c)
{
    size_t found = 0;

    for (; *text != '\0'; text++)
        found += *text == c;
    return found;
}

static void fill(double offset)
{
    for (size_t i = 0; i < METRIC_COUNT; i++)
        sample.value[i] = (double)i * 3 + offset;
}

static void test_basic_header_to_the_byte(void **state)
{
    (void)state;
    assert_string_equal(header(CSV_BASIC), BASIC_HEADER);
}

static void test_full_header_to_the_byte(void **state)
{
    (void)state;
    assert_string_equal(header(CSV_FULL), FULL_HEADER);
}

static void test_t_csv_02_rows_have_the_columns_of_the_header(void **state)
{
    (void)state;
    for (int filled = 0; filled < 2; filled++) {
        assert_int_equal(count(row(CSV_BASIC), ','), count(BASIC_HEADER, ','));
        assert_int_equal(count(row(CSV_FULL), ','), count(FULL_HEADER, ','));
        fill(0.5);
    }
}

static void test_t_csv_03_cpu_usage_is_utilization_to_four_decimals(void **state)
{
    static const double values[] = {0, 0.00004, 0.00005, 4.63216, 15.99996, 128};
    struct run run = {0};

    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char wanted[32];
        char key[64];
        sample.value[METRIC_CPU_UTILIZATION] = values[i];
        snprintf(wanted, sizeof wanted, ",,,,%.4f,", values[i]);
        assert_non_null(strstr(row(CSV_BASIC), wanted));
        snprintf(key, sizeof key, "\"utilization_pct\":%.4f,", values[i]);
        buf_reset(&out);
        json_sample(&run, &sample, &out);
        buf_char(&out, '\0');
        assert_non_null(strstr(out.data, key));
    }
}

static void test_t_csv_05_same_sample_same_bytes(void **state)
{
    (void)state;
    fill(0.123456789);
    char *first = strdup(row(CSV_FULL));
    assert_string_equal(row(CSV_FULL), first);
    free(first);
}

static void test_t_csv_06_no_trailing_comma_no_quotes(void **state)
{
    (void)state;
    for (int filled = 0; filled < 2; filled++) {
        const char *text = row(CSV_BASIC);
        size_t size = strlen(text);
        assert_int_equal(text[size - 1], '\n');
        assert_int_not_equal(text[size - 2], ',');
        assert_null(strpbrk(text, "\"' \r"));
        assert_int_equal(count(text, '\n'), 1);
        fill(1e9);
    }
}

static void test_nothing_known_leaves_cells_empty(void **state)
{
    (void)state;
    assert_string_equal(row(CSV_BASIC), ",,,,,,,,,,,,,,,,,,0.0000,0.0000,0\n");
    assert_string_equal(row(CSV_FULL), ",,,,,,,,,,,,,,,,,,0.0000,0.0000,0,,,,,,,,,,,\n");
    sample.value[METRIC_CPU_UTIME] = INFINITY;
    assert_string_equal(row(CSV_BASIC), ",,,,,,,,,,,,,,,,,,0.0000,0.0000,0\n");
}

static void test_decimals_of_every_column(void **state)
{
    (void)state;
    sample.value[METRIC_TIMESTAMP_SECS] = 1743300000;
    sample.value[METRIC_CPU_PROCESS_COUNT] = 312;
    sample.value[METRIC_CPU_UTIME] = 1.2347;
    sample.value[METRIC_CPU_STIME] = 0.5;
    sample.value[METRIC_CPU_UTILIZATION] = 2.25;
    sample.value[METRIC_MEMORY_FREE] = 100;
    sample.value[METRIC_MEMORY_USED] = 200;
    sample.value[METRIC_MEMORY_BUFFERS] = 3;
    sample.value[METRIC_MEMORY_CACHED] = 40;
    sample.value[METRIC_MEMORY_ACTIVE] = 50;
    sample.value[METRIC_MEMORY_INACTIVE] = 60;
    sample.value[METRIC_TOTAL_DISK_READ] = 4096;
    sample.value[METRIC_TOTAL_DISK_WRITE] = 9007199254740992.0;
    sample.value[METRIC_TOTAL_SPACE_TOTAL] = 250.5;
    sample.value[METRIC_TOTAL_SPACE_USED] = 50.25;
    sample.value[METRIC_TOTAL_SPACE_FREE] = 200.25;
    sample.value[METRIC_TOTAL_NET_RECV] = 0;
    sample.value[METRIC_TOTAL_NET_SENT] = 7;
    assert_string_equal(row(CSV_BASIC),
                        "1743300000,312,1.235,0.500,2.2500,100,200,3,40,50,60,4096,"
                        "9007199254740992,250.500000,50.250000,200.250000,0,7,0.0000,0.0000,0\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, out_drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_basic_header_to_the_byte),
        TEST(test_full_header_to_the_byte),
        TEST(test_t_csv_02_rows_have_the_columns_of_the_header),
        TEST(test_t_csv_03_cpu_usage_is_utilization_to_four_decimals),
        TEST(test_t_csv_05_same_sample_same_bytes),
        TEST(test_t_csv_06_no_trailing_comma_no_quotes),
        TEST(test_nothing_known_leaves_cells_empty),
        TEST(test_decimals_of_every_column),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

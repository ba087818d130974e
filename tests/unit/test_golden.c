/*
 * Every fixture host, from its files to the bytes of each format, against tests/golden. A change of
 * those bytes is made with UPDATE_GOLDEN=1 (make golden) and its diff read like code.
 */
#include "base/buf.h"
#include "encode/csv.h"
#include "encode/json.h"
#include "encode/summary.h"
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GOLDEN "tests/golden"
#define OUTPUT_MAX (4 * 1024 * 1024)
/* Only a fault outlasts it. */
#define GPU_PATIENCE (20 * NS_PER_SEC)

static const char *const hosts[] = {
    "this-machine", "cores-256", "storage", "container", "network",
};
enum { HOST_COUNT = sizeof hosts / sizeof hosts[0] };

static const char basic_header[] =
    "timestamp,processes,utime,stime,cpu_usage,memory_free,memory_used,memory_buffers,"
    "memory_cached,memory_active,memory_inactive,disk_read_bytes,disk_write_bytes,"
    "disk_space_total_gb,disk_space_used_gb,disk_space_free_gb,net_recv_bytes,net_sent_bytes,"
    "gpu_usage,gpu_vram,gpu_utilized\n";

static const char full_header[] =
    "timestamp,system_processes,system_utime,system_stime,system_cpu_usage,"
    "system_memory_free_mib,system_memory_used_mib,system_memory_buffers_mib,"
    "system_memory_cached_mib,system_memory_active_mib,system_memory_inactive_mib,"
    "system_disk_read_bytes,system_disk_write_bytes,system_disk_space_total_gb,"
    "system_disk_space_used_gb,system_disk_space_free_gb,system_net_recv_bytes,"
    "system_net_sent_bytes,system_gpu_usage,system_gpu_vram_mib,system_gpu_utilized,"
    "process_pid,process_children,process_utime,process_stime,process_cpu_usage,"
    "process_memory_mib,process_disk_read_bytes,process_disk_write_bytes,process_gpu_usage,"
    "process_gpu_vram_mib,process_gpu_utilized\n";

enum format { JSON, BASIC, FULL, SUMMARY, SUMMARY_OBJECT };
enum { FORMAT_COUNT = SUMMARY_OBJECT + 1 };

static const char *const suffixes[] = {".jsonl", ".basic.csv", ".full.csv", ".summary.txt",
                                       ".summary.json"};

static struct buf output[FORMAT_COUNT];
static struct collectors *collectors;
static struct digest digest;

static void free_output(void)
{
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        buf_free(&output[i]);
    collectors_close(collectors);
    collectors = NULL;
    digest_free(&digest);
}

static int clean_up(void **state)
{
    free_output();
    return support_teardown(state);
}

#define GOLDEN_TEST(function) cmocka_unit_test_teardown(function, clean_up)

/* What depends on the clock or on this very process. */
static void settle(struct sample *sample, unsigned moment)
{
    for (size_t id = 0; id < METRIC_COUNT; id++)
        if (metrics[id].group == GROUP_TRACKER)
            sample->value[id] = 0.5;
    sample->value[METRIC_TIMESTAMP_SECS] = 1700000000 + moment;
    sample->value[METRIC_TRACKED_PID] = 4242;
    sample->value[METRIC_ACTUAL_INTERVAL] = 1000;
}

static const struct run run = {.job_name = "golden"};

static void encode_summary(void)
{
    const struct digest *digests[] = {&digest};
    const struct summary_style style = {.width = 100};

    digest_set_end(&digest, &(struct run_end){.has_command = true, .has_exit_code = true});
    summary_text(digests, 1, &style, &output[SUMMARY]);
    summary_json(digests, 1, &output[SUMMARY_OBJECT]);
}

static void encode(const struct sample *sample)
{
    struct csv csv;

    digest_add(&digest, sample, 1);
    json_sample(&run, sample, &output[JSON]);
    csv_init(&csv, CSV_BASIC);
    csv_row(&csv, sample, &output[BASIC]);
    csv_init(&csv, CSV_FULL);
    csv_row(&csv, sample, &output[FULL]);
}

static void encode_headers(void)
{
    struct csv csv;

    csv_init(&csv, CSV_BASIC);
    csv_header(&csv, &output[BASIC]);
    csv_init(&csv, CSV_FULL);
    csv_header(&csv, &output[FULL]);
}

/* All moments of a host but the first, a second apart, in all formats. */
static void produce(const char *host)
{
    struct sample sample;

    for (size_t i = 0; i < FORMAT_COUNT; i++)
        assert_int_equal(buf_init(&output[i], 4096, OUTPUT_MAX), 0);
    assert_int_equal(digest_init(&digest, true), 0);
    assert_int_equal(digest_set_run(&digest, &run), 0);
    support_open(host);
    assert_int_equal(collectors_open(&(struct collect_context){.root = support_root(),
                                                               .gpu_patience_ns = GPU_PATIENCE},
                                     &collectors),
                     0);

    struct tick tick = {.now_ns = support_now_ns(), .priming = true};
    collectors_read(collectors, &tick, &sample);
    collectors_describe(collectors);
    encode_headers();
    for (unsigned moment = 1; moment < support_moments(host); moment++) {
        support_step();
        /* For the last tick, GPUs are read at that very moment. */
        tick = (struct tick){.now_ns = tick.now_ns + SECOND, .elapsed_ns = SECOND, .is_last = true};
        collectors_read(collectors, &tick, &sample);
        settle(&sample, moment);
        encode(&sample);
    }
    encode_summary();
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        assert_false(output[i].overflow);
}

/* --- the files --- */

static void write_golden(const char *path, const struct buf *wanted)
{
    FILE *file = fopen(path, "w");

    if (file == NULL || fwrite(wanted->data, 1, wanted->size, file) != wanted->size ||
        fclose(file) != 0)
        fail_msg("cannot write %s", path);
}

static void compare_golden(const char *path, const struct buf *actual)
{
    size_t size;
    size_t same = 0;
    size_t line = 1;
    char *golden = support_slurp(path, &size);

    while (same < size && same < actual->size && golden[same] == actual->data[same])
        line += golden[same++] == '\n';
    bool equal = same == size && same == actual->size;
    if (!equal)
        print_error("%s:%zu: byte %zu\nwanted …%.80s\ngot    …%.*s\n", path, line, same,
                    golden + same, (int)(actual->size - same < 80 ? actual->size - same : 80),
                    actual->data + same);
    free(golden);
    assert_true(equal);
}

static void check_host(const char *host)
{
    char path[256];

    produce(host);
    for (size_t i = 0; i < FORMAT_COUNT; i++) {
        snprintf(path, sizeof path, GOLDEN "/%s%s", host, suffixes[i]);
        if (getenv("UPDATE_GOLDEN") != NULL)
            write_golden(path, &output[i]);
        else
            compare_golden(path, &output[i]);
    }
}

static void test_golden_this_machine(void **state)
{
    (void)state;
    check_host("this-machine");
}

static void test_golden_cores_256(void **state)
{
    (void)state;
    check_host("cores-256");
}

static void test_golden_storage(void **state)
{
    (void)state;
    check_host("storage");
}

static void test_golden_container(void **state)
{
    (void)state;
    check_host("container");
}

static void test_golden_network(void **state)
{
    (void)state;
    check_host("network");
}

/* Its devices and nothing else. */
static void test_golden_amd_gpus(void **state)
{
    (void)state;
    check_host("amd-gpus");
}

/* --- requirements on CSV --- */

/* Calls `check` with each line after the header of a format, of every host. */
static void for_each_row(void **state, enum format format, void (*check)(char *row))
{
    for (size_t i = 0; i < HOST_COUNT; i++) {
        produce(hosts[i]);
        buf_char(&output[format], '\0');
        unsigned rows = 0;
        char *rest = output[format].data;
        (void)strsep(&rest, "\n");
        for (char *row; (row = strsep(&rest, "\n")) != NULL && row[0] != '\0'; rows++)
            check(row);
        assert_int_equal(rows, support_moments(hosts[i]) - 1);
        assert_int_equal(clean_up(state), 0);
    }
}

static size_t count_of(const char *text, char c)
{
    size_t count = 0;

    for (; *text != '\0'; text++)
        count += *text == c;
    return count;
}

/* Copies column `number`, from 1 on. */
static void column(const char *row, unsigned number, char *out, size_t size)
{
    while (--number > 0)
        row = strchr(row, ',') + 1;
    snprintf(out, size, "%.*s", (int)strcspn(row, ","), row);
}

static void test_headers_are_those_of_the_specification(void **state)
{
    (void)state;
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        assert_int_equal(buf_init(&output[i], 4096, OUTPUT_MAX), 0);
    encode_headers();
    buf_char(&output[BASIC], '\0');
    buf_char(&output[FULL], '\0');
    assert_string_equal(output[BASIC].data, basic_header);
    assert_string_equal(output[FULL].data, full_header);
}

static void check_basic_columns(char *row)
{
    assert_int_equal(count_of(row, ','), count_of(basic_header, ','));
}

static void check_full_columns(char *row)
{
    assert_int_equal(count_of(row, ','), count_of(full_header, ','));
}

static void test_t_csv_02_rows_have_the_columns_of_the_header(void **state)
{
    assert_int_equal(count_of(basic_header, ','), 20);
    assert_int_equal(count_of(full_header, ','), 31);
    for_each_row(state, BASIC, check_basic_columns);
    for_each_row(state, FULL, check_full_columns);
}

/* JSON and CSV of the same moment carry the same digits. */
static void test_t_csv_03_cpu_usage_is_the_utilization(void **state)
{
    static const char key[] = "\"utilization_pct\":";

    for (size_t i = 0; i < HOST_COUNT; i++) {
        produce(hosts[i]);
        buf_char(&output[JSON], '\0');
        buf_char(&output[BASIC], '\0');
        char *json = output[JSON].data;
        char *row = strchr(output[BASIC].data, '\n') + 1;
        for (unsigned moment = 1; moment < support_moments(hosts[i]); moment++) {
            char usage[64];
            char utilization[64];
            json = strstr(json, key) + strlen(key);
            snprintf(utilization, sizeof utilization, "%.*s", (int)strcspn(json, ","), json);
            column(row, 5, usage, sizeof usage);
            assert_string_equal(usage, utilization);
            assert_int_equal(strlen(strchr(usage, '.') + 1), 4);
            row = strchr(row, '\n') + 1;
        }
        assert_int_equal(clean_up(state), 0);
    }
}

/* "4022.500000" in millionths; exactly six decimals. */
static long long millionths(const char *text)
{
    char *end;
    long long whole = strtoll(text, &end, 10);

    assert_int_equal(*end, '.');
    assert_int_equal(strlen(end + 1), 6);
    return whole * 1000000 + strtoll(end + 1, NULL, 10);
}

static void check_space(char *row)
{
    char total[64];
    char used[64];
    char available[64];

    column(row, 14, total, sizeof total);
    column(row, 15, used, sizeof used);
    column(row, 16, available, sizeof available);
    assert_true(millionths(used) == millionths(total) - millionths(available));
}

static void test_t_csv_04_used_space_is_total_less_free_to_the_digit(void **state)
{
    for_each_row(state, BASIC, check_space);
}

static void test_t_csv_05_the_same_files_give_the_same_bytes(void **state)
{
    for (size_t i = 0; i < HOST_COUNT; i++) {
        struct buf first[FORMAT_COUNT];

        produce(hosts[i]);
        memcpy(first, output, sizeof first);
        memset(output, 0, sizeof output);
        assert_int_equal(clean_up(state), 0);
        produce(hosts[i]);
        for (size_t format = 0; format < FORMAT_COUNT; format++) {
            assert_int_equal(first[format].size, output[format].size);
            assert_memory_equal(first[format].data, output[format].data, first[format].size);
            buf_free(&first[format]);
        }
        assert_int_equal(clean_up(state), 0);
    }
}

static void check_plain_numbers(char *row)
{
    assert_int_equal(strspn(row, "0123456789.,-"), strlen(row));
}

static void check_no_trailing_comma(char *row)
{
    assert_int_not_equal(row[strlen(row) - 1], ',');
    check_plain_numbers(row);
}

static void test_t_csv_06_no_trailing_comma_and_no_quotes(void **state)
{
    for_each_row(state, BASIC, check_no_trailing_comma);
    for_each_row(state, FULL, check_plain_numbers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GOLDEN_TEST(test_golden_this_machine),
        GOLDEN_TEST(test_golden_cores_256),
        GOLDEN_TEST(test_golden_storage),
        GOLDEN_TEST(test_golden_container),
        GOLDEN_TEST(test_golden_network),
        GOLDEN_TEST(test_golden_amd_gpus),
        GOLDEN_TEST(test_headers_are_those_of_the_specification),
        GOLDEN_TEST(test_t_csv_02_rows_have_the_columns_of_the_header),
        GOLDEN_TEST(test_t_csv_03_cpu_usage_is_the_utilization),
        GOLDEN_TEST(test_t_csv_04_used_space_is_total_less_free_to_the_digit),
        GOLDEN_TEST(test_t_csv_05_the_same_files_give_the_same_bytes),
        GOLDEN_TEST(test_t_csv_06_no_trailing_comma_and_no_quotes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

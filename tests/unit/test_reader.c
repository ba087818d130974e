#include "scratch_dir.h"

#include "net/gzip.h"
#include "read/reader.h"

#include <math.h>

#define HEADER "timestamp,processes,utime,stime\n"
#define FOREIGN "tests/fixtures/foreign/"

static struct reader *reader;
static struct sample sample;

static void open_path(const char *path)
{
    reader_close(reader);
    assert_int_equal(reader_open(&reader, path), 0);
}

/* The text as a file, which is then open. */
static struct scratch_path path;
static void open_text(const char *text)
{
    scratch_text(&dir, "file", text);
    path = scratch_path(&dir, "file");
    open_path(path.text);
}

static int finish(void **state)
{
    reader_close(reader);
    reader = NULL;
    return drop(state);
}

static void expect_sample(double secs, double interval)
{
    assert_true(reader_next(reader, &sample));
    assert_true(fabs(sample.value[METRIC_TIMESTAMP_SECS] - secs) < 1e-6);
    assert_true(fabs(sample.interval_secs - interval) < 1e-6 ||
                (isnan(interval) && isnan(sample.interval_secs)));
}

static void expect_end(size_t problems)
{
    assert_false(reader_next(reader, &sample));
    assert_false(reader_next(reader, &sample));
    for (size_t i = problems; i < reader_problems(reader)->kept; i++)
        print_error("%s\n", reader_problems(reader)->list[i].text);
    assert_int_equal(reader_problems(reader)->kept, problems);
}

static void expect_problem(size_t at, uint64_t line, const char *part)
{
    const struct problem *problem = &reader_problems(reader)->list[at];

    assert_true(at < reader_problems(reader)->kept);
    if (problem->first_line != line || strstr(problem->text, part) == NULL)
        print_error("line %lu: %s\n", (unsigned long)problem->first_line, problem->text);
    assert_int_equal(problem->first_line, line);
    assert_non_null(strstr(problem->text, part));
}

static void test_json_lines(void **state)
{
    (void)state;
    open_text("{\"timestamp_secs\":100,\"job_name\":\"j\",\"resource-tracker-version\":\"1\"}\n"
              "\n"
              "{\"timestamp_secs\":101,\"actual_interval_ms\":1000.5}\r\n"
              "{\"timestamp_secs\":101,\"actual_interval_ms\":null}");
    expect_sample(100, NAN);
    expect_sample(101, 1.0005);
    expect_sample(101, NAN);
    expect_end(0);
    assert_string_equal(reader_facts(reader)->job_name, "j");
    assert_string_equal(reader_facts(reader)->version, "1");
    assert_int_equal(reader_facts(reader)->samples, 3);
}

/* A run shorter than its interval has one sample, which cannot say how long it was. */
static void test_the_first_interval_is_found_from_its_cpu_time(void **state)
{
    (void)state;
    open_text("{\"timestamp_secs\":100,\"cpu\":{\"utilization_pct\":2.0000,\"utime_secs\":9,"
              "\"stime_secs\":9,\"process_cores_used\":1.5000,\"process_utime_secs\":14.0000,"
              "\"process_stime_secs\":1.0000}}\n");
    expect_sample(100, 10);
    expect_end(0);
}

static void test_json_that_never_tells_its_interval(void **state)
{
    (void)state;
    open_text("{\"timestamp_secs\":100}\n{\"timestamp_secs\":160}\n{\"timestamp_secs\":150}\n");
    expect_sample(100, NAN);
    expect_sample(160, 60);
    expect_sample(150, NAN);
    expect_end(1);
    expect_problem(0, 3, "time goes back by 10 s");
}

static void test_csv_rows(void **state)
{
    (void)state;
    open_text("\xef\xbb\xbf" HEADER "100,1,0.5,0.25\n102,2,1,1\n");
    expect_sample(100, NAN);
    assert_true(sample.value[METRIC_CPU_UTIME] == 0.5);
    assert_true(isnan(sample.value[METRIC_TOTAL_GPU_USAGE]));
    assert_null(sample.rows[DEVICE_DISK]);
    expect_sample(102, 2);
    expect_end(1); /* the columns that are missing */
    expect_problem(0, 1, "cpu_usage, memory_free");
}

static void test_what_is_among_the_samples_is_named(void **state)
{
    (void)state;
    open_text("the command says hello\n"
              "and more, and more\n"
              "{\"timestamp_secs\":100}\n"
              "{\"level\":\"info\"}\n"
              "{\"timestamp_secs\":101,\n"
              "{\"timestamp_secs\":102,\"cpu\":[],\"what\":1,\"resource-tracker-version\":\"2\"}\n"
              "{\"timestamp_secs\":103,\"resource-tracker-version\":\"3\"}\n"
              "{\"timestamp_secs\":1");
    expect_sample(100, NAN);
    expect_sample(102, 2);
    expect_sample(103, 1);
    expect_end(7);
    expect_problem(0, 1, "neither a sample nor a header");
    assert_int_equal(reader_problems(reader)->list[0].last_line, 2);
    expect_problem(1, 4, "no timestamp_secs");
    expect_problem(2, 5, "is no JSON from its byte 23 on");
    expect_problem(3, 6, "passed over: what");
    expect_problem(4, 6, "not what it should be, and stays unknown: cpu");
    expect_problem(5, 7, "written by version 3, until here by 2");
    expect_problem(6, 8, "is cut off");
}

static void test_csv_that_is_damaged(void **state)
{
    (void)state;
    open_text(HEADER "100,1,0.5,0.25\n101,2\n102,1,x,1\n103,1,1,1,1\noops\n\n" HEADER
                     ",1,1,1\n104,1,1,1");
    expect_sample(100, NAN);
    expect_sample(102, 2);
    expect_sample(104, 2);
    expect_end(7);
    expect_problem(1, 3, "has 2 of 4 cells");
    expect_problem(2, 4, "cell 3 is no number");
    expect_problem(3, 5, "has 5 cells, the header 4");
    expect_problem(4, 6, "neither a sample nor a header");
    expect_problem(5, 9, "has no timestamp");
    expect_problem(6, 10, "has no line end");
}

/* The command's output, and a digit that is not what it was. */
static void test_what_is_among_the_rows_takes_no_time(void **state)
{
    (void)state;
    open_text(HEADER "1700000000,1,,\n1700000001,1,,\n3,4\n1700000002,1,,\n"
                     "7700000003,1,,\n1700000004,1,,\n1700000005,1,,\n");
    expect_sample(1700000000, NAN);
    for (int i = 1; i < 6; i++)
        expect_sample(1700000000 + i, 1);
    expect_end(3);
    expect_problem(1, 4, "has 2 of 4 cells; it is passed over");
    expect_problem(2, 6, "its time is 6000000001 s off");
}

static void test_runs_behind_each_other(void **state)
{
    (void)state;
    open_text(HEADER "1000,1,,\n1002,1,,\n" HEADER "5000,1,,\n5002,1,,\n9500,1,,\n");
    expect_sample(1000, NAN);
    expect_sample(1002, 2);
    expect_sample(5000, 2);
    expect_sample(5002, 2);
    expect_sample(9500, 2);
    expect_end(3);
    expect_problem(1, 5, "3998 s after the sample before it: another run? 2 s of them count");
    expect_problem(2, 7, "4498 s after the sample before it");
    open_text("{\"timestamp_secs\":1000}\n{\"timestamp_secs\":1005}\n"
              "{\"timestamp_secs\":9000}\n{\"timestamp_secs\":9005}\n");
    expect_sample(1000, NAN);
    expect_sample(1005, 5);
    expect_sample(9000, 5);
    expect_sample(9005, 5);
    expect_end(1);
    expect_problem(0, 3, "7995 s after the sample before it: another run? 5 s of them count");
}

static void test_both_kinds_in_a_file(void **state)
{
    (void)state;
    open_text(HEADER "100,1,,\n102,1,,\n{\"level\":\"info\"}\n102,1,,\n"
                     "{\"timestamp_secs\":200,\"job_name\":\"j\"}\n"
                     "{\"timestamp_secs\":203}\n" HEADER "300,1,,\n");
    expect_sample(100, NAN);
    expect_sample(102, 1);
    assert_string_equal(reader_facts(reader)->phase, "");
    expect_sample(102, 1);
    expect_sample(200, NAN);
    assert_string_equal(reader_facts(reader)->phase, "j");
    expect_sample(203, 3);
    expect_sample(300, 1);
    expect_end(3);
    expect_problem(1, 4, "no timestamp_secs");
    expect_problem(2, 9, "198 s after");
    open_text("{\"timestamp_secs\":200}\n" HEADER "300,1,,\n301,1,,\n");
    expect_sample(200, NAN);
    expect_sample(300, NAN);
    expect_sample(301, 1);
    expect_end(1);
}

static void test_remarks_that_go_on_are_one(void **state)
{
    (void)state;
    open_text("{\"timestamp_secs\":100,\"cpu\":1,\"memory\":2}\n"
              "{\"timestamp_secs\":101,\"cpu\":1,\"memory\":2}\n"
              "{\"timestamp_secs\":102,\"cpu\":1,\"memory\":2}\n"
              "{\"timestamp_secs\":103}\n"
              "{\"timestamp_secs\":104,\"cpu\":1,\"memory\":2}\n");
    while (reader_next(reader, &sample))
        continue;
    expect_end(2);
    expect_problem(0, 1, "stays unknown: cpu, memory");
    assert_int_equal(reader_problems(reader)->list[0].last_line, 3);
    expect_problem(1, 5, "cpu, memory");
}

static void test_what_holds_no_sample(void **state)
{
    static const struct {
        const char *text;
        const char *problem;
        uint64_t line;
    } cases[] = {{"", "is empty", 0},
                 {"hello\n", "neither a sample", 1},
                 {"processes,utime,stime\n", "no column timestamp", 1},
                 {"[1,2]\n", "neither a sample", 1}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        open_text(cases[i].text);
        expect_end(1);
        expect_problem(0, cases[i].line, cases[i].problem);
    }
    open_path(scratch_path(&dir, "none").text);
    expect_end(1);
    expect_problem(0, 0, "cannot be opened: No such file");
    open_path(dir.path);
    expect_end(1);
    expect_problem(0, 0, "has no file");
}

static void write_packed(const char *name, const char *text, size_t cut)
{
    struct buf packed;

    assert_int_equal(buf_init(&packed, 64, 65536), 0);
    assert_int_equal(gzip_compress(text, strlen(text), &packed), 0);
    scratch_write(&dir, name, packed.data, packed.size - cut);
    buf_free(&packed);
}

/* Batches are cut in the middle of a second. */
static void test_a_folder_is_one_run(void **state)
{
    (void)state;
    scratch_text(&dir, "000000.csv", HEADER "100,1,1,1\n101,1,1,1\n");
    write_packed("000001.csv.gz", HEADER "101,1,1,1\n102,1,1,1\n", 0);
    write_packed("000002.csv.gz", HEADER "103,1,1,1\n", 5);
    scratch_text(&dir, "000003.jsonl", "{\"timestamp_secs\":104,\"actual_interval_ms\":1000}\n");
    open_path(dir.path);
    expect_sample(100, NAN);
    expect_sample(101, 0.5);
    expect_sample(101, 0.5);
    expect_sample(102, 0.5); /* as those before it */
    expect_sample(104, 1);
    expect_end(3);
    expect_problem(2, 0, "damaged or cut off");
    assert_string_equal(reader_problems(reader)->list[2].file,
                        scratch_path(&dir, "000002.csv.gz").text);
}

struct wanted {
    const char *name;
    size_t samples;
    double first_secs;
    enum metric_id metric;
    double first;
    double sum;
};

/* Files that the tools wrote; see tests/fixtures/foreign. */
static void test_files_of_the_other_tools(void **state)
{
    static const struct wanted files[] = {
        {"python-0.1.2-system.csv", 3, 1794734238.2498538, METRIC_CPU_UTIME, 0.84, NAN},
        {"python-0.1.2-system.csv", 3, 1794734238.2498538, METRIC_MEMORY_FREE, 22057444 / 1024.0,
         NAN},
        {"python-0.1.2-process.csv", 3, 1794734240.3655171, METRIC_PROCESS_UTIME, 0.5, 1.47},
        {"python-0.1.2-process.csv", 3, 1794734240.3655171, METRIC_PROCESS_PSS, 9418 / 1024.0, NAN},
        {"python-0.4.2-system.csv", 7, 1794734193.304, METRIC_MEMORY_USED, 485772 / 1024.0, NAN},
        {"python-0.4.2-system.csv", 7, 1794734193.304, METRIC_TOTAL_SPACE_TOTAL, 270.5507273, NAN},
        {"python-0.4.2-process.csv", 3, 1794734197.392, METRIC_PROCESS_PSS, 34809 / 1024.0, NAN},
        {"python-0.5.0-system.csv", 7, 1794734199.507, METRIC_MEMORY_FREE, 21765.1406, NAN},
        {"python-0.5.0-process.csv", 7, 1794734203.636, METRIC_PROCESS_PSS, 0.3457, 7 * 0.3457},
        {"python-0.5.0-streamed.csv", 7, 1794734254, METRIC_CPU_UTILIZATION, 1.9217, NAN},
        {"python-0.5.0-streamed.csv", 7, 1794734254, METRIC_PROCESS_DISK_WRITE, 4096, NAN},
        {"rust-0.1.14.csv", 6, 1794734373, METRIC_PROCESS_UTIME, 0, 4.05},
        {"rust-0.1.18.csv", 6, 1794734373, METRIC_CPU_STEAL, 0, 0},
        {"rust-0.1.18.csv", 6, 1794734373, METRIC_MEMORY_FREE, 21673, NAN},
        {"rust-0.1.18.jsonl", 4, 1794734379, METRIC_MEMORY_TOTAL, 24104, 4 * 24104},
    };

    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char name[128];
        double sum = 0;
        snprintf(name, sizeof name, FOREIGN "%s", files[i].name);
        open_path(name);
        assert_true(reader_next(reader, &sample));
        assert_true(fabs(sample.value[METRIC_TIMESTAMP_SECS] - files[i].first_secs) < 1e-6);
        assert_true(fabs(sample.value[files[i].metric] - files[i].first) < 1e-6);
        do
            sum += sample.value[files[i].metric];
        while (reader_next(reader, &sample));
        assert_true(isnan(files[i].sum) || fabs(sum - files[i].sum) < 1e-6);
        assert_int_equal(reader_facts(reader)->samples, files[i].samples);
        /* Only keys or columns that are theirs alone. */
        assert_in_range(reader_problems(reader)->kept, 0, 1);
    }
}

static void test_a_huge_line_and_zeros(void **state)
{
    size_t size = (size_t)17 << 20;
    char *text = calloc(1, size + 200);

    (void)state;
    assert_non_null(text);
    memset(text, '{', size);
    text[size] = '\n';
    /* A hole, then a sample, then zeros in the middle of one. */
    memcpy(text + size + 50, "{\"timestamp_secs\":100}\n{\"timestamp_secs\":\0}\n", 45);
    scratch_write(&dir, "file", text, size + 95);
    free(text);
    path = scratch_path(&dir, "file");
    open_path(path.text);
    expect_sample(100, NAN);
    expect_end(2);
    expect_problem(0, 1, "is longer than 16 MiB");
    expect_problem(1, 3, "is no JSON from its byte 19 on");
}

static void test_standard_input(void **state)
{
    int saved = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 100);

    (void)state;
    scratch_text(&dir, "input", "{\"timestamp_secs\":100}\n");
    int fd = openat(dir.fd, "input", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && dup2(fd, STDIN_FILENO) == STDIN_FILENO);
    close(fd);
    open_path("-");
    expect_sample(100, NAN);
    expect_end(0);
    assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0);
    if (saved >= 0) {
        dup2(saved, STDIN_FILENO);
        close(saved);
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, make, finish)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_json_lines),
        TEST(test_the_first_interval_is_found_from_its_cpu_time),
        TEST(test_json_that_never_tells_its_interval),
        TEST(test_csv_rows),
        TEST(test_what_is_among_the_samples_is_named),
        TEST(test_csv_that_is_damaged),
        TEST(test_what_is_among_the_rows_takes_no_time),
        TEST(test_runs_behind_each_other),
        TEST(test_both_kinds_in_a_file),
        TEST(test_remarks_that_go_on_are_one),
        TEST(test_what_holds_no_sample),
        TEST(test_a_folder_is_one_run),
        TEST(test_files_of_the_other_tools),
        TEST(test_a_huge_line_and_zeros),
        TEST(test_standard_input),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

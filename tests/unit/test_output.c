#include "base/clock.h"
#include "in_child.h"
#include "json_check.h"
#include "sink/sink.h"

#include <sys/resource.h>

static struct scratch dir;
static const struct run run = {.job_name = "job"};
static struct sample sample;
static struct scratch_path path;

static int block_signals(void **state)
{
    sigset_t set;

    (void)state;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    sigaddset(&set, SIGXFSZ);
    return sigprocmask(SIG_BLOCK, &set, NULL);
}

static int make(void **state)
{
    (void)state;
    scratch_make(&dir);
    path = scratch_path(&dir, "out");
    sample_reset(&sample);
    sample.value[METRIC_TIMESTAMP_SECS] = 1743300000;
    return 0;
}

static int drop(void **state)
{
    (void)state;
    scratch_remove(&dir);
    return 0;
}

static void *open_path(enum output_format format)
{
    const struct sink_options options = {.run = &run, .format = format, .output = path.text};
    void *state = NULL;

    assert_int_equal(output_sink.open(&options, &state), 0);
    assert_non_null(state);
    return state;
}

static void *open_fd(int fd)
{
    const struct sink_options options = {.run = &run, .format = FORMAT_CSV, .output_fd = fd};
    void *state = NULL;

    assert_int_equal(output_sink.open(&options, &state), 0);
    return state;
}

static void test_quiet_wants_no_sink(void **state)
{
    const struct sink_options options = {.run = &run, .output = path.text, .quiet = true};
    void *sink = NULL;

    (void)state;
    assert_int_equal(output_sink.open(&options, &sink), -ENODEV);
    assert_null(sink);
    assert_null(scratch_read(&dir, "out")); /* not even the file */
}

static void test_open_error_is_handed_on(void **state)
{
    const struct sink_options options = {.run = &run, .output = dir.path};
    void *sink = NULL;
    int flags = fcntl(STDIN_FILENO, F_GETFD);

    (void)state;
    assert_int_equal(output_sink.open(&options, &sink), -EISDIR);
    assert_null(sink);
    assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), flags); /* 0 was not its descriptor */
}

static void test_earlier_content_goes_only_when_the_run_is_on(void **state)
{
    (void)state;
    scratch_text(&dir, "out", "earlier\n");
    void *sink = open_path(FORMAT_JSON);
    scratch_expect(&dir, "out", "earlier\n");
    output_sink.begin(sink);
    scratch_expect(&dir, "out", "");
    output_sink.close(sink);
}

static void test_t_csv_01_header_once_and_first(void **state)
{
    static const char start[] = "timestamp,processes,";

    (void)state;
    void *sink = open_path(FORMAT_CSV);
    output_sink.begin(sink);
    for (int i = 0; i < 3; i++)
        output_sink.sample(sink, &sample);
    output_sink.end(sink, &(struct run_end){.deadline_ns = 0});
    output_sink.close(sink);

    char *text = scratch_read(&dir, "out");
    assert_memory_equal(text, start, strlen(start));
    assert_null(strstr(text + 1, "timestamp"));
    size_t lines = 0;
    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
        lines++;
    assert_int_equal(lines, 4);
    free(text);
}

static void test_full_columns(void **state)
{
    const struct sink_options options = {
        .run = &run, .format = FORMAT_CSV, .columns = CSV_FULL, .output = path.text};
    void *sink;

    (void)state;
    assert_int_equal(output_sink.open(&options, &sink), 0);
    output_sink.begin(sink);
    output_sink.close(sink);
    char *text = scratch_read(&dir, "out");
    assert_non_null(strstr(text, ",process_gpu_utilized\n"));
    free(text);
}

static void test_t_out_01_one_json_object_a_line(void **state)
{
    (void)state;
    void *sink = open_path(FORMAT_JSON);
    output_sink.begin(sink);
    output_sink.sample(sink, &sample);
    sample.value[METRIC_TIMESTAMP_SECS]++;
    output_sink.sample(sink, &sample);
    output_sink.end(sink, &(struct run_end){.deadline_ns = 0});
    assert_null(output_sink.complaint(sink));
    output_sink.close(sink);

    char *text = scratch_read(&dir, "out");
    char *second = strchr(text, '\n') + 1;
    assert_true(is_json(text, (size_t)(second - text)));
    assert_true(is_json(second, strlen(second)));
    assert_non_null(strstr(text, "\"timestamp_secs\":1743300000,\"job_name\":\"job\""));
    assert_non_null(strstr(second, "\"timestamp_secs\":1743300001,"));
    assert_int_equal(second[strlen(second) - 1], '\n');
    free(text);
}

static void test_cancel_removes_what_we_created(void **state)
{
    (void)state;
    void *sink = open_path(FORMAT_CSV);
    output_sink.cancel(sink);
    output_sink.close(sink);
    assert_null(scratch_read(&dir, "out"));
}

static void test_cancel_leaves_what_was_there(void **state)
{
    (void)state;
    scratch_text(&dir, "out", "earlier\n");
    void *sink = open_path(FORMAT_CSV);
    output_sink.cancel(sink);
    output_sink.close(sink);
    scratch_expect(&dir, "out", "earlier\n");
}

static void test_cancel_leaves_a_fifo(void **state)
{
    struct stat status;

    (void)state;
    assert_int_equal(mkfifoat(dir.fd, "out", 0600), 0);
    int reader = openat(dir.fd, "out", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    void *sink = open_path(FORMAT_CSV);
    output_sink.cancel(sink);
    output_sink.close(sink);
    assert_int_equal(fstatat(dir.fd, "out", &status, 0), 0);
    close(reader);
}

static void test_cancel_leaves_descriptors_of_others(void **state)
{
    int ends[2];

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    void *sink = open_fd(ends[1]);
    output_sink.cancel(sink);
    output_sink.close(sink);
    assert_true(fcntl(ends[1], F_GETFD) >= 0);
    close(ends[0]);
    close(ends[1]);
}

static void test_reader_gone_is_told_once(void **state)
{
    int ends[2];

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    void *sink = open_fd(ends[1]);
    assert_null(output_sink.complaint(sink));
    assert_false(output_sink.is_dead(sink));
    close(ends[0]);
    output_sink.begin(sink);
    assert_true(output_sink.is_dead(sink));
    assert_string_equal(
        output_sink.complaint(sink),
        "cannot write samples to standard error: Broken pipe; the run goes on without them");
    for (int i = 0; i < 3; i++) {
        output_sink.sample(sink, &sample);
        assert_null(output_sink.complaint(sink));
        assert_false(output_sink.is_full(sink));
    }
    output_sink.end(sink,
                    &(struct run_end){.deadline_ns = clock_monotonic_ns() + 3600 * NS_PER_SEC});
    assert_null(output_sink.complaint(sink));
    output_sink.close(sink);
    close(ends[1]);
}

static void test_full_disk_is_told_twice_at_most(void **state)
{
    const struct sink_options options = {.run = &run, .format = FORMAT_CSV, .output = "/dev/full"};
    void *sink;

    (void)state;
    assert_int_equal(output_sink.open(&options, &sink), 0);
    output_sink.begin(sink);
    assert_string_equal(output_sink.complaint(sink),
                        "cannot write samples to /dev/full: No space left on device; "
                        "they are kept and tried again");
    output_sink.sample(sink, &sample);
    output_sink.sample(sink, &sample);
    assert_null(output_sink.complaint(sink));
    assert_false(output_sink.is_dead(sink)); /* space may come again */
    output_sink.end(sink, &(struct run_end){.deadline_ns = clock_monotonic_ns()});
    assert_string_equal(output_sink.complaint(sink),
                        "cannot write samples to /dev/full: No space left on device; 3 lines lost");
    assert_null(output_sink.complaint(sink));
    output_sink.close(sink);
}

static void limit_file_size(rlim_t bytes)
{
    struct rlimit limit;

    CHECK(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    limit.rlim_cur = bytes;
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

/* Header and one row go out late, the next row only in part: two of four lines get there. */
static void count_lost_lines_after_a_late_write(void)
{
    struct stat status;
    struct csv csv;
    struct buf text;
    void *sink;
    const struct sink_options options = {.run = &run, .format = FORMAT_CSV, .output = path.text};

    csv_init(&csv, CSV_BASIC);
    CHECK(buf_init(&text, 64, 4096) == 0);
    csv_header(&csv, &text);
    csv_row(&csv, &sample, &text);
    CHECK(output_sink.open(&options, &sink) == 0);
    limit_file_size(5);
    output_sink.begin(sink);
    output_sink.sample(sink, &sample);
    output_sink.sample(sink, &sample);
    limit_file_size(text.size + 5);
    output_sink.sample(sink, &sample);
    (void)output_sink.complaint(sink);
    output_sink.end(sink, &(struct run_end){.deadline_ns = 0});
    const char *complaint = output_sink.complaint(sink);
    limit_file_size(RLIM_INFINITY);
    CHECK(complaint != NULL);
    CHECK(fstatat(dir.fd, "out", &status, 0) == 0);
    CHECK(status.st_size == (off_t)text.size);
    CHECK(strstr(complaint, "2 lines lost") != NULL);
}

static void test_lost_lines_are_those_not_in_the_file(void **state)
{
    (void)state;
    in_child(count_lost_lines_after_a_late_write);
}

static void test_slow_reader_fills_it_up_until_it_has_caught_up(void **state)
{
    int ends[2];
    char bytes[65536];

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    void *sink = open_fd(ends[1]);
    output_sink.begin(sink);
    size_t taken = 0;
    while (!output_sink.is_full(sink)) {
        output_sink.sample(sink, &sample);
        assert_true(++taken < 100000);
    }
    assert_null(output_sink.complaint(sink)); /* slow is no failure */
    while (output_sink.is_full(sink))
        assert_true(read(ends[0], bytes, sizeof bytes) > 0);
    close(ends[0]);
    output_sink.close(sink);
    close(ends[1]);
}

static void test_lines_lost_to_a_reader_that_never_reads_are_told(void **state)
{
    int ends[2];

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    void *sink = open_fd(ends[1]);
    while (!output_sink.is_full(sink))
        output_sink.sample(sink, &sample);
    output_sink.end(sink, &(struct run_end){.deadline_ns = clock_monotonic_ns()});
    const char *complaint = output_sink.complaint(sink);
    assert_non_null(complaint);
    assert_non_null(strstr(complaint, "standard error"));
    assert_non_null(strstr(complaint, "lines lost"));
    assert_null(output_sink.complaint(sink));
    output_sink.close(sink);
    close(ends[0]);
    close(ends[1]);
}

static void test_streams_are_called_by_their_names(void **state)
{
    struct capture capture;

    (void)state;
    capture_begin(&capture, STDOUT_FILENO);
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    dup2(full, STDOUT_FILENO);
    close(full);
    void *sink = open_fd(STDOUT_FILENO);
    output_sink.begin(sink);
    const char *complaint = output_sink.complaint(sink);
    char *kept = complaint != NULL ? strdup(complaint) : NULL;
    output_sink.close(sink);
    capture_end(&capture);
    assert_non_null(kept);
    assert_non_null(strstr(kept, " to standard output: "));
    free(kept);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_quiet_wants_no_sink),
        TEST(test_open_error_is_handed_on),
        TEST(test_earlier_content_goes_only_when_the_run_is_on),
        TEST(test_t_csv_01_header_once_and_first),
        TEST(test_full_columns),
        TEST(test_t_out_01_one_json_object_a_line),
        TEST(test_cancel_removes_what_we_created),
        TEST(test_cancel_leaves_what_was_there),
        TEST(test_cancel_leaves_a_fifo),
        TEST(test_cancel_leaves_descriptors_of_others),
        TEST(test_reader_gone_is_told_once),
        TEST(test_full_disk_is_told_twice_at_most),
        TEST(test_lost_lines_are_those_not_in_the_file),
        TEST(test_slow_reader_fills_it_up_until_it_has_caught_up),
        TEST(test_lines_lost_to_a_reader_that_never_reads_are_told),
        TEST(test_streams_are_called_by_their_names),
    };

    return cmocka_run_group_tests(tests, block_signals, NULL);
}

#include "in_child.h"
#include "sink/sink.h"

static struct scratch dir;
static const struct run run;
static struct sample sample;
static struct scratch_path path;

static int make(void **state)
{
    (void)state;
    scratch_make(&dir);
    path = scratch_path(&dir, "out");
    sample_reset(&sample);
    return 0;
}

static int drop(void **state)
{
    (void)state;
    scratch_remove(&dir);
    return 0;
}

static void test_a_run_through_all_sinks(void **state)
{
    const struct sink_options options = {.run = &run, .format = FORMAT_CSV, .output = path.text};
    struct sinks *sinks = NULL;
    const char *culprit = NULL;

    (void)state;
    assert_int_equal(sinks_open(&options, &sinks, &culprit), 0);
    assert_null(culprit);
    sinks_begin(sinks);
    assert_false(sinks_are_full(sinks));
    sinks_sample(sinks, &sample);
    sinks_sample(sinks, &sample);
    sinks_end(sinks, &(struct run_end){.deadline_ns = 0});
    assert_null(sinks_complaint(sinks, false));
    sinks_close(sinks);
    char *text = scratch_read(&dir, "out");
    size_t lines = 0;
    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
        lines++;
    assert_int_equal(lines, 3);
    free(text);
}

static void test_quiet_run_has_none(void **state)
{
    const struct sink_options options = {.run = &run, .output = path.text, .quiet = true};
    struct sinks *sinks = NULL;
    const char *culprit = NULL;

    (void)state;
    assert_int_equal(sinks_open(&options, &sinks, &culprit), 0);
    sinks_begin(sinks);
    sinks_sample(sinks, &sample);
    assert_false(sinks_are_full(sinks));
    assert_false(sinks_are_dead(sinks)); /* there is none that could be */
    sinks_end(sinks, &(struct run_end){.deadline_ns = 0});
    assert_null(sinks_complaint(sinks, false));
    sinks_cancel(sinks);
    sinks_close(sinks);
    assert_null(scratch_read(&dir, "out"));
}

static void test_failure_names_the_culprit(void **state)
{
    const struct sink_options options = {.run = &run, .output = dir.path};
    struct sinks *sinks = NULL;
    const char *culprit = NULL;

    (void)state;
    assert_int_equal(sinks_open(&options, &sinks, &culprit), -EISDIR);
    assert_string_equal(culprit, dir.path);
    assert_null(sinks);
}

static void test_cancel_reaches_the_sinks(void **state)
{
    const struct sink_options options = {.run = &run, .output = path.text};
    struct sinks *sinks;
    const char *culprit;

    (void)state;
    assert_int_equal(sinks_open(&options, &sinks, &culprit), 0);
    scratch_expect(&dir, "out", "");
    sinks_cancel(sinks);
    sinks_close(sinks);
    assert_null(scratch_read(&dir, "out"));
}

static void test_complaints_reach_the_caller_and_end(void **state)
{
    const struct sink_options options = {.run = &run, .output = "/dev/full"};
    struct sinks *sinks;
    const char *culprit;

    (void)state;
    assert_int_equal(sinks_open(&options, &sinks, &culprit), 0);
    sinks_begin(sinks);
    sinks_sample(sinks, &sample);
    assert_non_null(strstr(sinks_complaint(sinks, false), "/dev/full"));
    assert_null(sinks_complaint(sinks, false));
    sinks_close(sinks);
}

static void write_to_nobody(void)
{
    struct sinks *sinks;
    const char *culprit;
    int ends[2];

    CHECK(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
    CHECK(pipe(ends) == 0);
    const struct sink_options options = {.run = &run, .output_fd = ends[1]};
    CHECK(sinks_open(&options, &sinks, &culprit) == 0);
    sinks_begin(sinks);
    sinks_sample(sinks, &sample);
    CHECK(!sinks_are_dead(sinks));
    close(ends[0]);
    sinks_sample(sinks, &sample);
    CHECK(sinks_are_dead(sinks));
    CHECK(sinks_complaint(sinks, true) == NULL);
    CHECK(sinks_complaint(sinks, false) != NULL);
    sinks_close(sinks);
}

static void test_dead_when_nobody_reads(void **state)
{
    (void)state;
    in_child(write_to_nobody);
}

/* The digest is fed first and knows the end when the summary is made; a summary keeps nobody on. */
static void test_digest_and_summary(void **state)
{
    static struct digest digest;
    const struct sink_options options = {
        .run = &run, .quiet = true, .digest = &digest, .summary = SUMMARY_JSON};
    struct capture capture;
    struct sinks *sinks;
    const char *culprit;

    (void)state;
    assert_int_equal(digest_init(&digest, false), 0);
    capture_begin(&capture, STDERR_FILENO);
    int error = sinks_open(&options, &sinks, &culprit);
    sinks_begin(sinks);
    sample.value[METRIC_CPU_UTILIZATION] = 0.5;
    sample.interval_secs = 0.25004; /* published as 250.0 ms */
    sinks_sample(sinks, &sample);
    bool is_dead = sinks_are_dead(sinks);
    bool is_full = sinks_are_full(sinks);
    sinks_hide(sinks);
    sinks_end(sinks, &(struct run_end){.has_command = true, .has_exit_code = true});
    const char *complaint = sinks_complaint(sinks, false);
    sinks_cancel(sinks);
    sinks_close(sinks);
    capture_end(&capture);
    assert_int_equal(error, 0);
    assert_false(is_dead || is_full);
    assert_null(complaint);
    assert_true(digest.duration_secs == 0.25);
    assert_non_null(strstr(capture.text, "\"duration_secs\":0.2500,\"sample_count\":1,"));
    assert_non_null(strstr(capture.text, "\"exit_code\":0,"));
    digest_free(&digest);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_run_through_all_sinks),
        TEST(test_quiet_run_has_none),
        TEST(test_failure_names_the_culprit),
        TEST(test_cancel_reaches_the_sinks),
        TEST(test_complaints_reach_the_caller_and_end),
        TEST(test_dead_when_nobody_reads),
        TEST(test_digest_and_summary),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

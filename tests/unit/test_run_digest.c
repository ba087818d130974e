#include "app/run_digest.h"
#include "pty.h"
#include "support.h"

static struct config config;
static char word[] = "true";
static char *const command[] = {word, NULL};

static int make(void **state)
{
    (void)state;
    config = (struct config){.interval_ns = 500000000, .no_detect = true};
    return 0;
}

static void test_where_samples_go(void **state)
{
    (void)state;
    assert_int_equal(sample_place(&config), SAMPLES_TO_STDOUT);
    config.command = command;
    assert_int_equal(sample_place(&config), SAMPLES_TO_STDERR);
    config.output = "-";
    assert_int_equal(sample_place(&config), SAMPLES_TO_STDOUT);
    config.output = "samples";
    assert_int_equal(sample_place(&config), SAMPLES_TO_PATH);
    config.quiet = true;
    assert_int_equal(sample_place(&config), SAMPLES_NOWHERE);
}

static void look_on_a_terminal(void)
{
    pty_become_leader(80);
    config.command = command;
    CHECK(!has_idle_terminal(&config)); /* the samples are there */
    config.output = "/dev/null";
    CHECK(has_idle_terminal(&config) && summary_mode_of(&config) == SUMMARY_TEXT);
    config.output = "/tmp/no such file yet";
    CHECK(has_idle_terminal(&config));
    config.output = ptsname(pty_master);
    CHECK(!has_idle_terminal(&config) && summary_mode_of(&config) == SUMMARY_NONE);
    config.summary = SUMMARY_JSON;
    CHECK(summary_mode_of(&config) == SUMMARY_JSON);
    config.output = "-";
    int ends[2];
    CHECK(pipe(ends) == 0 && dup2(ends[1], STDOUT_FILENO) == STDOUT_FILENO);
    CHECK(!has_idle_terminal(&config)); /* whoever reads it prints it there */
    int file = open("/dev/null", O_WRONLY | O_CLOEXEC);
    CHECK(dup2(file, STDOUT_FILENO) == STDOUT_FILENO);
    CHECK(has_idle_terminal(&config));
    config.quiet = true;
    CHECK(has_idle_terminal(&config));
}

static void look_into_a_log(void)
{
    int file = open("/dev/null", O_WRONLY | O_CLOEXEC);

    CHECK(dup2(file, STDERR_FILENO) == STDERR_FILENO);
    config.quiet = true;
    CHECK(!has_idle_terminal(&config) && summary_mode_of(&config) == SUMMARY_NONE);
    config.summary = SUMMARY_TEXT;
    CHECK(summary_mode_of(&config) == SUMMARY_TEXT);
}

static void test_on_a_terminal(void **state)
{
    (void)state;
    in_child(look_on_a_terminal);
}

static void test_in_a_log(void **state)
{
    (void)state;
    in_child(look_into_a_log);
}

static void test_one_is_made_only_when_it_is_needed(void **state)
{
    struct digest *digest;

    (void)state;
    config.run.job_name = "train";
    config.summary = SUMMARY_NONE;
    assert_int_equal(run_digest_open(&config, &digest), 0);
    assert_null(digest);
    run_digest_limits(digest, NULL, 0);
    run_digest_describe(digest, NULL);
    run_digest_close(digest);

    config.summary = SUMMARY_TEXT;
    assert_int_equal(run_digest_open(&config, &digest), 0);
    assert_false(digest->has_series);
    assert_string_equal(digest->run.job_name, "train");
    assert_true(digest->interval_secs == 0.5);
    run_digest_close(digest);

    config.summary = SUMMARY_NONE;
    config.report = "page.html";
    assert_int_equal(run_digest_open(&config, &digest), 0);
    assert_true(digest->has_series);
    run_digest_close(digest);
}

static void test_limits_and_host(void **state)
{
    struct digest *digest;

    (void)state;
    support_open("this-machine");
    support_root()->proc_is_foreign = true;
    support_write("proc/self/cgroup", "0::/job\n");
    support_write("sys/fs/cgroup/job/cpu.max", "10000 100000\n");
    support_write("sys/fs/cgroup/job/memory.max", "1073741824\n");
    config.summary = SUMMARY_TEXT;
    assert_int_equal(run_digest_open(&config, &digest), 0);
    run_digest_limits(digest, support_root(), 0);
    run_digest_describe(digest, support_root());
    assert_true(digest->cpu_limit == 0.1);
    assert_true(digest->memory_limit_mib == 1024);
    assert_true(digest->host.memory_mib > 1024);
    /* more than there is is no limit */
    support_write("sys/fs/cgroup/job/memory.max", "9223372036854771712\n");
    support_write("sys/fs/cgroup/job/cpu.max", "999900000 100000\n");
    digest->cpu_limit = NAN;
    run_digest_limits(digest, support_root(), 0);
    run_digest_describe(digest, support_root());
    assert_true(isnan(digest->memory_limit_mib) && isnan(digest->cpu_limit));
    run_digest_close(digest);
}

#undef TEST
#define TEST(name) cmocka_unit_test_setup_teardown(name, make, support_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_where_samples_go), TEST(test_on_a_terminal),
        TEST(test_in_a_log),         TEST(test_one_is_made_only_when_it_is_needed),
        TEST(test_limits_and_host),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

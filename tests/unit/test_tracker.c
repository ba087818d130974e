#include "app/config.h"
#include "app/tracker.h"
#include "in_child.h"
#include "json_check.h"
#include "scratch_dir.h"

#include <sys/syscall.h>

/* Starts the tracker with these words; its streams go to the files "stdout" and "stderr". */
static pid_t start_with_stdout(const char *const *words, int stdout_fd)
{
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid > 0)
        return pid;

    struct config config;
    char *const none[] = {NULL};
    int argc = 0;
    alarm(IN_CHILD_HANG_SECS);
    CHECK(chdir(dir.path) == 0);
    int out = stdout_fd >= 0 ? stdout_fd : open("stdout", O_WRONLY | O_CREAT | O_APPEND, 0600);
    int err = open("stderr", O_WRONLY | O_CREAT | O_APPEND, 0600);
    CHECK(dup2(out, STDOUT_FILENO) >= 0 && dup2(err, STDERR_FILENO) >= 0);
    CHECK(syscall(SYS_close_range, 3, ~0u, 0) == 0); /* the reading ends of our pipes too */
    while (words[argc] != NULL)
        argc++;
    if (config_load(&config, argc, (char **)(uintptr_t)words, none) < 0)
        _exit(2);
    int status = tracker_run(&config, environ);
    config_free(&config);
    _exit(status);
}

static int await_status(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status))
        fail_msg("the tracker was ended by signal %d", WTERMSIG(status));
    return WEXITSTATUS(status);
}

#define RUN(...)                                                                                   \
    await_status(                                                                                  \
        start_with_stdout((const char *const[]){"resource-tracker", __VA_ARGS__, NULL}, -1))

/* How many lines a file has; every one of them must be JSON. */
static size_t count_samples(const char *name)
{
    char *text = scratch_read(&dir, name);
    size_t lines = 0;

    assert_non_null(text);
    for (char *at = text, *end; *at != '\0'; at = end + 1, lines++) {
        end = strchr(at, '\n');
        if (end == NULL || !is_json(at, (size_t)(end - at)))
            fail_msg("not a line of JSON in %s: %s", name, at);
    }
    free(text);
    return lines;
}

static void expect_said(const char *wanted)
{
    char *text = scratch_read(&dir, "stderr");

    if (text == NULL || strstr(text, wanted) == NULL)
        fail_msg("said '%s' instead of '%s'", text != NULL ? text : "nothing", wanted);
    free(text);
}

/* --- a command --- */

static void test_short_command_gives_one_sample(void **state)
{
    (void)state;
    assert_int_equal(RUN("-i60", "-o", "out", "true"), 0);
    assert_int_equal(count_samples("out"), 1);
    scratch_expect(&dir, "stderr", "");
}

static void test_exit_status_is_that_of_the_command(void **state)
{
    (void)state;
    assert_int_equal(RUN("--quiet", "sh", "-c", "exit 42"), 42);
    assert_int_equal(RUN("--quiet", "sh", "-c", "exit 255"), 255);
    assert_int_equal(RUN("--quiet", "sh", "-c", "kill -9 $$"), 137);
    assert_int_equal(RUN("--quiet", "sh", "-c", "kill -15 $$"), 143);
    scratch_expect(&dir, "stderr", "");
}

static void test_samples_go_to_stderr_beside_a_command(void **state)
{
    (void)state;
    assert_int_equal(RUN("-i60", "echo", "its own"), 0);
    scratch_expect(&dir, "stdout", "its own\n");
    assert_int_equal(count_samples("stderr"), 1);
}

static void test_dash_sends_samples_to_stdout(void **state)
{
    (void)state;
    assert_int_equal(RUN("-i60", "-o-", "true"), 0);
    assert_int_equal(count_samples("stdout"), 1);
    scratch_expect(&dir, "stderr", "");
}

static void test_quiet_writes_nothing(void **state)
{
    (void)state;
    assert_int_equal(RUN("--quiet", "-o", "out", "true"), 0);
    scratch_expect(&dir, "stdout", "");
    scratch_expect(&dir, "stderr", "");
    assert_null(scratch_read(&dir, "out"));
}

static void test_command_that_is_not_there(void **state)
{
    (void)state;
    scratch_text(&dir, "old", "earlier\n");
    assert_int_equal(RUN("-o", "out", "no-such-command-anywhere"), 127);
    expect_said("resource-tracker: cannot run no-such-command-anywhere: No such file");
    assert_null(scratch_read(&dir, "out")); /* no trace */
    assert_int_equal(RUN("-o", "old", "no-such-command-anywhere"), 127);
    scratch_expect(&dir, "old", "earlier\n");
}

static void test_command_that_cannot_be_executed(void **state)
{
    (void)state;
    scratch_text(&dir, "plain", "x");
    assert_int_equal(RUN("./plain"), 126);
    expect_said("cannot run ./plain: Permission denied");
}

static void test_without_its_output_the_command_is_not_started(void **state)
{
    (void)state;
    assert_int_equal(RUN("-o", "no/such/dir", "touch", "ran"), STATUS_CANNOT_START);
    expect_said("option --output: cannot write to no/such/dir: No such file");
    assert_null(scratch_read(&dir, "ran"));
}

static void test_fifo_without_reader_is_told(void **state)
{
    (void)state;
    assert_int_equal(mkfifoat(dir.fd, "fifo", 0600), 0);
    assert_int_equal(RUN("-o", "fifo", "touch", "ran"), STATUS_CANNOT_START);
    expect_said("option --output: fifo has no reader yet");
    assert_null(scratch_read(&dir, "ran"));
}

static void test_missing_roots_are_named(void **state)
{
    (void)state;
    assert_int_equal(RUN("--procfs", "no-proc", "touch", "ran"), STATUS_CANNOT_START);
    expect_said("option --procfs: cannot open no-proc: No such file");
    assert_int_equal(RUN("--sysfs", "no-sys", "touch", "ran"), STATUS_CANNOT_START);
    expect_said("option --sysfs: cannot open no-sys: No such file");
    assert_null(scratch_read(&dir, "ran"));
}

static void test_tracked_pid_is_that_of_the_command(void **state)
{
    char wanted[64];

    (void)state;
    assert_int_equal(RUN("-i60", "-o", "out", "sh", "-c", "echo $$"), 0);
    char *pid = scratch_read(&dir, "stdout");
    char *sample = scratch_read(&dir, "out");
    snprintf(wanted, sizeof wanted, "\"tracked_pid\":%d,\"actual_interval_ms\":null,", atoi(pid));
    assert_non_null(strstr(sample, wanted));
    free(pid);
    free(sample);
}

static void test_t_csv_01_csv_of_a_run(void **state)
{
    (void)state;
    assert_int_equal(RUN("-i60", "-fcsv", "--csv-columns=full", "-o", "out", "true"), 0);
    char *text = scratch_read(&dir, "out");
    assert_memory_equal(text, "timestamp,system_processes,", 27);
    char *row = strchr(text, '\n') + 1;
    assert_true(row[0] >= '1' && row[0] <= '9');
    assert_ptr_equal(strchr(row, '\n') + 1, row + strlen(row));
    free(text);
}

static void test_reader_that_is_gone_does_not_change_the_status(void **state)
{
    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    static const char *const words[] = {"resource-tracker", "-i60", "-o-", "sh", "-c",
                                        "exit 5",           NULL};
    assert_int_equal(await_status(start_with_stdout(words, ends[1])), 5);
    close(ends[1]);
    expect_said("cannot write samples to standard output: Broken pipe");
}

static void test_full_disk_does_not_change_the_status(void **state)
{
    (void)state;
    assert_int_equal(RUN("-i60", "-o", "/dev/full", "sh", "-c", "exit 6"), 6);
    expect_said("/dev/full: No space left on device");
    expect_said("1 lines lost");
}

static void test_orphans_do_not_keep_it(void **state)
{
    (void)state;
    assert_int_equal(RUN("-i60", "-o", "out", "sh", "-c",
                         "(sleep 5 </dev/null >/dev/null 2>&1 &) "
                         "; exit 3"),
                     3);
    assert_int_equal(count_samples("out"), 1);
}

/* Reads until `fd` has given this many line ends. */
static void await_lines(int fd, unsigned count)
{
    char c;

    while (count > 0) {
        assert_int_equal(read(fd, &c, 1), 1);
        count -= c == '\n';
    }
}

static void test_signals_reach_the_command(void **state)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
    static const char *const words[] = {
        "resource-tracker",
        "--quiet",
        "sh",
        "-c",
        "for s in TERM INT HUP QUIT USR1 USR2; do trap \"echo $s >> caught; exit 9\" $s; done;"
        "echo ready; while :; do sleep 0.01; done",
        NULL};

    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        int ends[2];
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        pid_t tracker = start_with_stdout(words, ends[1]);
        close(ends[1]);
        await_lines(ends[0], 1);
        assert_int_equal(kill(tracker, numbers[i]), 0);
        assert_int_equal(await_status(tracker), 9);
        close(ends[0]);
    }
    scratch_expect(&dir, "caught", "TERM\nINT\nHUP\nQUIT\nUSR1\nUSR2\n");
}

static void test_tracker_outlives_signals_that_the_command_survives(void **state)
{
    static const char *const words[] = {"resource-tracker",
                                        "--quiet",
                                        "sh",
                                        "-c",
                                        "trap 'n=1' TERM; echo ready;"
                                        "while [ -z \"$n\" ]; do sleep 0.01; done; exit 4",
                                        NULL};
    int ends[2];

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t tracker = start_with_stdout(words, ends[1]);
    close(ends[1]);
    await_lines(ends[0], 1);
    assert_int_equal(kill(tracker, SIGTERM), 0);
    assert_int_equal(await_status(tracker), 4);
    close(ends[0]);
}

/* --- no command --- */

static void watch_and_end_by(int number)
{
    static const char *const words[] = {"resource-tracker", "-i0.01", NULL};
    static char text[1 << 20];
    size_t size = 0;
    size_t lines = 0;
    int ends[2];

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t tracker = start_with_stdout(words, ends[1]);
    close(ends[1]);
    for (bool asked = false;;) {
        ssize_t got = read(ends[0], text + size, sizeof text - 1 - size);
        assert_true(got >= 0);
        if (got == 0)
            break;
        for (ssize_t i = 0; i < got; i++)
            lines += text[size + (size_t)i] == '\n';
        size += (size_t)got;
        if (lines >= 5 && !asked) {
            asked = true;
            assert_int_equal(kill(tracker, number), 0);
        }
    }
    text[size] = '\0';
    assert_int_equal(await_status(tracker), 0);
    close(ends[0]);

    /* whole lines, the last one too; timestamps never decrease; intervals from the second on */
    long long previous = 0;
    size_t seen = 0;
    for (char *at = text, *end; *at != '\0'; at = end + 1, seen++) {
        long long now = 0;
        end = strchr(at, '\n');
        assert_non_null(end);
        assert_true(is_json(at, (size_t)(end - at)));
        *end = '\0';
        assert_int_equal(sscanf(at, "{\"timestamp_secs\":%lld,", &now), 1);
        assert_true(now > 0 && now >= previous);
        previous = now;
        assert_int_equal(strstr(at, "\"actual_interval_ms\":null") != NULL, seen == 0);
        assert_non_null(strstr(at, "\"tracked_pid\":null"));
    }
    assert_true(seen >= 6);
}

static void test_t_out_04_watching_until_a_signal(void **state)
{
    (void)state;
    watch_and_end_by(SIGTERM);
    watch_and_end_by(SIGINT);
    watch_and_end_by(SIGHUP);
    scratch_expect(&dir, "stderr", "");
}

static void test_attached_pid_is_told(void **state)
{
    static const char *const words[] = {"resource-tracker", "-i0.01", "--pid=1", NULL};
    char text[65536];
    size_t size = 0;
    int ends[2];

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t tracker = start_with_stdout(words, ends[1]);
    close(ends[1]);
    while (size == 0 || memchr(text, '\n', size) == NULL) {
        ssize_t got = read(ends[0], text + size, sizeof text - 1 - size);
        assert_true(got > 0);
        size += (size_t)got;
    }
    text[size] = '\0';
    assert_non_null(strstr(text, "\"tracked_pid\":1,"));
    assert_int_equal(kill(tracker, SIGTERM), 0);
    close(ends[0]);
    assert_int_equal(await_status(tracker), 0);
}

/* `resource-tracker | head` comes to an end by itself and says nothing. */
static void test_watching_ends_with_its_reader(void **state)
{
    static const char *const words[] = {"resource-tracker", "-i0.01", NULL};
    int ends[2];

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t tracker = start_with_stdout(words, ends[1]);
    close(ends[1]);
    await_lines(ends[0], 2);
    close(ends[0]);
    assert_int_equal(await_status(tracker), 0);
    scratch_expect(&dir, "stderr", "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_short_command_gives_one_sample),
        TEST(test_exit_status_is_that_of_the_command),
        TEST(test_samples_go_to_stderr_beside_a_command),
        TEST(test_dash_sends_samples_to_stdout),
        TEST(test_quiet_writes_nothing),
        TEST(test_command_that_is_not_there),
        TEST(test_command_that_cannot_be_executed),
        TEST(test_without_its_output_the_command_is_not_started),
        TEST(test_fifo_without_reader_is_told),
        TEST(test_missing_roots_are_named),
        TEST(test_tracked_pid_is_that_of_the_command),
        TEST(test_t_csv_01_csv_of_a_run),
        TEST(test_reader_that_is_gone_does_not_change_the_status),
        TEST(test_full_disk_does_not_change_the_status),
        TEST(test_orphans_do_not_keep_it),
        TEST(test_signals_reach_the_command),
        TEST(test_tracker_outlives_signals_that_the_command_survives),
        TEST(test_t_out_04_watching_until_a_signal),
        TEST(test_attached_pid_is_told),
        TEST(test_watching_ends_with_its_reader),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

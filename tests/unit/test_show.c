#include "app/help.h"
#include "app/show.h"
#include "app/tracker.h"
#include "encode/catalog.h"
#include "in_child.h"
#include "version.h"

static struct capture said;
static struct capture complained;

static int show_captured(enum config_action action)
{
    capture_begin(&said, STDOUT_FILENO);
    capture_begin(&complained, STDERR_FILENO);
    int status = show(action);
    capture_end(&complained);
    capture_end(&said);
    return status;
}

static void expect_text(enum config_action action, void (*print)(struct buf *out))
{
    struct buf wanted;

    assert_int_equal(show_captured(action), 0);
    assert_int_equal(buf_init(&wanted, 4096, 1 << 20), 0);
    print(&wanted);
    buf_char(&wanted, '\0');
    bool as_wanted = strcmp(said.text, wanted.data) == 0;
    buf_free(&wanted);
    assert_true(as_wanted);
    assert_string_equal(complained.text, "");
}

static void test_help_and_metrics(void **state)
{
    (void)state;
    expect_text(ACTION_HELP, help_print);
    expect_text(ACTION_LIST_METRICS, catalog_print);
}

static void test_version(void **state)
{
    (void)state;
    assert_int_equal(show_captured(ACTION_VERSION), 0);
    assert_string_equal(said.text, "resource-tracker " TRACKER_VERSION "\n");
}

/* Whether showing into this descriptor ends with the status and says why. */
static void show_into(int fd, int status, const char *reason)
{
    CHECK(dup2(fd, STDOUT_FILENO) == STDOUT_FILENO);
    int err = memfd_create("stderr", 0);
    int saved = dup(STDERR_FILENO);
    CHECK(dup2(err, STDERR_FILENO) == STDERR_FILENO);
    int got = show(ACTION_HELP);
    dup2(saved, STDERR_FILENO);
    char text[512] = "";
    CHECK(pread(err, text, sizeof text - 1, 0) >= 0);
    CHECK(got == status);
    CHECK(strstr(text, reason) != NULL);
}

static void into_a_full_disk(void)
{
    show_into(open("/dev/full", O_WRONLY), STATUS_CANNOT_START,
              "resource-tracker: cannot write to standard output: No space left on device\n");
}

static void test_full_disk_is_told(void **state)
{
    (void)state;
    in_child(into_a_full_disk);
}

static void into_a_pipe_nobody_reads(void)
{
    int ends[2];

    CHECK(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
    CHECK(pipe(ends) == 0);
    close(ends[0]);
    show_into(ends[1], STATUS_CANNOT_START, "Broken pipe");
}

static void test_reader_that_is_gone_is_told(void **state)
{
    (void)state;
    in_child(into_a_pipe_nobody_reads);
}

static void into_a_small_pipe(void)
{
    int ends[2];
    char bytes[65536];
    size_t size = 0;
    int status;

    CHECK(pipe(ends) == 0);
    CHECK(fcntl(ends[1], F_SETPIPE_SZ, 4096) > 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        dup2(ends[1], STDOUT_FILENO);
        close(ends[1]);
        _exit(show(ACTION_LIST_METRICS));
    }
    close(ends[1]);
    for (ssize_t got; (got = read(ends[0], bytes + size, sizeof bytes - size)) > 0;)
        size += (size_t)got;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    CHECK(size > 4096);
    CHECK(bytes[size - 1] == '\n');
}

static void test_slow_reader_gets_it_all(void **state)
{
    (void)state;
    in_child(into_a_small_pipe);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_help_and_metrics),
        cmocka_unit_test(test_version),
        cmocka_unit_test(test_full_disk_is_told),
        cmocka_unit_test(test_reader_that_is_gone_is_told),
        cmocka_unit_test(test_slow_reader_gets_it_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

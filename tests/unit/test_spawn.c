#include "child/spawn.h"
#include "in_child.h"
#include "scratch_dir.h"

#include <linux/close_range.h>
#include <sched.h>
#include <sys/syscall.h>

/* Runs a command to its end; its output goes to the file "out". Returns its wait status. */
static int run(char *const *command, const struct signals *signals, int *ret_result)
{
    struct child child;
    int status;

    int out = openat(dir.fd, "out", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK(dup2(out, STDOUT_FILENO) == STDOUT_FILENO);
    close(out);
    CHECK(child_hold(&child, command, signals) == 0);
    CHECK(child_release(&child) == 0);
    *ret_result = child_exec_result(&child);
    CHECK(waitpid(child.pid, &status, 0) == child.pid);
    child_close(&child);
    return status;
}

static void run_a_script(void)
{
    struct signals signals;
    int result;
    char *const command[] = {"sh", "-c", "echo \"$0|$1|$GREETING\"; exit 42", "a b", "", NULL};

    CHECK(signals_open(&signals, true) == 0);
    CHECK(setenv("GREETING", "hello", 1) == 0);
    int status = run(command, &signals, &result);
    CHECK(result == 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 42);
}

static void test_command_runs_with_its_words_and_environment(void **state)
{
    (void)state;
    in_child(run_a_script);
    scratch_expect(&dir, "out", "a b||hello\n");
}

static void read_link_of(pid_t pid, char *out, size_t size)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    ssize_t length = readlink(path, out, size - 1);
    CHECK(length > 0);
    out[length] = '\0';
}

static void hold_and_look(void)
{
    struct signals signals;
    struct child child;
    char ours[256];
    char its[256];
    int status;
    char *const command[] = {"true", NULL};

    CHECK(signals_open(&signals, true) == 0);
    CHECK(child_hold(&child, command, &signals) == 0);
    CHECK(child.pid > 0);
    read_link_of(getpid(), ours, sizeof ours);
    for (int i = 0; i < 100; i++) {
        sched_yield();
        read_link_of(child.pid, its, sizeof its);
        CHECK(strcmp(its, ours) == 0);
        CHECK(waitpid(child.pid, &status, WNOHANG) == 0);
    }
    CHECK(child_release(&child) == 0);
    CHECK(child_exec_result(&child) == 0);
    CHECK(waitpid(child.pid, &status, 0) == child.pid && status == 0);
    CHECK(child.hold_fd == -1 && child.result_fd == -1);
}

static void test_command_waits_to_be_released(void **state)
{
    (void)state;
    in_child(hold_and_look);
}

static void give_up(void)
{
    struct signals signals;
    struct child child;
    int status;
    struct scratch_path ran = scratch_path(&dir, "ran");
    char *const command[] = {"touch", ran.text, NULL};

    CHECK(signals_open(&signals, true) == 0);
    CHECK(child_hold(&child, command, &signals) == 0);
    child_close(&child);
    CHECK(waitpid(child.pid, &status, 0) == child.pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 126);
}

static void test_command_that_is_never_released_never_runs(void **state)
{
    (void)state;
    in_child(give_up);
    assert_null(scratch_read(&dir, "ran"));
}

static void expect_failure(const char *name, int error, int exit_status)
{
    struct signals signals;
    int result;
    char *const command[] = {(char *)(uintptr_t)name, NULL};

    CHECK(signals_open(&signals, true) == 0);
    int status = run(command, &signals, &result);
    CHECK(result == error);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == exit_status);
}

static void fail_in_every_way(void)
{
    expect_failure("no-such-command-anywhere", -ENOENT, 127);
    expect_failure(scratch_path(&dir, "missing").text, -ENOENT, 127);
    expect_failure("", -ENOENT, 127);
    expect_failure(scratch_path(&dir, "plain").text, -EACCES, 126);
    expect_failure(dir.path, -EACCES, 126);
    expect_failure(scratch_path(&dir, "plain/below").text, -ENOTDIR, 126);
}

static void test_commands_that_cannot_be_run(void **state)
{
    (void)state;
    scratch_text(&dir, "plain", "echo this is not executable\n");
    in_child(fail_in_every_way);
}

static void test_exit_status_of_exec_errors(void **state)
{
    (void)state;
    assert_int_equal(child_exec_status(-ENOENT), 127);
    assert_int_equal(child_exec_status(-EACCES), 126);
    assert_int_equal(child_exec_status(-ENOEXEC), 126);
    assert_int_equal(child_exec_status(-E2BIG), 126);
    assert_int_equal(child_exec_status(-ENOMEM), 126);
}

static void show_signals(void)
{
    struct signals signals;
    sigset_t mask;
    int result;
    char *const command[] = {"grep", "^Sig[BI]", "/proc/self/status", NULL};

    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR2);
    CHECK(sigprocmask(SIG_SETMASK, &mask, NULL) == 0);
    for (int number = 1; number < SIGRTMIN; number++)
        signal(number, SIG_DFL);
    CHECK(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
    CHECK(signals_open(&signals, true) == 0);
    CHECK(run(command, &signals, &result) == 0);
    CHECK(result == 0);
}

static void test_command_finds_the_original_signals(void **state)
{
    (void)state;
    in_child(show_signals);
    char *text = scratch_read(&dir, "out");
    unsigned long long blocked;
    unsigned long long ignored;
    const unsigned long long ours = (1ull << 31) - 1; /* not the C library's own at 32 and 33 */
    assert_int_equal(sscanf(text, "SigBlk: %llx SigIgn: %llx", &blocked, &ignored), 2);
    assert_int_equal(blocked & ours, 1ull << (SIGUSR2 - 1));
    assert_int_equal(ignored & ours, 1ull << (SIGCHLD - 1));
    free(text);
}

static void show_descriptors(void)
{
    struct signals signals;
    int result;
    char *const command[] = {
        "sh", "-c", "for fd in 0 1 2 3 4 5 6 7 8 9 50; do [ -e /proc/$$/fd/$fd ] && echo $fd; done",
        NULL};

    CHECK(syscall(SYS_close_range, 3, ~0u, CLOSE_RANGE_CLOEXEC) == 0);
    CHECK(dup2(STDERR_FILENO, 50) == 50); /* one that the user hands through */
    CHECK(signals_open(&signals, true) == 0);
    CHECK(run(command, &signals, &result) == 0);
    CHECK(result == 0);
}

static void test_command_gets_no_descriptor_of_ours(void **state)
{
    (void)state;
    in_child(show_descriptors);
    scratch_expect(&dir, "out", "0\n1\n2\n50\n");
}

static void release_a_dead_child(void)
{
    struct signals signals;
    struct child child;
    int status;
    char *const command[] = {"true", NULL};

    CHECK(signals_open(&signals, true) == 0);
    CHECK(child_hold(&child, command, &signals) == 0);
    CHECK(kill(child.pid, SIGKILL) == 0);
    CHECK(waitpid(child.pid, &status, 0) == child.pid);
    CHECK(child_release(&child) == -EPIPE);
    CHECK(child_exec_result(&child) == 0); /* exec did not fail: it was never reached */
    child_close(&child);
    child_close(&child);
}

static void test_child_that_died_while_held(void **state)
{
    (void)state;
    in_child(release_a_dead_child);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_command_runs_with_its_words_and_environment),
        TEST(test_command_waits_to_be_released),
        TEST(test_command_that_is_never_released_never_runs),
        TEST(test_commands_that_cannot_be_run),
        TEST(test_exit_status_of_exec_errors),
        TEST(test_command_finds_the_original_signals),
        TEST(test_command_gets_no_descriptor_of_ours),
        TEST(test_child_that_died_while_held),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "child/signals.h"
#include "in_child.h"

static const int passed_on[] = {SIGTERM, SIGINT,  SIGHUP,  SIGQUIT,
                                SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static bool is_blocked(int number)
{
    sigset_t mask;

    CHECK(sigprocmask(SIG_BLOCK, NULL, &mask) == 0);
    return sigismember(&mask, number) == 1;
}

static void read_every_signal(void)
{
    struct signals signals;
    struct signalfd_siginfo info;

    CHECK(signals_open(&signals, true) == 0);
    CHECK(signals_next(&signals, &info) == 0);
    for (size_t i = 0; i < COUNT(passed_on); i++) {
        CHECK(kill(getpid(), passed_on[i]) == 0);
        CHECK(signals_next(&signals, &info) == 1);
        CHECK((int)info.ssi_signo == passed_on[i]);
        CHECK(!signal_reached_command(&info, getpid()));
        CHECK(signals_next(&signals, &info) == 0);
    }
    signals_close(&signals);
    CHECK(signals.fd == -1);
    signals_close(&signals);
}

static void test_signals_for_a_command_are_read(void **state)
{
    (void)state;
    in_child(read_every_signal);
}

static void leave_signals_without_command(void)
{
    struct signals signals;
    struct signalfd_siginfo info;

    CHECK(signals_open(&signals, false) == 0);
    CHECK(is_blocked(SIGTERM) && is_blocked(SIGINT) && is_blocked(SIGHUP) && is_blocked(SIGCHLD));
    CHECK(!is_blocked(SIGQUIT) && !is_blocked(SIGUSR1) && !is_blocked(SIGUSR2));
    CHECK(!is_blocked(SIGTSTP) && !is_blocked(SIGCONT));
    CHECK(kill(getpid(), SIGTERM) == 0);
    CHECK(signals_next(&signals, &info) == 1);
    CHECK(info.ssi_signo == SIGTERM);
}

static void test_without_command_only_ending_ones_are_taken(void **state)
{
    (void)state;
    in_child(leave_signals_without_command);
}

static void keep_ignored(void)
{
    struct signals signals;
    struct signalfd_siginfo info;

    CHECK(signal(SIGHUP, SIG_IGN) != SIG_ERR);
    CHECK(signal(SIGINT, SIG_IGN) != SIG_ERR);
    CHECK(signal(SIGQUIT, SIG_IGN) != SIG_ERR);
    CHECK(signals_open(&signals, true) == 0);
    CHECK(!is_blocked(SIGHUP) && !is_blocked(SIGINT) && !is_blocked(SIGQUIT));
    CHECK(kill(getpid(), SIGHUP) == 0);
    CHECK(kill(getpid(), SIGINT) == 0);
    CHECK(signals_next(&signals, &info) == 0);
}

static void test_ignored_signals_stay_ignored(void **state)
{
    (void)state;
    in_child(keep_ignored);
}

static void block_what_a_write_raises(void)
{
    struct signals signals;
    struct signalfd_siginfo info;
    int ends[2];

    CHECK(signals_open(&signals, false) == 0);
    CHECK(is_blocked(SIGPIPE) && is_blocked(SIGXFSZ) && is_blocked(SIGTTOU));
    CHECK(pipe(ends) == 0);
    close(ends[0]);
    CHECK(write(ends[1], "x", 1) == -1 && errno == EPIPE);
    CHECK(signals_next(&signals, &info) == 0);
}

static void test_failed_writes_do_not_end_us(void **state)
{
    (void)state;
    in_child(block_what_a_write_raises);
}

static void restore_as_found(void)
{
    struct signals signals;
    sigset_t before;
    sigset_t after;
    struct sigaction chld;

    sigemptyset(&before);
    sigaddset(&before, SIGUSR2);
    sigaddset(&before, SIGWINCH);
    CHECK(sigprocmask(SIG_SETMASK, &before, NULL) == 0);
    CHECK(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
    CHECK(signals_open(&signals, true) == 0);
    CHECK(sigaction(SIGCHLD, NULL, &chld) == 0 && chld.sa_handler == SIG_DFL);
    signals_restore(&signals);
    CHECK(sigprocmask(SIG_BLOCK, NULL, &after) == 0);
    for (int number = 1; number < NSIG; number++)
        CHECK(sigismember(&after, number) == sigismember(&before, number));
    CHECK(sigaction(SIGCHLD, NULL, &chld) == 0 && chld.sa_handler == SIG_IGN);
}

static void test_restore_gives_back_what_was_found(void **state)
{
    (void)state;
    in_child(restore_as_found);
}

static void status_of_children(void)
{
    struct signals signals;
    struct signalfd_siginfo info;
    siginfo_t ended;
    int status;

    CHECK(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
    CHECK(signals_open(&signals, true) == 0);
    pid_t pid = fork();
    if (pid == 0)
        _exit(7);
    CHECK(waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT) == 0);
    CHECK(signals_next(&signals, &info) == 1);
    CHECK(info.ssi_signo == SIGCHLD);
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WEXITSTATUS(status) == 7);
}

static void test_status_of_children_is_kept_though_sigchld_was_ignored(void **state)
{
    (void)state;
    in_child(status_of_children);
}

static void descriptor_flags(void)
{
    struct signals signals;

    CHECK(signals_open(&signals, true) == 0);
    CHECK((fcntl(signals.fd, F_GETFD) & FD_CLOEXEC) != 0);
    CHECK((fcntl(signals.fd, F_GETFL) & O_NONBLOCK) != 0);
}

static void test_descriptor_neither_waits_nor_is_inherited(void **state)
{
    (void)state;
    in_child(descriptor_flags);
}

static void test_terminal_is_told_by_the_code(void **state)
{
    struct signalfd_siginfo info = {.ssi_signo = SIGINT, .ssi_code = SI_KERNEL};

    (void)state;
    assert_true(signal_reached_command(&info, getpid()));
    assert_false(signal_reached_command(&info, 1)); /* not in our process group */
    info.ssi_code = SI_USER;
    assert_false(signal_reached_command(&info, getpid()));
    info.ssi_code = SI_QUEUE;
    assert_false(signal_reached_command(&info, getpid()));
    info.ssi_code = SI_TKILL;
    assert_false(signal_reached_command(&info, getpid()));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signals_for_a_command_are_read),
        cmocka_unit_test(test_without_command_only_ending_ones_are_taken),
        cmocka_unit_test(test_ignored_signals_stay_ignored),
        cmocka_unit_test(test_failed_writes_do_not_end_us),
        cmocka_unit_test(test_restore_gives_back_what_was_found),
        cmocka_unit_test(test_status_of_children_is_kept_though_sigchld_was_ignored),
        cmocka_unit_test(test_descriptor_neither_waits_nor_is_inherited),
        cmocka_unit_test(test_terminal_is_told_by_the_code),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

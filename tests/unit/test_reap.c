#include "child/reap.h"
#include "in_child.h"

#include <sys/prctl.h>

static size_t reaped_count;

static void count_reaped(void *context, pid_t pid, const struct rusage *rusage)
{
    size_t *count = context;

    CHECK(pid > 0 && rusage->ru_maxrss > 0);
    ++*count;
}

static void test_exit_status_of_every_code_and_signal(void **state)
{
    struct reaper reaper = {0};

    (void)state;
    for (int code = 0; code < 256; code++) {
        reaper.wait_status = W_EXITCODE(code, 0);
        assert_int_equal(reaper_exit_status(&reaper), code);
    }
    for (int number = 1; number <= 64; number++) {
        reaper.wait_status = W_EXITCODE(0, number);
        assert_int_equal(reaper_exit_status(&reaper), 128 + number);
        reaper.wait_status |= WCOREFLAG;
        assert_int_equal(reaper_exit_status(&reaper), 128 + number);
    }
}

static pid_t start(int code, int signal_number)
{
    pid_t pid = fork();

    CHECK(pid >= 0);
    if (pid > 0)
        return pid;
    if (signal_number != 0)
        raise(signal_number);
    _exit(code);
}

/* Waits until it has ended, without reaping it. */
static void await_end(pid_t pid)
{
    siginfo_t info;

    CHECK(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) == 0);
}

static void collect_the_command(void)
{
    struct reaper reaper = {.command = start(9, 0)};

    await_end(reaper.command);
    reaper_collect(&reaper, count_reaped, &reaped_count);
    CHECK(reaper.command_ended);
    CHECK(reaper_exit_status(&reaper) == 9);

    reaper = (struct reaper){.command = start(0, SIGKILL)};
    await_end(reaper.command);
    reaper_collect(&reaper, count_reaped, &reaped_count);
    CHECK(reaper.command_ended);
    CHECK(reaper_exit_status(&reaper) == 128 + SIGKILL);
    CHECK(reaped_count == 2);
}

static void test_command_is_collected_with_its_status(void **state)
{
    (void)state;
    in_child(collect_the_command);
}

static void collect_others_first(void)
{
    struct reaper reaper = {0};
    pid_t others[20];

    reaper.command = fork();
    if (reaper.command == 0) {
        pause();
        _exit(0);
    }
    for (int i = 0; i < 20; i++)
        others[i] = start(i, 0);
    for (int i = 0; i < 20; i++)
        await_end(others[i]);
    reaper_collect(&reaper, count_reaped, &reaped_count);
    CHECK(!reaper.command_ended);
    for (int i = 0; i < 20; i++)
        CHECK(waitpid(others[i], NULL, WNOHANG) == -1 && errno == ECHILD);
    reaper_collect(&reaper, count_reaped, &reaped_count); /* does not wait for the one that lives */
    CHECK(!reaper.command_ended);
    CHECK(kill(reaper.command, SIGTERM) == 0);
    await_end(reaper.command);
    reaper_collect(&reaper, count_reaped, &reaped_count);
    CHECK(reaper.command_ended);
    CHECK(reaper_exit_status(&reaper) == 128 + SIGTERM);
    reaper_collect(&reaper, count_reaped, &reaped_count); /* no children left */
    CHECK(reaper_exit_status(&reaper) == 128 + SIGTERM);
}

static void test_others_are_reaped_and_the_command_is_not_awaited(void **state)
{
    (void)state;
    in_child(collect_others_first);
}

static void adopt(void)
{
    struct reaper reaper = {.command = -1};
    int subreaper = 0;
    int ends[2];
    pid_t orphan;

    CHECK(pipe(ends) == 0);
    reaper_adopt_orphans();
    CHECK(prctl(PR_GET_CHILD_SUBREAPER, &subreaper) == 0 && subreaper == 1);
    pid_t middle = fork();
    if (middle == 0) {
        orphan = fork();
        if (orphan == 0) {
            pause();
            _exit(0);
        }
        CHECK(write(ends[1], &orphan, sizeof orphan) == sizeof orphan);
        _exit(0);
    }
    CHECK(read(ends[0], &orphan, sizeof orphan) == sizeof orphan);
    await_end(middle);
    reaper_collect(&reaper, count_reaped, &reaped_count);
    CHECK(kill(orphan, SIGKILL) == 0);
    await_end(orphan); /* it is our child now, or this fails */
    reaper_collect(&reaper, count_reaped, &reaped_count);
    CHECK(kill(orphan, 0) == -1 && errno == ESRCH);
    CHECK(!reaper.command_ended);
}

static void test_orphans_become_ours(void **state)
{
    (void)state;
    in_child(adopt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exit_status_of_every_code_and_signal),
        cmocka_unit_test(test_command_is_collected_with_its_status),
        cmocka_unit_test(test_others_are_reaped_and_the_command_is_not_awaited),
        cmocka_unit_test(test_orphans_become_ours),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

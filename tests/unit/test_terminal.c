#include "pty.h"
#include "sink/terminal.h"

static void look_at_a_file(void)
{
    CHECK(setenv("TERM", "xterm", 1) == 0);
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    CHECK(!terminal_is_capable(fd) && !terminal_has_colour(fd) && !terminal_is_ours(fd));
    CHECK(terminal_width(fd) == 0);
    CHECK(!terminal_is_capable(-1) && terminal_width(-1) == 0 && !terminal_is_ours(-1));
}

static void look_at_a_terminal(void)
{
    pty_become_leader(93);
    CHECK(terminal_is_capable(STDERR_FILENO));
    CHECK(terminal_has_colour(STDERR_FILENO));
    CHECK(terminal_width(STDERR_FILENO) == 93);
    CHECK(terminal_is_ours(STDERR_FILENO));
}

static void look_at_its_settings(void)
{
    pty_become_leader(80);
    CHECK(setenv("NO_COLOR", "1", 1) == 0);
    CHECK(!terminal_has_colour(STDERR_FILENO));
    CHECK(terminal_is_capable(STDERR_FILENO));
    CHECK(setenv("NO_COLOR", "", 1) == 0); /* empty is the same as not set, says no-color.org */
    CHECK(terminal_has_colour(STDERR_FILENO));
    CHECK(setenv("TERM", "dumb", 1) == 0);
    CHECK(!terminal_is_capable(STDERR_FILENO) && !terminal_has_colour(STDERR_FILENO));
    CHECK(unsetenv("TERM") == 0);
    CHECK(!terminal_is_capable(STDERR_FILENO));
}

static void let_an_editor_take_it(void)
{
    struct termios mode;

    pty_become_leader(80);
    CHECK(tcgetattr(STDERR_FILENO, &mode) == 0);
    mode.c_lflag &= (tcflag_t)~ICANON;
    CHECK(tcsetattr(STDERR_FILENO, TCSANOW, &mode) == 0);
    CHECK(!terminal_is_ours(STDERR_FILENO));
}

static void look_from_the_background(void)
{
    pty_become_leader(80);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        if (setpgid(0, 0) < 0)
            _exit(2);
        _exit(terminal_is_ours(STDERR_FILENO) ? 1 : 0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(terminal_is_ours(STDERR_FILENO));
}

static void test_a_file_is_no_terminal(void **state)
{
    (void)state;
    in_child(look_at_a_file);
}

static void test_a_terminal(void **state)
{
    (void)state;
    in_child(look_at_a_terminal);
}

static void test_what_its_user_says(void **state)
{
    (void)state;
    in_child(look_at_its_settings);
}

static void test_an_editor_has_it_for_itself(void **state)
{
    (void)state;
    in_child(let_an_editor_take_it);
}

static void test_it_is_not_ours_in_the_background(void **state)
{
    (void)state;
    in_child(look_from_the_background);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_file_is_no_terminal),
        cmocka_unit_test(test_a_terminal),
        cmocka_unit_test(test_what_its_user_says),
        cmocka_unit_test(test_an_editor_has_it_for_itself),
        cmocka_unit_test(test_it_is_not_ours_in_the_background),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Runs a test body in a child process: for what changes the whole process (signals, limits,
 * descriptors, children) or might hang. Inside, CHECK takes the place of cmocka's assertions, which
 * belong to the parent.
 */
#ifndef TESTS_UNIT_IN_CHILD_H
#define TESTS_UNIT_IN_CHILD_H

#include "scratch.h"

#include <signal.h>
#include <sys/wait.h>

/* Far beyond anything a body does: only a hang gets there. */
#define IN_CHILD_HANG_SECS 60

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            dprintf(STDERR_FILENO, "%s:%d: not so: %s (errno %d)\n", __FILE__, __LINE__,           \
                    #condition, errno);                                                            \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

static inline void in_child_within(unsigned seconds, void (*body)(void))
{
    int status;

    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        alarm(seconds);
        body();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status))
        fail_msg("the child was ended by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static inline void in_child(void (*body)(void))
{
    in_child_within(IN_CHILD_HANG_SECS, body);
}

#endif

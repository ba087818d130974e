/*
 * A terminal for tests: the calling process (a child of the test's) leads its session, and standard
 * error is the terminal.
 */
#ifndef TESTS_UNIT_PTY_H
#define TESTS_UNIT_PTY_H

#include "in_child.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>

static int pty_master = -1;

static inline void pty_become_leader(unsigned short columns)
{
    struct winsize size = {.ws_row = 24, .ws_col = columns};

    pty_master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    CHECK(pty_master >= 0 && grantpt(pty_master) == 0 && unlockpt(pty_master) == 0);
    CHECK(setsid() > 0);
    int slave = open(ptsname(pty_master), O_RDWR); /* becomes the controlling terminal */
    CHECK(slave >= 0);
    CHECK(ioctl(slave, TIOCSWINSZ, &size) == 0);
    CHECK(dup2(slave, STDERR_FILENO) == STDERR_FILENO);
    CHECK(setenv("TERM", "xterm", 1) == 0);
    CHECK(unsetenv("NO_COLOR") == 0);
}

/* What was written to the terminal since the last time. */
static inline size_t pty_read(char *out, size_t size)
{
    struct pollfd ready = {.fd = pty_master, .events = POLLIN};
    size_t got = 0;

    while (got + 1 < size && poll(&ready, 1, 0) > 0 && (ready.revents & POLLIN) != 0) {
        ssize_t bytes = read(pty_master, out + got, size - got - 1);
        if (bytes <= 0)
            break;
        got += (size_t)bytes;
    }
    out[got] = '\0';
    return got;
}

#endif

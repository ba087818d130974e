/*
 * Signals, consumed synchronously: they are blocked and read from a descriptor, so no handler ever
 * runs and nothing is interrupted. A signal that our parent had ignored (nohup, background jobs of
 * a shell) stays ignored. One instance per process, on the main thread.
 */
#ifndef CHILD_SIGNALS_H
#define CHILD_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/signalfd.h>
#include <sys/types.h>

struct signals {
    int fd;
    sigset_t original_mask;
    struct sigaction original_chld;
};

/* With a command more signals are taken, to be forwarded. */
int signals_open(struct signals *signals, bool has_command);

/* What the command must find as if we had not been there. Async-signal-safe. */
void signals_restore(const struct signals *signals);

/* 1 and the next signal, or 0 when there is none. */
int signals_next(struct signals *signals, struct signalfd_siginfo *ret_info);

/*
 * Whether the command has got a signal already: the terminal driver sends to the whole foreground
 * process group, and says so by an si_code that only the kernel can set. A command that has left
 * our group (timeout does) has not got it; and a hang-up goes to the leader of the session alone,
 * which may be us.
 */
bool signal_reached_command(const struct signalfd_siginfo *info, pid_t command);

/* Stops this process as if SIGTSTP had not been blocked, so not where nobody could continue it. */
void signals_stop_self(void);

void signals_close(struct signals *signals);

#endif

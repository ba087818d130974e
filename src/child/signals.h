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
 * Whether a signal came from the terminal driver: it went to the whole foreground process group,
 * the command included. kill(2) says so in si_code, which the kernel alone can set to SI_KERNEL.
 */
bool signal_is_from_terminal(const struct signalfd_siginfo *info);

void signals_close(struct signals *signals);

#endif

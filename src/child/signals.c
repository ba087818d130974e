#include "child/signals.h"

#include <errno.h>
#include <stddef.h>
#include <unistd.h>

static const int ending[] = {SIGTERM, SIGINT, SIGHUP};
/* With a command these are passed on too; alone they keep their default effect. */
static const int forwarded[] = {SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};
/* Blocked, never read: a write then fails with an error instead of ending or stopping us. */
static const int unwanted[] = {SIGPIPE, SIGXFSZ, SIGTTOU};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static bool is_ignored(int number)
{
    struct sigaction action;

    return sigaction(number, NULL, &action) == 0 && !(action.sa_flags & SA_SIGINFO) &&
           action.sa_handler == SIG_IGN;
}

static void take(sigset_t *set, const int *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!is_ignored(numbers[i]))
            sigaddset(set, numbers[i]);
}

int signals_open(struct signals *signals, bool has_command)
{
    struct sigaction keep_children = {.sa_handler = SIG_DFL};
    sigset_t taken;

    /* Were SIGCHLD ignored, the kernel would reap our children and their status would be lost. */
    if (sigaction(SIGCHLD, &keep_children, &signals->original_chld) < 0)
        return -errno;
    sigemptyset(&taken);
    sigaddset(&taken, SIGCHLD);
    take(&taken, ending, COUNT(ending));
    if (has_command)
        take(&taken, forwarded, COUNT(forwarded));

    sigset_t blocked = taken;
    for (size_t i = 0; i < COUNT(unwanted); i++)
        sigaddset(&blocked, unwanted[i]);
    if (sigprocmask(SIG_BLOCK, &blocked, &signals->original_mask) < 0)
        return -errno;
    signals->fd = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
    return signals->fd < 0 ? -errno : 0;
}

void signals_restore(const struct signals *signals)
{
    (void)sigaction(SIGCHLD, &signals->original_chld, NULL);
    (void)sigprocmask(SIG_SETMASK, &signals->original_mask, NULL);
}

int signals_next(struct signals *signals, struct signalfd_siginfo *ret_info)
{
    return read(signals->fd, ret_info, sizeof *ret_info) == (ssize_t)sizeof *ret_info;
}

bool signal_reached_command(const struct signalfd_siginfo *info, pid_t command)
{
    bool is_for_leader_only = info->ssi_signo == SIGHUP && getsid(0) == getpid();

    return info->ssi_code == SI_KERNEL && getpgid(command) == getpgrp() && !is_for_leader_only;
}

/* SIGSTOP would also stop a process group that has no shell to go back to. */
void signals_stop_self(void)
{
    sigset_t stop;

    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    (void)raise(SIGTSTP);
    (void)sigprocmask(SIG_UNBLOCK, &stop, NULL); /* stops here, until SIGCONT */
    (void)sigprocmask(SIG_BLOCK, &stop, NULL);
}

void signals_close(struct signals *signals)
{
    if (signals->fd >= 0)
        close(signals->fd);
    signals->fd = -1;
}

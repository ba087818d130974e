#include "child/reap.h"

#include <stddef.h>
#include <sys/prctl.h>
#include <sys/wait.h>

void reaper_adopt_orphans(void)
{
    /* Kernels before 3.4 do not know it; orphans then go to init, as they would without us. */
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

bool reaper_has_children(void)
{
    siginfo_t info;

    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

void reaper_collect(struct reaper *reaper, reaper_listener *listener, void *context)
{
    struct rusage rusage;
    int status;
    pid_t pid;

    /*
     * Children of this thread, which the command and orphans are; a GPU driver's library may start
     * programs on another one, and waits for them itself.
     */
    while ((pid = wait4(-1, &status, WNOHANG | __WNOTHREAD, &rusage)) > 0) {
        listener(context, pid, &rusage);
        if (pid == reaper->command) {
            reaper->command_ended = true;
            reaper->wait_status = status;
        }
    }
}

int reaper_exit_status(const struct reaper *reaper)
{
    if (WIFSIGNALED(reaper->wait_status))
        return 128 + WTERMSIG(reaper->wait_status);
    return WEXITSTATUS(reaper->wait_status);
}

#include "child/spawn.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STATUS_NOT_FOUND 127
#define STATUS_NOT_EXECUTABLE 126

/* exec also says EACCES when a folder of PATH is closed to us and no other has the command. */
static bool is_in_path(const char *command)
{
    const char *path = getenv("PATH");
    char candidate[PATH_MAX];

    if (strchr(command, '/') != NULL || path == NULL)
        return true;
    while (*path != '\0') {
        size_t length = strcspn(path, ":");
        int size = snprintf(candidate, sizeof candidate, "%.*s/%s", (int)length, path, command);
        if (size > 0 && (size_t)size < sizeof candidate && access(candidate, F_OK) == 0)
            return true;
        path += length + (path[length] == ':');
    }
    return false;
}

/* In the child. Every descriptor of ours is closed by exec. */
static _Noreturn void wait_and_exec(int hold_fd, int result_fd, char *const *command,
                                    const struct signals *signals)
{
    char go;
    ssize_t got;

    do {
        got = read(hold_fd, &go, 1);
    } while (got < 0 && errno == EINTR);
    if (got != 1)
        _exit(STATUS_NOT_EXECUTABLE); /* the tracker is gone */

    signals_restore(signals);
    execvp(command[0], command);
    int error = errno == EACCES && !is_in_path(command[0]) ? ENOENT : errno;
    ssize_t ignored = write(result_fd, &error, sizeof error);
    (void)ignored;
    _exit(child_exec_status(-error));
}

int child_hold(struct child *child, char *const *command, const struct signals *signals)
{
    int hold[2];
    int result[2];

    *child = (struct child){.pid = -1, .hold_fd = -1, .result_fd = -1};
    if (pipe2(hold, O_CLOEXEC) < 0)
        return -errno;
    if (pipe2(result, O_CLOEXEC) < 0) {
        int error = -errno;
        close(hold[0]);
        close(hold[1]);
        return error;
    }
    pid_t pid = fork();
    int error = -errno;
    if (pid == 0) {
        close(hold[1]);
        close(result[0]);
        wait_and_exec(hold[0], result[1], command, signals);
    }
    close(hold[0]);
    close(result[1]);
    child->hold_fd = hold[1];
    child->result_fd = result[0];
    if (pid < 0) {
        child_close(child);
        return error;
    }
    child->pid = pid;
    return 0;
}

int child_release(struct child *child)
{
    int error = write(child->hold_fd, "", 1) == 1 ? 0 : -errno;

    close_fd(&child->hold_fd);
    return error;
}

int child_exec_result(struct child *child)
{
    int error = 0;
    ssize_t got;

    do {
        got = read(child->result_fd, &error, sizeof error);
    } while (got < 0 && errno == EINTR);
    close_fd(&child->result_fd);
    return got == (ssize_t)sizeof error ? -error : 0;
}

int child_exec_status(int exec_error)
{
    return exec_error == -ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
}

void child_close(struct child *child)
{
    close_fd(&child->hold_fd);
    close_fd(&child->result_fd);
}

/*
 * Tells when things happened, in nanoseconds of the monotonic clock.
 * Usage: stamp MS [FILE]          sleeps so long; tells "ran BEGAN ENDED" of itself, in FILE if
 * given stamp -- COMMAND         the emptiest wrapper there is: forks, executes and waits stamp
 * --launch COMMAND   the same, and prints "launched EXEC ENDED" of the command
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int tell(int fd, const char *what, long long from_ns, long long to_ns)
{
    char text[64];
    int length = snprintf(text, sizeof text, "%s %lld %lld\n", what, from_ns, to_ns);

    return write(fd, text, (size_t)length) == length ? 0 : 1;
}

/* The child writes down when it executes; the parent could only guess. */
static int wrap(char **command, long long *ret_exec_ns, long long *ret_ended_ns)
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        *ret_exec_ns = now_ns();
        execvp(command[0], command);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 1;
    *ret_ended_ns = now_ns();
    return status == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    long long began_ns = now_ns();
    long long ended_ns;

    if (argc > 2 && strcmp(argv[1], "--") == 0)
        return wrap(argv + 2, &began_ns, &ended_ns);
    if (argc > 2 && strcmp(argv[1], "--launch") == 0) {
        long long *exec_ns =
            mmap(NULL, sizeof *exec_ns, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (exec_ns == MAP_FAILED || wrap(argv + 2, exec_ns, &ended_ns) != 0)
            return 1;
        return tell(STDOUT_FILENO, "launched", *exec_ns, ended_ns);
    }
    if (argc >= 2 && atol(argv[1]) > 0)
        usleep((useconds_t)atol(argv[1]) * 1000);
    /* Some tools keep what their command prints to themselves. */
    int fd = argc == 3 ? open(argv[2], O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : STDOUT_FILENO;
    return tell(fd, "ran", began_ns, now_ns());
}

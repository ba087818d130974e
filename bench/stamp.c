/*
 * Prints the monotonic time at which it began, in nanoseconds. As a tracked command it tells when
 * the tracker let it go; with arguments it first executes them, as the emptiest wrapper there is.
 */
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    if (argc > 1) {
        pid_t child = fork();
        if (child == 0) {
            execv(argv[1], argv + 1);
            _exit(127);
        }
        return waitpid(child, NULL, 0) == child ? 0 : 1;
    }
    printf("%lld\n", (long long)now.tv_sec * 1000000000 + now.tv_nsec);
    return 0;
}

/*
 * What the workloads of the end-to-end tests share: using CPU time by the kernel's own account, and
 * writing down how much it was. Truth is a file of lines, one a process that nobody waits for, and
 * one for the root with all those it waited for; their sum in nanoseconds is what the tree used.
 */
#ifndef E2E_WORKLOAD_H
#define E2E_WORKLOAD_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_MS 1000000.0
#define NS_PER_SEC 1000000000.0

static inline void die(const char *what)
{
    fprintf(stderr, "workload: %s: %s\n", what, strerror(errno));
    exit(111);
}

static inline double clock_ns_of(clockid_t clock)
{
    struct timespec time;

    if (clock_gettime(clock, &time) < 0)
        die("clock_gettime");
    return (double)time.tv_sec * NS_PER_SEC + (double)time.tv_nsec;
}

/* Of this thread, by its own clock: how busy the machine is makes no difference. */
static inline void burn_ms(double ms)
{
    double until = clock_ns_of(CLOCK_THREAD_CPUTIME_ID) + ms * NS_PER_MS;
    volatile unsigned sink = 0;

    while (clock_ns_of(CLOCK_THREAD_CPUTIME_ID) < until)
        for (unsigned i = 0; i < 20000; i++)
            sink += i;
}

static inline void sleep_ms(double ms)
{
    struct timespec left = {.tv_sec = (time_t)(ms / 1000),
                            .tv_nsec = (long)(ms * NS_PER_MS) % 1000000000};

    while (nanosleep(&left, &left) < 0 && errno == EINTR)
        ;
}

static inline double rusage_ns(int who)
{
    struct rusage used;

    if (getrusage(who, &used) < 0)
        die("getrusage");
    return ((double)used.ru_utime.tv_sec + (double)used.ru_stime.tv_sec) * NS_PER_SEC +
           ((double)used.ru_utime.tv_usec + (double)used.ru_stime.tv_usec) * 1000;
}

static inline pid_t fork_or_die(void)
{
    pid_t pid = fork();

    if (pid < 0)
        die("fork");
    return pid;
}

static inline void wait_for(pid_t pid)
{
    while (waitpid(pid, NULL, 0) < 0)
        if (errno != EINTR)
            die("waitpid");
}

/* And waits until it is on storage. */
static inline void write_file(const char *path, long mib)
{
    static char block[1 << 20];
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    if (fd < 0)
        die(path);
    memset(block, 'x', sizeof block);
    for (long i = 0; i < mib; i++)
        if (write(fd, block, sizeof block) != (ssize_t)sizeof block)
            die("write");
    if (fsync(fd) < 0)
        die("fsync");
    close(fd);
}

#endif

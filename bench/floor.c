/*
 * The floor: what the kernel alone charges for one sample. Reads the files that the tracker reads,
 * from kept descriptors, on the same schedule, and does nothing with them.
 * Usage: floor INTERVAL_MS SAMPLES; prints CPU microseconds per sample.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

static char content[1 << 20];

static void read_all(int fd)
{
    off_t at = 0;

    for (ssize_t got; (got = pread(fd, content, sizeof content, at)) > 0;)
        at += got;
}

static double cpu_us(void)
{
    struct timespec used;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec * 1e6 + (double)used.tv_nsec / 1e3;
}

int main(int argc, char **argv)
{
    static const char *const paths[] = {
        "/proc/stat",    "/proc/loadavg",   "/proc/meminfo",
        "/proc/net/dev", "/proc/diskstats", "/proc/self/statm",
    };
    enum { COUNT = sizeof paths / sizeof paths[0] };
    int fds[COUNT];
    int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY);
    int out_fd = open("/dev/null", O_WRONLY);
    struct pollfd mounts = {.fd = open("/proc/self/mountinfo", O_RDONLY), .events = POLLPRI};
    struct stat status;
    struct statvfs space;
    struct timespec due;

    if (argc != 3)
        return 2;
    long interval_ns = atol(argv[1]) * 1000000;
    long samples = atol(argv[2]);
    for (int i = 0; i < COUNT; i++)
        fds[i] = open(paths[i], O_RDONLY);
    clock_gettime(CLOCK_MONOTONIC, &due);
    double before = cpu_us();
    for (long sample = 0; sample < samples; sample++) {
        due.tv_nsec += interval_ns;
        due.tv_sec += due.tv_nsec / 1000000000;
        due.tv_nsec %= 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
        for (int i = 0; i < COUNT; i++)
            read_all(fds[i]);
        fstat(proc_fd, &status);
        poll(&mounts, 1, 0);
        statvfs("/", &space);
        if (write(out_fd, content, 2048) < 0)
            return 1;
    }
    printf("%.1f\n", (cpu_us() - before) / (double)samples);
    return 0;
}

/*
 * The floor: what the kernel alone charges for one sample. Reads the files that the tracker reads,
 * from kept descriptors, on the same schedule, and does nothing with them.
 * Usage: floor INTERVAL_MS SAMPLES PID; prints CPU microseconds per sample. PID is the one member
 * of the tracked tree.
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

/* Those that are made record by record have ended only when a read gives nothing. */
static void read_all(int fd, int is_one_record)
{
    off_t at = 0;

    for (ssize_t got; (got = pread(fd, content, sizeof content, at)) > 0 && !is_one_record;)
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
        "/proc/net/dev", "/proc/diskstats",  "/proc/stat",     "/proc/loadavg",
        "/proc/meminfo", "/proc/self/statm", "/proc/%s/statm", "/proc/%s/status",
    };
    enum { COUNT = sizeof paths / sizeof paths[0], SEVERAL_RECORDS = 2 };
    int fds[COUNT];
    char path[64];
    struct timespec used;
    int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY);
    int out_fd = open("/dev/null", O_WRONLY);
    struct pollfd mounts = {.fd = open("/proc/self/mountinfo", O_RDONLY), .events = POLLPRI};
    struct stat status;
    struct statvfs space;
    struct timespec due;

    if (argc != 4)
        return 2;
    clockid_t member_clock = (clockid_t)((~(unsigned)atol(argv[3]) << 3) | 2);
    long interval_ns = atol(argv[1]) * 1000000;
    long samples = atol(argv[2]);
    for (int i = 0; i < COUNT; i++) {
        snprintf(path, sizeof path, paths[i], argv[3]);
        fds[i] = open(path, O_RDONLY);
    }
    clock_gettime(CLOCK_MONOTONIC, &due);
    double before = cpu_us();
    for (long sample = 0; sample < samples; sample++) {
        due.tv_nsec += interval_ns;
        due.tv_sec += due.tv_nsec / 1000000000;
        due.tv_nsec %= 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
        for (int i = 0; i < COUNT; i++)
            read_all(fds[i], i >= SEVERAL_RECORDS);
        clock_gettime(member_clock, &used);
        fstat(proc_fd, &status);
        poll(&mounts, 1, 0);
        statvfs("/", &space);
        if (write(out_fd, content, 2048) < 0)
            return 1;
    }
    printf("%.1f\n", (cpu_us() - before) / (double)samples);
    return 0;
}

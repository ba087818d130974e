/*
 * The floor: what the kernel alone charges for one sample. Makes the reads that the tracker makes,
 * from kept descriptors, on the same schedule, does nothing with what it gets, and appends as many
 * bytes to a file. Usage: floor INTERVAL_MS PSS PIDS OUT; runs until it is ended. PIDS is a file
 * with the members of the tracked tree, one number a line. PSS 1 also reads their proportional
 * memory, by the tracker's rule: each once and then every 10 s, within 0.5 % of the time.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <time.h>
#include <unistd.h>

#define MEMBERS_MAX 8192
#define STATUS_PER_SAMPLE 16
/* A sample of a small host in JSON. */
#define LINE_BYTES 2500
#define NS_PER_SEC 1000000000LL
#define PSS_REFRESH_NS (10 * NS_PER_SEC)
#define PSS_SHARE 200
/* What the tracker expects a reading to take at least. */
#define PSS_EXPECTED_NS 50000

struct member {
    long pid;
    clockid_t clock;
    int statm_fd;
    int status_fd;
    int64_t clock_ns;
    int64_t status_clock_ns;
    int64_t pss_read_ns;
};

static const char *const host_paths[] = {
    "/proc/net/dev", "/proc/diskstats", "/proc/stat",
    "/proc/loadavg", "/proc/meminfo",   "/proc/self/statm",
};

enum { HOST_COUNT = sizeof host_paths / sizeof host_paths[0], SEVERAL_RECORDS = 2 };

static char content[1 << 20];
static int host_fds[HOST_COUNT];
static struct member members[MEMBERS_MAX];
static size_t member_count;
static size_t next_status;
static size_t next_pss;
static int64_t allowance_ns;

static int64_t clock_ns(clockid_t clock)
{
    struct timespec time;

    clock_gettime(clock, &time);
    return time.tv_sec * NS_PER_SEC + time.tv_nsec;
}

/* Those that are made record by record have ended only when a read gives nothing. */
static void read_all(int fd, int is_one_record)
{
    off_t at = 0;

    for (ssize_t got; (got = pread(fd, content, sizeof content, at)) > 0 && !is_one_record;)
        at += got;
}

static int open_of(long pid, const char *name)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%ld/%s", pid, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static int open_members(const char *path)
{
    FILE *list = fopen(path, "re");
    long pid;

    if (list == NULL)
        return -1;
    while (member_count < MEMBERS_MAX && fscanf(list, "%ld", &pid) == 1)
        members[member_count++] = (struct member){
            .pid = pid,
            .clock = (clockid_t)((~(unsigned)pid << 3) | 2),
            .statm_fd = open_of(pid, "statm"),
            .status_fd = open_of(pid, "status"),
        };
    fclose(list);
    return 0;
}

/* One that has not run since has no other status than before. */
static void read_members(void)
{
    int left = STATUS_PER_SAMPLE;

    for (size_t i = 0; i < member_count; i++) {
        members[i].clock_ns = clock_ns(members[i].clock);
        read_all(members[i].statm_fd, 1);
    }
    for (size_t tried = 0; tried < member_count && left > 0; tried++) {
        struct member *member = &members[next_status++ % member_count];
        if (member->status_clock_ns == member->clock_ns)
            continue;
        read_all(member->status_fd, 1);
        member->status_clock_ns = member->clock_ns;
        left--;
    }
}

static void read_pss(int64_t interval_ns)
{
    int64_t now_ns = clock_ns(CLOCK_MONOTONIC);

    allowance_ns += interval_ns / PSS_SHARE;
    for (size_t tried = 0; tried < member_count && allowance_ns >= PSS_EXPECTED_NS; tried++) {
        struct member *member = &members[next_pss++ % member_count];
        if (member->pss_read_ns != 0 && now_ns - member->pss_read_ns <= PSS_REFRESH_NS)
            continue;
        int64_t begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        int fd = open_of(member->pid, "smaps_rollup");
        read_all(fd, 1);
        close(fd);
        member->pss_read_ns = now_ns;
        allowance_ns -= clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
    }
}

static void read_host(int proc_fd, struct pollfd *mounts)
{
    struct stat status;
    struct statfs space;

    for (int i = 0; i < HOST_COUNT; i++)
        read_all(host_fds[i], i >= SEVERAL_RECORDS);
    fstat(proc_fd, &status);
    poll(mounts, 1, 0);
    statfs("/", &space);
}

/* Two descriptors a member. */
static void allow_descriptors(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

int main(int argc, char **argv)
{
    struct timespec due;

    if (argc != 5)
        return 2;
    int64_t interval_ns = atol(argv[1]) * 1000000LL;
    int with_pss = atoi(argv[2]);
    allow_descriptors();
    if (interval_ns <= 0 || open_members(argv[3]) < 0)
        return 2;
    for (int i = 0; i < HOST_COUNT; i++)
        host_fds[i] = open(host_paths[i], O_RDONLY | O_CLOEXEC);
    int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int out_fd = open(argv[4], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    struct pollfd mounts = {.fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC),
                            .events = POLLPRI};
    clock_gettime(CLOCK_MONOTONIC, &due);
    for (;;) {
        int64_t next_ns = due.tv_sec * NS_PER_SEC + due.tv_nsec + interval_ns;
        due = (struct timespec){.tv_sec = next_ns / NS_PER_SEC, .tv_nsec = next_ns % NS_PER_SEC};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
        read_host(proc_fd, &mounts);
        if (member_count > 0)
            read_members();
        if (with_pss)
            read_pss(interval_ns);
        if (write(out_fd, content, LINE_BYTES) < 0)
            return 1;
    }
}

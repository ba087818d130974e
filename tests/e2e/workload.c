/*
 * Process trees that know what they used. Usage: workload TRUTH MODE NUMBERS...
 * A mode that begins with "inner-" is a part of another: it does not report what it waited for.
 */
#include "workload.h"

#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/stat.h>

extern char **environ;

static const char *self_path;
static const char *truth_path;
static int truth_fd;
static int argument_count;
static char **arguments;

static double argument(int index)
{
    if (index >= argument_count)
        die("too few arguments");
    return atof(arguments[index]);
}

/* One line is one write, so that those of many processes do not mix. */
static void report(double ns)
{
    char line[64];
    int length = snprintf(line, sizeof line, "%.0f\n", ns);

    if (write(truth_fd, line, (size_t)length) != length)
        die("write");
}

static void report_own(void)
{
    report(clock_ns_of(CLOCK_PROCESS_CPUTIME_ID));
}

/* --- one process, sequences, threads --- */

static void mode_burn(void)
{
    burn_ms(argument(0));
}

/* COUNT MS PARENT_MS: jobs one after the other, the parent busy in between. */
static void mode_jobs(void)
{
    for (int i = 0; i < (int)argument(0); i++) {
        pid_t pid = fork_or_die();
        if (pid == 0) {
            burn_ms(argument(1));
            _exit(0);
        }
        burn_ms(argument(2));
        wait_for(pid);
    }
}

static void *burn_thread(void *ms)
{
    burn_ms(*(double *)ms);
    return NULL;
}

static void run_threads(int count, double ms)
{
    pthread_t threads[256];

    for (int i = 0; i < count && i < 256; i++)
        if ((errno = pthread_create(&threads[i], NULL, burn_thread, &ms)) != 0)
            die("pthread_create");
    for (int i = 0; i < count && i < 256; i++)
        pthread_join(threads[i], NULL);
}

/* COUNT MS */
static void mode_threads(void)
{
    run_threads((int)argument(0), argument(1));
}

/* COUNT MS UID: a child that gives up its user, with a child of its own. */
static void mode_setuid(void)
{
    for (int i = 0; i < (int)argument(0); i++) {
        pid_t pid = fork_or_die();
        if (pid == 0) {
            if (setuid((uid_t)argument(2)) < 0)
                die("setuid");
            pid_t inner = fork_or_die();
            burn_ms(argument(1));
            if (inner > 0)
                wait_for(inner);
            _exit(0);
        }
        wait_for(pid);
    }
}

/* --- vfork and exec --- */

static pid_t spawn_self(const char *mode, double first, double second, double third)
{
    char numbers[3][32];
    char *argv[] = {(char *)(uintptr_t)self_path,
                    (char *)(uintptr_t)truth_path,
                    (char *)(uintptr_t)mode,
                    numbers[0],
                    numbers[1],
                    numbers[2],
                    NULL};
    pid_t pid;

    snprintf(numbers[0], sizeof numbers[0], "%.17g", first);
    snprintf(numbers[1], sizeof numbers[1], "%.17g", second);
    snprintf(numbers[2], sizeof numbers[2], "%.17g", third);
    if ((errno = posix_spawn(&pid, self_path, NULL, NULL, argv, environ)) != 0)
        die("posix_spawn");
    return pid;
}

/* DEPTH MS: spawns the next one of the chain while it is busy itself. */
static void mode_inner_chain(void)
{
    pid_t pid = argument(0) > 1 ? spawn_self("inner-chain", argument(0) - 1, argument(1), 0) : 0;

    burn_ms(argument(1));
    if (pid > 0)
        wait_for(pid);
}

/* COUNT DEPTH MS */
static void mode_spawn(void)
{
    for (int i = 0; i < (int)argument(0); i++)
        wait_for(spawn_self("inner-chain", argument(1), argument(2), 0));
}

/* LEVELS WIDTH MS: like make -j2 that calls make: two at a time on every level. */
static void mode_make(void)
{
    int running = 0;

    if (argument(0) < 1) {
        burn_ms(argument(2));
        return;
    }
    for (int i = 0; i < (int)argument(1); i++) {
        if (running++ == 2) {
            wait_for(-1);
            running--;
        }
        spawn_self("inner-make", argument(0) - 1, argument(1), argument(2));
    }
    while (running-- > 0)
        wait_for(-1);
}

/* --- children that nobody of the tree waits for --- */

/* Blocks until every process that holds the other end is gone. */
static void wait_for_silence(int pipe_read, int pipe_write)
{
    char byte;

    close(pipe_write);
    while (read(pipe_read, &byte, 1) < 0 && errno == EINTR)
        ;
}

static void double_fork(double ms)
{
    pid_t middle = fork_or_die();

    if (middle == 0) {
        setsid();
        if (fork_or_die() == 0) {
            burn_ms(ms);
            report_own();
        }
        _exit(0);
    }
    wait_for(middle);
}

/* COUNT MS */
static void mode_daemons(void)
{
    int alive[2];

    if (pipe(alive) < 0)
        die("pipe");
    for (int i = 0; i < (int)argument(0); i++)
        double_fork(argument(1));
    wait_for_silence(alive[0], alive[1]);
}

static void run_unwaited_jobs(void)
{
    for (int i = 0; i < (int)argument(0); i++) {
        if (fork_or_die() == 0) {
            burn_ms(argument(1));
            report_own();
            _exit(0);
        }
        burn_ms(argument(2));
        if (i % 2 == 1)
            while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
                ; /* gives ECHILD when all are gone */
    }
    while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
        ;
}

/* COUNT MS PARENT_MS: SIGCHLD ignored, so the kernel throws away what the children used. */
static void mode_ignore(void)
{
    signal(SIGCHLD, SIG_IGN);
    run_unwaited_jobs();
}

/* The same by a flag, which /proc does not show. */
static void mode_nocldwait(void)
{
    struct sigaction action = {.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDWAIT};

    sigaction(SIGCHLD, &action, NULL);
    run_unwaited_jobs();
}

/* --- awkward for whoever adds up --- */

/* FORKERS SECONDS: children of 0 to 4 ms, as many as there is time for. */
static void mode_forkers(void)
{
    double until = clock_ns_of(CLOCK_MONOTONIC) + argument(1) * NS_PER_SEC;

    for (int i = 0; i < (int)argument(0); i++) {
        if (fork_or_die() != 0)
            continue;
        srand((unsigned)i + 1);
        while (clock_ns_of(CLOCK_MONOTONIC) < until) {
            double ms = rand() % 5;
            pid_t pid = fork_or_die();
            if (pid == 0) {
                burn_ms(ms);
                _exit(0);
            }
            wait_for(pid);
        }
        _exit(0);
    }
    while (waitpid(-1, NULL, 0) > 0)
        ;
}

/*
 * COUNT MS HOLD_MS: each of COUNT processes waits for one job of less than a tick, then lives on.
 * /proc tells of every one that its children used 0 ticks.
 */
static void mode_ticks(void)
{
    int hold[2];
    int done[2];
    char byte;

    if (pipe(hold) < 0 || pipe(done) < 0)
        die("pipe");
    for (int i = 0; i < (int)argument(0); i++) {
        if (fork_or_die() == 0) {
            close(hold[1]);
            pid_t job = fork_or_die();
            if (job == 0) {
                burn_ms(argument(1));
                _exit(0);
            }
            wait_for(job);
            if (write(done[1], "", 1) != 1 || read(hold[0], &byte, 1) != 0)
                die("pipe");
            _exit(0);
        }
        if (read(done[0], &byte, 1) != 1)
            die("read");
    }
    sleep_ms(argument(2));
    close(hold[1]);
    while (waitpid(-1, NULL, 0) > 0)
        ;
}

/*
 * MS AFTER_MS: the root adopts orphans. root > first > second > busy; second ends, and soon after
 * it the busy one, which has then become a child of the root, not of the first.
 */
static void mode_subreaper(void)
{
    int quit[2];

    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 || pipe(quit) < 0)
        die("prctl");
    pid_t first = fork_or_die();
    if (first == 0) {
        pid_t second = fork_or_die();
        if (second == 0) {
            if (fork_or_die() == 0) {
                burn_ms(argument(0));
                close(quit[0]);
                if (write(quit[1], "", 1) != 1)
                    die("write");
                sleep_ms(20);
                _exit(0);
            }
            char byte;
            if (read(quit[0], &byte, 1) != 1)
                die("read");
            _exit(0);
        }
        wait_for(second);
        sleep_ms(argument(1));
        _exit(0);
    }
    while (waitpid(-1, NULL, 0) > 0)
        ;
}

/*
 * COUNT MS: the root ends when it reads a line; then its children get busy, each with five jobs as
 * well, report, and hold until the input ends.
 */
static void mode_early_root(void)
{
    pid_t root = getpid();
    char byte;

    for (int i = 0; i < (int)argument(0); i++) {
        if (fork_or_die() != 0)
            continue;
        while (getppid() == root)
            sleep_ms(5);
        burn_ms(argument(1));
        for (int job = 0; job < 5; job++) {
            pid_t pid = fork_or_die();
            if (pid == 0) {
                burn_ms(argument(1) / 10);
                _exit(0);
            }
            wait_for(pid);
        }
        report(rusage_ns(RUSAGE_SELF) + rusage_ns(RUSAGE_CHILDREN));
        while (read(STDIN_FILENO, &byte, 1) > 0)
            ;
        _exit(0);
    }
    if (write(STDOUT_FILENO, "ready\n", 6) != 6 || read(STDIN_FILENO, &byte, 1) != 1)
        die("pipe");
}

/* --- bytes --- */

static void read_file(const char *path)
{
    static char block[1 << 20];
    int fd = open(path, O_RDONLY);

    if (fd < 0)
        die(path);
    if ((errno = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED)) != 0)
        die("posix_fadvise");
    while (read(fd, block, sizeof block) > 0)
        ;
    close(fd);
}

static void move_bytes(const char *path, long mib)
{
    if (mib > 0)
        write_file(path, mib);
    else
        read_file(path);
}

/* The kernel's account, told in blocks of 512 bytes whatever the storage. */
static void report_bytes(int who, bool written)
{
    struct rusage used;

    if (getrusage(who, &used) < 0)
        die("getrusage");
    report(512.0 * (double)(written ? used.ru_oublock : used.ru_inblock));
}

/* PATH MIB HOLD_MS: writes MIB (0: reads all) in a child of a child; each lives on for HOLD_MS. */
static void mode_bytes(bool as_daemon)
{
    int alive[2];

    if (pipe(alive) < 0)
        die("pipe");
    bool is_written = atol(arguments[1]) > 0;
    pid_t pid = fork_or_die();
    if (pid == 0) {
        pid_t inner = fork_or_die();
        if (inner == 0) {
            move_bytes(arguments[0], atol(arguments[1]));
            sleep_ms(argument(2));
            if (as_daemon)
                report_bytes(RUSAGE_SELF, is_written);
            _exit(0);
        }
        if (!as_daemon)
            wait_for(inner);
        sleep_ms(as_daemon ? 0 : argument(2));
        _exit(0);
    }
    wait_for(pid);
    wait_for_silence(alive[0], alive[1]);
    sleep_ms(argument(2));
    report_bytes(RUSAGE_CHILDREN, is_written);
}

static void mode_bytes_of_child(void)
{
    mode_bytes(false);
}

static void mode_bytes_of_daemon(void)
{
    mode_bytes(true);
}

static const struct {
    const char *name;
    void (*run)(void);
    bool reports_cpu; /* of itself and of whom it waited for */
} modes[] = {
    {"burn", mode_burn, true},
    {"jobs", mode_jobs, true},
    {"threads", mode_threads, true},
    {"setuid", mode_setuid, true},
    {"spawn", mode_spawn, true},
    {"inner-chain", mode_inner_chain, false},
    {"make", mode_make, true},
    {"inner-make", mode_make, false},
    {"daemons", mode_daemons, true},
    {"ignore", mode_ignore, true},
    {"nocldwait", mode_nocldwait, true},
    {"forkers", mode_forkers, true},
    {"ticks", mode_ticks, true},
    {"subreaper", mode_subreaper, true},
    {"early-root", mode_early_root, false},
    {"bytes-of-child", mode_bytes_of_child, false},
    {"bytes-of-daemon", mode_bytes_of_daemon, false},
};

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    self_path = argv[0];
    truth_path = argv[1];
    truth_fd = open(truth_path, O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (truth_fd < 0)
        die(truth_path);
    argument_count = argc - 3;
    arguments = argv + 3;
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        if (strcmp(modes[i].name, argv[2]) != 0)
            continue;
        modes[i].run();
        if (modes[i].reports_cpu)
            report(rusage_ns(RUSAGE_SELF) + rusage_ns(RUSAGE_CHILDREN));
        return 0;
    }
    return 2;
}

/*
 * A tree of processes that do at random what processes do: work, sleep, fork, wait at once, later
 * or never, become daemons, start threads that fork, spawn, exec themselves, leave zombies. Usage:
 * randomtree TRUTH SEED SECONDS IGNORE; IGNORE 1: some of them ignore SIGCHLD. Every process writes
 * its own CPU time to TRUTH when it ends. The root ends last.
 */
#include "workload.h"

#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>

#define DEPTH_MAX 4
#define ACTIONS_MAX 14
#define OUTSTANDING_MAX 3

extern char **environ;

static const char *self_path;
static const char *truth_path;
static int truth_fd;
static double deadline_ns;
static bool may_ignore;
static uint64_t random_state;
static int depth;
static int outstanding;
static bool has_execed;

static uint64_t next_random(uint64_t below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (random_state >> 11) % below;
}

static _Noreturn void finish(void)
{
    char line[64];

    if (next_random(2) == 0)
        while (waitpid(-1, NULL, 0) > 0)
            ;
    int length = snprintf(line, sizeof line, "%.0f\n", clock_ns_of(CLOCK_PROCESS_CPUTIME_ID));
    if (write(truth_fd, line, (size_t)length) != length)
        die("write");
    _exit(0);
}

static void act(void);

static _Noreturn void live(void)
{
    for (uint64_t left = 2 + next_random(ACTIONS_MAX); left > 0; left--) {
        if (clock_ns_of(CLOCK_MONOTONIC) > deadline_ns)
            break;
        act();
    }
    finish();
}

static void become_child(uint64_t seed)
{
    random_state = seed * 2 + 1;
    depth++;
    outstanding = 0;
    has_execed = false;
}

/* A new process of the tree; returns its PID in the parent only. */
static pid_t grow(void)
{
    uint64_t seed = next_random(UINT64_MAX);
    pid_t pid = fork_or_die();

    if (pid != 0)
        return pid;
    become_child(seed);
    live();
}

static void fork_and_wait(void)
{
    if (waitpid(grow(), NULL, 0) < 0 && errno != ECHILD)
        die("waitpid");
}

static void fork_and_leave(void)
{
    if (outstanding == OUTSTANDING_MAX) {
        if (waitpid(-1, NULL, 0) > 0)
            outstanding--;
        return;
    }
    (void)grow();
    outstanding++;
}

static void daemonise(void)
{
    pid_t middle = fork_or_die();

    if (middle == 0) {
        setsid();
        (void)grow();
        burn_ms((double)next_random(3));
        finish();
    }
    if (waitpid(middle, NULL, 0) < 0 && errno != ECHILD)
        die("waitpid");
}

static char **command_line(void)
{
    static char texts[6][32];
    static char *argv[9];

    snprintf(texts[0], sizeof texts[0], "%llu", (unsigned long long)next_random(UINT64_MAX));
    snprintf(texts[1], sizeof texts[1], "%.0f", deadline_ns);
    snprintf(texts[2], sizeof texts[2], "%d", may_ignore);
    snprintf(texts[3], sizeof texts[3], "%d", depth);
    argv[0] = (char *)(uintptr_t)self_path;
    argv[1] = (char *)(uintptr_t)truth_path;
    for (int i = 0; i < 4; i++)
        argv[2 + i] = texts[i];
    return argv;
}

static void spawn_and_wait(void)
{
    pid_t pid;

    depth++;
    if ((errno = posix_spawn(&pid, self_path, NULL, NULL, command_line(), environ)) != 0)
        die("posix_spawn");
    depth--;
    if (waitpid(pid, NULL, 0) < 0 && errno != ECHILD)
        die("waitpid");
}

static void exec_self(void)
{
    if (has_execed || next_random(3) != 0)
        return;
    execv(self_path, command_line());
    die("execv");
}

static void *thread_main(void *argument)
{
    uint64_t kind = (uint64_t)(uintptr_t)argument;

    burn_ms((double)(kind % 5));
    if (kind % 2 == 0 && fork_or_die() == 0) {
        become_child(kind + 1);
        burn_ms((double)(kind % 7));
        finish();
    }
    return NULL;
}

static void run_threads(void)
{
    pthread_t threads[3];

    for (size_t i = 0; i < 3; i++)
        if ((errno = pthread_create(&threads[i], NULL, thread_main,
                                    (void *)(uintptr_t)next_random(1000))) != 0)
            die("pthread_create");
    for (size_t i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

static void leave_zombie(void)
{
    uint64_t ms = next_random(3);

    if (fork_or_die() == 0) {
        burn_ms((double)ms);
        finish();
    }
}

static void act(void)
{
    uint64_t kind = next_random(depth < DEPTH_MAX ? 14 : 4);

    switch (kind) {
    case 0:
    case 1:
    case 2:
        burn_ms((double)next_random(80) / 10);
        break;
    case 3:
        sleep_ms((double)next_random(20));
        break;
    case 4:
    case 5:
        fork_and_wait();
        break;
    case 6:
    case 7:
    case 8:
        fork_and_leave();
        break;
    case 9:
        daemonise();
        break;
    case 10:
        spawn_and_wait();
        break;
    case 11:
        exec_self();
        break;
    case 12:
        run_threads();
        break;
    default:
        if (may_ignore && next_random(2) == 0)
            signal(SIGCHLD, SIG_IGN);
        else
            leave_zombie();
    }
}

/* Plants trees until the time is up, then waits until every process of them is gone. */
static void be_root(double seconds)
{
    int alive[2];
    char byte;

    deadline_ns = clock_ns_of(CLOCK_MONOTONIC) + seconds * NS_PER_SEC;
    if (pipe(alive) < 0)
        die("pipe");
    while (clock_ns_of(CLOCK_MONOTONIC) < deadline_ns) {
        fork_and_leave();
        burn_ms((double)next_random(20) / 10);
        sleep_ms((double)next_random(10));
    }
    close(alive[1]);
    while (read(alive[0], &byte, 1) < 0 && errno == EINTR)
        ;
    while (waitpid(-1, NULL, 0) > 0)
        ;
    /* Whoever closed the pipe last is still on its way out. */
    sleep_ms(50);
    finish();
}

int main(int argc, char **argv)
{
    if (argc < 5)
        return 2;
    self_path = argv[0];
    truth_path = argv[1];
    truth_fd = open(truth_path, O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (truth_fd < 0)
        die(truth_path);
    random_state = strtoull(argv[2], NULL, 10) * 2654435761ULL + 1;
    may_ignore = atoi(argv[4]) != 0;
    if (argc < 6)
        be_root(atof(argv[3]));
    deadline_ns = atof(argv[3]);
    depth = atoi(argv[5]);
    has_execed = true;
    live();
}

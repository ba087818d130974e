/*
 * Real processes that do as they are told: fork, use CPU, write, wait, exit. Their strings (pipes)
 * are made before the first of them, so that a test can command a grandchild as well as a child.
 * For use within in_child(): the orders do not return when a puppet does not answer.
 */
#ifndef TESTS_UNIT_PUPPET_H
#define TESTS_UNIT_PUPPET_H

#include "in_child.h"

#include "base/clock.h"

#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define PUPPETS_MAX 8

enum order_verb {
    ORDER_BURN,        /* so many ms of CPU time; answers with all it has used, ns */
    ORDER_FORK,        /* a puppet of that number; answers with its PID */
    ORDER_THREAD_FORK, /* likewise from a thread that is not the main one */
    ORDER_THREADS,     /* starts so many that sleep */
    ORDER_STORM,       /* that many children in turn, of 1 ms each, all waited for */
    ORDER_WAIT,        /* for the child of that PID */
    ORDER_IGNORE,      /* SIGCHLD */
    ORDER_WRITE,       /* so many bytes of the file that puppets_begin() was given */
    ORDER_WRITTEN,     /* answers with write_bytes of its /proc/self/io */
    ORDER_EXIT,        /* no answer */
    ORDER_END_MAIN,    /* ends the main thread alone; no answer */
};

struct order {
    enum order_verb verb;
    int64_t amount;
};

static struct {
    int orders[2];
    int answers[2];
    pid_t pid;
} puppets[PUPPETS_MAX];

static const char *puppet_file;

/* Nobody but the test holds its other end: when the test ends, all puppets do. */
static int puppet_leash[2];

static pid_t puppet_fork(size_t number);

static inline void *puppet_sleep(void *unused)
{
    char byte;

    (void)!read(puppet_leash[0], &byte, sizeof byte);
    _exit(0);
    return unused;
}

static inline void *puppet_fork_in_thread(void *answer)
{
    int64_t *number_then_pid = answer;

    *number_then_pid = puppet_fork((size_t)*number_then_pid);
    return NULL;
}

static inline uint64_t puppet_burn(int64_t ms)
{
    uint64_t until_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) + (uint64_t)ms * NS_PER_MS;
    uint64_t now_ns;

    do {
        now_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    } while (now_ns < until_ns);
    return now_ns;
}

static inline void puppet_storm(int64_t count)
{
    while (count-- > 0) {
        pid_t pid = fork();
        if (pid == 0) {
            puppet_burn(1);
            _exit(0);
        }
        CHECK(waitpid(pid, NULL, 0) == pid);
    }
}

static inline void puppet_write(int64_t bytes)
{
    static char block[65536];
    int fd = open(puppet_file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    CHECK(fd >= 0);
    memset(block, 'x', sizeof block);
    while (bytes > 0) {
        ssize_t wanted = bytes < (int64_t)sizeof block ? (ssize_t)bytes : (ssize_t)sizeof block;
        CHECK(write(fd, block, (size_t)wanted) == wanted);
        bytes -= wanted;
    }
    CHECK(fsync(fd) == 0);
    close(fd);
}

static inline int64_t puppet_written(void)
{
    char text[512] = "";
    int64_t bytes = -1;
    int fd = open("/proc/self/io", O_RDONLY | O_CLOEXEC);

    if (fd >= 0 && read(fd, text, sizeof text - 1) > 0)
        bytes = strtoll(strstr(text, "\nwrite_bytes: ") + strlen("\nwrite_bytes: "), NULL, 10);
    close(fd);
    return bytes;
}

static inline int64_t puppet_obey_thread(struct order order)
{
    pthread_t thread;
    int64_t answer = order.amount;

    if (order.verb == ORDER_THREAD_FORK) {
        CHECK(pthread_create(&thread, NULL, puppet_fork_in_thread, &answer) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
        return answer;
    }
    for (int64_t i = 0; i < order.amount; i++)
        CHECK(pthread_create(&thread, NULL, puppet_sleep, NULL) == 0);
    return 0;
}

static inline int64_t puppet_obey(struct order order)
{
    switch (order.verb) {
    case ORDER_BURN:
        return (int64_t)puppet_burn(order.amount);
    case ORDER_FORK:
        return puppet_fork((size_t)order.amount);
    case ORDER_THREAD_FORK:
    case ORDER_THREADS:
        return puppet_obey_thread(order);
    case ORDER_STORM:
        puppet_storm(order.amount);
        return 0;
    case ORDER_WAIT:
        return waitpid((pid_t)order.amount, NULL, 0);
    case ORDER_IGNORE:
        return signal(SIGCHLD, SIG_IGN) == SIG_ERR;
    case ORDER_WRITE:
        puppet_write(order.amount);
        return 0;
    case ORDER_WRITTEN:
        return puppet_written();
    case ORDER_END_MAIN:
        CHECK(pthread_create(&(pthread_t){0}, NULL, puppet_sleep, NULL) == 0);
        /* Only this thread: pthread_exit() would unwind and run what exits register. */
        (void)syscall(SYS_exit, 0);
        break;
    case ORDER_EXIT:
        break;
    }
    _exit(0);
}

static inline struct order puppet_next_order(size_t number)
{
    struct pollfd fds[] = {{.fd = puppets[number].orders[0], .events = POLLIN},
                           {.fd = puppet_leash[0]}};
    struct order order;

    while (poll(fds, 2, -1) < 0)
        CHECK(errno == EINTR);
    if (fds[1].revents != 0 || read(fds[0].fd, &order, sizeof order) != sizeof order)
        _exit(1);
    return order;
}

static inline void puppet_live(size_t number)
{
    close(puppet_leash[1]);
    for (;;) {
        int64_t answer = puppet_obey(puppet_next_order(number));
        CHECK(write(puppets[number].answers[1], &answer, sizeof answer) == sizeof answer);
    }
}

static pid_t puppet_fork(size_t number)
{
    pid_t pid = fork();

    if (pid == 0)
        puppet_live(number);
    return pid;
}

/* --- what tests call --- */

/* A body exits with this where the machine does not allow what it is about. */
#define NOT_HERE 77

/* As in_child(), but such a test is skipped. */
static inline void in_child_or_skip(void (*body)(void))
{
    int status;

    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        alarm(IN_CHILD_HANG_SECS);
        body();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == NOT_HERE)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Makes the strings and puppet 0, a child of the caller. `file` is for ORDER_WRITE, or NULL. */
static inline pid_t puppets_begin(const char *file)
{
    puppet_file = file;
    CHECK(signal(SIGCHLD, SIG_DFL) != SIG_ERR);
    CHECK(pipe2(puppet_leash, O_CLOEXEC) == 0);
    for (size_t i = 0; i < PUPPETS_MAX; i++) {
        CHECK(pipe2(puppets[i].orders, O_CLOEXEC) == 0);
        CHECK(pipe2(puppets[i].answers, O_CLOEXEC) == 0);
    }
    puppets[0].pid = puppet_fork(0);
    CHECK(puppets[0].pid > 0);
    return puppets[0].pid;
}

static inline void puppet_order(size_t number, enum order_verb verb, int64_t amount)
{
    struct order order = {.verb = verb, .amount = amount};

    CHECK(write(puppets[number].orders[1], &order, sizeof order) == sizeof order);
}

static inline int64_t puppet_answer(size_t number)
{
    int64_t answer;

    CHECK(read(puppets[number].answers[0], &answer, sizeof answer) == sizeof answer);
    return answer;
}

static inline int64_t puppet_ask(size_t number, enum order_verb verb, int64_t amount)
{
    puppet_order(number, verb, amount);
    return puppet_answer(number);
}

/* Puppet `parent` forks puppet `number`. */
static inline pid_t puppet_child(size_t parent, size_t number)
{
    puppets[number].pid = (pid_t)puppet_ask(parent, ORDER_FORK, (int64_t)number);
    CHECK(puppets[number].pid > 0);
    return puppets[number].pid;
}

/* Its state in /proc, 0 when there is no such process. */
static inline char puppet_state(size_t number)
{
    char path[64];
    char text[512] = "";

    snprintf(path, sizeof path, "/proc/%d/stat", (int)puppets[number].pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    close(fd);
    return got > 0 ? strrchr(text, ')')[2] : '\0';
}

/* Ends a puppet and returns when it is a zombie, or gone where nobody waits. */
static inline void puppet_end(size_t number)
{
    puppet_order(number, ORDER_EXIT, 0);
    for (char state = 'R'; state != 'Z' && state != '\0'; state = puppet_state(number))
        usleep(100);
}

#endif

/*
 * A process that does what it is told, one command a line on its standard input, and answers each
 * when it is done: "ok CPU_NS", its own and that of those it waited for, or "error WHY".
 * Descendants that hold do so until the puppet ends.
 */
#include "workload.h"

#include <grp.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#define CHILDREN_MAX 65536
#define LIFE_FD 40 /* so that links of a chain find them again */
#define READY_FD 50

extern char **environ;

static const char *self_path;

static int life[2]; /* only the puppet holds the writing end */
static int ready[2];
static pid_t children[CHILDREN_MAX];
static size_t child_count;
static char *private_memory;
static size_t private_bytes;
static const char *second_word; /* of the command, where it is not a number */

/* The ends of a pipe, at numbers of our choice. */
static bool make_pipe(int ends[2], int fd)
{
    int made[2];

    if (pipe(made) < 0 || dup2(made[0], fd) < 0 || dup2(made[1], fd + 1) < 0)
        return false;
    close(made[0]);
    close(made[1]);
    ends[0] = fd;
    ends[1] = fd + 1;
    return true;
}

static _Noreturn void hold(void)
{
    char byte;

    close(life[1]);
    while (read(life[0], &byte, 1) < 0 && errno == EINTR)
        ;
    _exit(0);
}

static void say_ready(void)
{
    if (write(ready[1], "", 1) != 1)
        die("write");
}

static bool await_ready(long count)
{
    char byte;

    for (; count > 0; count--)
        if (read(ready[0], &byte, 1) != 1)
            return false;
    return true;
}

/* A child that the puppet knows; in the child, 0. */
static pid_t have_child(void)
{
    pid_t pid = child_count < CHILDREN_MAX ? fork() : -1;

    if (pid == 0)
        close(life[1]);
    if (pid > 0)
        children[child_count++] = pid;
    return pid;
}

/* --- commands; false with errno on failure --- */

static bool fork_children(long count, long unused)
{
    (void)unused;
    for (; count > 0; count--) {
        pid_t pid = have_child();
        if (pid == 0)
            hold();
        if (pid < 0)
            return false;
    }
    return true;
}

/*
 * One of a chain, each the child of the one before. Started anew, since the kernel forks ever more
 * slowly whatever was forked from what was forked.
 */
static _Noreturn void be_link(long depth)
{
    char text[32];
    char *argv[] = {(char *)(uintptr_t)self_path, text, NULL};
    pid_t pid;

    snprintf(text, sizeof text, "--link=%ld", depth - 1);
    if (depth > 1 && (errno = posix_spawn(&pid, self_path, NULL, NULL, argv, environ)) != 0)
        die("posix_spawn");
    if (depth <= 1)
        say_ready();
    hold();
}

static bool make_chain(long depth, long unused)
{
    (void)unused;
    pid_t pid = have_child();
    if (pid == 0)
        be_link(depth);
    return pid > 0 && await_ready(1);
}

static bool make_daemons(long count, long unused)
{
    (void)unused;
    for (; count > 0; count--) {
        pid_t middle = fork_or_die();
        if (middle == 0) {
            setsid();
            if (fork_or_die() == 0)
                hold();
            _exit(0);
        }
        wait_for(middle);
    }
    return true;
}

static bool make_zombies(long count, long unused)
{
    (void)unused;
    for (; count > 0; count--) {
        siginfo_t info;
        pid_t pid = have_child();
        if (pid == 0)
            _exit(0);
        if (pid < 0 || waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) < 0)
            return false;
    }
    return true;
}

static bool drop_children(long count, long unused)
{
    (void)unused;
    for (; count > 0 && child_count > 0; count--) {
        pid_t pid = children[--child_count];
        if (kill(pid, SIGKILL) < 0)
            return false;
        wait_for(pid);
    }
    return true;
}

static void *thread_hold(void *unused)
{
    (void)unused;
    say_ready();
    for (;;)
        pause();
    return NULL;
}

static bool start_threads(long count, long unused)
{
    pthread_t thread;

    (void)unused;
    for (long i = 0; i < count; i++)
        if ((errno = pthread_create(&thread, NULL, thread_hold, NULL)) != 0)
            return false;
    return await_ready(count);
}

static void *thread_fork(void *count)
{
    (void)fork_children(*(long *)count, 0);
    say_ready();
    for (;;)
        pause();
    return NULL;
}

/* By a thread that is not the first. */
static bool fork_in_thread(long count, long unused)
{
    pthread_t thread;

    (void)unused;
    errno = pthread_create(&thread, NULL, thread_fork, &count);
    return errno == 0 && await_ready(1);
}

static void *thread_hold_memory(void *mib)
{
    size_t bytes = (size_t)(uintptr_t)mib << 20;
    char *memory = malloc(bytes + 1);

    if (memory == NULL)
        die("malloc");
    memset(memory, 1, bytes + 1);
    __asm__ volatile("" : : "r"(memory) : "memory"); /* or the compiler leaves both out */
    sleep_ms(20);                                    /* the first thread is gone by then */
    say_ready();
    hold();
}

/* Children whose first thread has ended while another, with MIB of memory, lives on. */
static bool make_leaderless(long count, long mib)
{
    for (long i = 0; i < count; i++) {
        pthread_t thread;
        pid_t pid = have_child();
        if (pid < 0)
            return false;
        if (pid == 0) {
            errno = pthread_create(&thread, NULL, thread_hold_memory, (void *)(uintptr_t)mib);
            if (errno != 0)
                die("pthread_create");
            pthread_exit(NULL);
        }
    }
    return await_ready(count);
}

static bool burn(long ms, long unused)
{
    (void)unused;
    burn_ms((double)ms);
    return true;
}

/* COUNT children use MS each, and live on. */
static bool burn_in_children(long count, long ms)
{
    for (long i = 0; i < count; i++) {
        pid_t pid = have_child();
        if (pid < 0)
            return false;
        if (pid == 0) {
            burn_ms((double)ms);
            say_ready();
            hold();
        }
    }
    return await_ready(count);
}

/* COUNT children use MS each, one after the other, and are waited for. */
static bool burn_in_jobs(long count, long ms)
{
    for (long i = 0; i < count; i++) {
        pid_t pid = fork_or_die();
        if (pid == 0) {
            burn_ms((double)ms);
            _exit(0);
        }
        wait_for(pid);
    }
    return true;
}

/* COUNT children each wait for one job of MS, and live on. */
static bool run_short_jobs(long count, long ms)
{
    for (long i = 0; i < count; i++) {
        pid_t pid = have_child();
        if (pid < 0)
            return false;
        if (pid == 0) {
            (void)burn_in_jobs(1, ms);
            say_ready();
            hold();
        }
        if (!await_ready(1))
            return false;
    }
    return true;
}

static bool grow(long mib, long unused)
{
    (void)unused;
    private_bytes = (size_t)mib << 20;
    private_memory =
        mmap(NULL, private_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (private_memory == MAP_FAILED)
        return false;
    memset(private_memory, 1, private_bytes);
    return true;
}

static bool shrink(long unused, long unused2)
{
    (void)unused;
    (void)unused2;
    return munmap(private_memory, private_bytes) == 0;
}

static bool spike(long mib, long ms)
{
    if (!grow(mib, 0))
        return false;
    sleep_ms((double)ms);
    return shrink(0, 0);
}

/* In a child that is waited for. */
static bool spike_in_child(long mib, long ms)
{
    pid_t pid = fork_or_die();

    if (pid == 0)
        _exit(spike(mib, ms) ? 0 : 1);
    wait_for(pid);
    return true;
}

/* COUNT children with MIB of their own. */
static bool grow_in_children(long count, long mib)
{
    for (long i = 0; i < count; i++) {
        pid_t pid = have_child();
        if (pid < 0)
            return false;
        if (pid == 0) {
            if (!grow(mib, 0))
                die("mmap");
            say_ready();
            hold();
        }
    }
    return await_ready(count);
}

/* MIB that COUNT children share with the puppet, touched by each. */
static bool share(long mib, long count)
{
    size_t bytes = (size_t)mib << 20;
    volatile char *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return false;
    memset((char *)(uintptr_t)memory, 1, bytes);
    for (long i = 0; i < count; i++) {
        pid_t pid = have_child();
        if (pid < 0)
            return false;
        if (pid == 0) {
            for (size_t at = 0; at < bytes; at += 4096)
                (void)memory[at];
            say_ready();
            hold();
        }
    }
    return await_ready(count);
}

/* The same PAGES mapped COUNT times: a huge resident set out of little memory. */
static bool alias(long pages, long count)
{
    size_t bytes = (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
    int fd = memfd_create("alias", 0);

    if (fd < 0 || ftruncate(fd, (off_t)bytes) < 0)
        return false;
    for (; count > 0; count--)
        if (mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0) ==
            MAP_FAILED)
            return false;
    close(fd);
    return true;
}

/* So many pages at a time that the kernel's coarse count of them shows it at once. */
static void *thread_touch(void *unused)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t pages = 131072;
    char *memory =
        mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)unused;
    for (size_t i = 0; memory != MAP_FAILED && i < pages; i++) {
        memory[i * page] = 1;
        if (i % 256 == 0)
            sleep_ms(10);
    }
    return NULL;
}

/* From now on 256 pages more every 10 ms. */
static bool keep_growing(long unused, long unused2)
{
    pthread_t thread;

    (void)unused;
    (void)unused2;
    errno = pthread_create(&thread, NULL, thread_touch, NULL);
    return errno == 0;
}

static bool switch_often(long count, long unused)
{
    (void)unused;
    for (; count > 0; count--)
        sleep_ms(0.05);
    return true;
}

static bool fork_as_user(long count, long uid)
{
    for (long i = 0; i < count; i++) {
        pid_t pid = have_child();
        if (pid < 0)
            return false;
        if (pid == 0) {
            char *argv[] = {(char *)(uintptr_t)self_path, "--link=1", NULL};
            if (setgroups(0, NULL) < 0 || setgid((gid_t)uid) < 0 || setuid((uid_t)uid) < 0)
                die("setuid");
            execv(self_path, argv); /* a program of that user's, not one that was root's */
            die("execv");
        }
    }
    return await_ready(count);
}

static bool write_mib(long mib, long unused)
{
    (void)unused;
    write_file(second_word, mib);
    return true;
}

static bool write_in_child(long mib, long unused)
{
    (void)unused;
    pid_t pid = have_child();
    if (pid == 0) {
        write_file(second_word, mib);
        say_ready();
        hold();
    }
    return pid > 0 && await_ready(1);
}

/* All holders end; those to come hold on a new pipe. */
static bool end_others(long unused, long unused2)
{
    (void)unused;
    (void)unused2;
    close(life[1]);
    close(life[0]);
    while (waitpid(-1, NULL, 0) > 0)
        ;
    child_count = 0;
    return make_pipe(life, LIFE_FD);
}

static bool report_usage(long unused, long unused2)
{
    (void)unused;
    (void)unused2;
    return true;
}

static const struct {
    const char *name;
    bool (*run)(long first, long second);
} commands[] = {
    {"fork", fork_children},
    {"chain", make_chain},
    {"daemons", make_daemons},
    {"zombies", make_zombies},
    {"drop", drop_children},
    {"threads", start_threads},
    {"thread-fork", fork_in_thread},
    {"leaderless", make_leaderless},
    {"burn", burn},
    {"burn-in-children", burn_in_children},
    {"burn-in-jobs", burn_in_jobs},
    {"grow", grow},
    {"shrink", shrink},
    {"spike", spike},
    {"spike-in-child", spike_in_child},
    {"share", share},
    {"alias", alias},
    {"keep-growing", keep_growing},
    {"switch", switch_often},
    {"fork-as-user", fork_as_user},
    {"usage", report_usage},
    {"end-others", end_others},
    {"grow-in-children", grow_in_children},
    {"write", write_mib},
    {"write-in-child", write_in_child},
    {"short-jobs", run_short_jobs},
};

static void answer(bool fine)
{
    if (fine)
        printf("ok %.0f\n", rusage_ns(RUSAGE_SELF) + rusage_ns(RUSAGE_CHILDREN));
    else
        printf("error %s\n", strerror(errno));
    fflush(stdout);
}

static void obey(char *line)
{
    char *name = strtok(line, " \n");
    char *first = strtok(NULL, " \n");
    char *second = strtok(NULL, " \n");

    second_word = second;
    for (size_t i = 0; name != NULL && i < sizeof commands / sizeof commands[0]; i++)
        if (strcmp(commands[i].name, name) == 0) {
            answer(commands[i].run(first != NULL ? atol(first) : 0,
                                   second != NULL ? atol(second) : 0));
            return;
        }
    errno = EINVAL;
    answer(false);
}

int main(int argc, char **argv)
{
    char line[256];

    self_path = argv[0];
    if (argc > 1 && strncmp(argv[1], "--link=", 7) == 0) {
        life[0] = LIFE_FD;
        life[1] = -1;
        ready[1] = READY_FD + 1;
        be_link(atol(argv[1] + 7));
    }
    if (!make_pipe(life, LIFE_FD) || !make_pipe(ready, READY_FD))
        die("pipe");
    setvbuf(stdin, NULL, _IOLBF, 0);
    if (argc > 1)
        prctl(PR_SET_NAME, argv[1]);
    answer(true);
    while (fgets(line, sizeof line, stdin) != NULL) {
        if (strncmp(line, "exit", 4) == 0)
            exit(atoi(line + 4));
        obey(line);
    }
    return 0;
}

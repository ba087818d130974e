/*
 * A job that notices when it is slowed down: does a fixed amount of work of one kind and prints the
 * nanoseconds that it took by the clock and in CPU time, children included.
 * Usage: job faults|forks|calls AMOUNT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHUNK_BYTES ((size_t)64 << 20)

static void die(const char *what)
{
    perror(what);
    exit(1);
}

/* AMOUNT MiB, page by page. */
static void fault(long amount)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    for (long done = 0; done < amount; done += (long)(CHUNK_BYTES >> 20)) {
        volatile char *memory =
            mmap(NULL, CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            die("mmap");
        (void)madvise((void *)memory, CHUNK_BYTES, MADV_NOHUGEPAGE);
        for (size_t at = 0; at < CHUNK_BYTES; at += page)
            memory[at] = 1;
        munmap((void *)memory, CHUNK_BYTES);
    }
}

/* AMOUNT children, one after the other, that end at once. */
static void fork_often(long amount)
{
    for (long i = 0; i < amount; i++) {
        pid_t pid = fork();
        if (pid == 0)
            _exit(0);
        if (pid < 0 || waitpid(pid, NULL, 0) != pid)
            die("fork");
    }
}

/* AMOUNT thousands of the cheapest system call. */
static void call(long amount)
{
    for (long i = 0; i < amount * 1000; i++)
        (void)syscall(SYS_getppid);
}

static long long cpu_ns(int who)
{
    struct rusage used;

    if (getrusage(who, &used) < 0)
        die("getrusage");
    return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000000LL +
           (used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000LL;
}

static long long now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000000000 + now.tv_nsec;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*work)(long amount);
    } kinds[] = {{"faults", fault}, {"forks", fork_often}, {"calls", call}};

    if (argc != 3)
        return 2;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i].name, argv[1]) != 0)
            continue;
        long long began_ns = now_ns();
        kinds[i].work(atol(argv[2]));
        long long took_ns = now_ns() - began_ns;
        printf("%lld %lld\n", took_ns, cpu_ns(RUSAGE_SELF) + cpu_ns(RUSAGE_CHILDREN));
        return 0;
    }
    return 2;
}

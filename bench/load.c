/*
 * Processes that only exist. Usage: load READY COUNT KIB
 * Becomes a tree of COUNT sleeping processes, itself included, each with KIB of memory of its own;
 * then READY holds their numbers, one a line, its own first. They end with it.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

static void own_memory(size_t kib)
{
    if (kib == 0)
        return;
    char *memory =
        mmap(NULL, kib << 10, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        _exit(1);
    (void)madvise(memory, kib << 10, MADV_NOHUGEPAGE);
    memset(memory, 1, kib << 10);
}

static void sleep_for_ever(size_t kib)
{
    own_memory(kib);
    for (;;)
        pause();
}

static pid_t fork_sleeper(size_t kib)
{
    pid_t root = getpid();
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* It may have ended before it was asked for. */
    if (getppid() != root)
        _exit(1);
    sleep_for_ever(kib);
    return 0;
}

int main(int argc, char **argv)
{
    char unfinished[4096];

    if (argc != 4 ||
        snprintf(unfinished, sizeof unfinished, "%s.part", argv[1]) >= (int)sizeof unfinished)
        return 2;
    long count = atol(argv[2]);
    size_t kib = (size_t)atol(argv[3]);
    FILE *ready = fopen(unfinished, "we");
    if (ready == NULL)
        return 1;
    fprintf(ready, "%d\n", getpid());
    for (long i = 1; i < count; i++) {
        fflush(ready); /* a child must not inherit lines and write them again */
        pid_t pid = fork_sleeper(kib);
        if (pid < 0) {
            perror("load: fork");
            return 1;
        }
        fprintf(ready, "%d\n", pid);
    }
    /* All at once, so that nobody reads half of it. */
    if (fclose(ready) != 0 || rename(unfinished, argv[1]) != 0)
        return 1;
    sleep_for_ever(kib);
}

/*
 * How long a process waits for its own memory: it maps 16 MiB at a time, touches every page, and
 * times each page fault and each mapping, until it has SIZE_MIB; then gives back and touches anew
 * what it mapped last, until SECONDS are over. Huge pages are refused, so that each page faults.
 * Usage: faults SIZE_MIB SECONDS; prints nanoseconds:
 * faults, median, p99, p99.9, longest, mappings, median, p99, longest.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define CHUNK_BYTES ((size_t)16 << 20)
#define NS_PER_SEC UINT64_C(1000000000)

/* Latencies up to 2^40 ns, 32 steps an octave: a quantile is right to 3 %. */
#define STEPS 32
#define BUCKETS (40 * STEPS)

struct histogram {
    uint64_t bucket[BUCKETS];
    uint64_t count;
    uint64_t longest;
};

static struct histogram faults;
static struct histogram mappings;

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_SEC + (uint64_t)now.tv_nsec;
}

static unsigned bucket_of(uint64_t ns)
{
    unsigned octave = 0;

    if (ns < STEPS)
        return (unsigned)ns;
    while (ns >> (octave + 1) >= STEPS)
        octave++;
    unsigned bucket = (octave + 1) * STEPS + (unsigned)(ns >> octave) - STEPS;
    return bucket < BUCKETS ? bucket : BUCKETS - 1;
}

static uint64_t bucket_start(unsigned bucket)
{
    if (bucket < STEPS)
        return bucket;
    return (uint64_t)(STEPS + bucket % STEPS) << (bucket / STEPS - 1);
}

static void add(struct histogram *histogram, uint64_t ns)
{
    histogram->bucket[bucket_of(ns)]++;
    histogram->count++;
    if (ns > histogram->longest)
        histogram->longest = ns;
}

static uint64_t quantile(const struct histogram *histogram, double share)
{
    uint64_t seen = 0;

    for (unsigned i = 0; i < BUCKETS; i++) {
        seen += histogram->bucket[i];
        if ((double)seen >= share * (double)histogram->count)
            return bucket_start(i);
    }
    return histogram->longest;
}

static void touch(volatile char *memory, size_t page)
{
    for (size_t at = 0; at < CHUNK_BYTES; at += page) {
        uint64_t begin = now_ns();
        memory[at] = 1;
        add(&faults, now_ns() - begin);
    }
}

static char *map_chunk(void)
{
    uint64_t begin = now_ns();
    char *memory =
        mmap(NULL, CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    add(&mappings, now_ns() - begin);
    if (memory == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    (void)madvise(memory, CHUNK_BYTES, MADV_NOHUGEPAGE);
    return memory;
}

int main(int argc, char **argv)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    if (argc != 3)
        return 2;
    size_t chunks = strtoul(argv[1], NULL, 10) / (CHUNK_BYTES >> 20);
    uint64_t until = now_ns() + strtoul(argv[2], NULL, 10) * NS_PER_SEC;
    for (size_t i = 0; i < chunks; i++)
        touch(map_chunk(), page);
    while (now_ns() < until) {
        char *memory = map_chunk();
        touch(memory, page);
        munmap(memory, CHUNK_BYTES);
    }
    printf("%ju %ju %ju %ju %ju %ju %ju %ju %ju\n", faults.count, quantile(&faults, 0.5),
           quantile(&faults, 0.99), quantile(&faults, 0.999), faults.longest, mappings.count,
           quantile(&mappings, 0.5), quantile(&mappings, 0.99), mappings.longest);
    return 0;
}

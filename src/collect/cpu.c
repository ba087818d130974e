/*
 * Host CPU figures from /proc/stat: ticks since boot per CPU and in total. Growth between two
 * readings is what was used in between. idle and iowait may go backwards by a tick (the kernel
 * says so in its documentation), so every field's growth is held at 0 or above.
 */
#include "base/array.h"
#include "base/clock.h"
#include "base/file.h"
#include "collect/collector.h"
#include "collect/proc_count.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* 1,024 CPUs take about 100 kB, the interrupt line of a large host as much again. */
#define STAT_INITIAL (16 * 1024)
#define STAT_MAX (4 * 1024 * 1024)
#define LOADAVG_MAX 256
#define CPU_NUMBER_MAX 65536

/* Columns of a cpu line. guest and guest_nice follow, and are already part of user and nice. */
enum {
    TIME_USER,
    TIME_NICE,
    TIME_SYSTEM,
    TIME_IDLE,
    TIME_IOWAIT,
    TIME_IRQ,
    TIME_SOFTIRQ,
    TIME_STEAL
};
enum { TIME_COUNT = TIME_STEAL + 1 };

struct cpu_times {
    uint64_t ticks[TIME_COUNT];
    bool known;
};

struct cpu {
    struct file stat;
    struct file loadavg;
    struct proc_count processes;
    double ticks_per_sec;

    struct cpu_times host;
    uint64_t context_switches;
    bool switches_known;
    struct cpu_times *core; /* by CPU number; one that is offline keeps its last reading */
    size_t core_capacity;
    double *per_core; /* by line, online CPUs only */
    size_t online;
};

/* The sums are doubles: counters at their end must not make them wrap. */
struct cpu_growth {
    uint64_t ticks[TIME_COUNT];
    double total;
    double busy;
};

static bool parse_times(struct scan *line, struct cpu_times *ret_times)
{
    struct cpu_times times = {.known = true};

    for (size_t i = 0; i < TIME_COUNT; i++)
        if (!scan_u64(line, &times.ticks[i])) {
            /* Kernels before 2.6.11 end earlier; the first four are as old as the file. */
            if (i < TIME_IOWAIT)
                return false;
            break;
        }
    *ret_times = times;
    return true;
}

static struct cpu_growth growth(const struct cpu_times *now, const struct cpu_times *before)
{
    struct cpu_growth growth = {0};

    if (!before->known)
        return growth;
    for (size_t i = 0; i < TIME_COUNT; i++) {
        growth.ticks[i] = counter_growth(now->ticks[i], before->ticks[i]);
        growth.total += (double)growth.ticks[i];
        if (i != TIME_IDLE && i != TIME_IOWAIT)
            growth.busy += (double)growth.ticks[i];
    }
    return growth;
}

/* No tick in the interval means none was busy. */
static double share(const struct cpu_growth *growth)
{
    return growth->total > 0 ? growth->busy / growth->total : 0;
}

static int reserve_cores(struct cpu *cpu, size_t count)
{
    if (count <= cpu->core_capacity)
        return 0;

    size_t capacity = cpu->core_capacity;
    struct cpu_times *core = array_grow(cpu->core, &capacity, count, sizeof *core);
    if (core == NULL)
        return -ENOMEM;
    cpu->core = core;

    double *per_core = realloc(cpu->per_core, capacity * sizeof *per_core);
    if (per_core == NULL)
        return -ENOMEM;
    cpu->per_core = per_core;
    for (size_t i = cpu->core_capacity; i < capacity; i++)
        core[i] = (struct cpu_times){0};
    cpu->core_capacity = capacity;
    return 0;
}

/* A "cpuN" line. A CPU that was plugged in has no growth to tell yet; at first, none has any. */
static void read_core(struct cpu *cpu, struct scan *line)
{
    uint64_t number;
    struct cpu_times now;

    if (!scan_u64(line, &number) || number >= CPU_NUMBER_MAX || !parse_times(line, &now))
        return;
    if (reserve_cores(cpu, (size_t)number + 1) < 0 || cpu->online == cpu->core_capacity)
        return;

    struct cpu_times *before = &cpu->core[number];
    struct cpu_growth grown = growth(&now, before);
    bool is_plugged_in = !before->known && cpu->host.known;
    cpu->per_core[cpu->online++] = is_plugged_in ? NAN : 100 * share(&grown);
    *before = now;
}

/* The "cpu" line; the cores must have been counted, so its figures are stored at the end. */
static void store_host(struct cpu *cpu, const struct cpu_times *now, struct sample *sample)
{
    struct cpu_growth grown = growth(now, &cpu->host);

    cpu->host = *now;
    sample->value[METRIC_CPU_UTILIZATION] = share(&grown) * (double)cpu->online;
    sample->value[METRIC_CPU_UTIME] =
        (double)(grown.ticks[TIME_USER] + grown.ticks[TIME_NICE]) / cpu->ticks_per_sec;
    sample->value[METRIC_CPU_STIME] = (double)grown.ticks[TIME_SYSTEM] / cpu->ticks_per_sec;
    sample->value[METRIC_CPU_IOWAIT] = (double)grown.ticks[TIME_IOWAIT] / cpu->ticks_per_sec;
    sample->value[METRIC_CPU_STEAL] = (double)grown.ticks[TIME_STEAL] / cpu->ticks_per_sec;
}

static void store_switches(struct cpu *cpu, uint64_t now, struct sample *sample)
{
    sample->value[METRIC_CPU_CONTEXT_SWITCHES] =
        cpu->switches_known ? (double)counter_growth(now, cpu->context_switches) : 0;
    cpu->context_switches = now;
    cpu->switches_known = true;
}

static void read_stat(struct cpu *cpu, struct sample *sample)
{
    struct cpu_times host = {0};
    struct scan line;
    uint64_t switches;

    if (file_read(&cpu->stat) < 0)
        return;
    cpu->online = 0;
    for (struct scan text = file_scan(&cpu->stat); scan_line(&text, &line);) {
        if (scan_starts_with(&line, "cpu ")) {
            line.at += 4;
            parse_times(&line, &host);
        } else if (scan_starts_with(&line, "cpu")) {
            line.at += 3;
            read_core(cpu, &line);
        } else if (scan_starts_with(&line, "ctxt ")) {
            line.at += 5;
            if (scan_u64(&line, &switches))
                store_switches(cpu, switches, sample);
            break; /* nothing below it is ours */
        }
    }
    if (host.known)
        store_host(cpu, &host, sample);
    sample->per_core = cpu->per_core;
    sample->per_core_count = cpu->online;
}

/* "0.52 0.58 0.59 3/602 1274": hundredths before and after the point. */
static void read_loadavg(struct cpu *cpu, struct sample *sample)
{
    uint64_t whole;
    uint64_t hundredths;

    if (file_read(&cpu->loadavg) < 0)
        return;
    struct scan text = file_scan(&cpu->loadavg);
    if (scan_u64(&text, &whole) && scan_char(&text, '.') && scan_u64(&text, &hundredths))
        sample->value[METRIC_CPU_LOAD_1M] = (double)whole + (double)hundredths / 100;
}

static void cpu_read(void *state, const struct tick *tick, struct sample *sample)
{
    struct cpu *cpu = state;

    read_stat(cpu, sample);
    if (tick->priming)
        return;
    read_loadavg(cpu, sample);
    int64_t processes = proc_count_read(&cpu->processes, tick->now_ns);
    if (processes >= 0)
        sample->value[METRIC_CPU_PROCESS_COUNT] = (double)processes;
}

static void cpu_close(void *state)
{
    struct cpu *cpu = state;

    file_close(&cpu->stat);
    file_close(&cpu->loadavg);
    free(cpu->core);
    free(cpu->per_core);
    free(cpu);
}

static int cpu_open(const struct collect_context *context, void **ret_state)
{
    const struct sysroot *root = context->root;
    struct cpu *cpu = calloc(1, sizeof *cpu);
    if (cpu == NULL)
        return -ENOMEM;

    long ticks_per_sec = sysconf(_SC_CLK_TCK);
    cpu->ticks_per_sec = ticks_per_sec > 0 ? (double)ticks_per_sec : 100;
    proc_count_init(&cpu->processes, root->proc_fd, root->proc_is_procfs);
    /* A file that is missing reads as unavailable. */
    (void)file_open(&cpu->stat, root->proc_fd, "stat", STAT_INITIAL, STAT_MAX);
    (void)file_open(&cpu->loadavg, root->proc_fd, "loadavg", LOADAVG_MAX, LOADAVG_MAX);
    cpu->stat.one_record = root->proc_is_procfs;
    cpu->loadavg.one_record = root->proc_is_procfs;
    *ret_state = cpu;
    return 0;
}

const struct collector cpu_collector = {
    .name = "cpu",
    .open = cpu_open,
    .read = cpu_read,
    .close = cpu_close,
};

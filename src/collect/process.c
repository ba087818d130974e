/*
 * Figures of the tracked process tree. Who is in it: tree.h; how use is counted once: ledger.h;
 * proportional memory under a budget: pss.h; CPU time from the exactest source there is:
 * tree_cpu.h.
 *
 * Everything published is the growth of a running total, and what one interval cannot show the next
 * one does, so a run's sum is right whatever happened in between.
 */
#include "base/array.h"
#include "base/clock.h"
#include "base/dir.h"
#include "collect/collector.h"
#include "collect/own_io.h"
#include "collect/perf_clock.h"
#include "collect/pss.h"
#include "collect/tree.h"
#include "collect/tree_cpu.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* /proc/PID/status is dear (3 us): of those that have run, so many are read in turn at each sample.
 */
#define STATUS_PER_SAMPLE 16
/* Descriptors to keep for members: a share of what we may open, and no more; each holds 4 KiB. */
#define KEPT_FDS_MAX 4096
#define KEPT_FDS_RESERVE 32
#define KEPT_FDS_LIMIT (2 * KEPT_FDS_MAX + KEPT_FDS_RESERVE)
#define BYTES_PER_MIB (1024.0 * 1024.0)

struct switch_counts {
    uint64_t voluntary;
    uint64_t involuntary;
};

struct process {
    pid_t root;
    bool is_ours;
    int proc_fd;
    struct tree tree;
    struct ledger ledger;
    bool has_tree;       /* /proc shows it under the numbers that we know */
    pid_t strangers[64]; /* children that were ours before the command was */
    size_t stranger_count;
    bool has_reaped;                  /* since the last sample */
    bool had_reaped;                  /* before it */
    struct account reaped_by_tracker; /* I/O of children we waited for has become ours */
    struct own_io own_io;
    struct tree_cpu cpu;
    struct pss pss;
    uint64_t published[QUANTITY_COUNT];
    pid_t *pids; /* of the members that live, for the collectors that follow */
    size_t pid_capacity;

    size_t next_status;
    struct switch_counts seen_switches;   /* of main threads, while they lived */
    struct switch_counts reaped_switches; /* of all threads of those we waited for */
    struct switch_counts published_switches;
    uint64_t page_kib;
    uint64_t peak_rss_kib;
};

/* --- children that we waited for --- */

static uint64_t timeval_ns(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * NS_PER_SEC + (uint64_t)time->tv_usec * NS_PER_US;
}

static struct usage usage_of(const struct rusage *rusage)
{
    struct usage usage = {0};

    usage.reaped[QUANTITY_STIME] = timeval_ns(&rusage->ru_stime);
    usage.reaped[QUANTITY_CPU] = timeval_ns(&rusage->ru_utime) + usage.reaped[QUANTITY_STIME];
    usage.reaped[QUANTITY_MINOR_FAULTS] = (uint64_t)rusage->ru_minflt;
    usage.reaped[QUANTITY_MAJOR_FAULTS] = (uint64_t)rusage->ru_majflt;
    return usage;
}

/* A child that whoever became the tracker by exec had started before. */
static bool process_is_stranger(const struct process *process, pid_t pid)
{
    for (size_t i = 0; i < process->stranger_count; i++)
        if (process->strangers[i] == pid)
            return true;
    return false;
}

/* A process we never saw counts whole; for a member this is its last reading. */
static void process_child_ended(void *state, pid_t pid, const struct rusage *rusage)
{
    struct process *process = state;
    struct usage usage = usage_of(rusage);

    if (process_is_stranger(process, pid))
        return;
    process->has_reaped = true;
    struct member *member = process->has_tree ? tree_find(&process->tree, pid) : NULL;

    process->reaped_switches.voluntary += (uint64_t)rusage->ru_nvcsw;
    process->reaped_switches.involuntary += (uint64_t)rusage->ru_nivcsw;
    if ((uint64_t)rusage->ru_maxrss > process->peak_rss_kib)
        process->peak_rss_kib = (uint64_t)rusage->ru_maxrss;
    if (member != NULL && !member->ended_here) {
        member->usage = usage;
        member->ended_here = true;
        return;
    }
    struct account unseen;
    account_open(&unseen, &usage, &process->ledger);
}

/* It changes only when we have waited for somebody; a debt then has one more interval to be paid.
 */
static void settle_own_io(struct process *process)
{
    struct usage usage;

    if (!process->has_reaped && !process->had_reaped)
        return;
    process->had_reaped = process->has_reaped;
    process->has_reaped = false;
    if (own_io_read(&process->own_io, &usage))
        account_advance(&process->reaped_by_tracker, &usage, &process->ledger);
}

/* --- CPU --- */

/* Growth since it was last published. A total that fell back publishes nothing until it is ahead.
 */
static double publish(uint64_t *published, uint64_t total)
{
    uint64_t grown = counter_growth(total, *published);

    *published += grown;
    return (double)grown;
}

static void store_cpu(struct process *process, const struct tick *tick, struct sample *sample)
{
    struct cpu_total total;

    double stolen_ns = sample->value[METRIC_CPU_STEAL] * NS_PER_SEC;
    double busy_ns = sample->value[METRIC_CPU_UTILIZATION] * (double)tick->elapsed_ns;
    if (stolen_ns > 0 && busy_ns > 0)
        tree_cpu_note_host(&process->cpu, (uint64_t)stolen_ns, (uint64_t)busy_ns);
    sample->text[METRIC_PROCESS_CPU_SOURCE] =
        tree_cpu_read(&process->cpu, &process->ledger, &total);
    double sum_ns = publish(&process->published[QUANTITY_CPU], total.sum_ns);
    /* The sum is exact, its system part is told in ticks: that never exceeds the sum. */
    uint64_t system_ns = counter_growth(total.system_ns, process->published[QUANTITY_STIME]);
    if ((double)system_ns > sum_ns)
        system_ns = (uint64_t)sum_ns;
    process->published[QUANTITY_STIME] += system_ns;

    double cores = sum_ns / (double)tick->elapsed_ns;
    double available = (double)sample->per_core_count;
    sample->value[METRIC_PROCESS_UTIME] = (sum_ns - (double)system_ns) / NS_PER_SEC;
    sample->value[METRIC_PROCESS_STIME] = (double)system_ns / NS_PER_SEC;
    /* What is settled at the end of a child comes in one piece, perhaps in a very short interval.
     */
    sample->value[METRIC_PROCESS_CORES_USED] =
        available > 0 && cores > available ? available : cores;
}

/* --- the rest --- */

struct tree_sums {
    uint64_t alive;
    uint64_t children;
    uint64_t threads;
    uint64_t rss_kib;
    uint64_t unreadable;
};

static struct tree_sums sum_members(const struct process *process)
{
    struct tree_sums sums = {0};

    for (size_t i = 0; i < process->tree.count; i++) {
        const struct member *member = &process->tree.members[i];
        if (!pid_stat_is_alive(member->state, member->threads))
            continue;
        sums.alive++;
        sums.children += member->pid != process->root;
        sums.threads += member->threads;
        sums.rss_kib += member->rss_pages * process->page_kib;
        sums.unreadable += member->io_unreadable;
    }
    return sums;
}

static bool read_status(const struct process *process, const struct member *member,
                        struct pid_status *ret_status)
{
    char text[PID_FILE_MAX];

    ssize_t got = member_file_read(&process->tree, member, member->status_fd, "status", text);
    return got > 0 && pid_status_parse(scan_over(text, (size_t)got), ret_status);
}

/*
 * High-water marks tell of a spike between two samples: when a member's has risen, the others were
 * there too.
 */
static void take_status(struct process *process, struct member *member, uint64_t tree_rss_kib)
{
    const struct pid_status before = member->status;
    struct pid_status *now = &member->status;
    uint64_t others_kib = counter_growth(tree_rss_kib, member->rss_pages * process->page_kib);

    if (!read_status(process, member, now))
        return;
    member->status_clock_ns = member->clock_ns;
    if (now->peak_rss_kib > before.peak_rss_kib &&
        others_kib + now->peak_rss_kib > process->peak_rss_kib)
        process->peak_rss_kib = others_kib + now->peak_rss_kib;
    if (now->ignores_children)
        process->cpu.has_lost_children = true;
    process->seen_switches.voluntary +=
        counter_growth(now->voluntary_switches, before.voluntary_switches);
    process->seen_switches.involuntary +=
        counter_growth(now->involuntary_switches, before.involuntary_switches);
}

/* One that has not run since has neither switched nor grown. */
static bool is_status_current(const struct member *member)
{
    return member->clock_ns > 0 && member->clock_ns == member->status_clock_ns;
}

static void read_statuses(struct process *process, uint64_t tree_rss_kib)
{
    struct tree *tree = &process->tree;
    size_t left = STATUS_PER_SAMPLE;

    for (size_t tried = 0; tried < tree->count && left > 0; tried++) {
        if (process->next_status >= tree->count)
            process->next_status = 0;
        struct member *member = &tree->members[process->next_status++];
        if (is_status_current(member))
            continue;
        take_status(process, member, tree_rss_kib);
        left--;
    }
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* While the tree lives, what is seen of it is ahead; in the end, what we have waited for is all. */
static void store_switches(struct process *process, struct sample *sample)
{
    const struct switch_counts *seen = &process->seen_switches;
    const struct switch_counts *reaped = &process->reaped_switches;

    sample->value[METRIC_PROCESS_VOLUNTARY_SWITCHES] =
        publish(&process->published_switches.voluntary, larger(seen->voluntary, reaped->voluntary));
    sample->value[METRIC_PROCESS_INVOLUNTARY_SWITCHES] = publish(
        &process->published_switches.involuntary, larger(seen->involuntary, reaped->involuntary));
}

/* What a running tree did before we came is not ours to tell. */
static void leave_out_the_past(struct process *process)
{
    for (size_t i = 0; i < process->tree.count; i++) {
        struct member *member = &process->tree.members[i];
        (void)read_status(process, member, &member->status);
    }
}

static void store_memory(struct process *process, const struct tick *tick,
                         const struct tree_sums *sums, struct sample *sample)
{
    pss_read(&process->pss, &process->tree, tick->now_ns, tick->elapsed_ns);
    struct pss_sum pss = pss_sum(&process->pss, &process->tree);

    if (sums->rss_kib > process->peak_rss_kib)
        process->peak_rss_kib = sums->rss_kib;
    read_statuses(process, sums->rss_kib);
    sample->value[METRIC_PROCESS_RSS] = (double)sums->rss_kib / 1024;
    sample->value[METRIC_PROCESS_PSS] = (double)pss.bytes / BYTES_PER_MIB;
    sample->value[METRIC_PROCESS_PEAK_RSS] = (double)process->peak_rss_kib / 1024;
    if (pss.oldest_ns > 0)
        sample->value[METRIC_PROCESS_PSS_AGE] = (double)(tick->now_ns - pss.oldest_ns) / NS_PER_SEC;
}

static void store_counts(struct process *process, const struct tree_sums *sums,
                         struct sample *sample)
{
    const uint64_t *total = process->ledger.total;
    uint64_t *published = process->published;
    bool io_is_known = sums->unreadable == 0 || sums->unreadable < sums->alive;

    sample->value[METRIC_PROCESS_CHILD_COUNT] = (double)sums->children;
    sample->value[METRIC_PROCESS_THREADS] = (double)sums->threads;
    sample->value[METRIC_PROCESS_UNREADABLE] = (double)sums->unreadable;
    sample->value[METRIC_PROCESS_MINOR_FAULTS] =
        publish(&published[QUANTITY_MINOR_FAULTS], total[QUANTITY_MINOR_FAULTS]);
    sample->value[METRIC_PROCESS_MAJOR_FAULTS] =
        publish(&published[QUANTITY_MAJOR_FAULTS], total[QUANTITY_MAJOR_FAULTS]);
    if (!io_is_known)
        return;
    sample->value[METRIC_PROCESS_DISK_READ] =
        publish(&published[QUANTITY_READ], total[QUANTITY_READ]);
    sample->value[METRIC_PROCESS_DISK_WRITE] =
        publish(&published[QUANTITY_WRITE], total[QUANTITY_WRITE]);
}

/* Without memory for the list, nobody is told of a tree. */
static void store_pids(struct process *process, struct sample *sample)
{
    const struct tree *tree = &process->tree;
    pid_t *pids =
        array_grow(process->pids, &process->pid_capacity, tree->count, sizeof *process->pids);
    size_t count = 0;

    if (pids == NULL)
        return;
    process->pids = pids;
    for (size_t i = 0; i < tree->count; i++)
        if (pid_stat_is_alive(tree->members[i].state, tree->members[i].threads))
            pids[count++] = tree->members[i].pid;
    sample->tree = (struct tree_pids){true, pids, count};
}

/* --- the collector --- */

static void count_interval(struct process *process, uint64_t now_ns)
{
    if (process->has_tree) {
        tree_read_members(&process->tree);
        tree_settle(&process->tree, &process->reaped_by_tracker, &process->ledger);
    }
    if (process->is_ours)
        settle_own_io(process);
    if (process->has_tree)
        tree_find_newcomers(&process->tree, now_ns, &process->ledger);
}

static void process_read(void *state, const struct tick *tick, struct sample *sample)
{
    struct process *process = state;

    count_interval(process, tick->now_ns);
    if (tick->priming && !process->is_ours)
        leave_out_the_past(process);
    if (tick->priming || (process->has_tree && !process->tree.root_seen))
        return;
    store_cpu(process, tick, sample);
    if (!process->has_tree)
        return;
    struct tree_sums sums = sum_members(process);
    store_memory(process, tick, &sums, sample);
    store_counts(process, &sums, sample);
    store_switches(process, sample);
    store_pids(process, sample);
}

static void process_close(void *state)
{
    struct process *process = state;

    tree_close(&process->tree);
    if (process->cpu.perf_fd >= 0)
        close(process->cpu.perf_fd);
    own_io_close(&process->own_io);
    free(process->pids);
    if (process->is_ours && process->proc_fd >= 0)
        close(process->proc_fd);
    free(process);
}

/*
 * The command was forked before this, so raising our own limit does not change its. Half of what we
 * may open is left for whatever else there is.
 */
static size_t kept_fds_max(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return 0;
    struct rlimit raised = limit;
    raised.rlim_cur = limit.rlim_max < KEPT_FDS_LIMIT ? limit.rlim_max : KEPT_FDS_LIMIT;
    if (raised.rlim_cur > limit.rlim_cur && setrlimit(RLIMIT_NOFILE, &raised) == 0)
        limit = raised;
    if (limit.rlim_cur <= KEPT_FDS_RESERVE)
        return 0;
    size_t share = (size_t)(limit.rlim_cur - KEPT_FDS_RESERVE) / 2;
    return share < KEPT_FDS_MAX ? share : KEPT_FDS_MAX;
}

/* A shell that ends in `exec resource-tracker` may leave us children: they are not the command's.
 */
static bool note_child(void *context, const struct dirent64 *entry)
{
    struct process *process = context;
    char text[PID_FILE_MAX];
    struct pid_stat stat;
    struct scan name = scan_over(entry->d_name, strlen(entry->d_name));
    uint64_t pid;

    if (!scan_u64(&name, &pid) || name.at != name.end || pid > INT_MAX)
        return true;
    ssize_t got = pid_file_read(process->proc_fd, (pid_t)pid, "stat", text);
    if (got > 0 && pid_stat_parse(scan_over(text, (size_t)got), &stat) && stat.parent == getpid() &&
        (pid_t)pid != process->root)
        process->strangers[process->stranger_count++] = (pid_t)pid;
    return process->stranger_count < sizeof process->strangers / sizeof process->strangers[0];
}

static void open_own_files(struct process *process)
{
    own_io_open(&process->own_io);
    process->cpu.perf_fd = perf_clock_open(process->root);

    /* Whoever became the tracker by exec may have waited for children before. */
    struct usage before;
    if (own_io_read(&process->own_io, &before))
        account_open(&process->reaped_by_tracker, &before, NULL);
}

static int process_open(const struct collect_context *context, void **ret_state)
{
    if (context->tracked_pid == 0)
        return -ENODEV;

    struct process *process = calloc(1, sizeof *process);
    if (process == NULL)
        return -ENOMEM;
    process->root = context->tracked_pid;
    process->is_ours = context->tracked_is_ours;
    process->own_io = OWN_IO_CLOSED;
    process->cpu.perf_fd = -1;
    process->page_kib = (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
    /* A command of ours has its number in our /proc, whatever --procfs shows of others. */
    process->proc_fd = process->is_ours ? open(SYSROOT_PROC, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                                        : context->root->proc_fd;
    pss_init(&process->pss, (enum pss_mode)context->pss_mode);
    if (process->is_ours)
        open_own_files(process);
    if (context->had_children)
        (void)dir_each(process->proc_fd, note_child, process);
    process->cpu.cgroup = context->cgroup;
    int error = tree_open(&process->tree, process->proc_fd, process->root,
                          process->is_ours ? getpid() : 0, kept_fds_max());
    if (error < 0) {
        process_close(process);
        return error;
    }
    /* In a PID namespace without a /proc of its own, numbers there are other processes'. */
    process->has_tree = process->tree.own_namespace || !process->is_ours;
    process->ledger.slack[QUANTITY_CPU] = 2 * process->tree.tick_ns;
    process->ledger.slack[QUANTITY_STIME] = process->tree.tick_ns;
    *ret_state = process;
    return 0;
}

const struct collector process_collector = {
    .name = "process",
    .open = process_open,
    .read = process_read,
    .child_ended = process_child_ended,
    .close = process_close,
};

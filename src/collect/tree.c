#include "collect/tree.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define LOADAVG_MAX 256
#define SLOTS_MIN 64
#define KEPT_PER_MEMBER 4

/* --- the table --- */

static size_t slot_of(const struct tree *tree, pid_t pid)
{
    return ((size_t)pid * 2654435761U) & (tree->slot_count - 1);
}

static void fill_slot(struct tree *tree, size_t index)
{
    size_t slot = slot_of(tree, tree->members[index].pid);

    while (tree->slots[slot] != 0)
        slot = (slot + 1) & (tree->slot_count - 1);
    tree->slots[slot] = (uint32_t)index + 1;
}

/* After members were removed their indices have changed. */
static void fill_slots(struct tree *tree)
{
    memset(tree->slots, 0, tree->slot_count * sizeof *tree->slots);
    for (size_t i = 0; i < tree->count; i++)
        fill_slot(tree, i);
}

struct member *tree_find(const struct tree *tree, pid_t pid)
{
    for (size_t slot = slot_of(tree, pid); tree->slots[slot] != 0;
         slot = (slot + 1) & (tree->slot_count - 1)) {
        struct member *member = &tree->members[tree->slots[slot] - 1];
        if (member->pid == pid)
            return member;
    }
    return NULL;
}

/* At most half full. */
static int reserve_slots(struct tree *tree, size_t count)
{
    size_t slot_count = tree->slot_count > 0 ? tree->slot_count : SLOTS_MIN;

    while (slot_count < count * 2)
        slot_count *= 2;
    if (slot_count == tree->slot_count)
        return 0;
    uint32_t *slots = realloc(tree->slots, slot_count * sizeof *slots);
    if (slots == NULL)
        return -ENOMEM;
    tree->slots = slots;
    tree->slot_count = slot_count;
    fill_slots(tree);
    return 0;
}

static size_t count_files(const struct member *member)
{
    return (size_t)(member->stat_fd >= 0) + (size_t)(member->io_fd >= 0) +
           (size_t)(member->statm_fd >= 0) + (size_t)(member->status_fd >= 0);
}

static int open_or_none(const struct tree *tree, const struct member *member, const char *name)
{
    int fd = pid_file_open(tree->proc_fd, member->pid, name);

    return fd >= 0 ? fd : -1;
}

/* Descriptors are kept while there is room for them; the rest is opened at each reading. */
static void keep_files(struct tree *tree, struct member *member)
{
    if (tree->kept_fds + KEPT_PER_MEMBER > tree->kept_fds_max)
        return;
    member->stat_fd = open_or_none(tree, member, "stat");
    member->io_fd = open_or_none(tree, member, "io");
    member->statm_fd = open_or_none(tree, member, "statm");
    member->status_fd = open_or_none(tree, member, "status");
    tree->kept_fds += count_files(member);
}

static void drop_files(struct tree *tree, struct member *member)
{
    tree->kept_fds -= count_files(member);
    close_fd(&member->stat_fd);
    close_fd(&member->io_fd);
    close_fd(&member->statm_fd);
    close_fd(&member->status_fd);
}

/* --- readings --- */

ssize_t member_file_read(const struct tree *tree, const struct member *member, int kept_fd,
                         const char *name, char *out)
{
    return kept_fd >= 0 ? pid_file_pread(kept_fd, out)
                        : pid_file_read(tree->proc_fd, member->pid, name, out);
}

static void take_stat(const struct tree *tree, struct member *member, const struct pid_stat *stat)
{
    struct usage *usage = &member->usage;

    member->parent = stat->parent;
    member->state = stat->state;
    member->threads = stat->threads;
    member->rss_pages = stat->rss_pages;
    /* The clock is exact to the nanosecond, and the ticks are what is left without one. */
    uint64_t ticks_ns = (stat->utime_ticks + stat->stime_ticks) * tree->tick_ns;
    usage->own[QUANTITY_CPU] = member->clock_ns > 0 ? member->clock_ns : ticks_ns;
    usage->own[QUANTITY_STIME] = stat->stime_ticks * tree->tick_ns;
    usage->own[QUANTITY_MINOR_FAULTS] = stat->minor_faults;
    usage->own[QUANTITY_MAJOR_FAULTS] = stat->major_faults;
    usage->reaped[QUANTITY_CPU] =
        (stat->reaped_utime_ticks + stat->reaped_stime_ticks) * tree->tick_ns;
    usage->reaped[QUANTITY_STIME] = stat->reaped_stime_ticks * tree->tick_ns;
    usage->reaped[QUANTITY_MINOR_FAULTS] = stat->reaped_minor_faults;
    usage->reaped[QUANTITY_MAJOR_FAULTS] = stat->reaped_major_faults;
}

static void take_io(const struct tree *tree, struct member *member)
{
    char text[PID_FILE_MAX];
    struct pid_io io;

    ssize_t got = member_file_read(tree, member, member->io_fd, "io", text);
    if (got < 0 || !pid_io_parse(scan_over(text, (size_t)got), &io)) {
        /* Another user's, or a kernel that does not count. Of one that has ended, the last stands.
         */
        member->io_unreadable = got != -ESRCH && pid_stat_is_alive(member->state, member->threads);
        return;
    }
    member->io_unreadable = false;
    member->usage.reaped[QUANTITY_READ] = io.read_bytes;
    member->usage.reaped[QUANTITY_WRITE] = io.write_bytes;
}

/* 0; -ESRCH when the process is gone, -ENOENT when it cannot be seen; else it cannot be read now.
 */
static int read_stat(const struct tree *tree, const struct member *member,
                     struct pid_stat *ret_stat)
{
    char text[PID_FILE_MAX];

    ssize_t got = member_file_read(tree, member, member->stat_fd, "stat", text);
    if (got < 0)
        return (int)got;
    if (!pid_stat_parse(scan_over(text, (size_t)got), ret_stat) ||
        ret_stat->start_ticks != member->start_ticks)
        return -ESRCH;
    return 0;
}

struct thread_search {
    int task_fd;
    pid_t main_thread;
    uint64_t rss_pages;
};

static bool look_at_thread(void *context, const struct dirent64 *entry)
{
    struct thread_search *search = context;
    struct scan name = scan_over(entry->d_name, strlen(entry->d_name));
    char text[PID_FILE_MAX];
    uint64_t thread;

    if (!scan_u64(&name, &thread) || name.at != name.end || thread > INT_MAX ||
        (pid_t)thread == search->main_thread)
        return true;
    ssize_t got = pid_file_read(search->task_fd, (pid_t)thread, "statm", text);
    return got <= 0 || !pid_statm_parse(scan_over(text, (size_t)got), &search->rss_pages);
}

/* A main thread that has ended has no memory any more, but the others still have theirs. */
static void take_memory_of_threads(const struct tree *tree, struct member *member)
{
    cleanup_fd int task_fd = pid_file_open(tree->proc_fd, member->pid, "task");
    struct thread_search search = {.task_fd = task_fd, .main_thread = member->pid};

    if (task_fd >= 0 && dir_each(task_fd, look_at_thread, &search) == 0)
        member->rss_pages = search.rss_pages;
}

/*
 * Memory can be taken from a process that does not run, so this is read every time. Without it the
 * rough figure of stat stands.
 */
static void take_memory(const struct tree *tree, struct member *member)
{
    char text[PID_FILE_MAX];

    if (member->state == 'Z' && member->threads > 1) {
        take_memory_of_threads(tree, member);
        return;
    }
    ssize_t got = member_file_read(tree, member, member->statm_fd, "statm", text);
    if (got > 0)
        (void)pid_statm_parse(scan_over(text, (size_t)got), &member->rss_pages);
}

static void read_member(const struct tree *tree, struct member *member)
{
    struct pid_stat stat;
    uint64_t clock_ns = 0;

    member->is_fresh = false;
    if (member->ended_here)
        return;
    bool has_clock = tree->own_namespace && pid_clock_read(member->pid, &clock_ns);
    if (has_clock && clock_ns == member->clock_ns && !member->stale)
        return; /* it has not run since */
    int error = read_stat(tree, member, &stat);
    if (error < 0) {
        /* hidepid hides one that has become another user's, but its clock still runs. */
        member->departed = error == -ESRCH || (error == -ENOENT && !has_clock);
        return;
    }
    member->is_fresh = true;
    member->clock_ns = clock_ns;
    member->stale = !has_clock;
    take_stat(tree, member, &stat);
    take_io(tree, member);
}

int tree_add(struct tree *tree, pid_t pid, const struct pid_stat *stat, struct ledger *ledger)
{
    struct member *members =
        array_grow(tree->members, &tree->capacity, tree->count + 1, sizeof *members);
    if (members == NULL)
        return -ENOMEM;
    tree->members = members;
    if (reserve_slots(tree, tree->count + 1) < 0)
        return -ENOMEM;

    struct member *member = &tree->members[tree->count];
    *member = (struct member){
        .pid = pid,
        .start_ticks = stat->start_ticks,
        .stat_fd = -1,
        .io_fd = -1,
        .statm_fd = -1,
        .status_fd = -1,
        .stale = true,
    };
    keep_files(tree, member);
    fill_slot(tree, tree->count++);
    if (tree->own_namespace)
        (void)pid_clock_read(pid, &member->clock_ns);
    take_stat(tree, member, stat);
    take_io(tree, member);
    take_memory(tree, member);
    tree->changes++;
    bool was_there = tree->tracker == 0 && stat->start_ticks < tree->began_ticks;
    account_open(&member->account, &member->usage, was_there ? NULL : ledger);
    if (pid == tree->root)
        tree->root_seen = true;
    return 0;
}

void tree_read_members(struct tree *tree)
{
    for (size_t i = 0; i < tree->count; i++) {
        struct member *member = &tree->members[i];
        read_member(tree, member);
        if (!member->departed && !member->ended_here)
            take_memory(tree, member);
    }
}

/* --- settling --- */

/* The nearest ancestor that is left: its growth will show what a departed member used. */
static struct member *heir_of(const struct tree *tree, const struct member *member)
{
    /* A chain is never longer than the table; PIDs that were reused could make it a ring. */
    for (size_t steps = 0; steps <= tree->count; steps++) {
        struct member *parent = tree_find(tree, member->parent);
        if (parent == NULL || !parent->departed)
            return parent;
        member = parent;
    }
    return NULL;
}

static void owe_departures(struct tree *tree)
{
    for (size_t i = 0; i < tree->count; i++) {
        const struct member *member = &tree->members[i];
        struct member *heir = member->departed ? heir_of(tree, member) : NULL;
        if (heir == NULL)
            continue;
        if (heir->pid == member->parent)
            account_owe(&heir->account, &member->account);
        else
            account_owe_stray(&heir->account, &member->account);
    }
}

static bool has_strays(const struct account *account)
{
    for (int q = 0; q < QUANTITY_COUNT; q++)
        if (account->stray[q] > 0)
            return true;
    return false;
}

static void pay_strays(struct tree *tree)
{
    for (size_t i = 0; i < tree->count; i++) {
        struct member *member = &tree->members[i];
        struct member *ancestor = member;
        if (!member->account.in_debt)
            continue;
        for (size_t steps = 0; steps <= tree->count && has_strays(&member->account); steps++) {
            ancestor = tree_find(tree, ancestor->parent);
            if (ancestor == NULL || ancestor == member)
                break;
            account_pay_strays(&ancestor->account, &member->account);
        }
    }
}

static bool is_io(int quantity)
{
    return quantity == QUANTITY_READ || quantity == QUANTITY_WRITE;
}

/*
 * We waited for it ourselves: its rusage is its last reading, own and reaped together. Its I/O is
 * in ours by now, so that of it and of its departed goes to the tracker's own account.
 */
static void prepare_ended(struct member *member, struct account *reaped_by_tracker)
{
    struct account *account = &member->account;

    for (int q = 0; q < QUANTITY_COUNT; q++) {
        if (is_io(q)) {
            reaped_by_tracker->debt[q] += account->usage.own[q] + account->usage.reaped[q] +
                                          account->debt[q] + account->stray[q] + account->grace[q];
            account->debt[q] = 0;
            account->stray[q] = 0;
            account->grace[q] = 0;
            member->usage.own[q] = account->usage.own[q];
            member->usage.reaped[q] = account->usage.reaped[q];
        } else {
            account->usage.reaped[q] += account->usage.own[q];
            account->usage.own[q] = 0;
        }
    }
}

static void forget(struct tree *tree)
{
    size_t kept = 0;

    for (size_t i = 0; i < tree->count; i++) {
        struct member *member = &tree->members[i];
        if (member->departed || member->ended_here)
            drop_files(tree, member);
        else if (kept++ != i)
            tree->members[kept - 1] = *member;
    }
    if (kept == tree->count)
        return;
    tree->count = kept;
    tree->changes++;
    fill_slots(tree);
    /* Orphans have a new parent, which their clocks do not tell. */
    for (size_t i = 0; i < tree->count; i++)
        if (tree_find(tree, tree->members[i].parent) == NULL)
            tree->members[i].stale = true;
}

/* Most members of a large tree sleep; nothing is to be counted of them. */
static bool has_news(const struct member *member)
{
    return !member->departed && (member->is_fresh || member->ended_here || member->account.in_debt);
}

void tree_settle(struct tree *tree, struct account *reaped_by_tracker, struct ledger *ledger)
{
    owe_departures(tree);
    for (size_t i = 0; i < tree->count; i++) {
        struct member *member = &tree->members[i];
        if (member->ended_here)
            prepare_ended(member, reaped_by_tracker);
        if (has_news(member))
            account_receive(&member->account, &member->usage);
    }
    pay_strays(tree);
    for (size_t i = 0; i < tree->count; i++) {
        struct member *member = &tree->members[i];
        if (!has_news(member))
            continue;
        account_count(&member->account, &member->usage, ledger);
        if (member->ended_here)
            account_close(&member->account, ledger);
    }
    forget(tree);
}

/* --- open and close --- */

/* Our own number in this /proc; 0 when we are not in it. */
static pid_t own_pid(int proc_fd)
{
    char text[32];
    uint64_t pid;

    ssize_t length = readlinkat(proc_fd, "self", text, sizeof text);
    struct scan scan = scan_over(text, length > 0 ? (size_t)length : 0);
    return scan_u64(&scan, &pid) && pid <= INT_MAX ? (pid_t)pid : 0;
}

static uint64_t tick_length_ns(void)
{
    long per_sec = sysconf(_SC_CLK_TCK);

    return NS_PER_SEC / (uint64_t)(per_sec > 0 ? per_sec : 100);
}

int tree_open(struct tree *tree, int proc_fd, pid_t root, pid_t tracker, size_t kept_fds_max)
{
    *tree = (struct tree){
        .proc_fd = proc_fd,
        .root = root,
        .tracker = tracker,
        .self = own_pid(proc_fd),
        .kept_fds_max = kept_fds_max,
        .tick_ns = tick_length_ns(),
    };
    tree->own_namespace = tree->self == getpid();
    if (tree->self == root)
        tree->self = 0; /* somebody wants to watch the watcher */
    tree->began_ticks = clock_ns(CLOCK_BOOTTIME) / tree->tick_ns;
    int error = reserve_slots(tree, 1);
    if (error < 0)
        return error;
    /* Without it, newcomers are found by listing /proc. */
    (void)file_open(&tree->loadavg, proc_fd, "loadavg", LOADAVG_MAX, LOADAVG_MAX);
    tree->loadavg.one_record = tree->own_namespace;
    return 0;
}

void tree_close(struct tree *tree)
{
    for (size_t i = 0; i < tree->count; i++)
        drop_files(tree, &tree->members[i]);
    file_close(&tree->loadavg);
    free(tree->members);
    free(tree->slots);
    free(tree->foreigners);
    free(tree->listing);
    free(tree->candidates);
    *tree = (struct tree){0};
}

/*
 * Finding new members: tree_find_newcomers() of tree.h.
 */
#include "base/array.h"
#include "base/clock.h"
#include "base/dir.h"
#include "collect/tree.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* More PIDs than this since the last look: listing /proc is cheaper than trying each. */
#define BURST_PIDS 4096
/* What PIDs alone do not show (a fork that took long, PIDs set by hand) is found this often. */
#define LISTING_NS (60 * NS_PER_SEC)

/* --- candidates --- */

/* False when it could not be looked at, though it may be there: it must be tried again. */
static bool consider(struct tree *tree, pid_t pid)
{
    char text[PID_FILE_MAX];
    struct candidate candidate = {.pid = pid};

    ssize_t got = pid_file_read(tree->proc_fd, pid, "stat", text);
    if (got < 0)
        return got == -ESRCH || got == -ENOENT;
    if (!pid_stat_parse(scan_over(text, (size_t)got), &candidate.stat))
        return true;
    struct candidate *candidates = array_grow(tree->candidates, &tree->candidate_capacity,
                                              tree->candidate_count + 1, sizeof *candidates);
    if (candidates == NULL)
        return false;
    tree->candidates = candidates;
    tree->candidates[tree->candidate_count++] = candidate;
    return true;
}

/* The root of a running tree is what has its number when we attach, and nothing that comes later.
 */
static bool is_root(const struct tree *tree, const struct candidate *candidate)
{
    return candidate->pid == tree->root && !tree->root_seen &&
           (tree->tracker != 0 || tree->listed_ns == 0);
}

/* Adopted, and not left to us by whoever became the tracker by exec. */
static bool is_adopted(const struct tree *tree, const struct candidate *candidate)
{
    return tree->tracker != 0 && candidate->stat.parent == tree->tracker &&
           candidate->stat.start_ticks >= tree->began_ticks;
}

static bool belongs(const struct tree *tree, const struct candidate *candidate)
{
    return is_root(tree, candidate) || is_adopted(tree, candidate) ||
           tree_find(tree, candidate->stat.parent) != NULL;
}

/* A parent may stand behind its child in the list, so as long as one was added, look again. */
static void take_members(struct tree *tree, struct ledger *ledger)
{
    bool added = true;

    while (added) {
        size_t left = 0;
        added = false;
        for (size_t i = 0; i < tree->candidate_count; i++) {
            const struct candidate candidate = tree->candidates[i];
            if (!belongs(tree, &candidate))
                tree->candidates[left++] = candidate;
            else if (tree_find(tree, candidate.pid) == NULL &&
                     tree_add(tree, candidate.pid, &candidate.stat, ledger) == 0)
                added = true;
        }
        tree->candidate_count = left;
    }
}

/* --- by the PIDs given out since the last look --- */

static pid_t read_last_pid(struct tree *tree)
{
    uint64_t pid;

    if (file_read(&tree->loadavg) < 0)
        return 0;
    struct scan text = file_scan(&tree->loadavg);
    if (!scan_skip_words(&text, 4) || !scan_u64(&text, &pid) || pid > INT_MAX)
        return 0;
    return (pid_t)pid;
}

static bool try_pid(struct tree *tree, pid_t pid)
{
    uint64_t clock_ns;

    if (pid == tree->self || tree_find(tree, pid) != NULL)
        return true;
    return pid_clock_read(pid, &clock_ns) && consider(tree, pid);
}

/* A PID is given out before its process can be seen: the latest ones get a second chance. */
static void try_new_pids(struct tree *tree, pid_t last)
{
    pid_t absent[sizeof tree->absent / sizeof tree->absent[0]] = {0};
    size_t absent_count = 0;

    for (size_t i = 0; i < tree->absent_count; i++)
        (void)try_pid(tree, tree->absent[i]);
    for (pid_t pid = tree->last_pid + 1; pid <= last; pid++)
        if (!try_pid(tree, pid) && last - pid < (pid_t)(sizeof absent / sizeof absent[0]))
            absent[absent_count++] = pid;
    memcpy(tree->absent, absent, absent_count * sizeof absent[0]);
    tree->absent_count = absent_count;
}

/* --- by listing /proc --- */

/* The entry of a PID in a sorted list, or NULL. */
static const struct foreigner *find_pid(const struct foreigner *list, size_t count, pid_t pid)
{
    size_t low = 0;
    size_t high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list[middle].pid < pid)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && list[low].pid == pid ? &list[low] : NULL;
}

static bool is_known_foreigner(const struct tree *tree, const struct foreigner *entry)
{
    const struct foreigner *known = find_pid(tree->foreigners, tree->foreigner_count, entry->pid);

    return known != NULL && known->inode == entry->inode;
}

static int by_pid(const void *left, const void *right)
{
    const struct foreigner *a = left;
    const struct foreigner *b = right;

    return (a->pid > b->pid) - (a->pid < b->pid);
}

static bool list_entry(void *context, const struct dirent64 *entry)
{
    struct tree *tree = context;
    struct scan name = scan_over(entry->d_name, strlen(entry->d_name));
    uint64_t pid;

    if (!scan_u64(&name, &pid) || name.at != name.end || pid == 0 || pid > INT_MAX)
        return true;
    struct foreigner found = {.pid = (pid_t)pid, .inode = entry->d_ino};
    if (found.pid == tree->self || tree_find(tree, found.pid) != NULL)
        return true;
    if (!is_known_foreigner(tree, &found) && !consider(tree, found.pid))
        return true;
    struct foreigner *listing = array_grow(tree->listing, &tree->listing_capacity,
                                           tree->listing_count + 1, sizeof *listing);
    if (listing == NULL)
        return false;
    tree->listing = listing;
    tree->listing[tree->listing_count++] = found;
    return true;
}

/*
 * A candidate that found no parent among the members is a stranger for good, unless its parent was
 * not listed either: that may be a member that came too late for this listing. Such a one is taken
 * out of the listing, to be looked at again.
 */
static void drop_undecided(struct tree *tree)
{
    for (size_t i = 0; i < tree->candidate_count; i++) {
        const struct candidate *candidate = &tree->candidates[i];
        if (find_pid(tree->listing, tree->listing_count, candidate->stat.parent) != NULL)
            continue;
        const struct foreigner *entry =
            find_pid(tree->listing, tree->listing_count, candidate->pid);
        if (entry != NULL)
            tree->listing[entry - tree->listing].inode = 0; /* no process of /proc has it */
    }
}

/* What was listed becomes what is known; its old room serves the next listing. */
static void swap_listing(struct tree *tree)
{
    struct foreigner *spare = tree->foreigners;
    size_t spare_capacity = tree->foreigner_capacity;

    tree->foreigners = tree->listing;
    tree->foreigner_capacity = tree->listing_capacity;
    tree->foreigner_count = tree->listing_count;
    tree->listing = spare;
    tree->listing_capacity = spare_capacity;
}

/* The kernel lists in the order of PIDs; sorting, which would allocate, is for copies of a /proc.
 */
static void sort_listing(struct tree *tree)
{
    for (size_t i = 1; i < tree->listing_count; i++)
        if (tree->listing[i - 1].pid > tree->listing[i].pid) {
            qsort(tree->listing, tree->listing_count, sizeof tree->listing[0], by_pid);
            return;
        }
}

static void find_by_listing(struct tree *tree, struct ledger *ledger)
{
    tree->listing_count = 0;
    int error = dir_each(tree->proc_fd, list_entry, tree);
    sort_listing(tree);
    take_members(tree, ledger);
    drop_undecided(tree);
    if (error == 0)
        swap_listing(tree);
}

/* --- which of the two --- */

/* Our own tree consists of the command alone when it begins. */
static bool is_first_look_at_own(const struct tree *tree)
{
    return !tree->root_seen && tree->tracker != 0;
}

void tree_find_newcomers(struct tree *tree, uint64_t now_ns, struct ledger *ledger)
{
    pid_t last = tree->own_namespace ? read_last_pid(tree) : 0;
    bool must_list = last == 0 || last < tree->last_pid || last - tree->last_pid > BURST_PIDS ||
                     now_ns - tree->listed_ns > LISTING_NS;

    tree->candidate_count = 0;
    if (is_first_look_at_own(tree)) {
        (void)consider(tree, tree->root);
        take_members(tree, ledger);
        tree->listed_ns = now_ns;
    } else if (must_list || tree->listed_ns == 0) {
        find_by_listing(tree, ledger);
        tree->listed_ns = now_ns;
        tree->absent_count = 0;
    } else {
        try_new_pids(tree, last);
        take_members(tree, ledger);
    }
    tree->last_pid = last;
}

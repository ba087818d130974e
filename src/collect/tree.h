/*
 * Who belongs to the tracked tree. A member is a live process, known by PID and start time, that is
 * the root, a child of a member, an orphan adopted by the tracker, or was a member before. Parents
 * stand before their children in the table, so that reading it in order reads parents first.
 *
 * Newcomers are found without looking at every process: /proc/loadavg names the PID given out last,
 * so only those since the previous look are tried, and the CPU clock of a PID tells in 0.2 us
 * whether it lives. A listing of /proc that opens only unknown PIDs is made when PIDs have wrapped
 * around, after bursts, where PIDs of another namespace are shown, and now and then.
 */
#ifndef COLLECT_TREE_H
#define COLLECT_TREE_H

#include "base/file.h"
#include "collect/ledger.h"
#include "collect/pid_file.h"

struct member {
    pid_t pid;
    pid_t parent; /* as last read */
    uint64_t start_ticks;
    struct account account;
    struct usage usage; /* this interval's reading, not yet counted */
    uint64_t
        clock_ns; /* CPU clock at the last reading: unchanged, nothing else has changed; or 0 */
    uint64_t rss_pages;
    uint64_t threads;
    uint64_t pss_kib;
    uint64_t pss_read_ns; /* monotonic; 0: never */
    uint64_t pss_tried_ns;
    uint64_t pss_pages;   /* rss_pages when it was read */
    uint64_t pss_changes; /* of the tree, likewise: a fork shares pages without moving any */
    uint32_t pss_cost_ns_per_page; /* learned */
    struct pid_status status;
    uint64_t status_clock_ns; /* clock_ns when `status` was read; 0: never, or without a clock */
    int stat_fd;              /* -1: opened at each reading */
    int io_fd;
    int statm_fd;
    int status_fd;
    char state;
    bool is_fresh; /* `usage` is of this interval */
    bool departed;
    bool ended_here;    /* reaped by the tracker: `usage` is final */
    bool io_unreadable; /* another user's */
    bool stale;         /* read it even if its clock stands still */
};

/* A process that may turn out to be a member. */
struct candidate {
    pid_t pid;
    struct pid_stat stat;
};

/* One that is not, as the last listing found it. */
struct foreigner {
    pid_t pid;
    uint64_t inode; /* changes when the PID is given to another process */
};

struct tree {
    int proc_fd;
    uint64_t tick_ns;
    bool own_namespace; /* this /proc numbers processes as the kernel does for us */
    pid_t root;
    pid_t tracker; /* whose children are members too; 0: not the tracker's tree */
    pid_t self;    /* the tracker here, never a member; 0: not in this /proc */
    bool root_seen;
    uint64_t began_ticks; /* attach mode: what started before was there before */

    struct member *members;
    size_t count;
    size_t capacity;
    uint32_t *slots; /* PID -> index + 1, open addressing, a power of two */
    size_t slot_count;

    struct file loadavg;
    pid_t last_pid;   /* given out last, as of the previous look */
    pid_t absent[16]; /* given out just before it, but not there yet: a fork under way */
    size_t absent_count;
    uint64_t listed_ns;
    struct foreigner *foreigners; /* sorted by PID; seen in the last listing */
    size_t foreigner_count;
    size_t foreigner_capacity;
    struct foreigner *listing; /* the next one, while it is made */
    size_t listing_count;
    size_t listing_capacity;
    struct candidate *candidates;
    size_t candidate_count;
    size_t candidate_capacity;

    uint64_t changes; /* grows when a member comes or goes */

    size_t kept_fds;
    size_t kept_fds_max;
};

/* tracker 0: attach to a running tree, of which everything used so far is left out. */
int tree_open(struct tree *tree, int proc_fd, pid_t root, pid_t tracker, size_t kept_fds_max);
void tree_close(struct tree *tree);

struct member *tree_find(const struct tree *tree, pid_t pid);

/* Adds a process; all it has used so far counts, unless it was there before an attach. */
int tree_add(struct tree *tree, pid_t pid, const struct pid_stat *stat, struct ledger *ledger);

/* Reads a file of a member, from its kept descriptor if it has one; as pid_file_read. */
ssize_t member_file_read(const struct tree *tree, const struct member *member, int kept_fd,
                         const char *name, char *out);

/* Adds the members that have come since the last call, counting their use in the ledger. */
void tree_find_newcomers(struct tree *tree, uint64_t now_ns, struct ledger *ledger);

/* Reads every member into its `usage`; those that are gone are marked. */
void tree_read_members(struct tree *tree);

/* Counts this interval: growth of those who stayed, debts of those who went; then forgets these. */
void tree_settle(struct tree *tree, struct account *reaped_by_tracker, struct ledger *ledger);

#endif

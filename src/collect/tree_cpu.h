/*
 * CPU time of the tree since the start, from the exactest source there is:
 *
 *   cgroup     --cgroup: the kernel's own sum
 *   proc       the sum over /proc, exact when every child is waited for
 *   proc+perf  where children are not: the larger of that sum and a perf clock that they inherit
 */
#ifndef COLLECT_TREE_CPU_H
#define COLLECT_TREE_CPU_H

#include "collect/ledger.h"

#include <stdbool.h>

struct job_cgroup;

struct tree_cpu {
    int perf_fd;               /* -1: none */
    struct job_cgroup *cgroup; /* borrowed; NULL: none */
    uint64_t stolen_ns;        /* by the hypervisor from the host, since the start */
    uint64_t own_stolen_ns;    /* of it probably from the tree */
    uint64_t perf_ns;          /* as last read */
    uint64_t new_stolen_ns;    /* since then, */
    uint64_t new_busy_ns;      /* and what the host was busy, that included */
    bool has_lost_children;    /* /proc alone does not tell all */
};

struct cpu_total {
    uint64_t sum_ns; /* user and system */
    uint64_t system_ns;
};

/* What the host was busy and what was stolen from it since the last call; before each reading. */
void tree_cpu_note_host(struct tree_cpu *cpu, uint64_t stolen_ns, uint64_t busy_ns);

/* The name of the source. */
const char *tree_cpu_read(struct tree_cpu *cpu, const struct ledger *ledger,
                          struct cpu_total *ret_total);

#endif

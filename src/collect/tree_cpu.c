#include "collect/tree_cpu.h"

#include "base/clock.h"
#include "collect/job_cgroup.h"
#include "collect/perf_clock.h"

/* Above what ticks and steal, which are told in hundredths of a second, can explain. */
#define LOST_CHILDREN_NS (30 * NS_PER_MS)

/*
 * Whether children were lost to /proc because nobody waits for them: a member ignores SIGCHLD, a
 * debt nobody paid, or a gap that nothing else explains.
 */
static bool has_lost_children(struct tree_cpu *cpu, const struct ledger *ledger, uint64_t perf_ns,
                              uint64_t sum_ns)
{
    bool has_unpaid = ledger->forgiven[QUANTITY_CPU] > LOST_CHILDREN_NS;
    bool has_gap = perf_ns > sum_ns + sum_ns / 25 + LOST_CHILDREN_NS;

    if (has_unpaid || has_gap)
        cpu->has_lost_children = true;
    return cpu->has_lost_children;
}

void tree_cpu_note_host(struct tree_cpu *cpu, uint64_t stolen_ns, uint64_t busy_ns)
{
    cpu->stolen_ns += stolen_ns;
    cpu->new_stolen_ns += stolen_ns;
    cpu->new_busy_ns += busy_ns;
}

/* Whoever runs more is stolen from more: the tree's part is its part of the busy time. */
static void share_stolen(struct tree_cpu *cpu, uint64_t perf_ns)
{
    double grown_ns = perf_ns > cpu->perf_ns ? (double)(perf_ns - cpu->perf_ns) : 0;
    double share = cpu->new_busy_ns > 0 ? grown_ns / (double)cpu->new_busy_ns : 1;

    cpu->own_stolen_ns += (uint64_t)((share < 1 ? share : 1) * (double)cpu->new_stolen_ns);
    cpu->perf_ns = perf_ns;
    cpu->new_stolen_ns = 0;
    cpu->new_busy_ns = 0;
}

static uint64_t less(uint64_t value, uint64_t part)
{
    return value > part ? value - part : 0;
}

/*
 * The perf clock also runs while the hypervisor has the CPU, which is nobody's use. Whether
 * children are missing is judged with all taken off that was stolen from the host; how much they
 * used, with the tree's part of it. Time that only perf has seen is split as the rest is.
 */
static void add_perf(struct tree_cpu *cpu, const struct ledger *ledger, struct cpu_total *total)
{
    uint64_t perf_ns;

    if (!perf_clock_read(cpu->perf_fd, &perf_ns))
        return;
    share_stolen(cpu, perf_ns);
    uint64_t used_ns = less(perf_ns, cpu->own_stolen_ns);
    if (used_ns <= total->sum_ns ||
        !has_lost_children(cpu, ledger, less(perf_ns, cpu->stolen_ns), total->sum_ns))
        return;
    double system_share = total->sum_ns > 0 ? (double)total->system_ns / (double)total->sum_ns : 0;
    total->system_ns += (uint64_t)(system_share * (double)(used_ns - total->sum_ns));
    total->sum_ns = used_ns;
}

const char *tree_cpu_read(struct tree_cpu *cpu, const struct ledger *ledger,
                          struct cpu_total *ret_total)
{
    uint64_t user_ns;

    if (cpu->cgroup != NULL && job_cgroup_read(cpu->cgroup, &user_ns, &ret_total->system_ns)) {
        ret_total->sum_ns = user_ns + ret_total->system_ns;
        return "cgroup";
    }
    ret_total->sum_ns = ledger->total[QUANTITY_CPU];
    ret_total->system_ns = ledger->total[QUANTITY_STIME];
    if (cpu->perf_fd < 0)
        return "proc";
    add_perf(cpu, ledger, ret_total);
    return cpu->has_lost_children ? "proc+perf" : "proc";
}

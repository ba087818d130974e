#include "collect/pss.h"

#include "base/clock.h"

#include <unistd.h>

#define LONGEST_NS (50 * NS_PER_MS)
#define SHARE_DIVISOR 200 /* 0.5 % */
/* Measured: 8 us + 0.21 us a mapping + 12-14 ns a page. A process has some 200 mappings. */
#define FIXED_COST_NS (UINT64_C(50) * NS_PER_US)
#define PAGE_COST_NS 14
/* One that has not changed is read again this often: others may have begun to share its pages. */
#define REFRESH_NS (10 * NS_PER_SEC)
#define FORGET_NS (60 * NS_PER_SEC)

void pss_init(struct pss *pss, enum pss_mode mode)
{
    *pss = (struct pss){.mode = mode, .page_bytes = (uint64_t)sysconf(_SC_PAGESIZE)};
}

uint64_t pss_predict_ns(const struct member *member)
{
    uint64_t learned = member->pss_cost_ns_per_page;

    return FIXED_COST_NS + member->rss_pages * (learned > PAGE_COST_NS ? learned : PAGE_COST_NS);
}

static bool is_due(const struct pss *pss, const struct tree *tree, const struct member *member,
                   uint64_t now_ns)
{
    if (member->rss_pages == 0 || member->state == 'Z')
        return false;
    return pss->mode == PSS_ALWAYS || member->pss_read_ns == 0 ||
           member->pss_changes != tree->changes || member->pss_pages != member->rss_pages ||
           now_ns - member->pss_read_ns > REFRESH_NS;
}

/* A process with many small mappings costs more than its pages tell: remember what it took. */
static void learn(struct member *member, uint64_t took_ns)
{
    uint64_t per_page =
        took_ns > FIXED_COST_NS ? (took_ns - FIXED_COST_NS) / (member->rss_pages + 1) : 0;

    if (per_page < PAGE_COST_NS)
        per_page = PAGE_COST_NS;
    member->pss_cost_ns_per_page = per_page < UINT32_MAX ? (uint32_t)per_page : UINT32_MAX;
}

static uint64_t read_one(const struct tree *tree, struct member *member, uint64_t now_ns)
{
    char text[PID_FILE_MAX];
    /* CPU time: while we wait for the lock ourselves, or for a CPU, nobody waits for us. */
    uint64_t begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

    ssize_t got = pid_file_read(tree->proc_fd, member->pid, "smaps_rollup", text);
    uint64_t took_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
    if (got > 0 && pid_rollup_parse(scan_over(text, (size_t)got), &member->pss_kib))
        member->pss_read_ns = now_ns;
    member->pss_pages = member->rss_pages;
    member->pss_changes = tree->changes;
    member->pss_tried_ns = now_ns;
    learn(member, took_ns);
    return took_ns;
}

/* What was dear once may have become cheaper: after a while half of it is forgotten. */
static void forget_slowly(struct member *member, uint64_t now_ns)
{
    if (pss_predict_ns(member) <= LONGEST_NS || now_ns - member->pss_tried_ns <= FORGET_NS)
        return;
    member->pss_cost_ns_per_page /= 2;
    member->pss_tried_ns = now_ns;
}

void pss_read(struct pss *pss, struct tree *tree, uint64_t now_ns, uint64_t elapsed_ns)
{
    if (pss->mode == PSS_NEVER)
        return;
    pss->allowance_ns += (int64_t)(elapsed_ns / SHARE_DIVISOR);
    if (pss->allowance_ns > (int64_t)LONGEST_NS)
        pss->allowance_ns = (int64_t)LONGEST_NS;
    for (size_t tried = 0; tried < tree->count; tried++) {
        if (pss->next >= tree->count)
            pss->next = 0;
        struct member *member = &tree->members[pss->next];
        forget_slowly(member, now_ns);
        uint64_t expected_ns = pss_predict_ns(member);
        if (is_due(pss, tree, member, now_ns) &&
            (pss->mode == PSS_ALWAYS || expected_ns <= LONGEST_NS)) {
            if (pss->mode == PSS_AUTO && (int64_t)expected_ns > pss->allowance_ns)
                return; /* its turn comes when enough is saved up */
            pss->allowance_ns -= (int64_t)read_one(tree, member, now_ns);
        }
        pss->next++;
    }
}

struct pss_sum pss_sum(const struct pss *pss, const struct tree *tree)
{
    struct pss_sum sum = {0};

    for (size_t i = 0; i < tree->count; i++) {
        const struct member *member = &tree->members[i];
        uint64_t resident = member->rss_pages * pss->page_bytes;
        if (member->pss_read_ns == 0) {
            sum.bytes += resident;
            continue;
        }
        /* What it has grown by since is taken for its own: a large job was small once. */
        uint64_t share = member->pss_kib * 1024;
        if (member->rss_pages > member->pss_pages)
            share += (member->rss_pages - member->pss_pages) * pss->page_bytes;
        sum.bytes += share < resident ? share : resident;
        if (resident > 0 && (sum.oldest_ns == 0 || member->pss_read_ns < sum.oldest_ns))
            sum.oldest_ns = member->pss_read_ns;
    }
    return sum;
}

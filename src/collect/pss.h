/*
 * Proportional set sizes, under a budget. Reading smaps_rollup walks the page tables of its process
 * under a lock that the process needs to map memory: 12-14 ns a resident page, seconds for hundreds
 * of GiB. So at most 0.5 % of the time goes into it on average, and no reading is made that is
 * expected to take over 50 ms. A member not read in time keeps its last value; one never read, or
 * not readable, counts with its resident size.
 */
#ifndef COLLECT_PSS_H
#define COLLECT_PSS_H

#include "collect/tree.h"

enum pss_mode { PSS_AUTO, PSS_ALWAYS, PSS_NEVER };

struct pss {
    enum pss_mode mode;
    uint64_t page_bytes;
    int64_t allowance_ns; /* saved up, at most one longest reading; owed, when one took longer */
    size_t next;          /* member whose turn it is */
};

void pss_init(struct pss *pss, enum pss_mode mode);

/* Expected time of one reading. */
uint64_t pss_predict_ns(const struct member *member);

/* Reads as many members as the budget allows after `elapsed_ns`. */
void pss_read(struct pss *pss, struct tree *tree, uint64_t now_ns, uint64_t elapsed_ns);

struct pss_sum {
    uint64_t bytes;
    uint64_t oldest_ns; /* when the oldest value in it was read; 0: none was */
};
struct pss_sum pss_sum(const struct pss *pss, const struct tree *tree);

#endif

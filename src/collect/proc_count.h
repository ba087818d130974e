/*
 * How many processes /proc shows. Listing /proc costs 17 us at 84 processes and 1.4 ms at 5,010.
 * The link count of /proc's root is the number of its fixed directories plus that of all processes
 * of the machine, and costs 0.2 us at any number; but it is the visible number only in the initial
 * PID namespace without hidepid. So a listing now and then proves or disproves the shortcut.
 */
#ifndef COLLECT_PROC_COUNT_H
#define COLLECT_PROC_COUNT_H

#include <stdbool.h>
#include <stdint.h>

struct proc_count {
    int proc_fd; /* borrowed */
    bool is_procfs;
    bool shortcut;       /* the link count may be used */
    uint64_t fixed;      /* part of the link count that is not processes */
    uint64_t checked_ns; /* when last proved */
};

void proc_count_init(struct proc_count *count, int proc_fd, bool is_procfs);

/* Processes visible now, or a negative errno. */
int64_t proc_count_read(struct proc_count *count, uint64_t now_ns);

#endif

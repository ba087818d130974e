/*
 * The per-process files of /proc: reading one, and understanding its text. The parsers are pure and
 * take any bytes.
 */
#ifndef COLLECT_PID_FILE_H
#define COLLECT_PID_FILE_H

#include "base/scan.h"

#include <sys/types.h>

/* A stat line has about 330 bytes, io 110, status 1,400 and with 1,000 groups some 10,000. */
#define PID_FILE_MAX 16384

struct pid_stat {
    char state;
    pid_t parent;
    uint64_t minor_faults;
    uint64_t reaped_minor_faults; /* of children that were waited for, and theirs */
    uint64_t major_faults;
    uint64_t reaped_major_faults;
    uint64_t utime_ticks;
    uint64_t stime_ticks;
    uint64_t reaped_utime_ticks;
    uint64_t reaped_stime_ticks;
    uint64_t threads;
    uint64_t start_ticks; /* since boot; with the PID it names a process for good */
    uint64_t rss_pages;   /* roughly: pages that each CPU still holds back are left out */
};

/* A main thread that has ended is shown as a zombie although the others go on. */
static inline bool pid_stat_is_alive(char state, uint64_t threads)
{
    return state != 'X' && (state != 'Z' || threads > 1);
}

struct pid_io {
    uint64_t read_bytes;
    uint64_t write_bytes;
};

struct pid_status {
    uint64_t peak_rss_kib;
    uint64_t voluntary_switches; /* of the main thread */
    uint64_t involuntary_switches;
    bool ignores_children; /* SIGCHLD is ignored: the use of its children is added to nobody's */
};

bool pid_stat_parse(struct scan text, struct pid_stat *ret_stat);
/* Resident pages, exactly. */
bool pid_statm_parse(struct scan text, uint64_t *ret_rss_pages);
bool pid_io_parse(struct scan text, struct pid_io *ret_io);
bool pid_status_parse(struct scan text, struct pid_status *ret_status);

/* Pss of smaps_rollup in KiB. */
bool pid_rollup_parse(struct scan text, uint64_t *ret_pss_kib);

/* CPU time of a live process of our PID namespace; false when there is none of that number. */
bool pid_clock_read(pid_t pid, uint64_t *ret_ns);

/* Opens /proc/PID/NAME; a descriptor or a negative errno. */
int pid_file_open(int proc_fd, pid_t pid, const char *name);

/* Reads from a descriptor into `out` of PID_FILE_MAX bytes; the size or a negative errno. */
ssize_t pid_file_pread(int fd, char *out);

/* Open, read, close. */
ssize_t pid_file_read(int proc_fd, pid_t pid, const char *name, char *out);

#endif

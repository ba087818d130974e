/*
 * A /proc of plain files in a scratch directory: processes that a test makes, changes and ends. It
 * has no "self", so its PIDs are not taken for ours and a tree over it lists it at every look.
 */
#ifndef TESTS_UNIT_PROC_FIXTURE_H
#define TESTS_UNIT_PROC_FIXTURE_H

#include "scratch.h"

#include <inttypes.h>
#include <sys/types.h>

/* What /proc/PID/stat says of a process; times in ticks. Where 0 makes no sense, it is the usual.
 */
struct entry {
    pid_t pid;
    pid_t parent;
    const char *name; /* "job" */
    char state;       /* 'S' */
    uint64_t minor;
    uint64_t reaped_minor;
    uint64_t major;
    uint64_t reaped_major;
    uint64_t utime;
    uint64_t stime;
    uint64_t reaped_utime;
    uint64_t reaped_stime;
    uint64_t threads; /* 1 */
    uint64_t start;   /* FIXTURE_START */
    uint64_t rss;
};

/* Ten seconds after boot: before any test began. */
#define FIXTURE_START 1000

static inline struct scratch_path proc_path(pid_t pid, const char *name)
{
    struct scratch_path path;

    snprintf(path.text, sizeof path.text, "%d/%s", (int)pid, name);
    return path;
}

/* In place: whoever has the file open sees the new content. */
static inline void proc_text(const struct scratch *proc, pid_t pid, const char *name,
                             const char *text)
{
    if (mkdirat(proc->fd, proc_path(pid, "").text, 0755) < 0)
        assert_int_equal(errno, EEXIST);
    scratch_text(proc, proc_path(pid, name).text, text);
}

static inline void proc_put(const struct scratch *proc, struct entry e)
{
    char text[1024];

    snprintf(text, sizeof text,
             "%d (%s) %c %d 1 1 0 -1 4194304 %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
             " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " -51 -20 %" PRIu64 " 0 %" PRIu64
             " 3133440 %" PRIu64 " 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0\n",
             (int)e.pid, e.name != NULL ? e.name : "job", e.state != 0 ? e.state : 'S',
             (int)e.parent, e.minor, e.reaped_minor, e.major, e.reaped_major, e.utime, e.stime,
             e.reaped_utime, e.reaped_stime, e.threads > 0 ? e.threads : 1,
             e.start > 0 ? e.start : FIXTURE_START, e.rss);
    proc_text(proc, e.pid, "stat", text);
}

static inline void proc_io(const struct scratch *proc, pid_t pid, uint64_t read_bytes,
                           uint64_t write_bytes)
{
    char text[256];

    snprintf(text, sizeof text,
             "rchar: 7277\nwchar: 301\nsyscr: 12\nsyscw: 1\nread_bytes: %" PRIu64
             "\nwrite_bytes: %" PRIu64 "\ncancelled_write_bytes: 5\n",
             read_bytes, write_bytes);
    proc_text(proc, pid, "io", text);
}

static inline void proc_pss(const struct scratch *proc, pid_t pid, uint64_t pss_kib)
{
    char text[256];

    snprintf(text, sizeof text,
             "55c1c92e3000-7ffccb4e2000 ---p 00000000 00:00 0      [rollup]\n"
             "Rss:                1780 kB\nPss:     %" PRIu64 " kB\nPss_Dirty:   108 kB\n",
             pss_kib);
    proc_text(proc, pid, "smaps_rollup", text);
}

static inline void proc_status(const struct scratch *proc, pid_t pid, uint64_t peak_rss_kib,
                               uint64_t voluntary, uint64_t involuntary)
{
    char text[512];

    snprintf(text, sizeof text,
             "Name:\tjob\nVmPeak:\t 999999 kB\nVmHWM:\t %" PRIu64
             " kB\nVmRSS:\t 1 kB\nSigIgn:\t0000000000000000\nvoluntary_ctxt_switches:\t%" PRIu64
             "\nnonvoluntary_ctxt_switches:\t%" PRIu64 "\n",
             peak_rss_kib, voluntary, involuntary);
    proc_text(proc, pid, "status", text);
}

/* A kept descriptor of an ended process reads nothing, as in the real /proc. */
static inline void proc_end_file(const struct scratch *proc, pid_t pid, const char *name)
{
    struct scratch_path path = proc_path(pid, name);
    int fd = openat(proc->fd, path.text, O_WRONLY | O_TRUNC | O_CLOEXEC);

    if (fd >= 0)
        close(fd);
    (void)unlinkat(proc->fd, path.text, 0);
}

static inline void proc_end(const struct scratch *proc, pid_t pid)
{
    proc_end_file(proc, pid, "stat");
    proc_end_file(proc, pid, "io");
    proc_end_file(proc, pid, "status");
    proc_end_file(proc, pid, "smaps_rollup");
    assert_int_equal(unlinkat(proc->fd, proc_path(pid, "").text, AT_REMOVEDIR), 0);
}

/* The PID of an ended process goes to another: its directory has another inode. */
static inline void proc_reuse(const struct scratch *proc, struct entry entry)
{
    assert_int_equal(mkdirat(proc->fd, "next", 0755), 0);
    proc_end(proc, entry.pid);
    assert_int_equal(renameat(proc->fd, "next", proc->fd, proc_path(entry.pid, "").text), 0);
    proc_put(proc, entry);
}

#endif

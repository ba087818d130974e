#include "collect/pid_file.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/fmt.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>

/*
 * "1234 (a) R 1 (b) S 1 …": the name is between the first '(' and the last ')', since it may hold
 * either. Some fields are signed; those we skip as words.
 */
bool pid_stat_parse(struct scan text, struct pid_stat *ret_stat)
{
    struct pid_stat stat = {0};
    struct scan state;
    uint64_t parent;

    if (text.at == text.end)
        return false;
    const char *name_end = memrchr(text.at, ')', scan_left(&text));
    if (name_end == NULL)
        return false;
    text.at = name_end + 1;
    if (!scan_word(&text, &state) || !scan_u64(&text, &parent) || parent > INT_MAX)
        return false;
    stat.state = *state.at;
    stat.parent = (pid_t)parent;
    bool fine = scan_skip_words(&text, 5) && /* pgrp session tty tpgid flags */
                scan_u64(&text, &stat.minor_faults) && scan_u64(&text, &stat.reaped_minor_faults) &&
                scan_u64(&text, &stat.major_faults) && scan_u64(&text, &stat.reaped_major_faults) &&
                scan_u64(&text, &stat.utime_ticks) && scan_u64(&text, &stat.stime_ticks) &&
                scan_u64(&text, &stat.reaped_utime_ticks) &&
                scan_u64(&text, &stat.reaped_stime_ticks) &&
                scan_skip_words(&text, 2) &&                                   /* priority nice */
                scan_u64(&text, &stat.threads) && scan_skip_words(&text, 1) && /* itrealvalue */
                scan_u64(&text, &stat.start_ticks) && scan_skip_words(&text, 1) && /* vsize */
                scan_u64(&text, &stat.rss_pages);
    if (fine)
        *ret_stat = stat;
    return fine;
}

bool pid_statm_parse(struct scan text, uint64_t *ret_rss_pages)
{
    return scan_skip_words(&text, 1) && scan_u64(&text, ret_rss_pages);
}

/* The number behind "key:", or false. */
static bool find_number(struct scan text, const char *key, uint64_t *ret_value)
{
    struct scan line;
    size_t length = strlen(key);

    while (scan_line(&text, &line))
        if (scan_starts_with(&line, key)) {
            line.at += length;
            return scan_u64(&line, ret_value);
        }
    return false;
}

bool pid_io_parse(struct scan text, struct pid_io *ret_io)
{
    struct pid_io io;

    if (!find_number(text, "read_bytes:", &io.read_bytes) ||
        !find_number(text, "write_bytes:", &io.write_bytes))
        return false;
    *ret_io = io;
    return true;
}

static int hex_digit(char c)
{
    if (is_digit(c))
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Hexadecimal digits, one bit a signal; the last digit has signals 1 to 4. */
static bool mask_has_signal(struct scan text, int number)
{
    struct scan mask;
    size_t digit_from_end = (size_t)(number - 1) / 4;

    if (!scan_word(&text, &mask) || scan_left(&mask) <= digit_from_end)
        return false;
    int digit = hex_digit(mask.end[-1 - (ptrdiff_t)digit_from_end]);
    return digit > 0 && (digit & (1 << (number - 1) % 4)) != 0;
}

/* If the line has this key, the cursor is put behind it. */
static inline bool take_key(struct scan *line, const char *key)
{
    if (!scan_starts_with(line, key))
        return false;
    line->at += strlen(key);
    return true;
}

/* Some sixty lines, read for many members at each sample: each is looked at once. */
bool pid_status_parse(struct scan text, struct pid_status *ret_status)
{
    struct pid_status status = {0};
    bool has_voluntary = false;
    bool has_involuntary = false;
    struct scan line;

    while (scan_line(&text, &line)) {
        if (take_key(&line, "VmHWM:")) /* kernel threads and zombies have no memory of their own */
            (void)scan_u64(&line, &status.peak_rss_kib);
        else if (take_key(&line, "SigIgn:"))
            status.ignores_children = mask_has_signal(line, SIGCHLD);
        else if (take_key(&line, "voluntary_ctxt_switches:"))
            has_voluntary = scan_u64(&line, &status.voluntary_switches);
        else if (take_key(&line, "nonvoluntary_ctxt_switches:"))
            has_involuntary = scan_u64(&line, &status.involuntary_switches);
    }
    if (!has_voluntary || !has_involuntary)
        return false;
    *ret_status = status;
    return true;
}

bool pid_rollup_parse(struct scan text, uint64_t *ret_pss_kib)
{
    return find_number(text, "Pss:", ret_pss_kib);
}

/*
 * The kernel's number for "CPU clock of the thread group pid": the complement of the PID above
 * three bits, of which 2 says "by the scheduler's account". glibc's clock_getcpuclockid does the
 * same but tries the clock first, at twice the price.
 */
bool pid_clock_read(pid_t pid, uint64_t *ret_ns)
{
    clockid_t clock = (clockid_t)((~(unsigned)pid << 3) | 2U);
    struct timespec used;

    if (clock_gettime(clock, &used) < 0)
        return false;
    *ret_ns = (uint64_t)used.tv_sec * NS_PER_SEC + (uint64_t)used.tv_nsec;
    return true;
}

int pid_file_open(int proc_fd, pid_t pid, const char *name)
{
    char path[64];

    size_t size = fmt_u64(path, (uint64_t)pid);
    path[size++] = '/';
    size_t length = strlen(name);
    if (length >= sizeof path - size)
        return -ENAMETOOLONG;
    memcpy(path + size, name, length + 1);
    int fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

ssize_t pid_file_pread(int fd, char *out)
{
    return fd_pread(fd, out, PID_FILE_MAX, 0);
}

ssize_t pid_file_read(int proc_fd, pid_t pid, const char *name, char *out)
{
    cleanup_fd int fd = pid_file_open(proc_fd, pid, name);

    return fd < 0 ? fd : pid_file_pread(fd, out);
}

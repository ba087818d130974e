/*
 * The other texts about a process: status, io, smaps_rollup, and those that lead to its cgroup. All
 * parsers get the same bytes, since each must take any. What was refused leaves no trace, and a
 * part of a text that is handed out lies within it.
 */
#include "collect/job_cgroup.h"
#include "collect/pid_file.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MARK UINT64_C(0x5a5a5a5a5a5a5a5a)

static void demand(bool condition)
{
    if (!condition)
        abort();
}

static bool is_within(struct scan part, struct scan text)
{
    return part.at >= text.at && part.at <= part.end && part.end <= text.end;
}

static void parse_status(struct scan text)
{
    struct pid_status status = {.peak_rss_kib = MARK, .voluntary_switches = MARK};

    if (!pid_status_parse(text, &status))
        demand(status.peak_rss_kib == MARK && status.voluntary_switches == MARK);
}

static void parse_io(struct scan text)
{
    struct pid_io io = {.read_bytes = MARK, .write_bytes = MARK};

    if (!pid_io_parse(text, &io))
        demand(io.read_bytes == MARK && io.write_bytes == MARK);
}

static void parse_rollup(struct scan text)
{
    uint64_t pss_kib = MARK;

    if (!pid_rollup_parse(text, &pss_kib))
        demand(pss_kib == MARK);
}

static void parse_cgroup(struct scan text)
{
    struct scan path;
    struct scan root;
    uint64_t user_ns = MARK;
    uint64_t system_ns = MARK;

    if (cgroup_own_path(text, &path))
        demand(is_within(path, text) && scan_left(&path) > 0 && *path.at == '/');
    if (cgroup2_mount_point(text, &path, &root))
        demand(is_within(path, text) && scan_left(&path) > 0 &&
               memchr(path.at, '\n', scan_left(&path)) == NULL);
    if (!cgroup_cpu_stat_parse(text, &user_ns, &system_ns))
        demand(user_ns == MARK && system_ns == MARK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct scan text = scan_over((const char *)data, size);

    parse_status(text);
    parse_io(text);
    parse_rollup(text);
    parse_cgroup(text);
    return 0;
}

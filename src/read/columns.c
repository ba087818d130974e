#include "read/columns.h"

#include <stdio.h>
#include <string.h>

#define COLUMN_NAME_MAX 64
/* A line with so many names we know is a header. */
#define KNOWN_NAMES_MIN 3

/* Kinds of files in which a name has its meaning. */
enum layout {
    LAYOUT_PREFIXED = 1,   /* ours (full), Rust's, and what Python streams */
    LAYOUT_SYSTEM = 2,     /* ours (basic), and Python's own from 0.5 on */
    LAYOUT_PROCESS = 4,    /* Python's own for the process tree, from 0.5 on */
    LAYOUT_OLD_SYSTEM = 8, /* Python 0.2 to 0.4 */
    LAYOUT_OLD_PROCESS = 16,
    LAYOUT_OLDEST_SYSTEM = 32, /* Python 0.1 */
    LAYOUT_OLDEST_PROCESS = 64
};
#define OLD_SYSTEM (LAYOUT_OLD_SYSTEM | LAYOUT_OLDEST_SYSTEM)
#define OLD_PROCESS (LAYOUT_OLD_PROCESS | LAYOUT_OLDEST_PROCESS)
#define ANY_PROCESS (LAYOUT_PROCESS | OLD_PROCESS)
#define ANY_LAYOUT 127u

#define MIB_FROM_KIB (1.0 / 1024)
#define GB_FROM_GIB 1.073741824
/* Ticks of 10 ms: what the kernel tells programs on every architecture we run on. */
#define SECS_FROM_TICKS 0.01

/* Names that are not ours, or are but mean something else there. */
static const struct alias {
    const char *name;
    unsigned layouts;
    int metric;
    double factor;
} aliases[] = {
    {"system_steal_time", ANY_LAYOUT, METRIC_CPU_STEAL, 1},

    {"memory_free", OLD_SYSTEM, METRIC_MEMORY_FREE, MIB_FROM_KIB},
    {"memory_used", OLD_SYSTEM, METRIC_MEMORY_USED, MIB_FROM_KIB},
    {"memory_buffers", OLD_SYSTEM, METRIC_MEMORY_BUFFERS, MIB_FROM_KIB},
    {"memory_cached", OLD_SYSTEM, METRIC_MEMORY_CACHED, MIB_FROM_KIB},
    {"memory_active", OLD_SYSTEM, METRIC_MEMORY_ACTIVE, MIB_FROM_KIB},
    {"memory_inactive", OLD_SYSTEM, METRIC_MEMORY_INACTIVE, MIB_FROM_KIB},
    {"disk_space_total_gb", OLD_SYSTEM, METRIC_TOTAL_SPACE_TOTAL, GB_FROM_GIB},
    {"disk_space_used_gb", OLD_SYSTEM, METRIC_TOTAL_SPACE_USED, GB_FROM_GIB},
    {"disk_space_free_gb", OLD_SYSTEM, METRIC_TOTAL_SPACE_FREE, GB_FROM_GIB},
    {"utime", LAYOUT_OLDEST_SYSTEM, METRIC_CPU_UTIME, SECS_FROM_TICKS},
    {"stime", LAYOUT_OLDEST_SYSTEM, METRIC_CPU_STIME, SECS_FROM_TICKS},
    /* Processes started since boot; and only part of what is active or not. */
    {"processes", LAYOUT_OLDEST_SYSTEM, COLUMN_PASSED, 1},
    {"memory_active_anon", LAYOUT_OLDEST_SYSTEM, COLUMN_PASSED, 1},
    {"memory_inactive_anon", LAYOUT_OLDEST_SYSTEM, COLUMN_PASSED, 1},

    {"memory", OLD_PROCESS, METRIC_PROCESS_PSS, MIB_FROM_KIB},
    {"pss", OLD_PROCESS, METRIC_PROCESS_PSS, MIB_FROM_KIB},
    {"read_bytes", ANY_PROCESS, METRIC_PROCESS_DISK_READ, 1},
    {"write_bytes", ANY_PROCESS, METRIC_PROCESS_DISK_WRITE, 1},
    {"gpu_vram", ANY_PROCESS, METRIC_PROCESS_GPU_VRAM, 1},
    {"utime", LAYOUT_OLDEST_PROCESS, METRIC_PROCESS_UTIME, SECS_FROM_TICKS},
    {"stime", LAYOUT_OLDEST_PROCESS, METRIC_PROCESS_STIME, SECS_FROM_TICKS},
};

/* --- cells --- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static void trim(struct scan *text)
{
    while (text->at < text->end && is_blank(*text->at))
        text->at++;
    while (text->at < text->end && is_blank(text->end[-1]))
        text->end--;
}

bool columns_next_cell(struct scan *at, struct scan *ret_cell, bool *ret_is_quoted)
{
    struct scan cell;

    if (at->at == NULL)
        return false;
    bool is_quoted = at->at < at->end && *at->at == '"';
    const char *from = at->at + is_quoted;
    /* A comma within quotes is none. */
    const char *quote =
        is_quoted && from < at->end ? memchr(from, '"', (size_t)(at->end - from)) : NULL;
    if (quote != NULL)
        from = quote;
    const char *comma = from < at->end ? memchr(from, ',', (size_t)(at->end - from)) : NULL;
    cell = (struct scan){.at = at->at, .end = comma != NULL ? comma : at->end};
    at->at = comma != NULL ? comma + 1 : NULL;
    trim(&cell);
    *ret_is_quoted = scan_left(&cell) >= 2 && *cell.at == '"' && cell.end[-1] == '"';
    if (*ret_is_quoted)
        cell = (struct scan){.at = cell.at + 1, .end = cell.end - 1};
    *ret_cell = cell;
    return true;
}

/* --- names --- */

static bool is_process_name(const char *name)
{
    return strncmp(name, "process_", strlen("process_")) == 0;
}

/* The name of a metric's column as files of a kind have it. */
static void compose_name(const struct metric *metric, unsigned layout, char *out)
{
    bool is_process = is_process_name(metric->csv_name);
    bool is_head = metric->group == GROUP_HEAD;
    const char *prefix = layout == LAYOUT_PREFIXED && !is_process && !is_head ? "system_" : "";
    const char *name = metric->csv_name;
    const char *suffix = "";

    if (layout != LAYOUT_PREFIXED && is_process)
        name += strlen("process_");
    if (layout == LAYOUT_PREFIXED && !is_process && strcmp(metric->unit, "MiB") == 0)
        suffix = "_mib";
    snprintf(out, COLUMN_NAME_MAX, "%s%s%s", prefix, name, suffix);
}

/* Whether files of a kind have a column for it. */
static bool has_metric(const struct metric *metric, unsigned layout)
{
    if (metric->csv_position == 0)
        return false;
    if (layout == LAYOUT_PREFIXED || metric->group == GROUP_HEAD)
        return true;
    return is_process_name(metric->csv_name) == ((layout & ANY_PROCESS) != 0);
}

/* "memory_free" and "memory_free_mib" are the same where the unit is MiB. */
static bool is_named(const struct scan *name, const char *wanted, const char *unit)
{
    struct scan stem = *name;
    size_t suffix = strlen("_mib");

    if (scan_equals(name, wanted))
        return true;
    if (strcmp(unit, "MiB") != 0 || scan_left(name) <= suffix ||
        memcmp(name->end - suffix, "_mib", suffix) != 0)
        return false;
    stem.end -= suffix;
    return scan_equals(&stem, wanted);
}

static bool find_alias(const struct scan *name, unsigned layout, struct column *ret_column)
{
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++)
        if ((aliases[i].layouts & layout) != 0 && scan_equals(name, aliases[i].name)) {
            *ret_column = (struct column){aliases[i].metric, aliases[i].factor};
            return true;
        }
    return false;
}

static bool find_column(const struct scan *name, unsigned layout, struct column *ret_column)
{
    char wanted[COLUMN_NAME_MAX];

    if (find_alias(name, layout, ret_column))
        return true;
    for (int id = 0; id < METRIC_COUNT; id++) {
        if (!has_metric(&metrics[id], layout))
            continue;
        compose_name(&metrics[id], layout, wanted);
        if (is_named(name, wanted, metrics[id].unit)) {
            *ret_column = (struct column){id, 1};
            return true;
        }
    }
    return false;
}

/* --- headers --- */

/* What tells the kinds of files apart. */
struct signs {
    bool has_timestamp;
    bool has_prefix;
    bool has_pid;
    bool has_steal;
    bool has_bare_memory; /* without a unit in its name */
    bool is_oldest;
    bool is_quoted;
    size_t count;
};

static struct signs look_at(struct scan line)
{
    struct signs signs = {0};
    struct scan name;
    bool is_quoted;

    for (; columns_next_cell(&line, &name, &is_quoted); signs.count++) {
        signs.is_quoted |= is_quoted;
        signs.has_timestamp |= scan_equals(&name, "timestamp");
        signs.has_prefix |=
            scan_starts_with(&name, "system_") || scan_starts_with(&name, "process_");
        signs.has_pid |= scan_equals(&name, "pid");
        signs.has_steal |= scan_equals(&name, "system_steal_time");
        signs.is_oldest |= scan_equals(&name, "pss") || scan_equals(&name, "memory_active_anon");
        signs.has_bare_memory |= scan_equals(&name, "memory_free") ||
                                 scan_equals(&name, "memory_used") ||
                                 scan_equals(&name, "memory") || scan_equals(&name, "pss");
    }
    return signs;
}

/* Only the Python tool quotes its header, and only there does memory without a unit mean KiB. */
static unsigned layout_of(const struct signs *signs)
{
    bool is_old = signs->is_quoted && signs->has_bare_memory;

    if (signs->has_prefix)
        return LAYOUT_PREFIXED;
    if (signs->has_pid)
        return !is_old            ? LAYOUT_PROCESS
               : signs->is_oldest ? LAYOUT_OLDEST_PROCESS
                                  : LAYOUT_OLD_PROCESS;
    return !is_old ? LAYOUT_SYSTEM : signs->is_oldest ? LAYOUT_OLDEST_SYSTEM : LAYOUT_OLD_SYSTEM;
}

static size_t count_known(struct scan line, unsigned layout)
{
    struct column column;
    struct scan name;
    bool is_quoted;
    size_t known = 0;

    while (columns_next_cell(&line, &name, &is_quoted))
        known += find_column(&name, layout, &column);
    return known;
}

static void assign(struct columns *columns, struct scan line, unsigned layout)
{
    struct scan name;
    bool is_quoted;

    columns->count = 0;
    names_start(&columns->unknown);
    while (columns_next_cell(&line, &name, &is_quoted)) {
        struct column *column = &columns->list[columns->count++];
        *column = (struct column){COLUMN_PASSED, 1};
        if (!find_column(&name, layout, column) && scan_left(&name) > 0)
            names_add(&columns->unknown, "", &name);
    }
}

static bool is_assigned(const struct columns *columns, int metric)
{
    for (size_t i = 0; i < columns->count; i++)
        if (columns->list[i].metric == metric)
            return true;
    return false;
}

static void name_missing(struct columns *columns, unsigned layout)
{
    char wanted[COLUMN_NAME_MAX];
    struct column column;

    names_start(&columns->missing);
    for (int id = 0; id < METRIC_COUNT; id++) {
        if (!has_metric(&metrics[id], layout) || is_assigned(columns, id))
            continue;
        compose_name(&metrics[id], layout, wanted);
        struct scan name = scan_over(wanted, strlen(wanted));
        bool is_passed = find_alias(&name, layout, &column) && column.metric == COLUMN_PASSED;
        if (!is_passed)
            names_add(&columns->missing, "", &name);
    }
}

enum columns_verdict columns_read(struct columns *columns, struct scan line, bool quotes_count)
{
    if (scan_left(&line) > HEADER_SIZE_MAX)
        return COLUMNS_NONE;

    struct signs signs = look_at(line);
    signs.is_quoted &= quotes_count;
    unsigned layout = layout_of(&signs);
    if (count_known(line, layout) < (signs.has_timestamp ? 2 : KNOWN_NAMES_MIN))
        return COLUMNS_NONE;
    if (!signs.has_timestamp)
        return COLUMNS_TIMELESS;
    if (signs.count > COLUMNS_MAX)
        return COLUMNS_TOO_MANY;
    assign(columns, line, layout);
    name_missing(columns, layout);
    columns->is_by_quotes = signs.is_quoted;
    bool is_foreign = signs.is_quoted || signs.has_steal;
    columns->remark = is_foreign && is_assigned(columns, METRIC_MEMORY_USED)
                          ? "memory in use is counted by its writer as total less available"
                          : NULL;
    return COLUMNS_FOUND;
}

/*
 * /proc/PID/stat: any bytes are refused or understood, and what was refused leaves no trace. The
 * name may hold anything, so a line is understood by what stands behind its last parenthesis: with
 * the same name put before it once more, it says the same.
 */
#include "collect/pid_file.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool condition)
{
    if (!condition)
        abort();
}

static bool is_untouched(const struct pid_stat *stat)
{
    struct pid_stat pattern;

    memset(&pattern, 0x5a, sizeof pattern);
    return memcmp(stat, &pattern, sizeof pattern) == 0;
}

static bool are_equal(const struct pid_stat *a, const struct pid_stat *b)
{
    return a->state == b->state && a->parent == b->parent && a->minor_faults == b->minor_faults &&
           a->reaped_minor_faults == b->reaped_minor_faults && a->major_faults == b->major_faults &&
           a->reaped_major_faults == b->reaped_major_faults && a->utime_ticks == b->utime_ticks &&
           a->stime_ticks == b->stime_ticks && a->reaped_utime_ticks == b->reaped_utime_ticks &&
           a->reaped_stime_ticks == b->reaped_stime_ticks && a->threads == b->threads &&
           a->start_ticks == b->start_ticks && a->rss_pages == b->rss_pages;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char name[] = "1 (a) R 1 (";
    struct pid_stat stat;
    struct pid_stat again;

    memset(&stat, 0x5a, sizeof stat);
    memset(&again, 0x5a, sizeof again);
    bool fine = pid_stat_parse(scan_over((const char *)data, size), &stat);
    if (fine)
        demand(stat.parent >= 0 && stat.state != ' ' && stat.state != '\t');
    else
        demand(is_untouched(&stat));

    char *longer = malloc(size + sizeof name);
    demand(longer != NULL);
    memcpy(longer, name, sizeof name - 1);
    if (size > 0)
        memcpy(longer + sizeof name - 1, data, size);
    bool has_name = size > 0 && memchr(data, ')', size) != NULL;
    bool fine_again = pid_stat_parse(scan_over(longer, size + sizeof name - 1), &again);
    free(longer);
    if (has_name)
        demand(fine_again == fine && (!fine || are_equal(&stat, &again)));
    return 0;
}

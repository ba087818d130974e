/*
 * What watching costs: CPU time and memory of this very process, from the real /proc whatever
 * --procfs says.
 */
#include "base/clock.h"
#include "base/file.h"
#include "collect/collector.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define STATM_MAX 256

struct self {
    struct file statm;
    double page_mib;
};

static void self_read(void *state, const struct tick *tick, struct sample *sample)
{
    struct self *self = state;
    uint64_t resident_pages;

    if (tick->priming)
        return;
    sample->value[METRIC_TRACKER_CPU] = (double)clock_ns(CLOCK_PROCESS_CPUTIME_ID) / NS_PER_SEC;
    sample->value[METRIC_TRACKER_LATE] =
        (double)counter_growth(tick->now_ns, tick->due_ns) / NS_PER_MS;
    if (file_read(&self->statm) < 0)
        return;
    struct scan text = file_scan(&self->statm);
    if (scan_skip_words(&text, 1) && scan_u64(&text, &resident_pages))
        sample->value[METRIC_TRACKER_RSS] = (double)resident_pages * self->page_mib;
}

static void self_close(void *state)
{
    struct self *self = state;

    file_close(&self->statm);
    free(self);
}

static int self_open(const struct collect_context *context, void **ret_state)
{
    (void)context;
    struct self *self = calloc(1, sizeof *self);
    if (self == NULL)
        return -ENOMEM;
    self->page_mib = (double)sysconf(_SC_PAGESIZE) / (1024 * 1024);
    (void)file_open(&self->statm, AT_FDCWD, SYSROOT_PROC "/self/statm", STATM_MAX, STATM_MAX);
    self->statm.one_record = true;
    *ret_state = self;
    return 0;
}

const struct collector self_collector = {
    .name = "tracker",
    .open = self_open,
    .read = self_read,
    .close = self_close,
};

/*
 * Host memory from /proc/meminfo, whose unit "kB" is 1,024 bytes. Published in whole MiB.
 */
#include "base/file.h"
#include "collect/collector.h"

#include <errno.h>
#include <stdlib.h>

#define MEMINFO_INITIAL (4 * 1024)
#define MEMINFO_MAX (64 * 1024)
#define KIB_UNKNOWN UINT64_MAX

/* Keys that others are computed from; the rest of the table needs no name. */
enum { TOTAL, FREE, BUFFERS, CACHED, RECLAIMABLE, SWAP_TOTAL, SWAP_FREE };

#define NOT_PUBLISHED METRIC_COUNT

static const struct {
    const char *key;
    enum metric_id metric;
} wanted[] = {
    [TOTAL] = {"MemTotal", METRIC_MEMORY_TOTAL},
    [FREE] = {"MemFree", METRIC_MEMORY_FREE},
    [BUFFERS] = {"Buffers", METRIC_MEMORY_BUFFERS},
    [CACHED] = {"Cached", NOT_PUBLISHED},
    [RECLAIMABLE] = {"SReclaimable", NOT_PUBLISHED},
    [SWAP_TOTAL] = {"SwapTotal", METRIC_MEMORY_SWAP_TOTAL},
    [SWAP_FREE] = {"SwapFree", NOT_PUBLISHED},
    {"MemAvailable", METRIC_MEMORY_AVAILABLE},
    {"Active", METRIC_MEMORY_ACTIVE},
    {"Inactive", METRIC_MEMORY_INACTIVE},
};

enum { WANTED_COUNT = sizeof wanted / sizeof wanted[0] };

struct memory {
    struct file meminfo;
};

static void parse_line(struct scan line, uint64_t *kib, size_t *found)
{
    const char *line_begins = line.at;
    struct scan key;
    uint64_t value;

    if (!scan_until(&line, ':', &key))
        return;
    for (size_t i = 0; i < WANTED_COUNT; i++) {
        /* The first letter tells most of them apart. */
        if (line_begins[0] != wanted[i].key[0] || !scan_equals(&key, wanted[i].key))
            continue;
        if (scan_u64(&line, &value))
            kib[i] = value;
        ++*found;
        return;
    }
}

static double mib(uint64_t kib)
{
    uint64_t whole_mib = kib / 1024;
    return (double)whole_mib;
}

static double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

static void store_derived(const uint64_t *kib, struct sample *sample)
{
    double *value = sample->value;

    if (kib[CACHED] == KIB_UNKNOWN)
        return;
    /* SReclaimable came with 2.6.19. */
    uint64_t cached = kib[CACHED] + (kib[RECLAIMABLE] != KIB_UNKNOWN ? kib[RECLAIMABLE] : 0);
    value[METRIC_MEMORY_CACHED] = mib(cached);

    if (kib[TOTAL] == KIB_UNKNOWN || kib[FREE] == KIB_UNKNOWN || kib[BUFFERS] == KIB_UNKNOWN)
        return;
    /* Inside some containers the parts exceed the whole. */
    value[METRIC_MEMORY_USED] = mib(counter_growth(kib[TOTAL], kib[FREE] + kib[BUFFERS] + cached));
    value[METRIC_MEMORY_USED_PCT] = percent(value[METRIC_MEMORY_USED], value[METRIC_MEMORY_TOTAL]);
}

static void store_swap(const uint64_t *kib, struct sample *sample)
{
    double *value = sample->value;

    if (kib[SWAP_TOTAL] == KIB_UNKNOWN || kib[SWAP_FREE] == KIB_UNKNOWN)
        return;
    value[METRIC_MEMORY_SWAP_USED] = mib(counter_growth(kib[SWAP_TOTAL], kib[SWAP_FREE]));
    value[METRIC_MEMORY_SWAP_USED_PCT] =
        percent(value[METRIC_MEMORY_SWAP_USED], value[METRIC_MEMORY_SWAP_TOTAL]);
}

static void memory_read(void *state, const struct tick *tick, struct sample *sample)
{
    struct memory *memory = state;
    uint64_t kib[WANTED_COUNT];
    size_t found = 0;
    struct scan line;

    if (tick->priming || file_read(&memory->meminfo) < 0)
        return;
    for (size_t i = 0; i < WANTED_COUNT; i++)
        kib[i] = KIB_UNKNOWN;
    for (struct scan text = file_scan(&memory->meminfo);
         found < WANTED_COUNT && scan_line(&text, &line);)
        parse_line(line, kib, &found);

    for (size_t i = 0; i < WANTED_COUNT; i++)
        if (wanted[i].metric != NOT_PUBLISHED && kib[i] != KIB_UNKNOWN)
            sample->value[wanted[i].metric] = mib(kib[i]);
    store_derived(kib, sample);
    store_swap(kib, sample);
}

static void memory_close(void *state)
{
    struct memory *memory = state;

    file_close(&memory->meminfo);
    free(memory);
}

static int memory_open(const struct collect_context *context, void **ret_state)
{
    const struct sysroot *root = context->root;
    struct memory *memory = calloc(1, sizeof *memory);
    if (memory == NULL)
        return -ENOMEM;
    int error = file_open(&memory->meminfo, root->proc_fd, "meminfo", MEMINFO_INITIAL, MEMINFO_MAX);
    if (error < 0) {
        memory_close(memory);
        return error;
    }
    memory->meminfo.one_record = root->proc_is_procfs;
    *ret_state = memory;
    return 0;
}

const struct collector memory_collector = {
    .name = "memory",
    .open = memory_open,
    .read = memory_read,
    .close = memory_close,
};

#include "encode/summary_figures.h"

#define MIB (1024.0 * 1024.0)
#define NO_TOTAL                                                                                   \
    NULL,                                                                                          \
    {                                                                                              \
        METRIC_COUNT, METRIC_COUNT                                                                 \
    }
#define BYTES_OF(metric)                                                                           \
    "bytes",                                                                                       \
    {                                                                                              \
        metric, METRIC_COUNT                                                                       \
    }

const struct summary_figure summary_figures[] = {
    {"cpu",
     "CPU",
     true,
     METRIC_PROCESS_CORES_USED,
     "cores",
     1,
     "s",
     {METRIC_PROCESS_UTIME, METRIC_PROCESS_STIME},
     FIGURE_ALWAYS},
    {"memory_pss", "memory (PSS)", true, METRIC_PROCESS_PSS, "bytes", MIB, NO_TOTAL, FIGURE_ALWAYS},
    {"memory_rss", "memory (RSS)", true, METRIC_PROCESS_RSS, "bytes", MIB, NO_TOTAL, FIGURE_ALWAYS},
    {"memory_spike", "RSS at its peak", true, METRIC_PROCESS_PEAK_RSS, "bytes", MIB, NO_TOTAL,
     FIGURE_IF_SPIKE},
    {"disk_read", "disk read", true, METRIC_PROCESS_DISK_READ, "bytes/s", 1,
     BYTES_OF(METRIC_PROCESS_DISK_READ), FIGURE_ALWAYS},
    {"disk_write", "disk written", true, METRIC_PROCESS_DISK_WRITE, "bytes/s", 1,
     BYTES_OF(METRIC_PROCESS_DISK_WRITE), FIGURE_ALWAYS},
    {"gpu", "GPU", true, METRIC_PROCESS_GPU_USAGE, "GPUs", 1, NO_TOTAL, FIGURE_IF_GPU},
    {"vram", "VRAM", true, METRIC_PROCESS_GPU_VRAM, "bytes", MIB, NO_TOTAL, FIGURE_IF_GPU},

    {"cpu",
     "CPU",
     false,
     METRIC_CPU_UTILIZATION,
     "cores",
     1,
     "s",
     {METRIC_CPU_UTIME, METRIC_CPU_STIME},
     FIGURE_ALWAYS},
    {"memory_used", "memory used", false, METRIC_MEMORY_USED, "bytes", MIB, NO_TOTAL,
     FIGURE_ALWAYS},
    {"swap_used", "swap used", false, METRIC_MEMORY_SWAP_USED, "bytes", MIB, NO_TOTAL,
     FIGURE_IF_USED},
    {"disk_read", "disk read", false, METRIC_TOTAL_DISK_READ, "bytes/s", 1,
     BYTES_OF(METRIC_TOTAL_DISK_READ), FIGURE_ALWAYS},
    {"disk_write", "disk written", false, METRIC_TOTAL_DISK_WRITE, "bytes/s", 1,
     BYTES_OF(METRIC_TOTAL_DISK_WRITE), FIGURE_ALWAYS},
    {"net_recv", "received", false, METRIC_TOTAL_NET_RECV, "bytes/s", 1,
     BYTES_OF(METRIC_TOTAL_NET_RECV), FIGURE_ALWAYS},
    {"net_sent", "sent", false, METRIC_TOTAL_NET_SENT, "bytes/s", 1,
     BYTES_OF(METRIC_TOTAL_NET_SENT), FIGURE_ALWAYS},
    {"gpu", "GPU", false, METRIC_TOTAL_GPU_USAGE, "GPUs", 1, NO_TOTAL, FIGURE_IF_GPU},
    {"vram", "VRAM", false, METRIC_TOTAL_GPU_VRAM, "bytes", MIB, NO_TOTAL, FIGURE_IF_GPU},
};
const size_t summary_figure_count = sizeof summary_figures / sizeof summary_figures[0];

/* In a file of CSV there is no list of GPUs, but what they did. */
static bool has_gpu(const struct digest *digest)
{
    return digest->lists[DEVICE_GPU].count > 0 || digest->metrics[METRIC_TOTAL_GPU_USAGE].max > 0 ||
           digest->metrics[METRIC_TOTAL_GPU_VRAM].max > 0;
}

bool summary_figure_is_shown(const struct summary_figure *figure, const struct digest *digest)
{
    const struct statistic *statistic = &digest->metrics[figure->metric];

    if (!statistic_is_known(statistic))
        return false;
    switch (figure->when) {
    case FIGURE_ALWAYS:
        break;
    case FIGURE_IF_USED:
        return statistic->max > 0;
    case FIGURE_IF_GPU:
        return has_gpu(digest);
    case FIGURE_IF_SPIKE:
        return statistic->max > digest->metrics[METRIC_PROCESS_RSS].max;
    }
    return true;
}

static double total_of(const struct summary_figure *figure, const struct digest *digest)
{
    double total = figure->total_unit != NULL ? 0 : NAN;

    for (size_t i = 0; figure->total_unit != NULL && i < 2; i++) {
        if (figure->totals[i] == METRIC_COUNT)
            continue;
        const struct statistic *part = &digest->metrics[figure->totals[i]];
        total += statistic_is_known(part) ? part->sum : NAN;
    }
    return total;
}

struct figure_values summary_figure_values(const struct summary_figure *figure,
                                           const struct digest *digest)
{
    const struct statistic *statistic = &digest->metrics[figure->metric];

    return (struct figure_values){
        /* A mean of peaks would say nothing. */
        .mean = figure->when == FIGURE_IF_SPIKE ? NAN : statistic_mean(statistic) * figure->scale,
        .peak = statistic->max * figure->scale,
        .peak_elapsed_secs = statistic->max_elapsed_secs,
        .peak_unix_secs = statistic->max_unix_secs,
        .total = total_of(figure, digest),
    };
}

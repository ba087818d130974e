#include "model/advice.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MIB_PER_GIB 1024.0
#define SMALL_STEP_MIB 128.0
#define BYTES_PER_MIB (1024.0 * 1024.0)

/* --- what to ask for --- */

/* The smallest multiple of `step` that is not below `value`. */
static double round_up(double value, double step)
{
    double steps = (double)(uint64_t)(value / step);

    return (steps * step < value ? steps + 1 : steps) * step;
}

double advice_memory_mib(double peak_mib)
{
    /* Times 12 and divided by 10: 1.2 is no number that a double can hold. */
    double wanted = peak_mib * 12 / 10;

    return round_up(wanted, wanted > MIB_PER_GIB ? MIB_PER_GIB : SMALL_STEP_MIB);
}

/*
 * PSS counts pages that several processes share once, so it is what the job needs. It is read at
 * the samples, though, and a peak may fall between two. The kernel keeps a peak of each process;
 * where that (with the others' memory at that time) is above all resident sizes that were sampled,
 * it is such a peak.
 */
double advice_peak_memory_mib(const struct digest *digest)
{
    double pss = digest->metrics[METRIC_PROCESS_PSS].max;
    double rss = digest->metrics[METRIC_PROCESS_RSS].max;
    double kernel = digest->metrics[METRIC_PROCESS_PEAK_RSS].max;

    if (!digest_has_tree(digest))
        return digest->metrics[METRIC_MEMORY_USED].max;
    if (isnan(pss))
        pss = rss;
    return kernel > rss && kernel > pss ? kernel : pss;
}

/* What is printed of an amount of memory in a rule or hint: three digits. */
static const char *memory_text(double mib, char out[32])
{
    bool is_large = mib >= MIB_PER_GIB;
    double value = is_large ? mib / MIB_PER_GIB : mib;

    snprintf(out, 32, "%.*f %s",
             value >= 99.95   ? 0
             : value >= 9.995 ? 1
                              : 2,
             value, is_large ? "GiB" : "MiB");
    return out;
}

__attribute__((format(printf, 3, 4))) static void demand_set(struct demand *demand, double amount,
                                                             const char *format, ...)
{
    va_list arguments;

    demand->is_known = true;
    demand->amount = amount;
    va_start(arguments, format);
    vsnprintf(demand->rule, sizeof demand->rule, format, arguments);
    va_end(arguments);
}

static double at_least_one(double mean)
{
    double rounded = (double)(uint64_t)(mean + 0.5);

    return rounded < 1 ? 1 : rounded;
}

static void ask_for_cpus(const struct digest *digest, struct advice *advice)
{
    enum metric_id id = advice->is_of_tree ? METRIC_PROCESS_CORES_USED : METRIC_CPU_UTILIZATION;
    double mean = statistic_mean(&digest->metrics[id]);

    if (mean >= 0)
        demand_set(&advice->cpus, at_least_one(mean), "mean of %.2f cores, rounded, at least 1",
                   mean);
}

static const char *memory_rule(double amount_mib)
{
    return amount_mib > MIB_PER_GIB ? "rounded up to whole GiB" : "rounded up to 128 MiB";
}

static void ask_for_memory(const struct digest *digest, struct advice *advice)
{
    double peak = advice_peak_memory_mib(digest);
    char text[32];

    if (!(peak > 0))
        return;
    double amount = advice_memory_mib(peak);
    demand_set(&advice->memory, amount, "1.2 x peak of %s, %s", memory_text(peak, text),
               memory_rule(amount));
}

static void ask_for_gpus(const struct digest *digest, struct advice *advice)
{
    bool has_own = statistic_is_known(&digest->metrics[METRIC_PROCESS_GPU_USAGE]);
    const struct statistic *usage =
        &digest->metrics[has_own ? METRIC_PROCESS_GPU_USAGE : METRIC_TOTAL_GPU_USAGE];
    const struct statistic *vram =
        &digest->metrics[advice->is_of_tree ? METRIC_PROCESS_GPU_VRAM : METRIC_TOTAL_GPU_VRAM];
    char text[32];

    /* A host's use of its GPUs says nothing of a job that has figures of its own elsewhere. */
    if (!statistic_is_known(usage) || (advice->is_of_tree && !has_own && usage->max > 0))
        return;
    if (!(usage->max > 0) && !(vram->max > 0)) {
        demand_set(&advice->gpus, 0, "none was used");
        return;
    }
    demand_set(&advice->gpus, at_least_one(statistic_mean(usage)),
               "mean of %.2f GPUs, rounded, at least 1", statistic_mean(usage));
    if (!(vram->max > 0))
        return;
    double amount = advice_memory_mib(vram->max);
    demand_set(&advice->vram, amount, "1.2 x peak of %s, %s", memory_text(vram->max, text),
               memory_rule(amount));
}

/* --- where it was bound --- */

const char *const hint_ids[HINT_COUNT] = {
    [HINT_KILLED] = "killed",
    [HINT_CPU_FULL] = "cpu_full",
    [HINT_HOST_CPU_FULL] = "host_cpu_full",
    [HINT_STEAL] = "steal",
    [HINT_IOWAIT] = "iowait",
    [HINT_MEMORY_LIMIT] = "memory_limit",
    [HINT_MEMORY_LOW] = "memory_low",
    [HINT_SWAPPING] = "swapping",
    [HINT_DISK_FULL] = "disk_full",
    [HINT_DISK_BUSY] = "disk_busy",
    [HINT_GPU_FULL] = "gpu_full",
    [HINT_GPU_THROTTLED] = "gpu_throttled",
    [HINT_VRAM_FULL] = "vram_full",
    [HINT_GPU_SILENT] = "gpu_silent",
    [HINT_PSS_OLD] = "pss_old",
};

/* What is called full, high or much. */
#define FULL_SHARE 0.90
#define MOST_OF_THE_TIME 0.5
#define STEAL_SHARE 0.05
#define IOWAIT_CPUS 0.5
#define MEMORY_FULL_PCT 90.0
#define SWAP_GROWTH_MIB 16.0
#define DISK_FULL_PCT 95.0
#define DISK_BUSY_PCT 90.0
#define GPU_FULL_PCT 90.0
#define THROTTLED_SHARE 0.1
#define VRAM_FULL_PCT 90.0
#define GPU_SILENT_SECS 5.0
#define PSS_OLD_SECS 60.0
/* Shorter runs have no "most of the time". */
#define SHARE_SECS_MIN 1.0

__attribute__((format(printf, 3, 4))) static void hint(struct advice *advice, enum hint_kind kind,
                                                       const char *format, ...)
{
    va_list arguments;

    if (advice->hint_count == ADVICE_HINTS_MAX)
        return;
    struct hint *new = &advice->hints[advice->hint_count++];
    new->kind = kind;
    new->is_note = kind == HINT_PSS_OLD || kind == HINT_GPU_SILENT;
    va_start(arguments, format);
    vsnprintf(new->text, sizeof new->text, format, arguments);
    va_end(arguments);
}

static bool has_shares(const struct digest *digest)
{
    return digest->duration_secs >= SHARE_SECS_MIN;
}

static double share_of_run(const struct digest *digest, double secs)
{
    return has_shares(digest) ? secs / digest->duration_secs : 0;
}

static void look_at_cpu(const struct digest *digest, struct advice *advice)
{
    double cpus = digest_cpu_count(digest);
    bool is_limited = digest->cpu_limit < cpus;
    double own = is_limited ? digest->cpu_limit : cpus;
    double mean = statistic_mean(&digest->metrics[METRIC_PROCESS_CORES_USED]);
    double full = share_of_run(digest, digest->state_secs[STATE_TREE_CPU_FULL]);
    double host_full = share_of_run(digest, digest->state_secs[STATE_HOST_CPU_FULL]);

    if (!has_shares(digest))
        return;
    if (mean > FULL_SHARE * own || full > MOST_OF_THE_TIME)
        hint(advice, HINT_CPU_FULL,
             "CPU: the job used %.2f of %g CPUs%s on average, and nearly all of them %.0f %% of "
             "the time",
             mean, own, is_limited ? " it may use" : "", 100 * full);
    else if (host_full > MOST_OF_THE_TIME)
        hint(advice, HINT_HOST_CPU_FULL,
             "CPU: nearly all %g CPUs of the host were busy %.0f %% of "
             "the time",
             cpus, 100 * host_full);

    double steal = statistic_mean(&digest->metrics[METRIC_CPU_STEAL]);
    double iowait = statistic_mean(&digest->metrics[METRIC_CPU_IOWAIT]);
    if (steal > STEAL_SHARE * cpus)
        hint(advice, HINT_STEAL, "steal: the hypervisor took %.0f %% of the CPU time away",
             100 * steal / cpus);
    if (iowait > IOWAIT_CPUS)
        hint(advice, HINT_IOWAIT, "I/O: %.2f CPUs on average were idle waiting for a disk", iowait);
}

static void look_at_limit(const struct digest *digest, struct advice *advice)
{
    double peak = advice_peak_memory_mib(digest);
    char peak_text[32];
    char limit_text[32];

    if (digest_has_tree(digest) && peak > FULL_SHARE * digest->memory_limit_mib)
        hint(advice, HINT_MEMORY_LIMIT, "memory: the job had %s, %.0f %% of its limit of %s",
             memory_text(peak, peak_text), 100 * peak / digest->memory_limit_mib,
             memory_text(digest->memory_limit_mib, limit_text));
}

static void look_at_memory(const struct digest *digest, struct advice *advice)
{
    const struct statistic *used = &digest->metrics[METRIC_MEMORY_USED_PCT];
    const struct statistic *available = &digest->metrics[METRIC_MEMORY_AVAILABLE];
    const struct statistic *swap = &digest->metrics[METRIC_MEMORY_SWAP_USED];
    char text[32];

    if (digest->state_secs[STATE_MEMORY_LOW] > 0)
        hint(advice, HINT_MEMORY_LOW, "memory: only %s of the host's were available at one time",
             memory_text(available->min, text));
    else if (used->max > MEMORY_FULL_PCT)
        hint(advice, HINT_MEMORY_LOW, "memory: %.1f %% of the host's were in use at one time",
             used->max);
    if (swap->max - swap->first > SWAP_GROWTH_MIB)
        hint(advice, HINT_SWAPPING, "swapping: swap in use grew by %s",
             memory_text(swap->max - swap->first, text));
}

/* The kernel ends the largest process when memory has run out, and tells nobody but its log. */
static void look_at_end(const struct digest *digest, struct advice *advice)
{
    bool had_no_memory = false;

    for (size_t i = 0; i < advice->hint_count; i++)
        had_no_memory = had_no_memory || advice->hints[i].kind == HINT_MEMORY_LOW ||
                        advice->hints[i].kind == HINT_MEMORY_LIMIT;
    if (digest->has_end && digest->end.signal == SIGKILL && had_no_memory)
        hint(advice, HINT_KILLED,
             "killed: SIGKILL ended the command after memory had run low; most likely the kernel "
             "was out of memory");
}

/* An image that was made to be read is full by nature. */
static bool is_made_full(const char *filesystem)
{
    static const char *const kinds[] = {"squashfs", "iso9660", "erofs", "cramfs", "udf", "romfs"};

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(filesystem, kinds[i]) == 0)
            return true;
    return false;
}

/* The fullest, and how many more there are. */
static void look_at_space(const struct digest *digest, struct advice *advice)
{
    const struct digest_list *mounts = &digest->lists[DEVICE_MOUNT];
    const struct digest_device *fullest = NULL;
    double most = DISK_FULL_PCT;
    size_t count = 0;

    for (size_t i = 0; i < mounts->count; i++) {
        const struct digest_device *mount = &mounts->devices[i];
        double used = digest_device_statistic(mount, FIELD_MOUNT_USED_PCT)->max;
        if (!(used > DISK_FULL_PCT) || is_made_full(mount->label))
            continue;
        count++;
        if (used > most || fullest == NULL) {
            fullest = mount;
            most = used;
        }
    }
    if (fullest == NULL)
        return;
    hint(advice, HINT_DISK_FULL, "disk: %.100s was %.1f %% full", fullest->name, most);
    struct hint *made = &advice->hints[advice->hint_count - 1];
    size_t length = strlen(made->text);
    if (count > 1)
        snprintf(made->text + length, sizeof made->text - length,
                 count == 2 ? ", and %zu more file system was over %.0f %%"
                            : ", and %zu more file systems were over %.0f %%",
                 count - 1, DISK_FULL_PCT);
}

static void look_at_disks(const struct digest *digest, struct advice *advice)
{
    const struct digest_list *disks = &digest->lists[DEVICE_DISK];

    for (size_t i = 0; has_shares(digest) && i < disks->count; i++) {
        double busy = statistic_mean(digest_device_statistic(&disks->devices[i], FIELD_DISK_BUSY));
        if (busy > DISK_BUSY_PCT) {
            hint(advice, HINT_DISK_BUSY, "disk: %.60s was busy %.0f %% of the time",
                 disks->devices[i].name, busy);
            return;
        }
    }
}

/* GPUs that are like this, the first of them, and the largest figure. */
struct gpu_finding {
    size_t count;
    size_t first;
    double most;
};

static void note_gpu(struct gpu_finding *finding, size_t index, double value, double limit)
{
    if (!(value > limit))
        return;
    if (finding->count++ == 0)
        finding->first = index;
    if (value > finding->most)
        finding->most = value;
}

/* "GPU 3 was" or "3 GPUs were". */
static const char *gpus_text(const struct gpu_finding *finding, char out[48])
{
    if (finding->count == 1)
        snprintf(out, 48, "GPU %zu was", finding->first);
    else
        snprintf(out, 48, "%zu GPUs were", finding->count);
    return out;
}

static void look_at_gpus(const struct digest *digest, struct advice *advice)
{
    const struct digest_list *gpus = &digest->lists[DEVICE_GPU];
    struct gpu_finding full = {0};
    struct gpu_finding throttled = {0};
    struct gpu_finding crowded = {0};
    char text[48];

    for (size_t i = 0; i < gpus->count; i++) {
        const struct digest_device *gpu = &gpus->devices[i];
        const struct statistic *use = digest_device_statistic(gpu, FIELD_GPU_UTILIZATION);
        if (gpu->is_part)
            continue;
        if (has_shares(digest))
            note_gpu(&full, i, statistic_mean(use), GPU_FULL_PCT);
        note_gpu(&throttled, i, share_of_run(digest, gpu->throttled_secs), THROTTLED_SHARE);
        note_gpu(&crowded, i, digest_device_statistic(gpu, FIELD_GPU_VRAM_USED_PCT)->max,
                 VRAM_FULL_PCT);
    }
    if (full.count > 0)
        hint(advice, HINT_GPU_FULL, "%s busy, up to %.0f %% on average", gpus_text(&full, text),
             full.most);
    if (throttled.count > 0)
        hint(advice, HINT_GPU_THROTTLED, "%s throttled, up to %.0f %% of the time (%s)",
             gpus_text(&throttled, text), 100 * throttled.most,
             gpus->devices[throttled.first].throttle);
    if (crowded.count > 0)
        hint(advice, HINT_VRAM_FULL, "VRAM: %s nearly out of it, up to %.1f %% in use",
             gpus_text(&crowded, text), crowded.most);
    if (digest->metrics[METRIC_TRACKER_GPU_STALL].max > GPU_SILENT_SECS)
        hint(advice, HINT_GPU_SILENT, "the GPU driver did not answer for %.0f s",
             digest->metrics[METRIC_TRACKER_GPU_STALL].max);
}

static void look_at_pss(const struct digest *digest, struct advice *advice)
{
    const struct statistic *age = &digest->metrics[METRIC_PROCESS_PSS_AGE];

    if (age->max > PSS_OLD_SECS)
        hint(advice, HINT_PSS_OLD,
             "PSS was up to %.0f s old: reading it more often would have "
             "slowed the job down",
             age->max);
}

/* --- all of it --- */

/* By their importance, which is the order of their kinds; few, and mostly in order already. */
static void sort_hints(struct advice *advice)
{
    for (size_t i = 1; i < advice->hint_count; i++)
        for (size_t k = i; k > 0 && advice->hints[k - 1].kind > advice->hints[k].kind; k--) {
            struct hint moved = advice->hints[k];
            advice->hints[k] = advice->hints[k - 1];
            advice->hints[k - 1] = moved;
        }
}

void advise(const struct digest *digest, struct advice *advice)
{
    memset(advice, 0, sizeof *advice);
    advice->is_of_tree = digest_has_tree(digest);
    ask_for_cpus(digest, advice);
    ask_for_memory(digest, advice);
    ask_for_gpus(digest, advice);

    look_at_cpu(digest, advice);
    look_at_limit(digest, advice);
    look_at_memory(digest, advice);
    look_at_space(digest, advice);
    look_at_disks(digest, advice);
    look_at_gpus(digest, advice);
    look_at_pss(digest, advice);
    look_at_end(digest, advice);
    sort_hints(advice);
}

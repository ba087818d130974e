/*
 * Figures of GPUs. The vendors' drivers are asked by workers (gpu_worker.h); here their newest
 * readings become rows and sums. On a host without a GPU no thread is started and no library
 * loaded: a few files are looked for at the start and every minute.
 */
#include "base/clock.h"
#include "collect/collector.h"
#include "collect/gpu_worker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROBE_PERIOD_NS (60 * NS_PER_SEC)
/* A driver that takes longer is said to stall; figures older than this are not shown. */
#define STALL_NS NS_PER_SEC
#define DETAIL_AGE_MAX_NS (10 * NS_PER_SEC)
/*
 * The last sample waits for a reading of its own, since there is no later one to make up for it;
 * not for a driver that is still being initialised (12 ms), which a job that short has not used.
 */
#define LAST_PATIENCE_NS (4 * NS_PER_MS)
#define STOP_PATIENCE_NS NS_PER_MS
#define BYTES_PER_MIB (1024.0 * 1024.0)

/* The number of the first PID namespace, the same in every kernel. */
#define FIRST_PID_NAMESPACE "pid:[4026531836]"

static const struct gpu_backend *const backends[] = {&gpu_nvidia, &gpu_amd, &gpu_intel};
enum { BACKEND_COUNT = sizeof backends / sizeof backends[0] };

static const enum field_id facts[] = {
    FIELD_GPU_UUID,   FIELD_GPU_NAME,       FIELD_GPU_TYPE,  FIELD_GPU_HOST_ID,
    FIELD_GPU_DETAIL, FIELD_GPU_VRAM_TOTAL, FIELD_GPU_CORES,
};
static const enum field_id details[] = {
    FIELD_GPU_PCIE_RX,   FIELD_GPU_PCIE_TX, FIELD_GPU_NVLINK_RX,
    FIELD_GPU_NVLINK_TX, FIELD_GPU_ENERGY,
};

/* One vendor. */
struct unit {
    struct gpu_worker *worker;
    struct gpu_worker *detail;
    const struct gpu_reading *reading;        /* NULL: none yet */
    const struct gpu_reading *detail_reading; /* likewise */
    bool is_current;                          /* the reading is new enough to be shown */
    bool has_remarked;                        /* a person was told of its failure */
};

struct gpu {
    struct gpu_places places;
    struct unit units[BACKEND_COUNT];
    pid_t root; /* of the tracked tree; 0: none */
    bool wants_detail;
    bool is_abandoned;
    bool is_patient; /* tests are: also with a driver that is being initialised */
    uint64_t patience_ns;
    uint64_t interval_ns;
    uint64_t tick_ns; /* one of the schedule */
    uint64_t probed_ns;
    char remark[GPU_REMARK_MAX];
    bool has_remark;
    struct rows rows;
};

/* --- workers --- */

/* Until a sample has told it more, the worker looks for the root alone. */
static void start_workers(struct gpu *gpu)
{
    struct tree_pids root = {gpu->root > 0, &gpu->root, 1};

    gpu->probed_ns = clock_monotonic_ns();
    for (size_t i = 0; i < BACKEND_COUNT; i++) {
        struct unit *unit = &gpu->units[i];
        if (unit->worker != NULL || !backends[i]->probe(&gpu->places))
            continue;
        /* Where no thread can be had now, there may be one at the next look. */
        if (gpu_worker_start(backends[i], &gpu->places, gpu->tick_ns, gpu->interval_ns,
                             &unit->worker) == 0)
            gpu_worker_tell(unit->worker, &root);
    }
}

static void keep_remark(struct gpu *gpu, struct unit *unit)
{
    const char *remark = gpu_worker_remark(unit->worker);

    if (remark == NULL || unit->has_remarked)
        return;
    unit->has_remarked = true;
    gpu->has_remark = true;
    memcpy(gpu->remark, remark, sizeof gpu->remark);
}

static void stop_unit(struct gpu *gpu, struct unit *unit)
{
    uint64_t patience_ns = gpu->is_patient ? gpu->patience_ns : STOP_PATIENCE_NS;

    if (!gpu_worker_stop(unit->detail, patience_ns) || !gpu_worker_stop(unit->worker, patience_ns))
        gpu->is_abandoned = true;
    *unit = (struct unit){.has_remarked = unit->has_remarked};
}

static bool wants_detail_worker(const struct gpu *gpu, size_t index)
{
    const struct unit *unit = &gpu->units[index];

    return gpu->wants_detail && unit->detail == NULL && unit->reading != NULL &&
           backends[index]->read_detail != NULL;
}

/* Figures stand until two ticks have passed them by, and for a second at least. */
static bool is_current(const struct gpu *gpu, const struct gpu_reading *reading, uint64_t now_ns)
{
    uint64_t limit_ns = 2 * gpu->interval_ns > STALL_NS ? 2 * gpu->interval_ns : STALL_NS;

    return reading != NULL && now_ns - reading->taken_ns <= limit_ns;
}

/* At the last sample the worker is asked for a reading of that very moment. */
static void take_reading(struct gpu *gpu, struct unit *unit, const struct tick *tick)
{
    unit->reading = gpu_worker_take(unit->worker);
    if (!tick->is_last || (unit->reading == NULL && !gpu->is_patient))
        return;
    gpu_worker_ask(unit->worker, tick->now_ns, gpu->patience_ns);
    unit->reading = gpu_worker_take(unit->worker);
}

static void take_readings(struct gpu *gpu, const struct tick *tick, const struct tree_pids *tree)
{
    for (size_t i = 0; i < BACKEND_COUNT; i++) {
        struct unit *unit = &gpu->units[i];
        if (unit->worker == NULL)
            continue;
        gpu_worker_tell(unit->worker, tree);
        take_reading(gpu, unit, tick);
        if (gpu_worker_has_failed(unit->worker)) {
            keep_remark(gpu, unit);
            stop_unit(gpu, unit);
            continue;
        }
        unit->is_current = is_current(gpu, unit->reading, clock_monotonic_ns());
        if (wants_detail_worker(gpu, i))
            (void)gpu_worker_start_detail(unit->worker, &unit->detail);
        unit->detail_reading = unit->detail != NULL ? gpu_worker_take(unit->detail) : NULL;
    }
}

/* --- rows --- */

static void copy_cells(struct rows *rows, size_t row, const struct gpu_device *device,
                       const enum field_id *wanted, size_t count)
{
    for (size_t i = 0; i < count; i++)
        *rows_cell(rows, row, wanted[i]) = device->cells[wanted[i] - FIELD_GPU_FIRST];
}

static void lay_row(struct rows *rows, size_t row, const struct unit *unit, size_t index)
{
    const struct gpu_device *device = &unit->reading->table.devices[index];
    const struct gpu_reading *detail = unit->detail_reading;
    union cell *cells = rows_cell(rows, row, FIELD_GPU_FIRST);

    if (unit->is_current) {
        memcpy(cells, device->cells, sizeof device->cells);
    } else {
        cells_clear(cells, DEVICE_GPU);
        copy_cells(rows, row, device, facts, sizeof facts / sizeof facts[0]);
    }
    if (detail != NULL && index < detail->table.count &&
        clock_monotonic_ns() - detail->taken_ns < DETAIL_AGE_MAX_NS &&
        strcmp(detail->table.devices[index].uuid, device->uuid) == 0)
        copy_cells(rows, row, &detail->table.devices[index], details,
                   sizeof details / sizeof details[0]);
}

static void lay_rows(struct gpu *gpu)
{
    size_t count = 0;
    size_t row = 0;

    for (size_t i = 0; i < BACKEND_COUNT; i++)
        if (gpu->units[i].reading != NULL)
            count += gpu->units[i].reading->table.count;
    if (rows_resize(&gpu->rows, count) < 0) {
        gpu->rows.count = 0;
        return;
    }
    for (size_t i = 0; i < BACKEND_COUNT; i++)
        for (size_t at = 0;
             gpu->units[i].reading != NULL && at < gpu->units[i].reading->table.count; at++)
            lay_row(&gpu->rows, row++, &gpu->units[i], at);
}

/* --- sums --- */

struct gpu_sums {
    size_t wholes; /* devices that are no part of another */
    bool is_pending;
    double usage;
    size_t usage_known;
    double vram_bytes;
    size_t vram_known;
    size_t utilized;
    double process_usage;
    double process_vram_bytes;
    size_t process_utilized;
};

/* What the tree has of a device that cannot be read at all is not asked for. */
static void add_tree(struct gpu_sums *sums, const struct gpu_device *device)
{
    double usage = device->cells[FIELD_GPU_PROCESS_UTILIZATION - FIELD_GPU_FIRST].number;
    uint64_t vram = device->cells[FIELD_GPU_PROCESS_VRAM - FIELD_GPU_FIRST].counter;

    sums->process_usage += usage / 100;
    sums->process_vram_bytes += vram != COUNTER_UNKNOWN ? (double)vram : NAN;
    sums->process_utilized += usage > 0;
}

static void add_device(struct gpu_sums *sums, const struct gpu_device *device)
{
    double utilization = device->cells[FIELD_GPU_UTILIZATION - FIELD_GPU_FIRST].number;
    uint64_t vram = device->cells[FIELD_GPU_VRAM_USED - FIELD_GPU_FIRST].counter;

    sums->wholes++;
    if (!isnan(utilization)) {
        sums->usage += utilization / 100;
        sums->usage_known++;
        sums->utilized += utilization > 0;
    }
    if (vram != COUNTER_UNKNOWN) {
        sums->vram_bytes += (double)vram;
        sums->vram_known++;
    }
    if (!isnan(utilization) || vram != COUNTER_UNKNOWN)
        add_tree(sums, device);
}

static struct gpu_sums add_up(const struct gpu *gpu)
{
    struct gpu_sums sums = {0};

    for (size_t i = 0; i < BACKEND_COUNT; i++) {
        const struct unit *unit = &gpu->units[i];
        if (unit->worker != NULL && !unit->is_current)
            sums.is_pending = true;
        if (unit->worker == NULL || !unit->is_current)
            continue;
        for (size_t at = 0; at < unit->reading->table.count; at++)
            if (!unit->reading->table.devices[at].is_part)
                add_device(&sums, &unit->reading->table.devices[at]);
    }
    return sums;
}

/*
 * A sum over no devices is 0; a sum over devices of which none could be read is not known. The
 * count of those seen at work is a number in any case, since it ends every CSV row.
 */
static void store_sums(const struct gpu *gpu, struct sample *sample)
{
    struct gpu_sums sums = add_up(gpu);
    bool has_devices = sums.wholes > 0 || sums.is_pending;

    sample->value[METRIC_TOTAL_GPU_USAGE] = has_devices && sums.usage_known == 0 ? NAN : sums.usage;
    sample->value[METRIC_TOTAL_GPU_VRAM] =
        has_devices && sums.vram_known == 0 ? NAN : sums.vram_bytes / BYTES_PER_MIB;
    sample->value[METRIC_TOTAL_GPU_UTILIZED] = (double)sums.utilized;
    if (gpu->root == 0 || !sample->tree.known || sums.is_pending)
        return;
    sample->value[METRIC_PROCESS_GPU_USAGE] = sums.process_usage;
    sample->value[METRIC_PROCESS_GPU_VRAM] = sums.process_vram_bytes / BYTES_PER_MIB;
    sample->value[METRIC_PROCESS_GPU_UTILIZED] =
        isnan(sums.process_usage) ? NAN : (double)sums.process_utilized;
}

static void store_cost(const struct gpu *gpu, struct sample *sample)
{
    uint64_t now_ns = clock_monotonic_ns();
    uint64_t took_ns = 0;
    uint64_t stall_ns = 0;
    bool has_worker = false;

    for (size_t i = 0; i < BACKEND_COUNT; i++) {
        const struct unit *unit = &gpu->units[i];
        if (unit->worker == NULL)
            continue;
        has_worker = true;
        took_ns += unit->reading != NULL ? unit->reading->took_ns : 0;
        uint64_t since_ns = gpu_worker_busy_since_ns(unit->worker);
        if (since_ns != 0 && now_ns > since_ns + STALL_NS && now_ns - since_ns > stall_ns)
            stall_ns = now_ns - since_ns;
    }
    if (!has_worker)
        return;
    sample->value[METRIC_TRACKER_GPU_READ] = (double)took_ns / NS_PER_US;
    sample->value[METRIC_TRACKER_GPU_STALL] = (double)stall_ns / NS_PER_SEC;
}

/* --- the collector --- */

static void gpu_read(void *state, const struct tick *tick, struct sample *sample)
{
    struct gpu *gpu = state;

    if (tick->priming) {
        gpu->tick_ns = tick->now_ns;
        return;
    }
    if (clock_monotonic_ns() - gpu->probed_ns > PROBE_PERIOD_NS)
        start_workers(gpu);
    take_readings(gpu, tick, &sample->tree);
    lay_rows(gpu);
    store_sums(gpu, sample);
    store_cost(gpu, sample);
    sample->rows[DEVICE_GPU] = &gpu->rows;
}

static bool pids_are_global(const struct sysroot *root)
{
    char name[64] = "";

    /* Who names another /proc wants the host's. */
    return root->proc_is_foreign ||
           (readlinkat(root->proc_fd, "self/ns/pid", name, sizeof name - 1) > 0 &&
            strcmp(name, FIRST_PID_NAMESPACE) == 0);
}

static void gpu_describe(void *state)
{
    struct gpu *gpu = state;

    start_workers(gpu);
}

static const char *gpu_remark(void *state)
{
    struct gpu *gpu = state;

    if (!gpu->has_remark)
        return NULL;
    gpu->has_remark = false;
    return gpu->remark;
}

static bool gpu_stop(void *state)
{
    struct gpu *gpu = state;

    for (size_t i = 0; i < BACKEND_COUNT; i++)
        stop_unit(gpu, &gpu->units[i]);
    return !gpu->is_abandoned;
}

static void gpu_close(void *state)
{
    struct gpu *gpu = state;

    rows_free(&gpu->rows);
    /* A worker that was left behind still looks at the places. */
    if (gpu_stop(gpu))
        free(gpu);
}

static int gpu_open(const struct collect_context *context, void **ret_state)
{
    if (context->no_gpu)
        return -ENODEV;
    struct gpu *gpu = calloc(1, sizeof *gpu);
    if (gpu == NULL)
        return -ENOMEM;
    gpu->places = (struct gpu_places){
        .root = context->root,
        .nvml = context->nvml,
        .drm_amdgpu = context->drm_amdgpu,
        .pids_are_global = pids_are_global(context->root),
    };
    gpu->root = context->tracked_pid;
    gpu->wants_detail = context->gpu_detail;
    gpu->interval_ns = context->interval_ns > 0 ? context->interval_ns : NS_PER_SEC;
    gpu->is_patient = context->gpu_patience_ns > 0;
    gpu->patience_ns = gpu->is_patient ? context->gpu_patience_ns : LAST_PATIENCE_NS;
    rows_init(&gpu->rows, DEVICE_GPU);
    *ret_state = gpu;
    return 0;
}

const struct collector gpu_collector = {
    .name = "gpu",
    .open = gpu_open,
    .read = gpu_read,
    .describe = gpu_describe,
    .remark = gpu_remark,
    .stop = gpu_stop,
    .close = gpu_close,
};

/*
 * Figures of GPUs. The vendors' drivers are asked by workers (gpu_worker.h); here their newest
 * readings become rows and sums. On a host without a GPU no thread is started and no library
 * loaded: a few files are looked for at the start and every minute.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "collect/collector.h"
#include "collect/gpu_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROBE_PERIOD_NS (60 * NS_PER_SEC)
/* No thread could be started: that may change soon. */
#define START_PERIOD_NS (5 * NS_PER_SEC)
/* A driver that takes longer than usual by this is said to stall. */
#define STALL_NS NS_PER_SEC
/*
 * The last sample waits for a reading of its own, since there is no later one to make up for it;
 * not for a driver that is still being initialised (12 ms), which a job that short has not used.
 */
#define LAST_PATIENCE_NS (4 * NS_PER_MS)
#define LAST_PATIENCE_MAX_NS (20 * NS_PER_MS)
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
    bool is_current;                          /* the reading may be shown as that of now */
    bool is_startless;                        /* the driver is there but no thread to ask it */
    bool has_remarked;                        /* a person was told of its failure */
};

struct gpu {
    struct gpu_places places;
    int own_proc_fd; /* -1: the tree's is another's */
    struct unit units[BACKEND_COUNT];
    pid_t root; /* of the tracked tree; 0: none */
    bool wants_detail;
    bool is_abandoned;
    bool is_patient; /* tests are: also with a driver that is being initialised */
    uint64_t patience_ns;
    uint64_t interval_ns;
    uint64_t tick_ns; /* one of the schedule */
    uint64_t next_probe_ns;
    char remark[GPU_REMARK_MAX];
    bool has_remark;
    struct rows rows;
};

/* --- workers --- */

static void set_remark(struct gpu *gpu, struct unit *unit, const char *text)
{
    if (unit->has_remarked)
        return;
    unit->has_remarked = true;
    gpu->has_remark = true;
    snprintf(gpu->remark, sizeof gpu->remark, "%s", text);
}

/* Until a sample has told it more, the worker looks for the root alone. */
static void start_worker(struct gpu *gpu, size_t index)
{
    struct tree_pids root = {gpu->root > 0, &gpu->root, 1};
    struct unit *unit = &gpu->units[index];

    if (unit->worker != NULL || !backends[index]->probe(&gpu->places))
        return;
    int error = gpu_worker_start(backends[index], &gpu->places, gpu->tick_ns, gpu->interval_ns,
                                 &unit->worker);
    unit->is_startless = error < 0;
    if (error == 0)
        gpu_worker_tell(unit->worker, &root);
    else
        set_remark(gpu, unit, "there is a GPU driver, but no thread can be started to ask it");
}

static void start_workers(struct gpu *gpu)
{
    gpu->next_probe_ns = clock_monotonic_ns() + PROBE_PERIOD_NS;
    for (size_t i = 0; i < BACKEND_COUNT; i++) {
        start_worker(gpu, i);
        if (gpu->units[i].is_startless)
            gpu->next_probe_ns = clock_monotonic_ns() + START_PERIOD_NS;
    }
}

static void keep_remark(struct gpu *gpu, struct unit *unit)
{
    const char *remark = gpu_worker_remark(unit->worker);

    if (remark != NULL)
        set_remark(gpu, unit, remark);
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

/*
 * A reading is made just before each tick, so it is as old as it took to make it, or the driver
 * stalls.
 */
static bool is_current(const struct gpu_reading *reading)
{
    return reading != NULL && reading->is_whole &&
           clock_monotonic_ns() - reading->taken_ns <= STALL_NS + 2 * reading->took_ns;
}

/* Details are read every second at the most. */
static bool is_current_detail(const struct gpu *gpu, const struct gpu_reading *reading)
{
    uint64_t period_ns = gpu->interval_ns > NS_PER_SEC ? gpu->interval_ns : NS_PER_SEC;

    return reading != NULL && reading->is_whole &&
           clock_monotonic_ns() - reading->taken_ns <= period_ns + STALL_NS + 2 * reading->took_ns;
}

static uint64_t last_patience_ns(const struct gpu *gpu, const struct unit *unit)
{
    uint64_t usual_ns = unit->reading != NULL ? 2 * unit->reading->took_ns : 0;

    if (gpu->is_patient)
        return gpu->patience_ns;
    if (usual_ns < LAST_PATIENCE_NS)
        return LAST_PATIENCE_NS;
    return usual_ns < LAST_PATIENCE_MAX_NS ? usual_ns : LAST_PATIENCE_MAX_NS;
}

/* At the last sample the worker is asked for a reading of that very moment. */
static void take_reading(struct gpu *gpu, struct unit *unit, const struct tick *tick)
{
    unit->reading = gpu_worker_take(unit->worker);
    if (!tick->is_last || (unit->reading == NULL && !gpu->is_patient))
        return;
    (void)gpu_worker_ask(unit->worker, tick->now_ns, last_patience_ns(gpu, unit));
    unit->reading = gpu_worker_take(unit->worker);
}

static void take_details(struct gpu *gpu, size_t index)
{
    struct unit *unit = &gpu->units[index];

    if (wants_detail_worker(gpu, index))
        (void)gpu_worker_start_detail(unit->worker, &unit->detail);
    unit->detail_reading = unit->detail != NULL ? gpu_worker_take(unit->detail) : NULL;
    if (!is_current_detail(gpu, unit->detail_reading))
        unit->detail_reading = NULL;
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
        unit->is_current = is_current(unit->reading);
        if (unit->reading != NULL && !unit->reading->is_whole)
            set_remark(gpu, unit, "a GPU driver does not tell which devices there are");
        take_details(gpu, i);
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
    add_tree(sums, device);
}

static struct gpu_sums add_up(const struct gpu *gpu)
{
    struct gpu_sums sums = {0};

    for (size_t i = 0; i < BACKEND_COUNT; i++) {
        const struct unit *unit = &gpu->units[i];
        if (unit->is_startless || (unit->worker != NULL && !unit->is_current))
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

/* How long a worker has waited for its driver beyond what its last reading took. */
static uint64_t stall_of(struct gpu_worker *worker, const struct gpu_reading *reading)
{
    uint64_t now_ns = clock_monotonic_ns();
    uint64_t since_ns = worker != NULL ? gpu_worker_busy_since_ns(worker) : 0;
    uint64_t usual_ns = STALL_NS + (reading != NULL ? 2 * reading->took_ns : 0);

    return since_ns != 0 && now_ns > since_ns + usual_ns ? now_ns - since_ns : 0;
}

static void store_cost(const struct gpu *gpu, struct sample *sample)
{
    uint64_t took_ns = 0;
    uint64_t stall_ns = 0;
    bool has_worker = false;

    for (size_t i = 0; i < BACKEND_COUNT; i++) {
        const struct unit *unit = &gpu->units[i];
        if (unit->worker == NULL)
            continue;
        has_worker = true;
        took_ns += unit->reading != NULL ? unit->reading->took_ns : 0;
        uint64_t own_ns = stall_of(unit->worker, unit->reading);
        uint64_t detail_ns = stall_of(unit->detail, unit->detail_reading);
        stall_ns = own_ns > stall_ns ? own_ns : stall_ns;
        stall_ns = detail_ns > stall_ns ? detail_ns : stall_ns;
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
    if (clock_monotonic_ns() > gpu->next_probe_ns)
        start_workers(gpu);
    take_readings(gpu, tick, &sample->tree);
    lay_rows(gpu);
    store_sums(gpu, sample);
    store_cost(gpu, sample);
    sample->rows[DEVICE_GPU] = &gpu->rows;
}

/*
 * Kernel threads are seen in the first PID namespace only, and the second process there is the one
 * that makes them. Of our own /proc, the namespace itself can be asked for.
 */
static bool pids_are_global(int proc_fd)
{
    char name[64] = "";

    if (readlinkat(proc_fd, "self/ns/pid", name, sizeof name - 1) > 0 &&
        strcmp(name, FIRST_PID_NAMESPACE) == 0)
        return true;
    return file_read_text(proc_fd, "2/comm", name, sizeof name) > 0 &&
           strcmp(name, "kthreadd") == 0;
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
    if (!gpu_stop(gpu))
        return;
    close_fd(&gpu->own_proc_fd);
    free(gpu);
}

static int gpu_open(const struct collect_context *context, void **ret_state)
{
    if (context->no_gpu)
        return -ENODEV;
    struct gpu *gpu = calloc(1, sizeof *gpu);
    if (gpu == NULL)
        return -ENOMEM;
    /* A command of ours has its number in our /proc, whatever --procfs shows of others. */
    gpu->own_proc_fd =
        context->tracked_is_ours ? open(SYSROOT_PROC, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    int tree_fd = context->tracked_is_ours ? gpu->own_proc_fd : context->root->proc_fd;
    gpu->places = (struct gpu_places){
        .root = context->root,
        .nvml = context->nvml,
        .drm_amdgpu = context->drm_amdgpu,
        .tree_fd = tree_fd,
        .tracker = context->tracked_is_ours ? getpid() : 0,
        .pids_are_global = pids_are_global(tree_fd),
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

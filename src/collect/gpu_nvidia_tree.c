/*
 * What the tracked tree has of NVIDIA devices.
 *
 * Memory comes from the lists of processes with a context (20 to 100 us a device). Utilisation
 * costs 2 ms, so it is asked only of devices that the tree is on, and not oftener than the driver
 * takes samples. The driver averages them since the time stamp we give it.
 */
#include "base/array.h"
#include "base/clock.h"
#include "base/dir.h"
#include "collect/gpu_nvidia.h"
#include "collect/pid_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIST_INITIAL 64
/* Beyond what a device can hold; a library that wants more is not believed. */
#define LIST_MAX 65536
#define USAGE_PERIOD_NS (250 * NS_PER_MS)
/* Drivers take samples every sixth of a second to every second. None for so long: no use. */
#define USAGE_STALE_NS (900 * NS_PER_MS)
/* A sample of a time that far ahead is no sample, or the clock was set back since. */
#define CLOCKS_APART_US (2 * NS_PER_SEC / NS_PER_US)
/* One that has just ended may be listed for a moment. */
#define STRANGE_NS (2 * NS_PER_SEC)
#define SUSPECTS_PER_READING 4

/* --- lists of processes --- */

static int reserve_list(struct nvidia *nvidia, size_t count)
{
    char *list =
        array_grow(nvidia->list, &nvidia->list_capacity, count, sizeof(struct nvml_process));
    if (list == NULL)
        return -ENOMEM;
    nvidia->list = list;
    return 0;
}

/* Number of processes now in nvidia->list, or a negative errno. */
static int read_list(struct nvidia *nvidia, nvml_device handle, enum nvml_list kind)
{
    const struct nvml_list_function *list = &nvidia->nvml.lists[kind];

    if (list->function == NULL)
        return kind == NVML_COMPUTE ? -ENOSYS : 0;
    for (int attempt = 0; attempt < 3; attempt++) {
        uint32_t count = (uint32_t)nvidia->list_capacity;
        int result = list->function(handle, &count, nvidia->list);
        if (result == NVML_OK)
            return count <= nvidia->list_capacity ? (int)count : -EPROTO;
        if (kind != NVML_COMPUTE &&
            (result == NVML_NOT_SUPPORTED || result == NVML_FUNCTION_NOT_FOUND))
            return 0;
        if (result != NVML_INSUFFICIENT_SIZE || count > LIST_MAX)
            return result == NVML_NO_PERMISSION ? -EACCES : -EIO;
        /* Some may be started meanwhile. */
        int error = reserve_list(nvidia, count + LIST_INITIAL);
        if (error < 0)
            return error;
    }
    return -EAGAIN;
}

static struct nvml_process listed(const struct nvidia *nvidia, enum nvml_list kind, size_t index)
{
    size_t element_size = nvidia->nvml.lists[kind].element_size;
    struct nvml_process process = {0};

    memcpy(&process, nvidia->list + index * element_size, element_size);
    return process;
}

/* A process with several contexts on a device is told whole in each list: the larger counts. */
static int hold(struct nvidia *nvidia, pid_t pid, uint64_t bytes)
{
    for (size_t i = 0; i < nvidia->holding_count; i++) {
        struct nvidia_holding *holding = &nvidia->holdings[i];
        if (holding->pid != pid)
            continue;
        if (holding->bytes == NVML_MEMORY_UNKNOWN ||
            (bytes != NVML_MEMORY_UNKNOWN && bytes > holding->bytes))
            holding->bytes = bytes;
        return 0;
    }
    struct nvidia_holding *holdings = array_grow(nvidia->holdings, &nvidia->holding_capacity,
                                                 nvidia->holding_count + 1, sizeof *holdings);
    if (holdings == NULL)
        return -ENOMEM;
    nvidia->holdings = holdings;
    holdings[nvidia->holding_count++] = (struct nvidia_holding){pid, bytes};
    return 0;
}

/* --- whose numbers they are --- */

static bool find_device_link(void *context, const struct dirent64 *entry)
{
    static const char prefix[] = "/dev/nvidia";
    static const char uvm[] = "-uvm";
    char target[64];
    int *fd = context;

    ssize_t size = readlinkat(*fd, entry->d_name, target, sizeof target - 1);
    if (size <= 0)
        return true;
    target[size] = '\0';
    const char *rest = target + strlen(prefix);
    bool is_device = strncmp(target, prefix, strlen(prefix)) == 0 &&
                     (is_digit(*rest) || strncmp(rest, uvm, strlen(uvm)) == 0);
    if (is_device)
        *fd = -1;
    return !is_device;
}

/* Whether a process has a GPU open, as every process with a context has. */
static bool has_device_open(const struct nvidia *nvidia, pid_t pid)
{
    int fd = pid_file_open(nvidia->places->tree_fd, pid, "fd");
    int search = fd;

    if (fd < 0)
        return false;
    (void)dir_each(fd, find_device_link, &search);
    close(fd);
    return search == -1;
}

static bool exists(const struct nvidia *nvidia, pid_t pid)
{
    int fd = pid_file_open(nvidia->places->tree_fd, pid, "stat");

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/*
 * In a PID namespace the driver may speak of our numbers or of others that happen to be alike. One
 * of the tree's that is listed and has a GPU open proves the former; numbers that nobody here has,
 * the latter.
 */
static void weigh_lists(struct nvidia *nvidia, const struct gpu_request *request)
{
    bool has_stranger = false;

    for (size_t i = 0; i < nvidia->count && nvidia->pids == PIDS_UNPROVEN; i++) {
        int count = read_list(nvidia, nvidia->devices[i].handle, NVML_COMPUTE);
        for (int at = 0; at < count; at++) {
            pid_t pid = (pid_t)listed(nvidia, NVML_COMPUTE, (size_t)at).pid;
            has_stranger |= !exists(nvidia, pid);
            if (gpu_request_has(request, pid) && has_device_open(nvidia, pid))
                nvidia->pids = PIDS_OURS;
        }
    }
    if (!has_stranger)
        nvidia->strange_ns = 0;
    else if (nvidia->strange_ns == 0)
        nvidia->strange_ns = request->now_ns;
    else if (nvidia->pids == PIDS_UNPROVEN && request->now_ns - nvidia->strange_ns > STRANGE_NS)
        nvidia->pids = PIDS_FOREIGN;
}

/* A few members each time; what a whole round found stands until the next is over. */
static void look_for_hidden_users(struct nvidia *nvidia, const struct gpu_request *request)
{
    for (size_t i = 0; i < SUSPECTS_PER_READING && i < request->pid_count; i++) {
        if (nvidia->next_suspect >= request->pid_count) {
            nvidia->next_suspect = 0;
            nvidia->has_hidden_user = nvidia->found_suspect;
            nvidia->found_suspect = false;
        }
        nvidia->found_suspect |= has_device_open(nvidia, request->pids[nvidia->next_suspect++]);
    }
    nvidia->has_hidden_user |= nvidia->found_suspect;
}

static void weigh_evidence(struct nvidia *nvidia, const struct gpu_request *request)
{
    weigh_lists(nvidia, request);
    if (nvidia->pids == PIDS_UNPROVEN)
        look_for_hidden_users(nvidia, request);
}

/*
 * Whether it can be told what the tree has. As long as nothing is proven, it has nothing, provided
 * that no member has a GPU open.
 */
static bool pids_can_be_told(struct nvidia *nvidia, struct gpu_request *request)
{
    if (nvidia->places->pids_are_global)
        return true;
    if (nvidia->pids == PIDS_UNPROVEN)
        weigh_evidence(nvidia, request);
    if (nvidia->pids != PIDS_UNPROVEN)
        return nvidia->pids == PIDS_OURS;
    request->pid_count = 0;
    request->places = NULL;
    return !nvidia->has_hidden_user;
}

/* --- one device --- */

/* Fills nvidia->holdings with the tree's processes on a device; 0 or a negative errno. */
static int find_holdings(struct nvidia *nvidia, nvml_device handle,
                         const struct gpu_request *request)
{
    nvidia->holding_count = 0;
    for (int kind = 0; kind < NVML_LIST_COUNT; kind++) {
        int count = read_list(nvidia, handle, (enum nvml_list)kind);
        if (count < 0)
            return count;
        for (int i = 0; i < count; i++) {
            struct nvml_process process = listed(nvidia, (enum nvml_list)kind, (size_t)i);
            if (!gpu_request_has(request, (pid_t)process.pid))
                continue;
            int error = hold(nvidia, (pid_t)process.pid, process.used_bytes);
            if (error < 0)
                return error;
        }
    }
    return 0;
}

static uint64_t sum_holdings(const struct nvidia *nvidia)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < nvidia->holding_count; i++) {
        if (nvidia->holdings[i].bytes > UINT64_MAX - sum - 1)
            return COUNTER_UNKNOWN;
        sum += nvidia->holdings[i].bytes;
    }
    return sum;
}

/* Number of samples now in nvidia->usages, or a negative errno; 0 when there are none yet. */
static int read_usages(struct nvidia *nvidia, const struct nvidia_device *source)
{
    if (nvidia->nvml.process_usage == NULL)
        return -ENOSYS;
    for (int attempt = 0; attempt < 3; attempt++) {
        uint32_t count = (uint32_t)nvidia->usage_capacity;
        int result =
            nvidia->nvml.process_usage(source->handle, nvidia->usages, &count, source->sample_us);
        if (result == NVML_OK)
            return count <= nvidia->usage_capacity ? (int)count : -EPROTO;
        if (result == NVML_NOT_FOUND)
            return 0;
        if (result != NVML_INSUFFICIENT_SIZE || count > LIST_MAX)
            return -EIO;
        struct nvml_process_usage *usages = array_grow(nvidia->usages, &nvidia->usage_capacity,
                                                       count + LIST_INITIAL, sizeof *usages);
        if (usages == NULL)
            return -ENOMEM;
        nvidia->usages = usages;
    }
    return -EAGAIN;
}

static uint64_t real_time_us(void)
{
    return clock_ns(CLOCK_REALTIME) / NS_PER_US;
}

struct usage_sum {
    double percent;
    uint64_t newest_us;
    bool has_garbage;
};

/* Samples that are not newer than those seen are left over from before and tell nothing. */
static struct usage_sum add_usages(const struct nvidia *nvidia, uint64_t seen_us, size_t count,
                                   const struct gpu_request *request)
{
    struct usage_sum sum = {.newest_us = seen_us};
    uint64_t horizon_us = real_time_us() + CLOCKS_APART_US;

    for (size_t i = 0; i < count; i++) {
        const struct nvml_process_usage *usage = &nvidia->usages[i];
        bool is_ours = gpu_request_has(request, (pid_t)usage->pid);
        if (usage->time_us <= seen_us)
            continue;
        if (usage->sm_pct > 100 || usage->time_us > horizon_us) {
            sum.has_garbage |= is_ours;
            continue;
        }
        if (usage->time_us > sum.newest_us)
            sum.newest_us = usage->time_us;
        if (is_ours)
            sum.percent += usage->sm_pct;
    }
    return sum;
}

static void ask_usage(struct nvidia *nvidia, struct nvidia_device *source,
                      const struct gpu_request *request)
{
    if (source->usage_ns != 0 &&
        counter_growth(request->now_ns, source->usage_ns) < USAGE_PERIOD_NS)
        return;
    source->usage_ns = request->now_ns;
    if (source->sample_us > real_time_us() + CLOCKS_APART_US)
        source->sample_us = real_time_us();
    int count = read_usages(nvidia, source);
    source->usage_is_known = count >= 0;
    if (count < 0)
        return;
    struct usage_sum sum = add_usages(nvidia, source->sample_us, (size_t)count, request);
    source->usage_is_known = !sum.has_garbage;
    if (sum.newest_us > source->sample_us) {
        source->usage_pct = sum.percent < 100 ? sum.percent : 100;
        source->sample_us = sum.newest_us;
        source->sample_ns = request->now_ns;
    } else if (counter_growth(request->now_ns, source->sample_ns) > USAGE_STALE_NS) {
        source->usage_pct = 0;
    }
}

/* Who was on it a moment ago may have used it since, so it is asked once more. */
static double tree_usage(struct nvidia *nvidia, struct nvidia_device *source,
                         const struct gpu_request *request)
{
    bool has_tree = nvidia->holding_count > 0;
    bool had_tree = source->had_tree;

    source->had_tree = has_tree;
    if (!has_tree && !had_tree) {
        /* When the tree comes, only what is used from then on is its. */
        source->sample_us = real_time_us();
        source->sample_ns = request->now_ns;
        source->usage_pct = 0;
        return 0;
    }
    if (source->has_parts || source->is_part)
        return NAN;
    ask_usage(nvidia, source, request);
    return source->usage_is_known ? source->usage_pct : NAN;
}

static void read_device(struct nvidia *nvidia, size_t index, const struct gpu_request *request,
                        struct gpu_device *device)
{
    struct nvidia_device *source = &nvidia->devices[index];

    if (find_holdings(nvidia, source->handle, request) < 0)
        return;
    uint64_t bytes = sum_holdings(nvidia);
    uint64_t total = gpu_cell(device, FIELD_GPU_VRAM_TOTAL)->counter;
    gpu_cell(device, FIELD_GPU_PROCESS_VRAM)->counter = bytes <= total ? bytes : COUNTER_UNKNOWN;
    gpu_set_percent(device, FIELD_GPU_PROCESS_UTILIZATION, tree_usage(nvidia, source, request));
}

/* The whole has what its parts have together; only the parts' lists may be open to us. */
static void add_up_parts(struct gpu_table *table, size_t whole)
{
    uint64_t bytes = 0;
    double usage = 0;

    for (size_t i = whole + 1; i < table->count && table->devices[i].is_part; i++) {
        uint64_t part = gpu_cell(&table->devices[i], FIELD_GPU_PROCESS_VRAM)->counter;
        bytes =
            part == COUNTER_UNKNOWN || bytes == COUNTER_UNKNOWN ? COUNTER_UNKNOWN : bytes + part;
        usage += gpu_cell(&table->devices[i], FIELD_GPU_PROCESS_UTILIZATION)->number;
    }
    gpu_cell(&table->devices[whole], FIELD_GPU_PROCESS_VRAM)->counter = bytes;
    gpu_cell(&table->devices[whole], FIELD_GPU_PROCESS_UTILIZATION)->number = usage;
}

void nvidia_read_processes(void *state, const struct gpu_request *request, struct gpu_table *table)
{
    struct nvidia *nvidia = state;
    struct gpu_request tree = *request;

    if (!pids_can_be_told(nvidia, &tree))
        return;
    for (size_t i = 0; i < nvidia->count && i < table->count; i++)
        if (!nvidia->devices[i].is_lost)
            read_device(nvidia, i, &tree, &table->devices[i]);
    for (size_t i = 0; i + 1 < table->count; i++)
        if (!table->devices[i].is_part && table->devices[i + 1].is_part)
            add_up_parts(table, i);
}

/* --- its memory --- */

int nvidia_tree_open(struct nvidia *nvidia)
{
    nvidia->usages =
        array_grow(NULL, &nvidia->usage_capacity, LIST_INITIAL, sizeof *nvidia->usages);
    nvidia->holdings =
        array_grow(NULL, &nvidia->holding_capacity, LIST_INITIAL, sizeof *nvidia->holdings);
    return reserve_list(nvidia, LIST_INITIAL) < 0 || nvidia->usages == NULL ||
                   nvidia->holdings == NULL
               ? -ENOMEM
               : 0;
}

void nvidia_tree_close(struct nvidia *nvidia)
{
    free(nvidia->list);
    free(nvidia->usages);
    free(nvidia->holdings);
}

/*
 * NVIDIA devices through NVML. Measured on an H200 with driver 580, once each second: utilisation
 * 20 us, memory 60, all else but the PCIe width (100 us, so read every 10 s) under 10; the very
 * first calls take up to 4 ms each.
 */
#include "collect/gpu_nvidia.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLOW_NS (10 * NS_PER_SEC)
#define CELSIUS_MAX 200
#define MILLIWATT_MAX 10e6
#define MHZ_MAX 20000
#define FAN_MAX 200

/* What a device may refuse; it is not asked for it again. */
enum nvidia_call {
    CALL_UTILIZATION,
    CALL_MEMORY,
    CALL_MEMORY_V2,
    CALL_TEMPERATURE,
    CALL_POWER,
    CALL_POWER_LIMIT,
    CALL_CLOCK,
    CALL_MEMORY_CLOCK,
    CALL_FAN,
    CALL_THROTTLE,
    CALL_ECC_CORRECTED,
    CALL_ECC_UNCORRECTED,
    CALL_GENERATION,
    CALL_WIDTH,
};

static const struct {
    uint64_t bits;
    const char *name;
} throttle_names[] = {
    {0x1, "idle"},
    {0x2, "application_clocks"},
    {0x4, "power_cap"},
    {0x8, "hw_slowdown"},
    {0x10, "sync_boost"},
    {0x20, "thermal"},
    {0x40, "hw_thermal"},
    {0x80, "hw_power_brake"},
    {0x100, "display_clocks"},
    {~UINT64_C(0x1ff), "other"},
};
enum { THROTTLE_NAME_COUNT = sizeof throttle_names / sizeof throttle_names[0] };

/* --- one device --- */

static bool may_ask(const struct nvidia_device *device, enum nvidia_call call)
{
    return !device->is_lost && (device->refused & 1u << call) == 0;
}

/* Whether it was answered; remembers a refusal and a device that is gone. */
static bool was_answered(struct nvidia_device *device, enum nvidia_call call, int result)
{
    if (result == NVML_NOT_SUPPORTED || result == NVML_FUNCTION_NOT_FOUND ||
        result == NVML_VERSION_MISMATCH)
        device->refused |= 1u << call;
    if (result == NVML_GPU_IS_LOST)
        device->is_lost = true;
    return result == NVML_OK;
}

static double believed(uint32_t value, double max)
{
    return value <= max ? (double)value : NAN;
}

static double ask_number(struct nvidia_device *device, enum nvidia_call call, nvml_number *function,
                         double max)
{
    uint32_t value = 0;

    if (function == NULL || !may_ask(device, call) ||
        !was_answered(device, call, function(device->handle, &value)))
        return NAN;
    return believed(value, max);
}

/* As above for functions that also take a selector. */
static double ask_selected(struct nvidia_device *device, enum nvidia_call call,
                           int (*function)(nvml_device, int, uint32_t *), int selector, double max)
{
    uint32_t value = 0;

    if (function == NULL || !may_ask(device, call) ||
        !was_answered(device, call, function(device->handle, selector, &value)))
        return NAN;
    return believed(value, max);
}

static uint64_t ask_ecc(const struct nvml *nvml, struct nvidia_device *device,
                        enum nvidia_call call, int kind)
{
    uint64_t value = 0;

    if (nvml->ecc == NULL || !may_ask(device, call) ||
        !was_answered(device, call, nvml->ecc(device->handle, kind, NVML_ECC_SINCE_LOAD, &value)))
        return COUNTER_UNKNOWN;
    return value;
}

static void read_utilization(const struct nvml *nvml, struct nvidia_device *source,
                             struct gpu_device *device)
{
    struct nvml_utilization now;

    if (nvml->utilization == NULL || !may_ask(source, CALL_UTILIZATION) ||
        !was_answered(source, CALL_UTILIZATION, nvml->utilization(source->handle, &now)))
        return;
    gpu_set_percent(device, FIELD_GPU_UTILIZATION, now.gpu);
    gpu_set_percent(device, FIELD_GPU_MEMORY_UTILIZATION, now.memory);
}

/* The first version counts what the driver keeps for itself as used; nvidia-smi shows the second's.
 */
static void read_memory(const struct nvml *nvml, struct nvidia_device *source,
                        struct gpu_device *device)
{
    struct nvml_memory_v2 now = {.version = NVML_MEMORY_V2};
    struct nvml_memory old;

    if (nvml->memory_v2 != NULL && may_ask(source, CALL_MEMORY_V2)) {
        if (was_answered(source, CALL_MEMORY_V2, nvml->memory_v2(source->handle, &now)))
            gpu_set_vram(device, now.total, now.used);
        /* The other figure for once would look like a jump. */
        if (may_ask(source, CALL_MEMORY_V2))
            return;
    }
    if (nvml->memory != NULL && may_ask(source, CALL_MEMORY) &&
        was_answered(source, CALL_MEMORY, nvml->memory(source->handle, &old)))
        gpu_set_vram(device, old.total, old.used);
}

static void read_throttle(const struct nvml *nvml, struct nvidia_device *source,
                          struct gpu_device *device)
{
    char names[sizeof device->throttle] = "";
    nvml_counter *function = nvml->throttle != NULL ? nvml->throttle : nvml->throttle_old;
    uint64_t reasons = 0;
    size_t size = 0;

    if (function == NULL || !may_ask(source, CALL_THROTTLE) ||
        !was_answered(source, CALL_THROTTLE, function(source->handle, &reasons)))
        return;
    for (size_t i = 0; i < THROTTLE_NAME_COUNT; i++)
        if ((reasons & throttle_names[i].bits) != 0)
            size += (size_t)snprintf(names + size, sizeof names - size, "%s%s", size > 0 ? "," : "",
                                     throttle_names[i].name);
    gpu_set_throttle(device, size > 0 ? names : "none");
}

static void read_link(const struct nvml *nvml, struct nvidia_device *source, uint64_t now_ns)
{
    if (source->slow_ns != 0 && now_ns - source->slow_ns < SLOW_NS)
        return;
    source->generation = ask_number(source, CALL_GENERATION, nvml->pcie_generation, UINT8_MAX);
    source->width = ask_number(source, CALL_WIDTH, nvml->pcie_width, UINT8_MAX);
    if (!isnan(source->generation) && !isnan(source->width))
        source->slow_ns = now_ns;
}

/* Of the speed it was built for, which some exceed. */
static double read_fan(const struct nvml *nvml, struct nvidia_device *source)
{
    double percent = ask_number(source, CALL_FAN, nvml->fan, FAN_MAX);

    return percent > 100 ? 100 : percent;
}

static void read_whole(const struct nvml *nvml, struct nvidia_device *source, uint64_t now_ns,
                       struct gpu_device *device)
{
    read_utilization(nvml, source, device);
    gpu_cell(device, FIELD_GPU_TEMPERATURE)->number = ask_selected(
        source, CALL_TEMPERATURE, nvml->temperature, NVML_TEMPERATURE_GPU, CELSIUS_MAX);
    gpu_cell(device, FIELD_GPU_POWER)->number =
        ask_number(source, CALL_POWER, nvml->power, MILLIWATT_MAX) / 1000;
    gpu_cell(device, FIELD_GPU_POWER_LIMIT)->number =
        ask_number(source, CALL_POWER_LIMIT, nvml->power_limit, MILLIWATT_MAX) / 1000;
    gpu_cell(device, FIELD_GPU_FREQUENCY)->number =
        ask_selected(source, CALL_CLOCK, nvml->clock, NVML_CLOCK_GRAPHICS, MHZ_MAX);
    gpu_cell(device, FIELD_GPU_MEMORY_FREQUENCY)->number =
        ask_selected(source, CALL_MEMORY_CLOCK, nvml->clock, NVML_CLOCK_MEMORY, MHZ_MAX);
    gpu_cell(device, FIELD_GPU_FAN)->number = read_fan(nvml, source);
    read_throttle(nvml, source, device);
    gpu_cell(device, FIELD_GPU_ECC_CORRECTED)->counter =
        ask_ecc(nvml, source, CALL_ECC_CORRECTED, NVML_ECC_CORRECTED);
    gpu_cell(device, FIELD_GPU_ECC_UNCORRECTED)->counter =
        ask_ecc(nvml, source, CALL_ECC_UNCORRECTED, NVML_ECC_UNCORRECTED);
    read_link(nvml, source, now_ns);
    gpu_cell(device, FIELD_GPU_PCIE_GENERATION)->number = source->generation;
    gpu_cell(device, FIELD_GPU_PCIE_WIDTH)->number = source->width;
}

/* A device that is lost may come back after a reset, so it is asked again each time. */
static int nvidia_read(void *state, size_t index, uint64_t now_ns, struct gpu_device *device)
{
    struct nvidia *nvidia = state;
    struct nvidia_device *source = &nvidia->devices[index];

    source->is_lost = source->has_no_handle;
    if (source->is_lost)
        return -ENODEV;
    read_memory(&nvidia->nvml, source, device);
    if (!source->is_part)
        read_whole(&nvidia->nvml, source, now_ns, device);
    return source->is_lost ? -ENODEV : 0;
}

/* --- the backend --- */

static bool nvidia_probe(const struct gpu_places *places)
{
    static const char *const nodes[] = {"nvidiactl", "dxg" /* WSL */};
    char path[256];

    if (faccessat(places->root->sys_fd, "module/nvidia", F_OK, 0) == 0)
        return true;
    for (size_t i = 0; i < sizeof nodes / sizeof nodes[0] && places->root->dev != NULL; i++) {
        snprintf(path, sizeof path, "%s/%s", places->root->dev, nodes[i]);
        if (access(path, F_OK) == 0)
            return true;
    }
    return false;
}

/*
 * A library that was initialised stays so, and loaded: we close at the end of the process, which
 * does away with it faster than the 3 ms it takes to shut down, and asks nothing of the driver.
 */
static void nvidia_close(void *state)
{
    struct nvidia *nvidia = state;

    if (!nvidia->is_initialised)
        nvml_close(&nvidia->nvml);
    if (nvidia->driver_fd >= 0)
        close(nvidia->driver_fd);
    nvidia_tree_close(nvidia);
    free(nvidia->devices);
    free(nvidia);
}

static int initialise(struct nvidia *nvidia, char *remark)
{
    int error = nvml_open(&nvidia->nvml, nvidia->places->nvml, remark);

    if (error < 0)
        return error;
    int result = nvidia->nvml.init();
    nvidia->is_initialised = result == NVML_OK;
    if (nvidia->is_initialised)
        return nvidia_tree_open(nvidia);
    snprintf(remark, GPU_REMARK_MAX,
             "the NVIDIA driver cannot be used (nvmlInit gives %d); its GPUs are not watched",
             result);
    return -ENODEV;
}

static int nvidia_open(const struct gpu_places *places, void **ret_state, char *remark)
{
    struct nvidia *nvidia = calloc(1, sizeof *nvidia);
    if (nvidia == NULL)
        return -ENOMEM;
    nvidia->places = places;
    nvidia->driver_fd =
        openat(places->root->sys_fd, "bus/pci/drivers/nvidia", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int error = initialise(nvidia, remark);
    if (error < 0) {
        nvidia_close(nvidia);
        return error;
    }
    *ret_state = nvidia;
    return 0;
}

const struct gpu_backend gpu_nvidia = {
    .name = "nvidia",
    .probe = nvidia_probe,
    .open = nvidia_open,
    .has_changed = nvidia_has_changed,
    .find = nvidia_find,
    .read = nvidia_read,
    .read_processes = nvidia_read_processes,
    .read_detail = nvidia_read_detail,
    .close = nvidia_close,
};

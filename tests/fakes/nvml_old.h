/*
 * The functions that drivers of about 2018 have too. What they say, of gpu0 (its defaults are
 * those of index i, so that a mix-up shows):
 *
 *   driver=580.0  cuda=13000
 *   gpu0.name gpu0.uuid          texts with \xNN; one too long for the caller is not terminated
 *   gpu0.minor gpu0.busid        0000:01:00.0
 *   gpu0.cc=90                   compute capability 9.0
 *   gpu0.util gpu0.mem_util      percent
 *   gpu0.total gpu0.used gpu0.reserved      bytes; also of gpu0.mig0
 *   gpu0.temp gpu0.power (mW) gpu0.limit (mW) gpu0.clock gpu0.memclock (MHz) gpu0.fan (percent)
 *   gpu0.throttle=0x4            bits
 *   gpu0.ecc0 gpu0.ecc1          corrected, uncorrected
 *   gpu0.gen gpu0.width          PCIe
 *   gpu0.pcie_rx gpu0.pcie_tx    KB/s; the call takes 20 ms
 *   gpu0.compute=PID:BYTES ...   processes; BYTES may be `na`; also gpu0.graphics, gpu0.mps and
 *                                those of gpu0.mig0. A GPU's lists hold those of its instances too
 *   gpu0.procs=4                 what the lists return
 *   gpu0.procs_need=N            they are always too small, and N would do
 *   gpu0.procs_count=N           they say that N were filled in, whatever the room was
 */
#ifndef FAKES_NVML_OLD_H
#define FAKES_NVML_OLD_H

#include <stddef.h>

#include "nvml_bare.h"

#define GIB ((u64)1 << 30)
#define MIB ((u64)1 << 20)

/* A function that says one number of a whole GPU; `i` is the GPU's index. */
#define GETTER(function, type, key, fallback)                                                      \
    int function(void *handle, type *ret)                                                          \
    {                                                                                              \
        WHOLE_GPU_CALL(handle, ret);                                                               \
        const u64 i = call.device->gpu;                                                            \
        (void)i;                                                                                   \
        *ret = (type)device_number(call.device, key, fallback);                                    \
        return NVML_OK;                                                                            \
    }

int nvmlSystemGetDriverVersion(char *out, unsigned size)
{
    CALL(NULL);
    const char *text = script_get("driver");
    script_copy(text != NULL ? text : "580.0", out, size);
    return NVML_OK;
}

int nvmlSystemGetCudaDriverVersion_v2(int *ret)
{
    CALL(NULL);
    *ret = (int)script_number("cuda", 13000);
    return NVML_OK;
}

static inline int say_text(const struct fake_device *device, const char *key, char *out,
                           unsigned size)
{
    const char *text = device_text(device, key);
    bool is_uuid = strcmp(key, "uuid") == 0;
    char usual[64];

    if (device->mig == NOT_MIG)
        snprintf(usual, sizeof usual, is_uuid ? "GPU-00000000-0000-0000-0000-%012u" : "Fake GPU %u",
                 device->gpu);
    else
        snprintf(usual, sizeof usual,
                 is_uuid ? "MIG-00000000-0000-0000-%04u-%012u" : "Fake GPU %u MIG 1g.%u0gb",
                 device->gpu, device->mig + 1);
    script_copy(text != NULL ? text : usual, out, size);
    return NVML_OK;
}

int nvmlDeviceGetName(void *handle, char *out, unsigned size)
{
    DEVICE_CALL(handle, out);
    return say_text(call.device, "name", out, size);
}

int nvmlDeviceGetUUID(void *handle, char *out, unsigned size)
{
    DEVICE_CALL(handle, out);
    return say_text(call.device, "uuid", out, size);
}

int nvmlDeviceGetPciInfo_v3(void *handle, struct nvml_pci *ret)
{
    WHOLE_GPU_CALL(handle, ret);
    const char *text = device_text(call.device, "busid");
    char usual[32];

    *ret = (struct nvml_pci){.bus = call.device->gpu + 1, .device_id = 0x123410de};
    snprintf(usual, sizeof usual, "0000:%02x:00.0", ret->bus);
    script_copy(text != NULL ? text : usual, ret->bus_id_legacy, sizeof ret->bus_id_legacy);
    snprintf(usual, sizeof usual, "00000000:%02X:00.0", ret->bus);
    script_copy(text != NULL ? text : usual, ret->bus_id, sizeof ret->bus_id);
    return NVML_OK;
}

int nvmlDeviceGetCudaComputeCapability(void *handle, int *ret_major, int *ret_minor)
{
    DEVICE_CALL(handle, ret_major);
    int capability = (int)device_number(call.device, "cc", 80 + call.device->gpu % 10);
    *ret_major = capability / 10;
    *ret_minor = capability % 10;
    return NVML_OK;
}

int nvmlDeviceGetUtilizationRates(void *handle, struct nvml_utilization *ret)
{
    WHOLE_GPU_CALL(handle, ret);
    unsigned i = call.device->gpu;
    if (mig_count(i) > 0)
        return NVML_NOT_SUPPORTED;
    ret->gpu = (unsigned)device_number(call.device, "util", (10 + 3 * i) % 101);
    ret->memory = (unsigned)device_number(call.device, "mem_util", (5 + 2 * i) % 101);
    return NVML_OK;
}

static inline struct nvml_memory_v2 memory_of(const struct fake_device *device)
{
    u64 i = device->gpu + (device->mig == NOT_MIG ? 0 : device->mig + 100);
    struct nvml_memory_v2 memory = {
        .total = device_number(device, "total", (16 + i) * GIB),
        .used = device_number(device, "used", (1 + i) * GIB + i),
        .reserved = device_number(device, "reserved", (300 + i) * MIB),
    };

    memory.free = memory.total - memory.used - memory.reserved;
    return memory;
}

/* The first version counts what the driver keeps for itself as used. */
int nvmlDeviceGetMemoryInfo(void *handle, struct nvml_memory *ret)
{
    DEVICE_CALL(handle, ret);
    struct nvml_memory_v2 memory = memory_of(call.device);
    *ret = (struct nvml_memory){memory.total, memory.free, memory.used + memory.reserved};
    return NVML_OK;
}

int nvmlDeviceGetTemperature(void *handle, unsigned sensor, unsigned *ret)
{
    WHOLE_GPU_CALL(handle, ret);
    if (sensor != 0)
        return NVML_INVALID_ARGUMENT;
    *ret = (unsigned)device_number(call.device, "temp", 40 + call.device->gpu);
    return NVML_OK;
}

int nvmlDeviceGetClockInfo(void *handle, unsigned type, unsigned *ret)
{
    WHOLE_GPU_CALL(handle, ret);
    if (type != 0 && type != 2)
        return NVML_NOT_SUPPORTED;
    *ret = (unsigned)(type == 0 ? device_number(call.device, "clock", 1200 + call.device->gpu)
                                : device_number(call.device, "memclock", 5000 + call.device->gpu));
    return NVML_OK;
}

int nvmlDeviceGetTotalEccErrors(void *handle, unsigned type, unsigned counter, u64 *ret)
{
    WHOLE_GPU_CALL(handle, ret);
    if (type > 1 || counter > 1)
        return NVML_INVALID_ARGUMENT;
    *ret = device_number(call.device, type == 0 ? "ecc0" : "ecc1",
                         call.device->gpu + (type == 0 ? 200 : 0) + counter * 1000);
    return NVML_OK;
}

/* Measures for 20 ms, as the real one does. */
int nvmlDeviceGetPcieThroughput(void *handle, unsigned counter, unsigned *ret)
{
    WHOLE_GPU_CALL(handle, ret);
    sleep_unlocked(20);
    if (counter > 1)
        return NVML_INVALID_ARGUMENT;
    *ret = (unsigned)(counter == 0 ? device_number(call.device, "pcie_tx", 100 + call.device->gpu)
                                   : device_number(call.device, "pcie_rx", 500 + call.device->gpu));
    return NVML_OK;
}

GETTER(nvmlDeviceGetMinorNumber, unsigned, "minor", i)
GETTER(nvmlDeviceGetPowerUsage, unsigned, "power", 100123 + 1000 * i)
GETTER(nvmlDeviceGetEnforcedPowerLimit, unsigned, "limit", 300000 + 1000 * i)
GETTER(nvmlDeviceGetFanSpeed, unsigned, "fan", 30 + i)
GETTER(nvmlDeviceGetCurrentClocksThrottleReasons, u64, "throttle", 1)
GETTER(nvmlDeviceGetCurrPcieLinkGeneration, unsigned, "gen", 3 + i % 3)
GETTER(nvmlDeviceGetCurrPcieLinkWidth, unsigned, "width", i % 2 == 0 ? 16 : 8)

/* --- processes --- */

enum { PROCESSES_MAX = 1 << 16 };

static struct nvml_process processes[PROCESSES_MAX];

static inline unsigned add_processes(const struct fake_device *device, const char *list,
                                     unsigned count)
{
    const char *word = device_text(device, list);
    size_t length;

    for (; word != NULL && (length = next_word(&word)) > 0; word += length) {
        const char *bytes = memchr(word, ':', length);
        unsigned instance = device->mig == NOT_MIG ? UINT_MAX : device->mig + 1;
        if (count < PROCESSES_MAX)
            processes[count++] =
                (struct nvml_process){.pid = (unsigned)number_of(word),
                                      .memory = bytes != NULL ? number_of(bytes + 1) : ULLONG_MAX,
                                      .gpu_instance = instance,
                                      .compute_instance = instance == UINT_MAX ? UINT_MAX : 0};
    }
    return count;
}

/* Fills `processes`, and says whether the caller has room for them. */
static inline int list_processes(const struct fake_device *device, const char *list,
                                 const void *room, unsigned *count, unsigned *ret_found)
{
    unsigned found = add_processes(device, list, 0);
    u64 need = device_number(device, "procs_need", 0);
    int code = (int)device_number(device, "procs", NVML_OK);

    if (device->mig == NOT_MIG)
        for (unsigned i = 0; i < mig_count(device->gpu); i++)
            found = add_processes(device_at(device->gpu, i), list, found);
    if (code != NVML_OK)
        return code;
    bool too_many = need > 0 || found > *count || (found > 0 && room == NULL);
    if (too_many) {
        *count = need > 0 ? (unsigned)need : found;
        return NVML_INSUFFICIENT_SIZE;
    }
    *count = (unsigned)device_number(device, "procs_count", found);
    *ret_found = found;
    return NVML_OK;
}

#define PROCESS_LIST(function, type, list)                                                         \
    int function(void *handle, unsigned *count, type *out)                                         \
    {                                                                                              \
        DEVICE_CALL(handle, count);                                                                \
        unsigned found = 0;                                                                        \
        int code = list_processes(call.device, list, out, count, &found);                          \
        for (unsigned i = 0; i < found; i++)                                                       \
            memcpy(&out[i], &processes[i], sizeof out[i]);                                         \
        return code;                                                                               \
    }

_Static_assert(offsetof(struct nvml_process, memory) == offsetof(struct nvml_process_v1, memory),
               "the first version is the beginning of the others");

PROCESS_LIST(nvmlDeviceGetComputeRunningProcesses, struct nvml_process_v1, "compute")
PROCESS_LIST(nvmlDeviceGetGraphicsRunningProcesses, struct nvml_process_v1, "graphics")

#endif

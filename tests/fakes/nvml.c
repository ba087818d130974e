/*
 * A libnvidia-ml.so.1 for machines without a GPU. What it says is in the file named by FAKE_NVML
 * (nvml_script.h); the keys are listed where they are read: nvml_bare.h, nvml_old.h and here. Every
 * call appends its name to the file named by FAKE_NVML_LOG.
 *
 *   gpu0.cores                   shader cores
 *   gpu0.util_samples=PID:SM ... of processes, PID:SM@MICROSECONDS with a time stamp other than now
 *   gpu0.samples_stale=1         those that are not newer than wanted are told too
 *   gpu0.samples_need=N          there is never room enough for them, and N would do
 *   gpu0.samples_count=N         they say that N were filled in, whatever the room was
 *   gpu0.energy                  mJ; grows with the power by default
 *   gpu0.nvlink_rx gpu0.nvlink_tx           KiB; grow by default
 *   gpu0.field186                any other field, by its number
 */
#include "nvml_old.h"

GETTER(nvmlDeviceGetNumGpuCores, unsigned, "cores", 6912 + 128 * i)
GETTER(nvmlDeviceGetCurrentClocksEventReasons, u64, "throttle", 1)

int nvmlDeviceGetMemoryInfo_v2(void *handle, struct nvml_memory_v2 *ret)
{
    DEVICE_CALL(handle, ret);
    unsigned version = ret->version;
    if (version != (sizeof *ret | 2u << 24))
        return NVML_ARGUMENT_VERSION_MISMATCH;
    *ret = memory_of(call.device);
    ret->version = version;
    return NVML_OK;
}

/* --- MIG --- */

int nvmlDeviceGetMigMode(void *handle, unsigned *ret_current, unsigned *ret_pending)
{
    WHOLE_GPU_CALL(handle, ret_current);
    *ret_current = device_text(call.device, "mig") != NULL;
    *ret_pending = *ret_current;
    return NVML_OK;
}

int nvmlDeviceGetMaxMigDeviceCount(void *handle, unsigned *ret)
{
    WHOLE_GPU_CALL(handle, ret);
    *ret = (unsigned)device_number(call.device, "mig_max", MIG_MAX);
    return NVML_OK;
}

int nvmlDeviceGetMigDeviceHandleByIndex(void *handle, unsigned index, void **ret)
{
    WHOLE_GPU_CALL(handle, ret);
    if (index >= mig_count(call.device->gpu))
        return NVML_NOT_FOUND;
    *ret = device_at(call.device->gpu, index);
    return NVML_OK;
}

/* --- processes --- */

PROCESS_LIST(nvmlDeviceGetMPSComputeRunningProcesses, struct nvml_process_v1, "mps")
PROCESS_LIST(nvmlDeviceGetComputeRunningProcesses_v2, struct nvml_process, "compute")
PROCESS_LIST(nvmlDeviceGetComputeRunningProcesses_v3, struct nvml_process, "compute")
PROCESS_LIST(nvmlDeviceGetGraphicsRunningProcesses_v2, struct nvml_process, "graphics")
PROCESS_LIST(nvmlDeviceGetGraphicsRunningProcesses_v3, struct nvml_process, "graphics")
PROCESS_LIST(nvmlDeviceGetMPSComputeRunningProcesses_v2, struct nvml_process, "mps")
PROCESS_LIST(nvmlDeviceGetMPSComputeRunningProcesses_v3, struct nvml_process, "mps")

static u64 now_us(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (u64)now.tv_sec * 1000000 + (u64)now.tv_nsec / 1000;
}

static unsigned list_samples(const struct fake_device *device, struct nvml_process_sample *out,
                             unsigned room, u64 last_seen_us)
{
    const char *word = device_text(device, "util_samples");
    bool tell_old = device_number(device, "samples_stale", 0) != 0;
    unsigned count = 0;
    size_t length;

    for (; word != NULL && (length = next_word(&word)) > 0; word += length) {
        const char *share = memchr(word, ':', length);
        const char *time = memchr(word, '@', length);
        struct nvml_process_sample sample = {
            .pid = (unsigned)number_of(word),
            .sm = share != NULL ? (unsigned)number_of(share + 1) : 0,
            .time_us = time != NULL ? number_of(time + 1) : now_us(CLOCK_REALTIME),
        };
        if (sample.time_us <= last_seen_us && !tell_old)
            continue;
        if (out != NULL && count < room)
            out[count] = sample;
        count++;
    }
    return count;
}

int nvmlDeviceGetProcessUtilization(void *handle, struct nvml_process_sample *samples,
                                    unsigned *count, u64 last_seen_us)
{
    WHOLE_GPU_CALL(handle, count);
    if (mig_count(call.device->gpu) > 0)
        return NVML_NOT_SUPPORTED;
    unsigned found = list_samples(call.device, samples, *count, last_seen_us);
    u64 need = device_number(call.device, "samples_need", 0);
    bool too_many = need > 0 || found > *count || (found > 0 && samples == NULL);
    *count = (unsigned)device_number(call.device, "samples_count", need > 0 ? need : found);
    return too_many ? NVML_INSUFFICIENT_SIZE : found == 0 ? NVML_NOT_FOUND : NVML_OK;
}

/* --- counters --- */

static u64 now_ms(void)
{
    return now_us(CLOCK_MONOTONIC) / 1000;
}

int nvmlDeviceGetTotalEnergyConsumption(void *handle, u64 *ret_mj)
{
    WHOLE_GPU_CALL(handle, ret_mj);
    u64 power_mw = device_number(call.device, "power", 100123 + 1000 * call.device->gpu);
    *ret_mj = device_number(call.device, "energy", power_mw * now_ms() / 1000);
    return NVML_OK;
}

static int read_field(const struct fake_device *device, struct nvml_field_value *value)
{
    u64 grown = now_ms() * (device->gpu + 1);
    char key[32];

    snprintf(key, sizeof key, "field%u", value->field);
    if (value->field == 138)
        value->value.as_u64 = device_number(device, "nvlink_tx", grown);
    else if (value->field == 139)
        value->value.as_u64 = device_number(device, "nvlink_rx", 2 * grown);
    else if (device_text(device, key) != NULL)
        value->value.as_u64 = device_number(device, key, 0);
    else
        return NVML_NOT_SUPPORTED;
    /* Of one link: as if there were four, used alike. */
    if ((value->field == 138 || value->field == 139) && value->scope != UINT_MAX)
        value->value.as_u64 /= 4;
    return NVML_OK;
}

int nvmlDeviceGetFieldValues(void *handle, int count, struct nvml_field_value *values)
{
    WHOLE_GPU_CALL(handle, values);
    for (int i = 0; i < count; i++) {
        values[i].time_us = (long long)now_us(CLOCK_REALTIME);
        values[i].latency_us = 0;
        values[i].value_type = NVML_TYPE_U64;
        values[i].code = read_field(call.device, &values[i]);
    }
    return NVML_OK;
}

/*
 * The part of NVML's binary interface that the fakes offer, declared from its documentation: names,
 * argument types and layouts are what a program that loads libnvidia-ml.so.1 relies on.
 */
#ifndef FAKES_NVML_ABI_H
#define FAKES_NVML_ABI_H

typedef unsigned long long u64;

enum nvml_code {
    NVML_OK = 0,
    NVML_UNINITIALIZED = 1,
    NVML_INVALID_ARGUMENT = 2,
    NVML_NOT_SUPPORTED = 3,
    NVML_NO_PERMISSION = 4,
    NVML_NOT_FOUND = 6,
    NVML_INSUFFICIENT_SIZE = 7,
    NVML_DRIVER_NOT_LOADED = 9,
    NVML_FUNCTION_NOT_FOUND = 13,
    NVML_GPU_IS_LOST = 15,
    NVML_ARGUMENT_VERSION_MISMATCH = 25,
    NVML_UNKNOWN = 999,
};

struct nvml_utilization {
    unsigned gpu, memory;
};

struct nvml_memory {
    u64 total, free, used;
};

struct nvml_memory_v2 {
    unsigned version; /* its size, and 2 in the highest byte */
    u64 total, reserved, free, used;
};

struct nvml_pci {
    char bus_id_legacy[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
};

struct nvml_process_v1 {
    unsigned pid;
    u64 memory;
};

/* Of the functions that end in _v2 and _v3. */
struct nvml_process {
    unsigned pid;
    u64 memory;
    unsigned gpu_instance, compute_instance;
};

struct nvml_process_sample {
    unsigned pid;
    u64 time_us;
    unsigned sm, memory, encoder, decoder;
};

struct nvml_field_value {
    unsigned field, scope;
    long long time_us, latency_us;
    int value_type;
    int code;
    union {
        double as_double;
        u64 as_u64;
    } value;
};

enum { NVML_TYPE_U64 = 3 };

_Static_assert(sizeof(struct nvml_memory_v2) == 40, "as NVML has it");
_Static_assert(sizeof(struct nvml_pci) == 68, "as NVML has it");
_Static_assert(sizeof(struct nvml_process_v1) == 16, "as NVML has it");
_Static_assert(sizeof(struct nvml_process) == 24, "as NVML has it");
_Static_assert(sizeof(struct nvml_process_sample) == 32, "as NVML has it");
_Static_assert(sizeof(struct nvml_field_value) == 40, "as NVML has it");

/* --- nvml_bare.h --- */
int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetCount_v2(unsigned *ret);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **ret);

/* --- nvml_old.h --- */
int nvmlSystemGetDriverVersion(char *out, unsigned size);
int nvmlSystemGetCudaDriverVersion_v2(int *ret);
int nvmlDeviceGetName(void *device, char *out, unsigned size);
int nvmlDeviceGetUUID(void *device, char *out, unsigned size);
int nvmlDeviceGetMinorNumber(void *device, unsigned *ret);
int nvmlDeviceGetPciInfo_v3(void *device, struct nvml_pci *ret);
int nvmlDeviceGetCudaComputeCapability(void *device, int *ret_major, int *ret_minor);
int nvmlDeviceGetUtilizationRates(void *device, struct nvml_utilization *ret);
int nvmlDeviceGetMemoryInfo(void *device, struct nvml_memory *ret);
int nvmlDeviceGetTemperature(void *device, unsigned sensor, unsigned *ret);
int nvmlDeviceGetPowerUsage(void *device, unsigned *ret);
int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *ret);
int nvmlDeviceGetClockInfo(void *device, unsigned type, unsigned *ret);
int nvmlDeviceGetFanSpeed(void *device, unsigned *ret);
int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, u64 *ret);
int nvmlDeviceGetTotalEccErrors(void *device, unsigned type, unsigned counter, u64 *ret);
int nvmlDeviceGetCurrPcieLinkGeneration(void *device, unsigned *ret);
int nvmlDeviceGetCurrPcieLinkWidth(void *device, unsigned *ret);
int nvmlDeviceGetPcieThroughput(void *device, unsigned counter, unsigned *ret);
int nvmlDeviceGetComputeRunningProcesses(void *device, unsigned *count,
                                         struct nvml_process_v1 *list);
int nvmlDeviceGetGraphicsRunningProcesses(void *device, unsigned *count,
                                          struct nvml_process_v1 *list);

/* --- nvml.c --- */
int nvmlDeviceGetNumGpuCores(void *device, unsigned *ret);
int nvmlDeviceGetMemoryInfo_v2(void *device, struct nvml_memory_v2 *ret);
int nvmlDeviceGetCurrentClocksEventReasons(void *device, u64 *ret);
int nvmlDeviceGetMigMode(void *device, unsigned *ret_current, unsigned *ret_pending);
int nvmlDeviceGetMaxMigDeviceCount(void *device, unsigned *ret);
int nvmlDeviceGetMigDeviceHandleByIndex(void *device, unsigned index, void **ret);
int nvmlDeviceGetMPSComputeRunningProcesses(void *device, unsigned *count,
                                            struct nvml_process_v1 *list);
int nvmlDeviceGetComputeRunningProcesses_v2(void *device, unsigned *count,
                                            struct nvml_process *list);
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count,
                                            struct nvml_process *list);
int nvmlDeviceGetGraphicsRunningProcesses_v2(void *device, unsigned *count,
                                             struct nvml_process *list);
int nvmlDeviceGetGraphicsRunningProcesses_v3(void *device, unsigned *count,
                                             struct nvml_process *list);
int nvmlDeviceGetMPSComputeRunningProcesses_v2(void *device, unsigned *count,
                                               struct nvml_process *list);
int nvmlDeviceGetMPSComputeRunningProcesses_v3(void *device, unsigned *count,
                                               struct nvml_process *list);
int nvmlDeviceGetProcessUtilization(void *device, struct nvml_process_sample *samples,
                                    unsigned *count, u64 last_seen_us);
int nvmlDeviceGetTotalEnergyConsumption(void *device, u64 *ret_mj);
int nvmlDeviceGetFieldValues(void *device, int count, struct nvml_field_value *values);

#endif

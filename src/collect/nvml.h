/*
 * The part of NVIDIA's management library that we use, in declarations of our own, so that building
 * needs nothing from NVIDIA. Every function may be missing: what it would tell is then unavailable.
 */
#ifndef COLLECT_NVML_H
#define COLLECT_NVML_H

#include <stddef.h>
#include <stdint.h>

enum nvml_result {
    NVML_OK = 0,
    NVML_NOT_SUPPORTED = 3,
    NVML_NO_PERMISSION = 4,
    NVML_NOT_FOUND = 6,
    NVML_INSUFFICIENT_SIZE = 7,
    NVML_INSUFFICIENT_POWER = 8,
    NVML_TIMEOUT = 10,
    NVML_IRQ_ISSUE = 11,
    NVML_FUNCTION_NOT_FOUND = 13,
    NVML_GPU_IS_LOST = 15,
    NVML_RESET_REQUIRED = 16,
    NVML_VERSION_MISMATCH = 25,
};

enum { NVML_TEMPERATURE_GPU = 0 };
enum { NVML_CLOCK_GRAPHICS = 0, NVML_CLOCK_MEMORY = 2 };
enum { NVML_ECC_CORRECTED = 0, NVML_ECC_UNCORRECTED = 1 };
enum { NVML_ECC_SINCE_LOAD = 0 };
enum { NVML_PCIE_TX = 0, NVML_PCIE_RX = 1 };
enum { NVML_FIELD_NVLINK_TX_KIB = 138, NVML_FIELD_NVLINK_RX_KIB = 139 };
#define NVML_ALL_LINKS UINT32_MAX
#define NVML_MEMORY_UNKNOWN UINT64_MAX

typedef void *nvml_device;

struct nvml_utilization {
    uint32_t gpu;
    uint32_t memory;
};

struct nvml_memory {
    uint64_t total;
    uint64_t free;
    uint64_t used; /* with what the driver keeps for itself: some 600 MiB on an H200 */
};

struct nvml_memory_v2 {
    uint32_t version;
    uint64_t total;
    uint64_t reserved;
    uint64_t free;
    uint64_t used;
};
#define NVML_MEMORY_V2 ((uint32_t)sizeof(struct nvml_memory_v2) | 2u << 24)

struct nvml_pci {
    char legacy_id[16];
    uint32_t domain;
    uint32_t bus;
    uint32_t device;
    uint32_t device_id;
    uint32_t subsystem_id;
    char id[32];
};

struct nvml_process {
    uint32_t pid;
    uint64_t used_bytes;
    uint32_t gpu_instance;
    uint32_t compute_instance;
};

/* Before driver 450. */
struct nvml_process_old {
    uint32_t pid;
    uint64_t used_bytes;
};

struct nvml_process_usage {
    uint32_t pid;
    uint64_t time_us; /* since 1970 */
    uint32_t sm_pct;
    uint32_t memory_pct;
    uint32_t encoder_pct;
    uint32_t decoder_pct;
};

struct nvml_field {
    uint32_t id;
    uint32_t scope;
    int64_t time_us;
    int64_t latency_us;
    int32_t type;
    int32_t result;
    uint64_t value;
};

typedef int nvml_number(nvml_device device, uint32_t *ret_value);
typedef int nvml_counter(nvml_device device, uint64_t *ret_value);
typedef int nvml_text(nvml_device device, char *out, uint32_t size);

/* X(member, type of the function, exported name) */
#define NVML_FUNCTIONS(X)                                                                          \
    X(init, int (*)(void), "nvmlInit_v2")                                                          \
    X(shutdown, int (*)(void), "nvmlShutdown")                                                     \
    X(driver_version, int (*)(char *, uint32_t), "nvmlSystemGetDriverVersion")                     \
    X(cuda_version, int (*)(int32_t *), "nvmlSystemGetCudaDriverVersion_v2")                       \
    X(count, int (*)(uint32_t *), "nvmlDeviceGetCount_v2")                                         \
    X(handle, int (*)(uint32_t, nvml_device *), "nvmlDeviceGetHandleByIndex_v2")                   \
    X(name, nvml_text *, "nvmlDeviceGetName")                                                      \
    X(uuid, nvml_text *, "nvmlDeviceGetUUID")                                                      \
    X(minor, nvml_number *, "nvmlDeviceGetMinorNumber")                                            \
    X(pci, int (*)(nvml_device, struct nvml_pci *), "nvmlDeviceGetPciInfo_v3")                     \
    X(cores, nvml_number *, "nvmlDeviceGetNumGpuCores")                                            \
    X(capability, int (*)(nvml_device, int32_t *, int32_t *),                                      \
      "nvmlDeviceGetCudaComputeCapability")                                                        \
    X(utilization, int (*)(nvml_device, struct nvml_utilization *),                                \
      "nvmlDeviceGetUtilizationRates")                                                             \
    X(memory, int (*)(nvml_device, struct nvml_memory *), "nvmlDeviceGetMemoryInfo")               \
    X(memory_v2, int (*)(nvml_device, struct nvml_memory_v2 *), "nvmlDeviceGetMemoryInfo_v2")      \
    X(temperature, int (*)(nvml_device, int, uint32_t *), "nvmlDeviceGetTemperature")              \
    X(power, nvml_number *, "nvmlDeviceGetPowerUsage")                                             \
    X(power_limit, nvml_number *, "nvmlDeviceGetEnforcedPowerLimit")                               \
    X(clock, int (*)(nvml_device, int, uint32_t *), "nvmlDeviceGetClockInfo")                      \
    X(fan, nvml_number *, "nvmlDeviceGetFanSpeed")                                                 \
    X(throttle, nvml_counter *, "nvmlDeviceGetCurrentClocksEventReasons")                          \
    X(throttle_old, nvml_counter *, "nvmlDeviceGetCurrentClocksThrottleReasons")                   \
    X(ecc, int (*)(nvml_device, int, int, uint64_t *), "nvmlDeviceGetTotalEccErrors")              \
    X(pcie_generation, nvml_number *, "nvmlDeviceGetCurrPcieLinkGeneration")                       \
    X(pcie_width, nvml_number *, "nvmlDeviceGetCurrPcieLinkWidth")                                 \
    X(mig_mode, int (*)(nvml_device, uint32_t *, uint32_t *), "nvmlDeviceGetMigMode")              \
    X(mig_count, nvml_number *, "nvmlDeviceGetMaxMigDeviceCount")                                  \
    X(mig_handle, int (*)(nvml_device, uint32_t, nvml_device *),                                   \
      "nvmlDeviceGetMigDeviceHandleByIndex")                                                       \
    X(process_usage, int (*)(nvml_device, struct nvml_process_usage *, uint32_t *, uint64_t),      \
      "nvmlDeviceGetProcessUtilization")                                                           \
    X(energy, nvml_counter *, "nvmlDeviceGetTotalEnergyConsumption")                               \
    X(pcie_throughput, int (*)(nvml_device, int, uint32_t *), "nvmlDeviceGetPcieThroughput")       \
    X(field_values, int (*)(nvml_device, int, struct nvml_field *), "nvmlDeviceGetFieldValues")

/* A process is in the list of each kind of context that it has. */
enum nvml_list { NVML_COMPUTE, NVML_GRAPHICS, NVML_MPS };
enum { NVML_LIST_COUNT = NVML_MPS + 1 };

struct nvml_list_function {
    int (*function)(nvml_device, uint32_t *count, void *processes);
    size_t element_size; /* of struct nvml_process or nvml_process_old */
};

struct nvml {
    void *lib;
#define X(member, type, name) __typeof__(type)(member);
    NVML_FUNCTIONS(X)
#undef X
    struct nvml_list_function lists[NVML_LIST_COUNT];
};

/*
 * Loads the library from the usual places, or from `path`, and finds its functions. 0 or a negative
 * errno as lib_open; `remark` then says in a sentence what is wrong.
 */
int nvml_open(struct nvml *nvml, const char *path, char *remark);

/* Takes one that was never opened too. Does not shut the library's state down. */
void nvml_close(struct nvml *nvml);

#endif

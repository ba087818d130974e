#include "collect/nvml.h"

#include "base/lib.h"
#include "collect/gpu.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LIBRARY "libnvidia-ml.so.1"

/* Where containers, WSL and NixOS keep it, which their loaders are not always told. */
static const char *const folders[] = {
    "/usr/local/nvidia/lib64",
    "/usr/lib/wsl/lib",
    "/run/opengl-driver/lib",
    "/run/nvidia/driver/usr/lib64",
    NULL,
};

static const struct lib_symbol symbols[] = {
#define X(member, type, name) {name, offsetof(struct nvml, member)},
    NVML_FUNCTIONS(X)
#undef X
};

struct versions {
    int (*newest)(nvml_device, uint32_t *, void *);
    int (*second)(nvml_device, uint32_t *, void *);
    int (*oldest)(nvml_device, uint32_t *, void *);
};

#define LIST_SYMBOLS(kind)                                                                         \
    {                                                                                              \
        {"nvmlDeviceGet" kind "RunningProcesses_v3", offsetof(struct versions, newest)},           \
            {"nvmlDeviceGet" kind "RunningProcesses_v2", offsetof(struct versions, second)},       \
        {                                                                                          \
            "nvmlDeviceGet" kind "RunningProcesses", offsetof(struct versions, oldest)             \
        }                                                                                          \
    }
enum { VERSION_COUNT = 3 };

static const struct lib_symbol list_symbols[NVML_LIST_COUNT][VERSION_COUNT] = {
    [NVML_COMPUTE] = LIST_SYMBOLS("Compute"),
    [NVML_GRAPHICS] = LIST_SYMBOLS("Graphics"),
    [NVML_MPS] = LIST_SYMBOLS("MPSCompute"),
};

static void load_list(struct nvml *nvml, enum nvml_list kind)
{
    struct nvml_list_function *list = &nvml->lists[kind];
    struct versions versions;

    lib_load(nvml->lib, list_symbols[kind], VERSION_COUNT, &versions);
    list->element_size = sizeof(struct nvml_process);
    list->function = versions.newest != NULL ? versions.newest : versions.second;
    if (list->function != NULL || versions.oldest == NULL)
        return;
    list->function = versions.oldest;
    list->element_size = sizeof(struct nvml_process_old);
}

int nvml_open(struct nvml *nvml, const char *path, char *remark)
{
    char bad[LIB_PROBLEM_MAX];

    *nvml = (struct nvml){0};
    int error = lib_open(path != NULL ? path : LIBRARY, folders, &nvml->lib, bad);
    if (error == -ENOEXEC)
        snprintf(remark, GPU_REMARK_MAX, "%s; no NVIDIA GPU is watched", bad);
    else if (error < 0)
        snprintf(remark, GPU_REMARK_MAX,
                 "an NVIDIA driver is loaded but " LIBRARY " was not found; its GPUs are not "
                 "watched");
    if (error < 0)
        return error;
    lib_load(nvml->lib, symbols, sizeof symbols / sizeof symbols[0], nvml);
    for (int kind = 0; kind < NVML_LIST_COUNT; kind++)
        load_list(nvml, (enum nvml_list)kind);
    if (nvml->init != NULL && nvml->count != NULL && nvml->handle != NULL)
        return 0;
    snprintf(remark, GPU_REMARK_MAX, "%s lacks the functions that list devices",
             path != NULL ? path : LIBRARY);
    nvml_close(nvml);
    return -ENOEXEC;
}

void nvml_close(struct nvml *nvml)
{
    lib_close(nvml->lib);
    *nvml = (struct nvml){0};
}

/*
 * Which NVIDIA devices there are, with their facts, and whether that has changed. The library knows
 * the devices that were there when it was initialised, so looking anew is initialising anew.
 */
#include "base/array.h"
#include "base/dir.h"
#include "collect/gpu_nvidia.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* 8 GPUs with 7 instances each are the most there is today. */
#define PARTS_MAX 16
/* Of looks, every 5 s, whether devices have changed: to ask for those that failed, we must begin
 * anew, which takes 5 ms. */
#define LOOKS_PER_RETRY 6
#define FNV_BASIS UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)

/* Devices are links named domain:bus:device.function; the rest are controls. */
static bool add_to_digest(void *context, const struct dirent64 *entry)
{
    uint64_t *digest = context;
    uint64_t hash = FNV_BASIS;

    if (strchr(entry->d_name, ':') == NULL)
        return true;
    for (const char *at = entry->d_name; *at != '\0'; at++)
        hash = (hash ^ (unsigned char)*at) * FNV_PRIME;
    *digest += hash;
    return true;
}

/* Of the addresses of all devices, whatever their order. */
static uint64_t pci_digest(const struct nvidia *nvidia)
{
    uint64_t digest = 0;

    if (nvidia->driver_fd >= 0)
        (void)dir_each(nvidia->driver_fd, add_to_digest, &digest);
    return digest;
}

static size_t count_parts(const struct nvml *nvml, nvml_device whole, bool *ret_has_parts)
{
    uint32_t current = 0;
    uint32_t pending = 0;
    uint32_t max = 0;
    size_t count = 0;
    nvml_device part;

    *ret_has_parts = nvml->mig_mode != NULL &&
                     nvml->mig_mode(whole, &current, &pending) == NVML_OK && current == 1;
    if (!*ret_has_parts || nvml->mig_count == NULL || nvml->mig_handle == NULL ||
        nvml->mig_count(whole, &max) != NVML_OK)
        return 0;
    for (uint32_t i = 0; i < max && i < PARTS_MAX; i++)
        count += nvml->mig_handle(whole, i, &part) == NVML_OK;
    return count;
}

static bool parts_have_changed(const struct nvidia *nvidia)
{
    for (size_t i = 0; i < nvidia->count; i++) {
        const struct nvidia_device *device = &nvidia->devices[i];
        bool has_parts;
        if (device->is_part || device->is_lost)
            continue;
        size_t count = count_parts(&nvidia->nvml, device->handle, &has_parts);
        if (has_parts != device->has_parts || count != device->part_count)
            return true;
    }
    return false;
}

/* Devices of which the library could not give a handle may come back, after a reset. */
bool nvidia_has_changed(void *state)
{
    struct nvidia *nvidia = state;

    if (nvidia->is_incomplete && ++nvidia->looks >= LOOKS_PER_RETRY) {
        nvidia->looks = 0;
        return true;
    }
    return pci_digest(nvidia) != nvidia->pci_digest || parts_have_changed(nvidia);
}

typedef void set_text(struct gpu_device *device, const char *text);

/* Not every driver ends a text that fills the buffer. */
static void read_text(nvml_text *function, nvml_device handle, struct gpu_device *device,
                      set_text *set)
{
    char text[GPU_TEXT_MAX + 1] = "";

    if (function == NULL || function(handle, text, GPU_TEXT_MAX) != NVML_OK)
        return;
    text[GPU_TEXT_MAX] = '\0';
    set(device, text);
}

static void read_numbers(const struct nvml *nvml, nvml_device handle, struct gpu_device *device)
{
    char text[32];
    uint32_t value = 0;
    int32_t major = 0;
    int32_t minor = 0;

    if (nvml->cores != NULL && nvml->cores(handle, &value) == NVML_OK)
        gpu_cell(device, FIELD_GPU_CORES)->number = value;
    if (nvml->minor != NULL && nvml->minor(handle, &value) == NVML_OK) {
        snprintf(text, sizeof text, "nvidia%u", value);
        gpu_add_detail(device, "node", text);
    }
    if (nvml->capability != NULL && nvml->capability(handle, &major, &minor) == NVML_OK) {
        snprintf(text, sizeof text, "%d.%d", major, minor);
        gpu_add_detail(device, "compute_capability", text);
    }
}

static void read_facts(const struct nvidia *nvidia, nvml_device handle, struct gpu_device *device)
{
    const struct nvml *nvml = &nvidia->nvml;
    struct nvml_pci pci = {0};

    read_text(nvml->uuid, handle, device, gpu_set_uuid);
    read_text(nvml->name, handle, device, gpu_set_name);
    gpu_add_detail(device, "driver_version", nvidia->driver_version);
    gpu_add_detail(device, "cuda_version", nvidia->cuda_version);
    if (nvml->pci != NULL && nvml->pci(handle, &pci) == NVML_OK) {
        char address[32];
        pci.id[sizeof pci.id - 1] = '\0';
        snprintf(address, sizeof address, "%04x:%02x:%02x.0", pci.domain, pci.bus & 0xff,
                 pci.device & 0xff);
        gpu_set_host_id(device, address);
        gpu_add_detail(device, "pci_bus_id", pci.id);
    }
    read_numbers(nvml, handle, device);
}

static struct gpu_device *add_device(struct nvidia *nvidia, nvml_device handle, bool is_part,
                                     struct gpu_table *table)
{
    struct nvidia_device *grown =
        array_grow(nvidia->devices, &nvidia->capacity, nvidia->count + 1, sizeof *grown);
    if (grown == NULL)
        return NULL;
    nvidia->devices = grown;
    struct gpu_device *device = gpu_table_add(table);
    if (device == NULL)
        return NULL;
    device->is_part = is_part;
    grown[nvidia->count++] = (struct nvidia_device){.handle = handle, .is_part = is_part};
    return device;
}

/* MIG instances of a device, each with memory of its own. */
static void add_parts(struct nvidia *nvidia, size_t whole, const char *host_id,
                      struct gpu_table *table)
{
    const struct nvml *nvml = &nvidia->nvml;
    nvml_device handle = nvidia->devices[whole].handle;
    bool has_parts;
    size_t count = count_parts(nvml, handle, &has_parts);

    nvidia->devices[whole].has_parts = has_parts;
    nvidia->devices[whole].part_count = count;
    for (uint32_t i = 0; i < PARTS_MAX && count > 0; i++) {
        nvml_device part;
        if (nvml->mig_handle(handle, i, &part) != NVML_OK)
            continue;
        struct gpu_device *device = add_device(nvidia, part, true, table);
        if (device == NULL)
            return;
        read_text(nvml->uuid, part, device, gpu_set_uuid);
        read_text(nvml->name, part, device, gpu_set_name);
        gpu_set_host_id(device, host_id);
        count--;
    }
}

static void read_versions(struct nvidia *nvidia)
{
    const struct nvml *nvml = &nvidia->nvml;
    char *driver = nvidia->driver_version;
    int32_t cuda = 0;

    if (nvml->driver_version == NULL ||
        nvml->driver_version(driver, sizeof nvidia->driver_version) != NVML_OK)
        driver[0] = '\0';
    driver[sizeof nvidia->driver_version - 1] = '\0';
    if (nvml->cuda_version != NULL && nvml->cuda_version(&cuda) == NVML_OK && cuda > 0)
        snprintf(nvidia->cuda_version, sizeof nvidia->cuda_version, "%d.%d", cuda / 1000,
                 cuda % 1000 / 10);
}

/* The library knows the devices that were there when it was initialised. */
static int initialise_again(struct nvidia *nvidia)
{
    const struct nvml *nvml = &nvidia->nvml;

    if (!nvidia->was_found || nvml->shutdown == NULL)
        return 0;
    (void)nvml->shutdown();
    return nvml->init() == NVML_OK ? 0 : -ENODEV;
}

/* Of a device that is there, other than of a number that is none or of one we may not use. */
static bool is_fault(int result)
{
    return result == NVML_GPU_IS_LOST || result == NVML_RESET_REQUIRED ||
           result == NVML_INSUFFICIENT_POWER || result == NVML_IRQ_ISSUE || result == NVML_TIMEOUT;
}

/* Of a device that is broken no more than that is known. */
static bool add_whole(struct nvidia *nvidia, uint32_t index, struct gpu_table *table)
{
    nvml_device handle = NULL;
    char host_id[GPU_TEXT_MAX];

    int result = nvidia->nvml.handle(index, &handle);
    if (result != NVML_OK && !is_fault(result))
        return true;
    struct gpu_device *device = add_device(nvidia, handle, false, table);
    if (device == NULL)
        return false;
    if (result != NVML_OK) {
        nvidia->devices[nvidia->count - 1].has_no_handle = true;
        nvidia->is_incomplete = true;
        return true;
    }
    read_facts(nvidia, handle, device);
    memcpy(host_id, device->host_id, sizeof host_id);
    add_parts(nvidia, nvidia->count - 1, host_id, table);
    return true;
}

int nvidia_find(void *state, struct gpu_table *table)
{
    struct nvidia *nvidia = state;
    uint32_t count = 0;

    table->count = 0;
    nvidia->count = 0;
    nvidia->is_incomplete = false;
    nvidia->pci_digest = pci_digest(nvidia);
    if (initialise_again(nvidia) < 0 || nvidia->nvml.count(&count) != NVML_OK)
        return -ENODEV;
    nvidia->was_found = true;
    read_versions(nvidia);
    for (uint32_t i = 0; i < count && i < GPU_DEVICES_MAX; i++)
        if (!add_whole(nvidia, i, table))
            break;
    return 0;
}

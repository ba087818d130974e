/*
 * What blocks, so it is read on a thread of its own and only when asked for: energy takes 3 to 5
 * ms, PCIe throughput 20 ms a direction (the driver counts for that long).
 */
#include "base/clock.h"
#include "collect/gpu_nvidia.h"

#define BYTES_PER_KB 1000.0
#define BYTES_PER_KIB 1024.0
#define JOULES_PER_MILLIJOULE 1e-3

static double throughput(const struct nvml *nvml, nvml_device handle, int direction)
{
    uint32_t kb_per_sec = 0;

    if (nvml->pcie_throughput == NULL ||
        nvml->pcie_throughput(handle, direction, &kb_per_sec) != NVML_OK)
        return NAN;
    return kb_per_sec * BYTES_PER_KB;
}

static double energy(const struct nvml *nvml, nvml_device handle)
{
    uint64_t millijoules = 0;

    if (nvml->energy == NULL || nvml->energy(handle, &millijoules) != NVML_OK)
        return NAN;
    return (double)millijoules * JOULES_PER_MILLIJOULE;
}

/* Counters of data over all links; at the first reading there is nothing to compare with. */
static void read_links(const struct nvml *nvml, struct nvidia_device *source, uint64_t now_ns,
                       struct gpu_device *device)
{
    struct nvml_field fields_wanted[] = {
        {.id = NVML_FIELD_NVLINK_TX_KIB, .scope = NVML_ALL_LINKS},
        {.id = NVML_FIELD_NVLINK_RX_KIB, .scope = NVML_ALL_LINKS},
    };
    struct nvidia_links *links = &source->links;

    if (nvml->field_values == NULL ||
        nvml->field_values(source->handle, 2, fields_wanted) != NVML_OK ||
        fields_wanted[0].result != NVML_OK || fields_wanted[1].result != NVML_OK)
        return;
    if (links->read_ns != 0 && now_ns > links->read_ns) {
        uint64_t elapsed_ns = now_ns - links->read_ns;
        gpu_cell(device, FIELD_GPU_NVLINK_TX)->number =
            per_second(counter_growth(fields_wanted[0].value, links->tx_kib), elapsed_ns) *
            BYTES_PER_KIB;
        gpu_cell(device, FIELD_GPU_NVLINK_RX)->number =
            per_second(counter_growth(fields_wanted[1].value, links->rx_kib), elapsed_ns) *
            BYTES_PER_KIB;
    }
    *links = (struct nvidia_links){now_ns, fields_wanted[0].value, fields_wanted[1].value};
}

void nvidia_read_detail(void *state, size_t index, uint64_t now_ns, struct gpu_device *device)
{
    struct nvidia *nvidia = state;
    const struct nvml *nvml = &nvidia->nvml;
    struct nvidia_device *source = &nvidia->devices[index];

    if (source->is_part)
        return;
    gpu_cell(device, FIELD_GPU_ENERGY)->number = energy(nvml, source->handle);
    gpu_cell(device, FIELD_GPU_PCIE_TX)->number = throughput(nvml, source->handle, NVML_PCIE_TX);
    gpu_cell(device, FIELD_GPU_PCIE_RX)->number = throughput(nvml, source->handle, NVML_PCIE_RX);
    read_links(nvml, source, now_ns, device);
}

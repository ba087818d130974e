/*
 * What the parts of the NVIDIA backend share: gpu_nvidia.c (devices), gpu_nvidia_tree.c (the
 * tracked tree), gpu_nvidia_detail.c (what blocks, on its own thread).
 */
#ifndef COLLECT_GPU_NVIDIA_H
#define COLLECT_GPU_NVIDIA_H

#include "collect/gpu.h"
#include "collect/nvml.h"

/* Use of NVLink as last read; only the thread of gpu_nvidia_detail.c touches it. */
struct nvidia_links {
    uint64_t read_ns; /* 0: never */
    uint64_t tx_kib;
    uint64_t rx_kib;
};

struct nvidia_device {
    nvml_device handle;
    bool is_part;   /* a MIG instance of the last device before it that is none */
    bool has_parts; /* MIG is on: the driver tells no utilisation then */
    size_t part_count;
    bool has_no_handle;
    bool is_lost;     /* as of this reading */
    uint32_t refused; /* bits of enum nvidia_call: the device does not do that */
    uint64_t slow_ns; /* when the facts that hardly change were read; 0: never */
    double generation;
    double width;

    bool had_tree; /* a process of the tree was on it at the last reading */
    bool usage_is_known;
    double usage_pct;   /* of the tree */
    uint64_t usage_ns;  /* when it was asked for */
    uint64_t sample_us; /* time stamp of the newest sample seen */
    uint64_t sample_ns; /* when that was */

    struct nvidia_links links;
};

/* A process of the tree on one device. */
struct nvidia_holding {
    pid_t pid;
    uint64_t bytes; /* NVML_MEMORY_UNKNOWN: not told */
};

/* Whether the driver's PIDs are the tree's, where namespaces make that a question. */
enum nvidia_pids { PIDS_UNPROVEN, PIDS_OURS, PIDS_FOREIGN };

struct nvidia {
    const struct gpu_places *places;
    struct nvml nvml;
    int driver_fd;       /* /sys/bus/pci/drivers/nvidia, or -1 */
    uint64_t pci_digest; /* of the devices that were there when they were listed */
    bool is_incomplete;  /* some devices gave no handle */
    unsigned looks;      /* since the last try to get them */
    bool is_initialised;
    bool was_found;
    char driver_version[GPU_TEXT_MAX];
    char cuda_version[16];
    struct nvidia_device *devices;
    size_t count;
    size_t capacity;

    enum nvidia_pids pids;
    uint64_t strange_ns;  /* since when a PID is listed that nobody here has; 0: none is */
    size_t next_suspect;  /* member to be asked next whether it has a GPU open */
    bool has_hidden_user; /* a member has, but the driver does not list it */
    bool found_suspect;   /* in this round through the members */
    char *list;           /* of processes, as the library fills it */
    size_t list_capacity; /* in struct nvml_process */
    struct nvidia_holding *holdings;
    size_t holding_count;
    size_t holding_capacity;
    struct nvml_process_usage *usages;
    size_t usage_capacity;
};

int nvidia_find(void *state, struct gpu_table *table);
bool nvidia_has_changed(void *state);

/* Room for what the tree's part needs before the first growth; 0 or -ENOMEM. */
int nvidia_tree_open(struct nvidia *nvidia);
void nvidia_tree_close(struct nvidia *nvidia);
void nvidia_read_processes(void *state, const struct gpu_request *request, struct gpu_table *table);

void nvidia_read_detail(void *state, size_t index, uint64_t now_ns, struct gpu_device *device);

#endif

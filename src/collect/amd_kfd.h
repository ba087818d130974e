/*
 * AMD's compute driver (KFD), which ROCm uses. It knows the memory of a process on each GPU under
 * /sys/class/kfd/kfd/proc/PID, whoever's process it is, with PIDs as the first namespace counts.
 * Owned by one thread; nothing is kept open or allocated.
 */
#ifndef COLLECT_AMD_KFD_H
#define COLLECT_AMD_KFD_H

#include "collect/gpu.h"

#define KFD_PARTS_MAX 8        /* an MI300 can be divided into eight */
#define KFD_PROCESSES_MAX 1024 /* that use it at the same time */

/* The numbers that KFD has for a card: one, or one for each part. */
struct kfd_gpu {
    size_t count;
    uint64_t ids[KFD_PARTS_MAX];
};

void kfd_find_gpu(int sys_fd, const char *pci_address, struct kfd_gpu *ret_gpu);

/* The members of the tree that use KFD at all. */
struct kfd_processes {
    size_t count;
    pid_t pids[KFD_PROCESSES_MAX];
};

/* 0, or a negative errno when it cannot be told: -ENOENT without KFD or on older kernels. */
int kfd_find_processes(int sys_fd, const struct gpu_request *request,
                       struct kfd_processes *ret_processes);

/* Bytes on a card; 0 when the process has left, COUNTER_UNKNOWN when they cannot be read. */
uint64_t kfd_vram_of(int sys_fd, const struct kfd_gpu *gpu, pid_t pid);

#endif

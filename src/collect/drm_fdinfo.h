/*
 * What /proc/PID/fdinfo/N says of a DRM device's file: whose client it is and what that client has
 * used. The format is the kernel's "DRM client usage stats"; drivers fill in parts of it:
 *
 *   amdgpu  drm-engine-gfx: 123 ns, only of engines that were used; drm-memory-vram and, in newer
 *           kernels, drm-resident-vram
 *   i915    drm-engine-render: 123 ns; drm-resident-local0 on cards with memory of their own
 *   xe      drm-cycles-rcs and drm-total-cycles-rcs, both in ticks of the GPU's own clock, and only
 *           while the device is awake; drm-resident-vram0
 *
 * The parser is pure and takes any bytes.
 */
#ifndef COLLECT_DRM_FDINFO_H
#define COLLECT_DRM_FDINFO_H

#include "collect/drm_card.h"

#define DRM_ENGINES_MAX 16      /* classes; drivers have up to ten. What is beyond is passed over */
#define DRM_ENGINE_NAME_SIZE 24 /* longer ones are not a driver's and are passed over */

struct drm_engine {
    char name[DRM_ENGINE_NAME_SIZE];
    uint64_t busy; /* in ns, or in cycles where there are total cycles */
    bool has_busy;
    uint64_t total_cycles; /* what busy is a part of; any start */
    bool has_total_cycles;
    uint64_t capacity; /* engines in the class; at least 1 */
};

struct drm_fdinfo {
    char pci_address[DRM_PCI_SIZE];
    uint64_t client_id;  /* never used again by the same device */
    uint64_t vram_bytes; /* COUNTER_UNKNOWN when nothing is said of memory */
    size_t engine_count;
    struct drm_engine engines[DRM_ENGINES_MAX];
};

/* False when it is not a DRM file's, or names no PCI device or no client. */
bool drm_fdinfo_parse(struct scan text, struct drm_fdinfo *ret_info);

#endif

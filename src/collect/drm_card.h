/*
 * Graphics cards as /sys/class/drm shows them, for the drivers whose figures are sysfs attributes.
 *
 * Attributes are opened once and read with pread. Opening one never wakes a sleeping device,
 * reading one may, so callers ask drm_card_is_suspended() first. A driver answers some attributes
 * with an error for a while (EBUSY, EPERM during a reset): the figure is then unavailable, and read
 * again the next time.
 *
 * Everything is owned by the caller. After opening, what takes a const card may run on two threads.
 */
#ifndef COLLECT_DRM_CARD_H
#define COLLECT_DRM_CARD_H

#include "base/scan.h"
#include "collect/gpu.h"

#define DRM_NAME_SIZE 16 /* "card0", "renderD128", "amdgpu" */
#define DRM_PCI_SIZE 20  /* "0000:03:00.0"; behind a volume controller the domain has 5 digits */
#define DRM_CARDS_MAX GPU_DEVICES_MAX

struct drm_pci {
    uint32_t domain;
    uint32_t bus;
    uint32_t slot;
    uint32_t function;
};

/* "0000:03:00.0" and nothing else; false leaves the result alone. */
bool drm_pci_parse(struct scan text, struct drm_pci *ret_pci);

struct drm_card_id {
    char node[DRM_NAME_SIZE]; /* "card0" */
    char driver[DRM_NAME_SIZE];
    char pci_address[DRM_PCI_SIZE];
};

struct drm_card_list {
    size_t count;
    struct drm_card_id ids[DRM_CARDS_MAX];
};

/* The cards of these drivers (ends with NULL), in the order of their PCI addresses. */
void drm_cards_list(int sys_fd, const char *const *drivers, struct drm_card_list *ret_list);
bool drm_cards_are_same(const struct drm_card_list *one, const struct drm_card_list *other);

/* The PCIe link as last read: looking needs the device's configuration space. */
struct drm_link {
    bool was_read;
    uint64_t read_ns;
    double generation;
    double width;
};

struct drm_card {
    struct drm_card_id id;
    char render_node[DRM_NAME_SIZE]; /* "renderD128"; "" when it has none */
    char pci_id[DRM_NAME_SIZE];      /* "1002:744c"; "" when unknown */
    int card_fd;
    int device_fd;
    int hwmon_fd;   /* -1 when it has none */
    int link_fd;    /* the PCI device whose link is that of the card */
    int runtime_fd; /* power/runtime_status */
    struct drm_link link;
};

/* 0 or a negative errno; on failure there is nothing to close. */
int drm_card_open(struct drm_card *card, int sys_fd, const struct drm_card_id *id);
void drm_card_close(struct drm_card *card);

/* Whether it was taken out, or its driver was unloaded, since it was opened. */
bool drm_card_is_gone(const struct drm_card *card);
bool drm_card_is_suspended(const struct drm_card *card);

/* Sets the PCIe figures; looks at most every 10 s. */
void drm_card_read_link(struct drm_card *card, uint64_t now_ns, struct gpu_device *device);

/* --- attributes --- */

/* A descriptor, or -1. */
int drm_attr_open(int dir_fd, const char *path);

/* The text without what follows its last line's end; its length or a negative errno. */
ssize_t drm_attr_read_text(int fd, char *out, size_t size);

/* One unsigned number and nothing else. */
int drm_attr_read_u64(int fd, uint64_t *ret_value);

#endif

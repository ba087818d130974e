/*
 * The cards of one vendor, found by their drivers and kept open: what the AMD and Intel backends do
 * alike. A backend's state begins with its fleet, so drm_fleet_find, drm_fleet_has_changed,
 * drm_fleet_read and drm_fleet_close serve as those of the backend.
 */
#ifndef COLLECT_DRM_FLEET_H
#define COLLECT_DRM_FLEET_H

#include "collect/drm_card.h"
#include "collect/drm_clients.h"

struct drm_vendor {
    size_t state_size;          /* of a struct that begins with a struct drm_fleet */
    const char *const *drivers; /* ends with NULL */
    size_t card_size;           /* of a struct that begins with a struct drm_card */
    /* 0 or a negative errno; on failure there is nothing to close. */
    int (*open_card)(void *card, int sys_fd, const struct drm_card_id *id);
    void (*close_card)(void *card);
    void (*describe)(const struct gpu_places *places, const struct drm_card *card,
                     struct gpu_device *device);
    /* Reading a file of one that sleeps would wake it. */
    void (*read_asleep)(void *card, struct gpu_device *device);
    void (*read_awake)(void *card, uint64_t now_ns, struct gpu_device *device);
};

struct drm_fleet {
    const struct drm_vendor *vendor;
    struct gpu_places places;
    struct drm_card_list list; /* as drm_fleet_find left it */
    char *cards;
    size_t count;
    size_t capacity;
    struct drm_clients clients;
};

/* Makes a backend's state. -ENODEV when there is no card. */
int drm_fleet_open(const struct drm_vendor *vendor, const struct gpu_places *places,
                   void **ret_state);
void drm_fleet_close(void *fleet);

int drm_fleet_find(void *fleet, struct gpu_table *table);
bool drm_fleet_has_changed(void *fleet);
int drm_fleet_read(void *fleet, size_t index, uint64_t now_ns, struct gpu_device *device);

/* The vendor's struct of a card. */
static inline void *drm_fleet_card(const struct drm_fleet *fleet, size_t index)
{
    return fleet->cards + index * fleet->vendor->card_size;
}

#endif

/*
 * Figures of a card that are one attribute each: a backend has a const table of them and keeps the
 * descriptors. What cannot be read is unavailable.
 */
#ifndef COLLECT_DRM_GAUGE_H
#define COLLECT_DRM_GAUGE_H

#include "collect/drm_card.h"

#define DRM_GAUGE_NAMES 3
#define DRM_CELSIUS_MAX 1000
#define DRM_WATTS_MAX 100000
#define DRM_MHZ_MAX 100000

enum drm_folder { DRM_IN_CARD, DRM_IN_DEVICE, DRM_IN_HWMON };

struct drm_gauge {
    enum field_id field;
    enum drm_folder folder;
    double scale; /* to the unit of the field */
    double max;   /* in that unit; what is beyond is not believed */
    /* The first that can be read counts; the rest are NULL. */
    const char *names[DRM_GAUGE_NAMES];
};

struct drm_gauge_fds {
    int fds[DRM_GAUGE_NAMES];
};

void drm_gauges_open(const struct drm_card *card, const struct drm_gauge *gauges, size_t count,
                     struct drm_gauge_fds *ret_fds);
void drm_gauges_close(struct drm_gauge_fds *fds, size_t count);
void drm_gauges_read(const struct drm_gauge *gauges, const struct drm_gauge_fds *fds, size_t count,
                     struct gpu_device *device);

/* Makes the same figures unavailable. */
void drm_gauges_clear(const struct drm_gauge *gauges, size_t count, struct gpu_device *device);

#endif

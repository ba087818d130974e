#include "collect/drm_gauge.h"

#include "base/cleanup.h"

static int folder_of(const struct drm_card *card, enum drm_folder folder)
{
    switch (folder) {
    case DRM_IN_CARD:
        return card->card_fd;
    case DRM_IN_DEVICE:
        return card->device_fd;
    case DRM_IN_HWMON:
        return card->hwmon_fd;
    }
    return -1;
}

void drm_gauges_open(const struct drm_card *card, const struct drm_gauge *gauges, size_t count,
                     struct drm_gauge_fds *ret_fds)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < DRM_GAUGE_NAMES; j++) {
            const char *name = gauges[i].names[j];
            int folder_fd = folder_of(card, gauges[i].folder);
            ret_fds[i].fds[j] =
                name != NULL && folder_fd >= 0 ? drm_attr_open(folder_fd, name) : -1;
        }
}

void drm_gauges_close(struct drm_gauge_fds *fds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < DRM_GAUGE_NAMES; j++)
            close_fd(&fds[i].fds[j]);
}

static double read_gauge(const struct drm_gauge *gauge, const struct drm_gauge_fds *fds)
{
    uint64_t raw;

    for (size_t i = 0; i < DRM_GAUGE_NAMES; i++)
        if (drm_attr_read_u64(fds->fds[i], &raw) == 0 && (double)raw * gauge->scale <= gauge->max)
            return (double)raw * gauge->scale;
    return NAN;
}

void drm_gauges_read(const struct drm_gauge *gauges, const struct drm_gauge_fds *fds, size_t count,
                     struct gpu_device *device)
{
    for (size_t i = 0; i < count; i++)
        gpu_cell(device, gauges[i].field)->number = read_gauge(&gauges[i], &fds[i]);
}

void drm_gauges_clear(const struct drm_gauge *gauges, size_t count, struct gpu_device *device)
{
    for (size_t i = 0; i < count; i++)
        gpu_cell(device, gauges[i].field)->number = NAN;
}

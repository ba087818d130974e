#include "collect/intel_throttle.h"

#include "base/cleanup.h"
#include "base/dir.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first unit of the GPU stands for all: they share the limits on power and heat. */
#define I915_FOLDER "gt/gt0"
#define XE_FOLDER "tile0/gt0/freq0/throttle"

struct reason_search {
    int folder_fd;
    const char *prefix;
    struct intel_throttle *throttle;
};

static bool visit_reason(void *context, const struct dirent64 *entry)
{
    struct reason_search *search = context;
    struct intel_throttle *throttle = search->throttle;
    size_t prefix = strlen(search->prefix);
    size_t length = strlen(entry->d_name);

    if (strncmp(entry->d_name, search->prefix, prefix) != 0 || length == prefix ||
        length - prefix >= INTEL_REASON_SIZE || strcmp(entry->d_name + prefix, "status") == 0)
        return true;
    int fd = drm_attr_open(search->folder_fd, entry->d_name);
    if (fd < 0)
        return true;
    struct intel_reason *reason = &throttle->reasons[throttle->count++];
    memcpy(reason->name, entry->d_name + prefix, length - prefix + 1);
    reason->fd = fd;
    return throttle->count < INTEL_REASONS_MAX;
}

static int compare_reasons(const void *one, const void *other)
{
    const struct intel_reason *left = one;
    const struct intel_reason *right = other;

    return strcmp(left->name, right->name);
}

void intel_throttle_open(struct intel_throttle *throttle, const struct drm_card *card)
{
    bool is_xe = strcmp(card->id.driver, "xe") == 0;
    cleanup_fd int fd = openat(is_xe ? card->device_fd : card->card_fd,
                               is_xe ? XE_FOLDER : I915_FOLDER, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct reason_search search = {
        .folder_fd = fd,
        .prefix = is_xe ? "reason_" : "throttle_reason_",
        .throttle = throttle,
    };

    *throttle = (struct intel_throttle){.status_fd = -1};
    if (fd < 0)
        return;
    throttle->status_fd = drm_attr_open(fd, is_xe ? "status" : "throttle_reason_status");
    (void)dir_each(fd, visit_reason, &search);
    qsort(throttle->reasons, throttle->count, sizeof throttle->reasons[0], compare_reasons);
}

void intel_throttle_close(struct intel_throttle *throttle)
{
    close_fd(&throttle->status_fd);
    for (size_t i = 0; i < throttle->count; i++)
        close_fd(&throttle->reasons[i].fd);
    throttle->count = 0;
}

/* Adds a name behind a comma; one that does not fit is left out. */
static void add_name(char *text, size_t size, const char *name)
{
    size_t used = strlen(text);

    if (used + 1 + strlen(name) < size)
        snprintf(text + used, size - used, "%s%s", used > 0 ? "," : "", name);
}

void intel_throttle_read(const struct intel_throttle *throttle, struct gpu_device *device)
{
    char text[sizeof device->throttle] = "";
    uint64_t status;
    uint64_t holds;

    if (drm_attr_read_u64(throttle->status_fd, &status) < 0) {
        gpu_set_throttle(device, "");
        return;
    }
    for (size_t i = 0; i < throttle->count && status != 0; i++)
        if (drm_attr_read_u64(throttle->reasons[i].fd, &holds) == 0 && holds != 0)
            add_name(text, sizeof text, throttle->reasons[i].name);
    if (text[0] == '\0')
        add_name(text, sizeof text, status == 0 ? "none" : "other");
    gpu_set_throttle(device, text);
}

/*
 * What holds the clock of an Intel GPU down: a file that says whether anything does, and one for
 * each reason there may be. Owned by the caller, one thread.
 */
#ifndef COLLECT_INTEL_THROTTLE_H
#define COLLECT_INTEL_THROTTLE_H

#include "collect/drm_card.h"

#define INTEL_REASONS_MAX 24
#define INTEL_REASON_SIZE 24

struct intel_reason {
    char name[INTEL_REASON_SIZE]; /* "pl1", "thermal" */
    int fd;
};

struct intel_throttle {
    int status_fd;
    size_t count;
    struct intel_reason reasons[INTEL_REASONS_MAX];
};

/* Looks in the places of both drivers; without any there is nothing to read. */
void intel_throttle_open(struct intel_throttle *throttle, const struct drm_card *card);
void intel_throttle_close(struct intel_throttle *throttle);
void intel_throttle_read(const struct intel_throttle *throttle, struct gpu_device *device);

#endif

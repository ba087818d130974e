/*
 * The devices and cores of a digest. Used by digest.c only.
 */
#ifndef MODEL_DIGEST_DEVICES_H
#define MODEL_DIGEST_DEVICES_H

#include "model/digest.h"

/* The devices of a sample, and its cores. The axis has counted it already. */
void digest_add_devices(struct digest *digest, const struct sample *sample,
                        const struct moment *moment);
void digest_add_cores(struct digest *digest, const struct sample *sample,
                      const struct moment *moment);

/* What the axis does, the charts of devices and cores do too. */
void digest_open_device_points(struct digest *digest);
void digest_merge_devices(struct digest *digest);
void digest_rescale_devices(struct digest *digest, double factor);

void digest_free_devices(struct digest *digest);

#endif

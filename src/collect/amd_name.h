/*
 * What a card of AMD's is called: by libdrm_amdgpu, which has a list of the models and is loaded
 * for this question only; else by the card's own memory, which few have filled in; else by its
 * number.
 */
#ifndef COLLECT_AMD_NAME_H
#define COLLECT_AMD_NAME_H

#include "collect/drm_card.h"

void amd_set_name(const struct gpu_places *places, const struct drm_card *card,
                  struct gpu_device *device);

#endif

/*
 * What is known of the machine a run was on. Found once; plain data.
 */
#ifndef MODEL_HOST_H
#define MODEL_HOST_H

#include "model/sample.h"

#define HOST_TEXT_MAX 96

struct host_gpu {
    char model[HOST_TEXT_MAX]; /* of the first; "" when there is none or it has no name */
    size_t count;              /* whole devices */
    double vram_mib;           /* of all together; NaN when one does not tell */
};

/* From the GPU list of a sample; NULL is a host without. */
void host_gpu_describe(struct host_gpu *gpu, const struct rows *list);

#endif

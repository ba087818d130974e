#include "model/host.h"

#include <stdio.h>
#include <string.h>

#define BYTES_PER_MIB (1024.0 * 1024.0)

/* An instance of a device is no device of its own. */
static bool is_whole(const struct rows *list, size_t row)
{
    const char *type = rows_cell(list, row, FIELD_GPU_TYPE)->text;

    return type == NULL || strcmp(type, "MIG") != 0;
}

void host_gpu_describe(struct host_gpu *gpu, const struct rows *list)
{
    *gpu = (struct host_gpu){0};
    for (size_t row = 0; list != NULL && row < list->count; row++) {
        if (!is_whole(list, row))
            continue;
        const char *name = rows_cell(list, row, FIELD_GPU_NAME)->text;
        uint64_t bytes = rows_cell(list, row, FIELD_GPU_VRAM_TOTAL)->counter;
        if (gpu->count == 0 && name != NULL)
            snprintf(gpu->model, sizeof gpu->model, "%s", name);
        gpu->count++;
        gpu->vram_mib += bytes != COUNTER_UNKNOWN ? (double)bytes / BYTES_PER_MIB : NAN;
    }
}

/*
 * Stands in for libdrm_amdgpu: knows the name of every device whose node it is given. What a test
 * writes into the node is the name; of an empty node nothing is known, as of a model that is newer
 * than the library, and a node that says "broken" is no GPU at all.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct amdgpu_device {
    char name[256];
};

int amdgpu_device_initialize(int fd, uint32_t *major, uint32_t *minor,
                             struct amdgpu_device **handle);
const char *amdgpu_get_marketing_name(struct amdgpu_device *device);
int amdgpu_device_deinitialize(struct amdgpu_device *device);

int amdgpu_device_initialize(int fd, uint32_t *major, uint32_t *minor,
                             struct amdgpu_device **handle)
{
    struct amdgpu_device *device = calloc(1, sizeof *device);

    if (device == NULL || pread(fd, device->name, sizeof device->name - 1, 0) < 0 ||
        strcmp(device->name, "broken") == 0) {
        free(device);
        return -1;
    }
    *major = 3;
    *minor = 57;
    *handle = device;
    return 0;
}

const char *amdgpu_get_marketing_name(struct amdgpu_device *device)
{
    return device->name[0] != '\0' ? device->name : NULL;
}

/* The name goes with the device: who keeps the pointer sees this. */
int amdgpu_device_deinitialize(struct amdgpu_device *device)
{
    memset(device, '!', sizeof *device);
    free(device);
    return 0;
}

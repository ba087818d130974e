#include "collect/amd_name.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/lib.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>

/* libdrm_amdgpu, declared from its documentation; the handle is its own. */
struct drm_amdgpu {
    int (*initialize)(int fd, uint32_t *ret_major, uint32_t *ret_minor, void **ret_handle);
    const char *(*marketing_name)(void *handle);
    int (*deinitialize)(void *handle);
};

static const struct lib_symbol drm_amdgpu_symbols[] = {
    {"amdgpu_device_initialize", offsetof(struct drm_amdgpu, initialize)},
    {"amdgpu_get_marketing_name", offsetof(struct drm_amdgpu, marketing_name)},
    {"amdgpu_device_deinitialize", offsetof(struct drm_amdgpu, deinitialize)},
};

/* Where AMD's own packages put the library. */
static const char *const drm_amdgpu_folders[] = {
    "/opt/amdgpu/lib/x86_64-linux-gnu",
    "/opt/amdgpu/lib64",
    NULL,
};

/* Where the library has its list of names. Without one it says so on our standard error. */
static const char *const name_lists[] = {
    "/usr/share/libdrm/amdgpu.ids",
    "/opt/amdgpu/share/libdrm/amdgpu.ids",
};

static bool has_name_list(void)
{
    for (size_t i = 0; i < sizeof name_lists / sizeof name_lists[0]; i++)
        if (access(name_lists[i], F_OK) == 0)
            return true;
    return false;
}

static bool ask_library(const struct drm_amdgpu *api, int fd, struct gpu_device *device)
{
    uint32_t major;
    uint32_t minor;
    void *handle;

    if (api->initialize == NULL || api->marketing_name == NULL || api->deinitialize == NULL ||
        api->initialize(fd, &major, &minor, &handle) != 0)
        return false;
    const char *name = api->marketing_name(handle);
    bool has_name = name != NULL && name[0] != '\0';
    if (has_name)
        gpu_set_name(device, name);
    (void)api->deinitialize(handle);
    return has_name;
}

/* Opening the node wakes the device, so a sleeping one goes without. */
static bool name_from_library(const struct gpu_places *places, const struct drm_card *card,
                              struct gpu_device *device)
{
    char path[LIB_PATH_MAX];
    char problem[LIB_PROBLEM_MAX];
    struct drm_amdgpu api;
    void *lib;

    if (card->render_node[0] == '\0' || drm_card_is_suspended(card) ||
        (places->drm_amdgpu == NULL && !has_name_list()))
        return false;
    int length = snprintf(path, sizeof path, "%s/dri/%s", places->root->dev, card->render_node);
    if (length < 0 || (size_t)length >= sizeof path)
        return false;
    cleanup_fd int fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return false;
    const char *name = places->drm_amdgpu != NULL ? places->drm_amdgpu : "libdrm_amdgpu.so.1";
    if (lib_open(name, drm_amdgpu_folders, &lib, problem) < 0)
        return false;
    lib_load(lib, drm_amdgpu_symbols, sizeof drm_amdgpu_symbols / sizeof drm_amdgpu_symbols[0],
             &api);
    bool has_name = ask_library(&api, fd, device);
    lib_close(lib);
    return has_name;
}

void amd_set_name(const struct gpu_places *places, const struct drm_card *card,
                  struct gpu_device *device)
{
    char name[GPU_TEXT_MAX];

    if (name_from_library(places, card, device))
        return;
    if (file_read_text(card->device_fd, "product_name", name, sizeof name) <= 0)
        snprintf(name, sizeof name, "AMD GPU%s%s", card->pci_id[0] != '\0' ? " " : "",
                 card->pci_id);
    gpu_set_name(device, name);
}

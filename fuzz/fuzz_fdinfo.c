/*
 * What a DRM file says of its client, at two moments separated by a form feed. Alone, with nothing
 * behind its end; then as the one descriptor of a tree that is read at both, and at the first
 * again, where every counter has gone backwards.
 */
#include "support.h"

#include "base/clock.h"
#include "collect/drm_clients.h"

static const char *const folders[] = {"proc", "proc/7", "proc/7/fd", "proc/7/fdinfo", NULL};

static const struct drm_card card = {
    .id = {.node = "card0", .pci_address = "0000:03:00.0"},
    .render_node = "renderD128",
};

static void check_engines(const struct drm_fdinfo *info)
{
    FUZZ_CHECK(info->engine_count <= DRM_ENGINES_MAX);
    for (size_t i = 0; i < info->engine_count; i++) {
        const struct drm_engine *engine = &info->engines[i];
        FUZZ_CHECK(strnlen(engine->name, sizeof engine->name) < sizeof engine->name);
        FUZZ_CHECK(engine->name[0] != '\0' && engine->capacity > 0);
        for (size_t j = 0; j < i; j++)
            FUZZ_CHECK(strcmp(engine->name, info->engines[j].name) != 0);
    }
}

static void check_parser(struct fuzz_part part)
{
    struct drm_fdinfo info = {.client_id = 77, .engine_count = 77};
    struct drm_pci pci;
    char *exact = malloc(part.size > 0 ? part.size : 1);

    FUZZ_CHECK(exact != NULL);
    if (part.size > 0)
        memcpy(exact, part.data, part.size);
    bool fine = drm_fdinfo_parse(scan_over(exact, part.size), &info);
    free(exact);
    if (!fine) {
        FUZZ_CHECK(info.client_id == 77 && info.engine_count == 77);
        return;
    }
    FUZZ_CHECK(strnlen(info.pci_address, sizeof info.pci_address) < sizeof info.pci_address);
    FUZZ_CHECK(drm_pci_parse(scan_over(info.pci_address, strlen(info.pci_address)), &pci));
    check_engines(&info);
}

static void check_use(const struct drm_clients *clients)
{
    struct drm_use use = drm_clients_use(clients, &card);

    FUZZ_CHECK(isnan(use.utilization_pct) ||
               (use.utilization_pct >= 0 && use.utilization_pct <= 100));
    FUZZ_CHECK(drm_clients_vram_of(clients, &card, 7) == use.vram_bytes ||
               use.vram_bytes == COUNTER_UNKNOWN);
}

static void check_tree(const struct fuzz_part *moments)
{
    const struct sysroot *root = fuzz_root(folders);
    static const pid_t pid = 7;
    struct drm_clients clients;
    struct gpu_request request = {.now_ns = NS_PER_SEC, .pids = &pid, .pid_count = 1};

    (void)symlinkat("/dev/dri/renderD128", root->proc_fd, "7/fd/3");
    drm_clients_init(&clients, root->proc_fd);
    for (size_t reading = 0; reading < 3; reading++) {
        fuzz_write(root, "7/fdinfo/3", moments[reading % 2]);
        drm_clients_read(&clients, &request);
        check_use(&clients);
        request.now_ns += NS_PER_SEC;
    }
    drm_clients_close(&clients);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_part rest = {(const char *)data, size};
    struct fuzz_part moments[2];

    for (size_t i = 0; i < 2; i++) {
        moments[i] = fuzz_next_part(&rest);
        check_parser(moments[i]);
    }
    check_tree(moments);
    return 0;
}

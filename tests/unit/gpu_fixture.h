/*
 * A GPU backend over a host of support.h: called directly, at times that the test chooses, without
 * the thread. One at a time. Tests are listed with GPU_TEST(), which closes it even after a
 * failure.
 */
#ifndef TESTS_UNIT_GPU_FIXTURE_H
#define TESTS_UNIT_GPU_FIXTURE_H

#include "support.h"

#include "collect/gpu.h"

#include <string.h>

#define GPU_TEST(function) cmocka_unit_test_teardown(function, gpu_teardown)

static struct {
    const struct gpu_backend *backend;
    struct gpu_places places;
    void *state;
    struct gpu_table table;
    uint64_t now_ns;
} gpu;

static inline int gpu_teardown(void **state)
{
    if (gpu.state != NULL)
        gpu.backend->close(gpu.state);
    gpu_table_free(&gpu.table);
    memset(&gpu, 0, sizeof gpu);
    return support_teardown(state);
}

/* Over the host that is open. `gpu.places` may have been filled in before. */
static inline int gpu_open(const struct gpu_backend *backend)
{
    char remark[GPU_REMARK_MAX];

    gpu.backend = backend;
    gpu.places.root = support_root();
    gpu.places.tree_fd = support_root()->proc_fd;
    gpu.now_ns = 1000 * SECOND;
    return backend->open(&gpu.places, &gpu.state, remark);
}

static inline void gpu_find(void)
{
    assert_int_equal(gpu.backend->find(gpu.state, &gpu.table), 0);
}

static inline void gpu_start(const struct gpu_backend *backend)
{
    assert_int_equal(gpu_open(backend), 0);
    gpu_find();
}

static inline struct gpu_device *gpu_named(const char *uuid)
{
    for (size_t i = 0; i < gpu.table.count; i++)
        if (strcmp(gpu.table.devices[i].uuid, uuid) == 0)
            return &gpu.table.devices[i];
    fail_msg("no GPU at %s", uuid);
    return NULL;
}

static inline double gpu_number(const char *uuid, enum field_id field)
{
    assert_int_equal(fields[field].type, TYPE_NUMBER);
    return gpu_cell(gpu_named(uuid), field)->number;
}

static inline uint64_t gpu_counter(const char *uuid, enum field_id field)
{
    assert_int_equal(fields[field].type, TYPE_COUNTER);
    return gpu_cell(gpu_named(uuid), field)->counter;
}

static inline const char *gpu_detail(const char *uuid, const char *name)
{
    const struct gpu_device *device = gpu_named(uuid);

    for (size_t i = 0; i < device->detail.count; i++)
        if (strcmp(device->detail.pairs[i].name, name) == 0)
            return device->detail_text[i];
    return NULL;
}

/* What must hold of any device, whatever the files say. */
static inline void gpu_check(struct gpu_device *device)
{
    uint64_t total = gpu_cell(device, FIELD_GPU_VRAM_TOTAL)->counter;
    uint64_t used = gpu_cell(device, FIELD_GPU_VRAM_USED)->counter;

    for (size_t i = 0; i < GPU_FIELD_COUNT; i++) {
        const struct field *field = &fields[(size_t)FIELD_GPU_FIRST + i];
        double number = device->cells[i].number;
        if (field->type != TYPE_NUMBER || isnan(number))
            continue;
        assert_true(isfinite(number) && number >= 0);
        assert_true(strcmp(field->unit, "%") != 0 || number <= 100);
    }
    assert_true(used == COUNTER_UNKNOWN || used <= total);
    if (total == 0)
        assert_number(gpu_cell(device, FIELD_GPU_VRAM_USED_PCT)->number, 0);
}

/* A reading of every device. */
static inline void gpu_read_after(uint64_t elapsed_ns)
{
    gpu.now_ns += elapsed_ns;
    for (size_t i = 0; i < gpu.table.count; i++) {
        assert_int_equal(gpu.backend->read(gpu.state, i, gpu.now_ns, &gpu.table.devices[i]), 0);
        gpu_check(&gpu.table.devices[i]);
    }
}

/* What a tree has, as of the last reading's time. */
static inline void gpu_read_tree(const pid_t *pids, size_t count)
{
    struct gpu_request request = {.now_ns = gpu.now_ns, .pids = pids, .pid_count = count};

    gpu.backend->read_processes(gpu.state, &request, &gpu.table);
    for (size_t i = 0; i < gpu.table.count; i++)
        gpu_check(&gpu.table.devices[i]);
}

#define GPU_READ_TREE(...)                                                                         \
    gpu_read_tree((const pid_t[]){__VA_ARGS__},                                                    \
                  sizeof((const pid_t[]){__VA_ARGS__}) / sizeof(pid_t))

#endif

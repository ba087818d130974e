/*
 * The NVIDIA backend over the fake library (tests/fakes/nvml.c), driven as the worker thread does
 * it, but in this one: facts are found once, and every reading begins with a copy of them.
 */
#ifndef TESTS_UNIT_FAKE_NVML_H
#define TESTS_UNIT_FAKE_NVML_H

#include <dlfcn.h>

#include "collect/gpu.h"
#include "scratch.h"
#include "support.h"

#define FAKE_NVML "build/fakes/nvml.so"
#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

#define GPU_TEST(function)                                                                         \
    cmocka_unit_test_setup_teardown(function, fake_nvml_setup, fake_nvml_teardown)

static struct {
    struct scratch dir;
    struct gpu_places places;
    void *state;
    struct gpu_table found;
    struct gpu_table now;
    int result[GPU_DEVICES_MAX]; /* of the last reading */
    uint64_t now_ns;
    char remark[GPU_REMARK_MAX];
} gpu;

/* What the library is to say from now on; see tests/fakes. */
__attribute__((format(printf, 1, 2))) static inline void say(const char *format, ...)
{
    static char text[1 << 20];
    va_list arguments;

    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    assert_in_range(length, 0, sizeof text - 1);
    scratch_write(&gpu.dir, "script", text, (size_t)length);
}

static inline int fake_nvml_setup(void **state)
{
    (void)state;
    memset(&gpu, 0, sizeof gpu);
    support_open_empty();
    scratch_make(&gpu.dir);
    gpu.places = (struct gpu_places){
        .root = support_root(),
        .nvml = FAKE_NVML,
        .tree_fd = support_root()->proc_fd,
        .pids_are_global = true,
    };
    gpu.now_ns = 1000 * SECOND;
    say("%s", "");
    assert_int_equal(setenv("FAKE_NVML", scratch_path(&gpu.dir, "script").text, 1), 0);
    return 0;
}

/* The backend leaves the library loaded; the next test wants one that knows nothing yet. */
static inline void unload(void)
{
    void *lib = dlopen(gpu.places.nvml, RTLD_NOW | RTLD_NOLOAD);

    if (lib != NULL) {
        dlclose(lib);
        dlclose(lib);
    }
    assert_null(dlopen(gpu.places.nvml, RTLD_NOW | RTLD_NOLOAD));
}

static inline void close_gpus(void)
{
    if (gpu.state != NULL)
        gpu_nvidia.close(gpu.state);
    gpu.state = NULL;
    unload();
    gpu_table_free(&gpu.found);
    gpu_table_free(&gpu.now);
}

static inline int fake_nvml_teardown(void **state)
{
    close_gpus();
    scratch_remove(&gpu.dir);
    return support_teardown(state);
}

static inline int open_gpus(void)
{
    return gpu_nvidia.open(&gpu.places, &gpu.state, gpu.remark);
}

static inline void find_gpus(void)
{
    assert_int_equal(gpu_nvidia.find(gpu.state, &gpu.found), 0);
}

static inline void start_gpus(void)
{
    assert_int_equal(open_gpus(), 0);
    find_gpus();
}

/* A reading of every device a second after the last one; of one that is gone only facts stay. */
static inline void read_gpus(void)
{
    gpu.now_ns += SECOND;
    assert_int_equal(gpu_table_copy(&gpu.now, &gpu.found), 0);
    for (size_t i = 0; i < gpu.now.count; i++) {
        gpu.result[i] = gpu_nvidia.read(gpu.state, i, gpu.now_ns, &gpu.now.devices[i]);
        if (gpu.result[i] < 0)
            gpu_device_copy(&gpu.now.devices[i], &gpu.found.devices[i]);
    }
}

static inline void read_detail(void)
{
    for (size_t i = 0; i < gpu.now.count; i++)
        gpu_nvidia.read_detail(gpu.state, i, gpu.now_ns, &gpu.now.devices[i]);
}

/* The same, and what a tree of these processes has of them. The list ends with 0. */
#define read_tree(...) read_tree_of((const pid_t[]){__VA_ARGS__, 0})
static inline void read_tree_of(const pid_t *pids)
{
    size_t count = 0;

    while (pids[count] != 0)
        count++;
    read_gpus();
    gpu_nvidia.read_processes(
        gpu.state, &(struct gpu_request){.now_ns = gpu.now_ns, .pids = pids, .pid_count = count},
        &gpu.now);
}

/* --- what was read --- */

static inline const union cell *cell_of(size_t index, enum field_id field)
{
    assert_true(index < gpu.now.count);
    return gpu_cell(&gpu.now.devices[index], field);
}

static inline double number(size_t index, enum field_id field)
{
    return cell_of(index, field)->number;
}

static inline uint64_t counter(size_t index, enum field_id field)
{
    return cell_of(index, field)->counter;
}

static inline const char *text(size_t index, enum field_id field)
{
    return cell_of(index, field)->text;
}

static inline bool is_known(size_t index, enum field_id field)
{
    switch (fields[field].type) {
    case TYPE_TEXT:
        return text(index, field) != NULL;
    case TYPE_COUNTER:
        return counter(index, field) != COUNTER_UNKNOWN;
    default:
        return !isnan(number(index, field));
    }
}

static inline void assert_unknown(size_t index, enum field_id field)
{
    if (is_known(index, field))
        fail_msg("%s of device %zu is known", fields[field].key, index);
}

static inline void assert_same(size_t index, enum field_id field, union cell wanted)
{
    switch (fields[field].type) {
    case TYPE_TEXT:
        assert_string_equal(text(index, field), wanted.text);
        break;
    case TYPE_COUNTER:
        assert_int_equal(counter(index, field), wanted.counter);
        break;
    default:
        assert_number(number(index, field), wanted.number);
    }
}

/* A value of the detail map; NULL when it is not there. */
static inline const char *detail(size_t index, const char *name)
{
    const struct text_map *map = cell_of(index, FIELD_GPU_DETAIL)->map;

    for (size_t i = 0; i < map->count; i++)
        if (strcmp(map->pairs[i].name, name) == 0)
            return map->pairs[i].value;
    return NULL;
}

/* A copy of the fake without a function: its exported name becomes another. */
static inline void hide(const char *function)
{
    static char path[128];
    char quoted[80];
    size_t size;
    size_t length = strlen(function) + 2;
    bool was_there = false;

    snprintf(path, sizeof path, "%s", scratch_path(&gpu.dir, "hiding.so").text);
    memset(quoted, 0, sizeof quoted);
    memcpy(quoted + 1, function, length - 2);
    char *bytes = support_slurp(gpu.places.nvml, &size);
    for (char *at = bytes; (at = memmem(at, size - (size_t)(at - bytes), quoted, length)) != NULL;
         at++) {
        at[1] = 'x';
        was_there = true;
    }
    (void)unlink(path);
    scratch_write(&gpu.dir, "hiding.so", bytes, size);
    free(bytes);
    assert_true(was_there);
    gpu.places.nvml = path;
}

#endif

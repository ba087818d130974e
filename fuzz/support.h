/*
 * What the fuzzers share: a check that ends the run, parts of an input, a temporary root with
 * kernel files in it, and what must hold of any sample whatever the files said.
 */
#ifndef FUZZ_SUPPORT_H
#define FUZZ_SUPPORT_H

#include "../tests/unit/json_check.h"
#include "base/sysroot.h"
#include "collect/collector.h"
#include "encode/csv.h"
#include "encode/json.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_CHECK(condition)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* --- parts of an input, separated by form feeds --- */

struct fuzz_part {
    const char *data;
    size_t size;
};

/* Cuts the next part off; what is not there is empty. */
static inline struct fuzz_part fuzz_next_part(struct fuzz_part *rest)
{
    const char *end = rest->size > 0 ? memchr(rest->data, '\f', rest->size) : NULL;
    struct fuzz_part part = {rest->data, end != NULL ? (size_t)(end - rest->data) : rest->size};
    size_t taken = part.size + (end != NULL);

    rest->data += taken;
    rest->size -= taken;
    return part;
}

/* --- a root with files in it --- */

static char fuzz_root_path[64];

static inline int fuzz_remove_one(const char *path, const struct stat *status, int kind,
                                  struct FTW *where)
{
    (void)status;
    (void)kind;
    (void)where;
    return remove(path);
}

static inline void fuzz_root_remove(void)
{
    (void)nftw(fuzz_root_path, fuzz_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Any mount point has an answer, some of them that there is none. */
static inline int fuzz_space(const char *mount_point, struct fs_space *ret_space)
{
    uint64_t hash = 1469598103934665603u;

    for (; *mount_point != '\0'; mount_point++)
        hash = (hash ^ (unsigned char)*mount_point) * 1099511628211u;
    if (hash % 7 == 0)
        return -EACCES;
    uint64_t total = hash >> 20;
    *ret_space = (struct fs_space){total, total / 3, total / 4};
    return 0;
}

/* Made at the first call, removed when the fuzzer exits. `folders` are made below it. */
static inline const struct sysroot *fuzz_root(const char *const *folders)
{
    static struct sysroot root;
    char path[128];

    if (fuzz_root_path[0] != '\0')
        return &root;
    snprintf(fuzz_root_path, sizeof fuzz_root_path, "/dev/shm/tracker-fuzz-XXXXXX");
    if (mkdtemp(fuzz_root_path) == NULL) {
        snprintf(fuzz_root_path, sizeof fuzz_root_path, "/tmp/tracker-fuzz-XXXXXX");
        FUZZ_CHECK(mkdtemp(fuzz_root_path) != NULL);
    }
    atexit(fuzz_root_remove);
    for (; *folders != NULL; folders++) {
        snprintf(path, sizeof path, "%s/%s", fuzz_root_path, *folders);
        FUZZ_CHECK(mkdir(path, 0700) == 0);
    }
    snprintf(path, sizeof path, "%s/proc", fuzz_root_path);
    root = (struct sysroot){.sys_fd = -1, .space = fuzz_space};
    root.proc_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    FUZZ_CHECK(root.proc_fd >= 0);
    return &root;
}

static inline void fuzz_write(const struct sysroot *root, const char *name, struct fuzz_part part)
{
    int fd = openat(root->proc_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    FUZZ_CHECK(fd >= 0);
    FUZZ_CHECK(write(fd, part.data, part.size) == (ssize_t)part.size);
    close(fd);
}

/* --- what must hold of every sample --- */

static inline void fuzz_check_cell(const struct sample *sample, enum field_id id,
                                   const union cell *cell)
{
    switch (fields[id].type) {
    case TYPE_TEXT:
        FUZZ_CHECK(cell->text == NULL || strlen(cell->text) < (1u << 20));
        break;
    case TYPE_NUMBER:
        FUZZ_CHECK(isnan(cell->number) || isfinite(cell->number));
        FUZZ_CHECK(isnan(cell->number) || cell->number >= 0 ||
                   (id == FIELD_NET_SPEED && cell->number == -1));
        FUZZ_CHECK(isnan(cell->number) || strcmp(fields[id].unit, "%") != 0 || cell->number <= 100);
        break;
    case TYPE_NESTED: {
        const struct rows *mounts = sample->rows[DEVICE_MOUNT];
        FUZZ_CHECK((size_t)cell->nested.first + cell->nested.count <=
                   (mounts != NULL ? mounts->count : 0));
        break;
    }
    case TYPE_MAP:
        FUZZ_CHECK(cell->map == NULL || cell->map->count <= TEXT_MAP_MAX);
        break;
    case TYPE_COUNTER:
        break;
    }
}

static inline void fuzz_check_encoded(const struct sample *sample)
{
    static struct buf out;
    struct run run = {0};
    struct csv csv;

    if (out.data == NULL)
        FUZZ_CHECK(buf_init(&out, 65536, 64 << 20) == 0);
    buf_reset(&out);
    json_sample(&run, sample, &out);
    FUZZ_CHECK(!out.overflow);
    FUZZ_CHECK(is_json(out.data, out.size));
    FUZZ_CHECK(memchr(out.data, '\n', out.size) == out.data + out.size - 1);

    csv_init(&csv, CSV_FULL);
    buf_reset(&out);
    csv_row(&csv, sample, &out);
    size_t commas = 0;
    for (size_t i = 0; i < out.size; i++)
        commas += out.data[i] == ',';
    FUZZ_CHECK(commas == csv.order.full_count - 1);
}

/* Every figure is unavailable or a finite number that is not negative; the encoders take it. */
static inline void fuzz_check_sample(const struct sample *sample)
{
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        double value = sample->value[i];
        FUZZ_CHECK(isnan(value) || (isfinite(value) && value >= 0));
        FUZZ_CHECK(isnan(value) || strcmp(metrics[i].unit, "%") != 0 || value <= 100);
    }
    for (size_t i = 0; i < sample->per_core_count; i++)
        FUZZ_CHECK(isnan(sample->per_core[i]) ||
                   (sample->per_core[i] >= 0 && sample->per_core[i] <= 100));
    for (size_t list = 0; list < DEVICE_COUNT; list++) {
        const struct rows *rows = sample->rows[list];
        for (size_t row = 0; rows != NULL && row < rows->count; row++)
            for (size_t i = 0; i < rows->info->field_count; i++) {
                enum field_id id = (enum field_id)((size_t)rows->info->first + i);
                fuzz_check_cell(sample, id, rows_cell(rows, row, id));
            }
    }
    fuzz_check_encoded(sample);
}

/*
 * One life of a collector over files that change: opened and primed at the first moment, read at
 * the second, and read again at the first, where every counter has gone backwards.
 */
static inline void fuzz_collector(const struct collector *collector, const struct sysroot *root,
                                  void (*lay)(const struct sysroot *root, int moment))
{
    struct tick tick = {.now_ns = 1000000000, .due_ns = 1000000000, .priming = true};
    struct sample sample;
    void *state = NULL;

    lay(root, 0);
    struct collect_context context = {.root = root};

    if (collector->open(&context, &state) < 0)
        return;
    sample_reset(&sample);
    collector->read(state, &tick, &sample);
    if (collector->describe != NULL)
        collector->describe(state);
    tick.priming = false;
    for (int moment = 1; moment >= 0; moment--) {
        lay(root, moment);
        tick.now_ns += 1000000000;
        tick.due_ns = tick.now_ns;
        tick.elapsed_ns = 1000000000;
        sample_reset(&sample);
        collector->read(state, &tick, &sample);
        fuzz_check_sample(&sample);
    }
    collector->close(state);
}

#endif

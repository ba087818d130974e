/*
 * The contract of a GPU backend (one per vendor), and the readings they make.
 *
 * The driver behind a backend may take milliseconds for an answer, or never give one. So everything
 * but `probe` runs on a thread of its own (gpu_worker.h), and the sampling thread only picks up the
 * latest finished reading. A backend never logs and never fails a reading: what it cannot read
 * stays unavailable, and never becomes 0.
 *
 *   probe           whether the vendor's driver may be here, from a file or two; on the sampling
 *                   thread, so it costs microseconds.
 *   open            loads libraries, opens files. -ENODEV: no such device here after all (silent);
 *                   other errors likewise, with a remark about what is broken.
 *   has_changed     whether devices came or went since `find`; asked every few seconds.
 *   find            lists the devices with their facts, read once. Replaces what it found before.
 *                   Devices that are parts of another stand right behind it. An error means that it
 *                   cannot be told which there are; it is tried again.
 *   read            what changes, of one device as `find` numbered it. Counters become rates over
 *                   the time since the device was last read. -ENODEV: it is gone.
 *   read_processes  what the tracked tree has of each device. Only called with a tree.
 *   read_detail     may be NULL: what blocks (--gpu-detail). On a second thread, alongside `read`
 *                   but never alongside `find`.
 *   close           takes a half-built state.
 */
#ifndef COLLECT_GPU_H
#define COLLECT_GPU_H

#include "base/sysroot.h"
#include "model/sample.h"

#define GPU_TEXT_MAX 96
#define GPU_REMARK_MAX 1200
/* More than any machine has: a driver that says so is not believed. */
#define GPU_DEVICES_MAX 256

enum { GPU_FIELD_COUNT = FIELD_GPU_END - FIELD_GPU_FIRST };

/* Where backends look. Texts are borrowed for good. */
struct gpu_places {
    const struct sysroot *root;
    const char *nvml;       /* NULL: the usual library */
    const char *drm_amdgpu; /* NULL: the usual library */
    int tree_fd;            /* the /proc that the tree's PIDs are of */
    pid_t tracker;          /* whose children are the tree's too; 0: not the tracker's tree */
    bool pids_are_global;   /* the tree's PIDs are those of the first namespace, as drivers count */
};

/* One device. Texts of its cells point into it, so it is copied with gpu_device_copy() only. */
struct gpu_device {
    union cell cells[GPU_FIELD_COUNT];
    bool is_part; /* of the device before it: its figures are in that one's */
    char uuid[GPU_TEXT_MAX];
    char name[GPU_TEXT_MAX];
    char host_id[GPU_TEXT_MAX];
    char throttle[2 * GPU_TEXT_MAX];
    struct text_map detail;
    char detail_text[TEXT_MAP_MAX][GPU_TEXT_MAX];
};

struct gpu_table {
    struct gpu_device *devices;
    size_t count;
    size_t capacity;
};

/* The tracked tree as of the last sample, those who left it since the one before included. */
struct gpu_request {
    uint64_t now_ns; /* never before that of the last request */
    const pid_t *pids;
    size_t pid_count;
    const struct gpu_places *places; /* where to look up who came since; NULL: nowhere */
};

struct gpu_backend {
    const char *name;
    bool (*probe)(const struct gpu_places *places);
    int (*open)(const struct gpu_places *places, void **ret_state, char *remark);
    bool (*has_changed)(void *state);
    int (*find)(void *state, struct gpu_table *table);
    int (*read)(void *state, size_t index, uint64_t now_ns, struct gpu_device *device);
    void (*read_processes)(void *state, const struct gpu_request *request, struct gpu_table *table);
    void (*read_detail)(void *state, size_t index, uint64_t now_ns, struct gpu_device *device);
    void (*close)(void *state);
};

extern const struct gpu_backend gpu_nvidia;
extern const struct gpu_backend gpu_amd;
extern const struct gpu_backend gpu_intel;

/* --- devices and tables --- */

static inline union cell *gpu_cell(struct gpu_device *device, enum field_id field)
{
    return &device->cells[field - FIELD_GPU_FIRST];
}

/* Adds a device with nothing known but its type; NULL when out of memory or beyond the maximum. */
struct gpu_device *gpu_table_add(struct gpu_table *table);
void gpu_table_free(struct gpu_table *table);

/* The same devices with the same cells; -ENOMEM leaves the target empty. */
int gpu_table_copy(struct gpu_table *to, const struct gpu_table *from);

void gpu_device_copy(struct gpu_device *to, const struct gpu_device *from);

/* Texts; cut to fit, and unavailable when empty. `name` of a detail is a literal. */
void gpu_set_uuid(struct gpu_device *device, const char *text);
void gpu_set_name(struct gpu_device *device, const char *text);
void gpu_set_host_id(struct gpu_device *device, const char *text);
void gpu_set_throttle(struct gpu_device *device, const char *text);
void gpu_add_detail(struct gpu_device *device, const char *name, const char *text);

/* A share in percent; beyond 0 to 100 it is not believed. */
void gpu_set_percent(struct gpu_device *device, enum field_id field, double percent);

/* Used memory and its share; more used than there is is not believed. */
void gpu_set_vram(struct gpu_device *device, uint64_t total, uint64_t used);

/* Whether a process is in the tree: one of the list, or a descendant of one. */
bool gpu_request_has(const struct gpu_request *request, pid_t pid);

#endif

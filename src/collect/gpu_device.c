/* Devices and tables of devices, as backends fill them. */
#include "base/array.h"
#include "base/scan.h"
#include "collect/gpu.h"
#include "collect/pid_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ANCESTORS_MAX 64

struct gpu_device *gpu_table_add(struct gpu_table *table)
{
    if (table->count >= GPU_DEVICES_MAX)
        return NULL;
    if (table->count == table->capacity) {
        size_t capacity = table->capacity;
        struct gpu_device *moved =
            array_grow(table->devices, &capacity, table->count + 1, sizeof *moved);
        if (moved == NULL)
            return NULL;
        table->devices = moved;
        table->capacity = capacity;
    }
    struct gpu_device *device = &table->devices[table->count++];
    *device = (struct gpu_device){0};
    cells_clear(device->cells, DEVICE_GPU);
    return device;
}

void gpu_table_free(struct gpu_table *table)
{
    free(table->devices);
    *table = (struct gpu_table){0};
}

/* Texts of the cells must point into the device they belong to. */
static void point_cells(struct gpu_device *device)
{
    gpu_cell(device, FIELD_GPU_UUID)->text = text_or_null(device->uuid);
    gpu_cell(device, FIELD_GPU_NAME)->text = text_or_null(device->name);
    gpu_cell(device, FIELD_GPU_HOST_ID)->text = text_or_null(device->host_id);
    gpu_cell(device, FIELD_GPU_THROTTLE)->text = text_or_null(device->throttle);
    gpu_cell(device, FIELD_GPU_TYPE)->text = device->is_part ? "MIG" : "GPU";
    gpu_cell(device, FIELD_GPU_DETAIL)->map = &device->detail;
    for (size_t i = 0; i < device->detail.count; i++)
        device->detail.pairs[i].value = device->detail_text[i];
}

void gpu_device_copy(struct gpu_device *to, const struct gpu_device *from)
{
    memcpy(to, from, sizeof *to);
    point_cells(to);
}

int gpu_table_copy(struct gpu_table *to, const struct gpu_table *from)
{
    to->count = 0;
    for (size_t i = 0; i < from->count; i++) {
        struct gpu_device *device = gpu_table_add(to);
        if (device == NULL) {
            to->count = 0;
            return -ENOMEM;
        }
    }
    for (size_t i = 0; i < from->count; i++)
        gpu_device_copy(&to->devices[i], &from->devices[i]);
    return 0;
}

/* --- values --- */

static void copy_text(char *out, size_t size, const char *text)
{
    struct scan whole = scan_over(text, strlen(text));

    (void)scan_copy(&whole, out, size);
}

void gpu_set_uuid(struct gpu_device *device, const char *text)
{
    copy_text(device->uuid, sizeof device->uuid, text);
}

void gpu_set_name(struct gpu_device *device, const char *text)
{
    copy_text(device->name, sizeof device->name, text);
}

void gpu_set_host_id(struct gpu_device *device, const char *text)
{
    copy_text(device->host_id, sizeof device->host_id, text);
}

void gpu_set_throttle(struct gpu_device *device, const char *text)
{
    copy_text(device->throttle, sizeof device->throttle, text);
    gpu_cell(device, FIELD_GPU_THROTTLE)->text = text_or_null(device->throttle);
}

void gpu_add_detail(struct gpu_device *device, const char *name, const char *text)
{
    struct text_map *map = &device->detail;

    if (map->count == TEXT_MAP_MAX || text[0] == '\0')
        return;
    copy_text(device->detail_text[map->count], GPU_TEXT_MAX, text);
    map->pairs[map->count].name = name;
    map->count++;
}

void gpu_set_percent(struct gpu_device *device, enum field_id field, double percent)
{
    gpu_cell(device, field)->number = percent >= 0 && percent <= 100 ? percent : NAN;
}

void gpu_set_vram(struct gpu_device *device, uint64_t total, uint64_t used)
{
    bool believable = total != COUNTER_UNKNOWN && used <= total;

    gpu_cell(device, FIELD_GPU_VRAM_TOTAL)->counter = total;
    gpu_cell(device, FIELD_GPU_VRAM_USED)->counter = believable ? used : COUNTER_UNKNOWN;
    gpu_cell(device, FIELD_GPU_VRAM_USED_PCT)->number = !believable ? NAN
                                                        : total == 0
                                                            ? 0
                                                            : (double)used / (double)total * 100;
}

static bool is_listed(const struct gpu_request *request, pid_t pid)
{
    for (size_t i = 0; i < request->pid_count; i++)
        if (request->pids[i] == pid)
            return true;
    return false;
}

/* The list may be an interval old: who came since has an ancestor in it, or was left to us. */
bool gpu_request_has(const struct gpu_request *request, pid_t pid)
{
    char text[PID_FILE_MAX];
    struct pid_stat stat;

    for (int depth = 0; depth < ANCESTORS_MAX && pid > 0; depth++) {
        if (is_listed(request, pid))
            return true;
        if (request->places == NULL)
            return false;
        ssize_t got = pid_file_read(request->places->tree_fd, pid, "stat", text);
        if (got <= 0 || !pid_stat_parse(scan_over(text, (size_t)got), &stat))
            return false;
        pid = stat.parent;
        if (pid == request->places->tracker)
            return pid > 0;
    }
    return false;
}

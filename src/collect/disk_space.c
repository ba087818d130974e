#include "collect/disk_space.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_PER_KB 1000
#define KB_PER_GB 1e6

int disk_space_open(struct disk_space *space, const struct sysroot *root)
{
    *space = (struct disk_space){.ask = root->space};
    rows_init(&space->rows, DEVICE_MOUNT);
    int error = mounts_open(&space->mounts, root);
    return error == -ENOMEM ? error : 0;
}

void disk_space_close(struct disk_space *space)
{
    mounts_close(&space->mounts);
    rows_free(&space->rows);
    free(space->entries);
    free(space->pools);
    space->entries = NULL;
    space->pools = NULL;
}

bool disk_space_changed(struct disk_space *space)
{
    return mounts_read(&space->mounts);
}

static int reserve_entries(struct disk_space *space)
{
    struct space_entry *entries =
        array_grow(space->entries, &space->entry_capacity, space->mounts.count, sizeof *entries);
    if (entries == NULL)
        return -ENOMEM;
    space->entries = entries;
    return 0;
}

static bool is_zfs(const struct disk_space *space, const struct mount *mount)
{
    return strcmp(mounts_text(&space->mounts, mount->filesystem), "zfs") == 0;
}

/* "tank/data/raw" is a dataset of the pool "tank". */
static bool locate_pool(struct disk_space *space, const char *dataset, struct disk_place *ret_place)
{
    struct zfs_pool pool = {0};
    size_t length = strcspn(dataset, "/");

    if (length == 0 || length >= sizeof pool.name)
        return false;
    memcpy(pool.name, dataset, length);

    size_t index = 0;
    while (index < space->pool_count && strcmp(space->pools[index].name, pool.name) != 0)
        index++;
    if (index == space->pool_count) {
        struct zfs_pool *pools =
            array_grow(space->pools, &space->pool_capacity, index + 1, sizeof *pools);
        if (pools == NULL)
            return false;
        space->pools = pools;
        space->pools[space->pool_count++] = pool;
    }
    *ret_place = (struct disk_place){.row = space->first_pool_row + index};
    return true;
}

static int by_device_then_mount_point(const void *left, const void *right, void *context)
{
    const struct mounts *mounts = context;
    const struct space_entry *a = left;
    const struct space_entry *b = right;

    if (a->place.row != b->place.row)
        return a->place.row < b->place.row ? -1 : 1;
    return strcmp(mounts_text(mounts, mounts->list[a->mount].mount_point),
                  mounts_text(mounts, mounts->list[b->mount].mount_point));
}

static void lay_rows(struct disk_space *space)
{
    if (rows_resize(&space->rows, space->entry_count) < 0) {
        space->entry_count = 0;
        space->rows.count = 0;
    }
    for (size_t i = 0; i < space->entry_count; i++) {
        const struct mount *mount = &space->mounts.list[space->entries[i].mount];
        rows_cell(&space->rows, i, FIELD_MOUNT_POINT)->text =
            mounts_text(&space->mounts, mount->mount_point);
        rows_cell(&space->rows, i, FIELD_MOUNT_FILESYSTEM)->text =
            mounts_text(&space->mounts, mount->filesystem);
    }
}

void disk_space_locate(struct disk_space *space, size_t device_rows, disk_locate *locate,
                       const void *context)
{
    struct disk_place place;

    space->entry_count = 0;
    space->pool_count = 0;
    space->first_pool_row = device_rows;
    if (reserve_entries(space) == 0) {
        for (size_t i = 0; i < space->mounts.count; i++) {
            const struct mount *mount = &space->mounts.list[i];
            const char *source = mounts_text(&space->mounts, mount->source);
            if (is_zfs(space, mount) ? locate_pool(space, source, &place)
                                     : locate(context, mount, source, &place))
                space->entries[space->entry_count++] = (struct space_entry){i, place};
        }
    }
    if (space->entry_count > 0)
        qsort_r(space->entries, space->entry_count, sizeof space->entries[0],
                by_device_then_mount_point, &space->mounts);
    lay_rows(space);
}

struct row_range disk_space_rows_of(const struct disk_space *space, size_t device_row)
{
    struct row_range range = {0};

    while (range.first < space->entry_count && space->entries[range.first].place.row < device_row)
        range.first++;
    while (range.first + range.count < space->entry_count &&
           space->entries[range.first + range.count].place.row == device_row)
        range.count++;
    return range;
}

static void store_row(struct rows *rows, size_t row, const struct fs_space *fs)
{
    uint64_t used = counter_growth(fs->total_bytes, fs->free_bytes);

    rows_cell(rows, row, FIELD_MOUNT_TOTAL)->counter = fs->total_bytes;
    rows_cell(rows, row, FIELD_MOUNT_AVAILABLE)->counter = fs->available_bytes;
    rows_cell(rows, row, FIELD_MOUNT_USED)->counter = used;
    rows_cell(rows, row, FIELD_MOUNT_USED_PCT)->number =
        fs->total_bytes > 0 ? 100 * (double)used / (double)fs->total_bytes : 0;
}

static void store_unknown(struct rows *rows, size_t row)
{
    rows_cell(rows, row, FIELD_MOUNT_TOTAL)->counter = COUNTER_UNKNOWN;
    rows_cell(rows, row, FIELD_MOUNT_AVAILABLE)->counter = COUNTER_UNKNOWN;
    rows_cell(rows, row, FIELD_MOUNT_USED)->counter = COUNTER_UNKNOWN;
    rows_cell(rows, row, FIELD_MOUNT_USED_PCT)->number = NAN;
}

/* Sums over file systems. Datasets of a pool share its free space: it counts once. */
struct space_sum {
    uint64_t total_bytes;
    uint64_t available_bytes;
    size_t pool_row;         /* whose free space is already in */
    uint64_t pool_available; /* and how much of it */
};

static void add_dataset(struct space_sum *sum, size_t pool_row, const struct fs_space *fs)
{
    if (sum->pool_row != pool_row) {
        sum->pool_row = pool_row;
        sum->pool_available = 0;
    }
    uint64_t more = counter_growth(fs->available_bytes, sum->pool_available);

    sum->pool_available += more;
    sum->available_bytes += more;
    sum->total_bytes += counter_growth(fs->total_bytes, fs->free_bytes) + more;
}

static void store_sum(const struct space_sum *sum, struct sample *sample)
{
    /* In whole kilobytes, the last printed decimal, so that used + free is total to the digit. */
    uint64_t total_kb = sum->total_bytes / BYTES_PER_KB;
    uint64_t available_kb = sum->available_bytes / BYTES_PER_KB;
    double total = (double)total_kb;
    double available = (double)available_kb;

    sample->value[METRIC_TOTAL_SPACE_TOTAL] = total / KB_PER_GB;
    sample->value[METRIC_TOTAL_SPACE_FREE] = available / KB_PER_GB;
    sample->value[METRIC_TOTAL_SPACE_USED] = (total - available) / KB_PER_GB;
}

void disk_space_read(struct disk_space *space, struct sample *sample)
{
    struct space_sum sum = {.pool_row = SIZE_MAX};
    struct fs_space fs;
    size_t answered = 0;

    for (size_t i = 0; i < space->entry_count; i++) {
        const struct disk_place *place = &space->entries[i].place;
        if (space->ask(rows_cell(&space->rows, i, FIELD_MOUNT_POINT)->text, &fs) < 0) {
            store_unknown(&space->rows, i);
            continue;
        }
        answered++;
        store_row(&space->rows, i, &fs);
        if (place->row >= space->first_pool_row) {
            add_dataset(&sum, place->row, &fs);
        } else if (!place->borrowed) {
            sum.total_bytes += fs.total_bytes;
            sum.available_bytes += fs.available_bytes;
        }
    }
    sample->rows[DEVICE_MOUNT] = &space->rows;
    if (space->mounts.read_before && (answered > 0 || space->entry_count == 0))
        store_sum(&sum, sample);
}

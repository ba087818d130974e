/*
 * Space of the mounted file systems: a row for each, grouped by the device (or ZFS pool) it is on,
 * and the sums over all. Part of the disk collector.
 */
#ifndef COLLECT_DISK_SPACE_H
#define COLLECT_DISK_SPACE_H

#include "collect/mounts.h"
#include "model/sample.h"

struct disk_place {
    size_t row;    /* of the device */
    bool borrowed; /* its space lies in that of another file system, or in memory */
};

/* Finds the device of a mount; false: on none that is listed. */
typedef bool disk_locate(const void *context, const struct mount *mount, const char *source,
                         struct disk_place *ret_place);

struct space_entry {
    size_t mount; /* index in the mount table */
    struct disk_place place;
};

struct zfs_pool {
    char name[256]; /* ZFS allows 255 */
};

struct disk_space {
    struct mounts mounts;
    int (*ask)(const char *mount_point, struct fs_space *ret_space);
    struct rows rows;            /* in the order of entries */
    struct space_entry *entries; /* sorted by row of the device */
    size_t entry_count;
    size_t entry_capacity;
    struct zfs_pool *pools;
    size_t pool_count;
    size_t pool_capacity;
    size_t first_pool_row;
};

/* A host without a mount table has no space to tell; that is not an error. */
int disk_space_open(struct disk_space *space, const struct sysroot *root);
void disk_space_close(struct disk_space *space);

/* Whether the mount table has changed since the last call. */
bool disk_space_changed(struct disk_space *space);

/* Assigns file systems to the rows of devices; pools get the rows after `device_rows`. */
void disk_space_locate(struct disk_space *space, size_t device_rows, disk_locate *locate,
                       const void *context);

struct row_range disk_space_rows_of(const struct disk_space *space, size_t device_row);

/* Asks every file system for its space; stores rows and sums. */
void disk_space_read(struct disk_space *space, struct sample *sample);

#endif

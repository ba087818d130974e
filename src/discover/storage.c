#include "discover/storage.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/dir.h"
#include "base/file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* /sys/block/DEV/size counts in these, whatever the device's own sector size. */
#define SYSFS_SECTOR_BYTES 512.0
#define BYTES_PER_GB 1e9
/* A disk of 1 EiB has as many; what claims more is not one. */
#define SECTORS_MAX (UINT64_C(1) << 51)
/* An NVMe name of the longest kind has about 140 bytes, a SCSI one up to 256. */
#define ID_PART_MAX 264

struct identity {
    char text[2 * ID_PART_MAX + 32];
};

struct disks {
    bool has_unknown; /* one whose size cannot be read */
    int block_fd;
    double sectors;
    struct identity *seen; /* of the disks that say who they are */
    size_t count;
    size_t capacity;
};

static bool starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool ends_with(const char *text, size_t length, const char *suffix)
{
    size_t size = strlen(suffix);

    return length >= size && memcmp(text + length - size, suffix, size) == 0;
}

/* mmcblk0boot0, mmcblk0rpmb: areas of an eMMC chip for firmware and keys. */
static bool is_emmc_area(const char *name)
{
    size_t length = strlen(name);

    if (!starts_with(name, "mmcblk"))
        return false;
    if (ends_with(name, length, "rpmb"))
        return true;
    while (length > 0 && is_digit(name[length - 1]))
        length--;
    return ends_with(name, length, "boot");
}

/*
 * Files, memory, device mapper, RAID, ZFS volumes, replicas, caches, and drives whose medium is not
 * the host's. (A network block device that is not connected has size 0.)
 */
static bool is_disk_name(const char *name)
{
    static const char *const others[] = {"loop",   "ram",   "zram",     "dm-",   "md",
                                         "sr",     "fd",    "zd",       "drbd",  ".",
                                         "bcache", "nullb", "emcpower", "ublkb", "mtdblock"};

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (starts_with(name, others[i]))
            return false;
    return !is_emmc_area(name);
}

static bool read_first(int fd, const char *first, const char *second, char *out)
{
    return file_read_text(fd, first, out, ID_PART_MAX) > 0 ||
           file_read_text(fd, second, out, ID_PART_MAX) > 0;
}

/*
 * What two paths to one disk have in common. The size is part of it, since there are enclosures
 * that give all their drives one number. NVMe has its serial from the controller, which can have
 * several disks (namespaces), so there only the world-wide name will do.
 */
static bool read_identity(int fd, const char *name, uint64_t sectors, struct identity *ret_id)
{
    char serial[ID_PART_MAX];
    char model[ID_PART_MAX];

    if (read_first(fd, "wwid", "device/wwid", serial)) {
        snprintf(ret_id->text, sizeof ret_id->text, "w %" PRIu64 " %s", sectors, serial);
        return true;
    }
    if (starts_with(name, "nvme") || !read_first(fd, "serial", "device/serial", serial))
        return false;
    if (!read_first(fd, "model", "device/model", model))
        model[0] = '\0';
    snprintf(ret_id->text, sizeof ret_id->text, "s %" PRIu64 " %s\n%s", sectors, serial, model);
    return true;
}

/* Whether a disk was counted before; if not, it is remembered. */
static bool was_seen(struct disks *disks, const struct identity *id)
{
    for (size_t i = 0; i < disks->count; i++)
        if (strcmp(disks->seen[i].text, id->text) == 0)
            return true;
    struct identity *seen =
        array_grow(disks->seen, &disks->capacity, disks->count + 1, sizeof *seen);
    if (seen == NULL)
        return false;
    disks->seen = seen;
    seen[disks->count++] = *id;
    return false;
}

static bool add_disk(void *context, const struct dirent64 *entry)
{
    struct disks *disks = context;
    uint64_t sectors;
    uint64_t hidden;
    struct identity id;

    if (!is_disk_name(entry->d_name))
        return true;
    cleanup_fd int fd = openat(disks->block_fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || file_read_u64(fd, "size", &sectors) < 0 || sectors > SECTORS_MAX) {
        disks->has_unknown = true;
        return true;
    }
    if (sectors == 0)
        return true;
    /* A path of an NVMe disk that has several: the kernel shows the disk itself beside it. */
    if (file_read_u64(fd, "hidden", &hidden) == 0 && hidden != 0)
        return true;
    if (!read_identity(fd, entry->d_name, sectors, &id) || !was_seen(disks, &id))
        disks->sectors += (double)sectors;
    return true;
}

double storage_total_gb(int sys_fd)
{
    cleanup_fd int fd = openat(sys_fd, "block", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct disks disks = {.block_fd = fd};

    if (fd < 0 || dir_each(fd, add_disk, &disks) < 0) {
        free(disks.seen);
        return NAN;
    }
    free(disks.seen);
    /* A host without any disk is one whose disks we are not shown. */
    if (disks.sectors == 0 || disks.has_unknown)
        return NAN;
    return disks.sectors * SYSFS_SECTOR_BYTES / BYTES_PER_GB;
}

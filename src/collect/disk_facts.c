#include "collect/disk_facts.h"

#include "base/cleanup.h"
#include "base/file.h"

#include <fcntl.h>
#include <string.h>

/* /sys/block/DEV/size counts in these, whatever the device's own sector size. */
#define SYSFS_SECTOR_BYTES 512

static bool starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool disk_name_of_whole(const char *name, struct scan *ret_whole)
{
    size_t length = strlen(name);
    size_t digits = 0;

    while (digits < length && is_digit(name[length - 1 - digits]))
        digits++;
    size_t base = length - digits;
    if (digits == 0 || base == 0)
        return false;
    if (base >= 2 && name[base - 1] == 'p' && is_digit(name[base - 2]))
        base--;
    *ret_whole = scan_over(name, base);
    return true;
}

bool disk_name_of_multipath(const char *name, char *ret_head)
{
    if (!starts_with(name, "nvme"))
        return false;
    size_t controller = strcspn(name, "c");
    size_t digits = strspn(name + controller + (name[controller] == 'c'), "0123456789");
    if (name[controller] != 'c' || digits == 0 || name[controller + 1 + digits] != 'n')
        return false;
    const char *rest = name + controller + 1 + digits;
    memcpy(ret_head, name, controller);
    memcpy(ret_head + controller, rest, strlen(rest) + 1);
    return true;
}

static void read_first(int dir_fd, const char *const *paths, char *out, size_t size)
{
    for (; *paths != NULL; paths++)
        if (file_read_text(dir_fd, *paths, out, size) > 0)
            return;
    out[0] = '\0';
}

static const char *type_of(int device_fd, const char *name)
{
    uint64_t rotational;

    if (starts_with(name, "nvme"))
        return "nvme";
    if (file_read_u64(device_fd, "queue/rotational", &rotational) < 0)
        return NULL;
    return rotational != 0 ? "hdd" : "ssd";
}

static bool starts_with_any(const char *name, const char *const *prefixes)
{
    for (; *prefixes != NULL; prefixes++)
        if (starts_with(name, *prefixes))
            return true;
    return false;
}

void disk_facts_read(int sys_fd, const char *name, struct disk_facts *ret_facts)
{
    static const char *const models[] = {"device/model", NULL};
    static const char *const vendors[] = {"device/vendor", NULL};
    static const char *const serials[] = {"device/wwid", "device/serial", "wwid", "serial", NULL};
    static const char *const mapper_names[] = {"dm/name", NULL};
    /* Device mapper, RAID, ZFS volumes, replicas and caches send on what they get. */
    static const char *const on_disks[] = {"dm-", "md", "zd", "drbd", "bcache", NULL};
    static const char *const on_files_or_memory[] = {"loop", "zram", "ram", NULL};
    uint64_t sectors;

    cleanup_fd int block_fd = openat(sys_fd, "block", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cleanup_fd int fd = openat(block_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    read_first(fd, models, ret_facts->model, sizeof ret_facts->model);
    read_first(fd, vendors, ret_facts->vendor, sizeof ret_facts->vendor);
    read_first(fd, serials, ret_facts->serial, sizeof ret_facts->serial);
    read_first(fd, mapper_names, ret_facts->mapper_name, sizeof ret_facts->mapper_name);
    ret_facts->borrowed = starts_with_any(name, on_files_or_memory);
    /* The kernel calls a loop device rotating and zram not; neither is a drive. */
    ret_facts->type = ret_facts->borrowed ? NULL : type_of(fd, name);
    ret_facts->stacked = ret_facts->borrowed || starts_with_any(name, on_disks);
    ret_facts->capacity_bytes = COUNTER_UNKNOWN;
    if (file_read_u64(fd, "size", &sectors) == 0 && sectors > 0 &&
        sectors < UINT64_MAX / SYSFS_SECTOR_BYTES)
        ret_facts->capacity_bytes = sectors * SYSFS_SECTOR_BYTES;
}

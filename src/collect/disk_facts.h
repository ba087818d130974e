/*
 * What a block device is: its identity from /sys/block, and which device a name or a mounted file
 * system belongs to. Looked up when a device is new, never per sample.
 */
#ifndef COLLECT_DISK_FACTS_H
#define COLLECT_DISK_FACTS_H

#include "base/scan.h"
#include "model/sample.h"

struct disk_facts {
    char model[128];
    char vendor[64];
    char serial[256];
    char mapper_name[128]; /* "vg-root": /dev/mapper/vg-root is this device */
    const char *type;      /* "nvme", "ssd", "hdd" or NULL */
    uint64_t capacity_bytes;
    bool stacked;  /* its bytes pass another listed device too, or never reach one */
    bool borrowed; /* and so does its space: a file of another file system, or memory */
};

/* `sys_fd` may be -1: then only the name tells. */
void disk_facts_read(int sys_fd, const char *name, struct disk_facts *ret_facts);

/*
 * The kernel names a partition after its device: "sda" + "1"; with a 'p' between when the device's
 * name ends in a digit: "nvme0n1" + "p2". Cuts `name` down to that device; false when the name has
 * not the form of a partition's (whether the device exists is for the caller to see).
 */
bool disk_name_of_whole(const char *name, struct scan *ret_whole);

/* "nvme0c1n2" is a path to "nvme0n2", which is written to `ret_head` (as large as `name`). */
bool disk_name_of_multipath(const char *name, char *ret_head);

#endif

/*
 * The mount table, reduced to one entry per mounted local file system: bind mounts and btrfs
 * subvolumes show the same space again, and so do mounts of one device in several places.
 * Network and FUSE file systems are left out: asking a server that is gone for its space blocks.
 * Texts belong to the table and stay valid until the next mounts_read that returned true.
 */
#ifndef COLLECT_MOUNTS_H
#define COLLECT_MOUNTS_H

#include "base/buf.h"
#include "base/file.h"
#include "base/sysroot.h"

#include <stdint.h>

struct mount {
    uint32_t major; /* 0: not a block device of its own (btrfs, ZFS) */
    uint32_t minor;
    bool wanted; /* the others only tell what they hide */
    size_t root; /* offsets into the table's texts */
    size_t mount_point;
    size_t filesystem;
    size_t source;
};

struct mounts {
    struct file mountinfo;
    bool poll_tells; /* a procfs: poll() says when the table changed */
    bool read_before;
    uint64_t fingerprint; /* of the last content, where poll does not tell */
    struct buf texts;
    struct mount *list;
    size_t count;
    size_t capacity;
};

int mounts_open(struct mounts *mounts, const struct sysroot *root);

/* Reads the table anew if it has changed, and says whether it has. */
bool mounts_read(struct mounts *mounts);

void mounts_close(struct mounts *mounts);

static inline const char *mounts_text(const struct mounts *mounts, size_t offset)
{
    return mounts->texts.data + offset;
}

#endif

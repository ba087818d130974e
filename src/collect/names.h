/*
 * Devices are matched between two readings by name. The kernel lists them in the same order each
 * time, so the entry after the last match is tried first and a reading costs one comparison a
 * device; only after a change is the whole list searched.
 */
#ifndef COLLECT_NAMES_H
#define COLLECT_NAMES_H

#include "base/scan.h"

#include <stddef.h>
#include <string.h>

/* Interfaces have at most 15 bytes, disks 31. Longer ones are not the kernel's and are ignored. */
#define DEVICE_NAME_SIZE 32

struct device_name {
    char text[DEVICE_NAME_SIZE];
};

/* Becomes part of a path below /sys. A '/' within it ("etherd/e0.0") is written '!' there. */
static inline bool name_is_plausible(const struct scan *word)
{
    size_t length = scan_left(word);
    return length > 0 && length < DEVICE_NAME_SIZE && *word->at != '.' && *word->at != '/' &&
           memchr(word->at, '\0', length) == NULL;
}

static inline struct device_name name_in_sysfs(const struct device_name *name)
{
    struct device_name sysfs = *name;

    for (char *at = sysfs.text; *at != '\0'; at++)
        if (*at == '/')
            *at = '!';
    return sysfs;
}

static inline bool name_is(const struct device_name *name, const struct scan *word)
{
    size_t length = scan_left(word);
    return length < DEVICE_NAME_SIZE && memcmp(name->text, word->at, length) == 0 &&
           name->text[length] == '\0';
}

/*
 * Looks `word` up among `count` elements of `stride` bytes, each beginning with a device_name.
 * Returns its index, or `count`.
 */
static inline size_t names_find(const void *first, size_t stride, size_t count, size_t hint,
                                const struct scan *word)
{
    const char *base = first;

    if (hint < count && name_is((const void *)(base + hint * stride), word))
        return hint;
    for (size_t i = 0; i < count; i++)
        if (name_is((const void *)(base + i * stride), word))
            return i;
    return count;
}

#endif

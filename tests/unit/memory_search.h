/*
 * Whether a secret is still somewhere in the memory of this process. So that the test itself does
 * not have it, it is made when it is needed, from a number, and looked for byte by byte.
 */
#ifndef TESTS_UNIT_MEMORY_SEARCH_H
#define TESTS_UNIT_MEMORY_SEARCH_H

#include "scratch.h"

#include <sodium.h>

#define NEEDLE_LENGTH 40

static inline char needle_byte(unsigned seed, size_t index)
{
    return (char)('A' + (seed * 31 + (unsigned)index * 7 + (unsigned)(index * index) % 11) % 26);
}

/* NEEDLE_LENGTH letters, without a NUL. */
static inline void needle_write(unsigned seed, char *out)
{
    for (size_t i = 0; i < NEEDLE_LENGTH; i++)
        out[i] = needle_byte(seed, i);
}

static inline size_t needle_count(unsigned seed, const char *begin, const char *end)
{
    size_t count = 0;

    for (const char *at = begin; at + NEEDLE_LENGTH <= end; at++) {
        size_t same = 0;
        while (same < NEEDLE_LENGTH && at[same] == needle_byte(seed, same))
            same++;
        count += same == NEEDLE_LENGTH;
    }
    return count;
}

/* How often it is in all that can be written to. */
static inline size_t needle_copies(unsigned seed)
{
    char line[512];
    size_t count = 0;
    FILE *maps = fopen("/proc/self/maps", "re");

    assert_non_null(maps);
    while (fgets(line, sizeof line, maps) != NULL) {
        char *rest;
        uintptr_t begin = strtoul(line, &rest, 16);
        uintptr_t end = strtoul(rest + 1, &rest, 16);
        if (strncmp(rest, " rw", 3) == 0)
            count += needle_count(seed, (const char *)begin, (const char *)end);
    }
    fclose(maps);
    return count;
}

/* A sanitizer's memory has no end, and what was freed stays in it. */
static inline void skip_under_sanitizers(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip();
#endif
}

#endif

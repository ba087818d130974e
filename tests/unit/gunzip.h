/*
 * Unpacking what we packed: for tests of what is compressed.
 */
#ifndef TESTS_UNIT_GUNZIP_H
#define TESTS_UNIT_GUNZIP_H

#include "scratch.h"

#include <libdeflate.h>

/* All members of gzip data as one text that ends with NUL; malloc'ed. */
static inline char *gunzip(const char *packed, size_t packed_size)
{
    struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
    size_t capacity = (size_t)64 << 20;
    char *text = malloc(capacity + 1);
    size_t size = 0;

    assert_non_null(decompressor);
    assert_non_null(text);
    while (packed_size > 0) {
        size_t used = 0;
        size_t written = 0;
        assert_int_equal(libdeflate_gzip_decompress_ex(decompressor, packed, packed_size,
                                                       text + size, capacity - size, &used,
                                                       &written),
                         LIBDEFLATE_SUCCESS);
        packed += used;
        packed_size -= used;
        size += written;
    }
    text[size] = '\0';
    libdeflate_free_decompressor(decompressor);
    return text;
}

/* A file's. */
static inline char *gunzip_file(const char *path)
{
    static char packed[1 << 20];
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    ssize_t size = read(fd, packed, sizeof packed);
    assert_true(size > 0 && size < (ssize_t)sizeof packed);
    close(fd);
    return gunzip(packed, (size_t)size);
}

#endif

/* The loader's cache, and a library's file: whatever they hold, nothing is read beyond the end. */
#include "support.h"

#include "base/lib.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static void check_paths(const char *data, size_t size)
{
    const char *path = NULL;
    size_t before = 0;

    for (size_t at = 0; (at = lib_next_path(data, size, at, "libx.so", &path)) != 0; before = at) {
        FUZZ_CHECK(at > before && at <= size);
        FUZZ_CHECK(path >= data && path + strlen(path) < data + size && path[0] == '/');
        FUZZ_CHECK(strcmp(strrchr(path, '/'), "/libx.so") == 0);
    }
}

static void check_file(const uint8_t *data, size_t size)
{
    char path[64];
    int fd = memfd_create("fuzz", MFD_CLOEXEC);

    FUZZ_CHECK(fd >= 0);
    FUZZ_CHECK(write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    (void)lib_check(path);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* A copy of exactly that size, so that a step too far is seen. */
    char *copy = malloc(size);

    if (copy == NULL)
        return 0;
    memcpy(copy, data, size);
    check_paths(copy, size);
    free(copy);
    check_file(data, size);
    return 0;
}

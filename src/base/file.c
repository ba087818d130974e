#include "base/file.h"

#include "base/cleanup.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

int file_open(struct file *file, int dir_fd, const char *path, size_t initial, size_t max)
{
    assert(initial > 0 && initial <= max);
    *file = (struct file){.fd = -1, .max = max};

    /* Non-blocking: a pipe given as a configuration file must not make us wait. */
    file->fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (file->fd < 0)
        return -errno;
    file->data = malloc(initial);
    if (file->data == NULL) {
        close_fd(&file->fd);
        return -ENOMEM;
    }
    file->capacity = initial;
    return 0;
}

static int file_grow(struct file *file)
{
    size_t capacity = file->capacity * 2 < file->max ? file->capacity * 2 : file->max;

    char *data = realloc(file->data, capacity);
    if (data == NULL)
        return -ENOMEM;
    file->data = data;
    file->capacity = capacity;
    return 0;
}

/* A line that was cut would be read as a shorter number: drop it. */
static size_t whole_lines(const char *data, size_t size)
{
    const char *newline = memrchr(data, '\n', size);
    return newline != NULL ? (size_t)(newline - data) + 1 : 0;
}

ssize_t fd_pread(int fd, void *out, size_t size, uint64_t offset)
{
    ssize_t got;

    do {
        got = pread(fd, out, size, (off_t)offset);
    } while (got < 0 && errno == EINTR);
    return got < 0 ? -errno : got;
}

int fd_write_at(int fd, const void *bytes, size_t size, uint64_t offset)
{
    for (size_t done = 0; done < size;) {
        ssize_t wrote = pwrite(fd, (const char *)bytes + done, size - done, (off_t)(offset + done));
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return wrote < 0 ? -errno : -EIO;
        done += (size_t)wrote;
    }
    return 0;
}

int file_read(struct file *file)
{
    size_t size = 0;

    file->size = 0;
    if (file->fd < 0)
        return -EBADF;
    for (;;) {
        if (size == file->capacity) {
            if (file->capacity == file->max) {
                file->size = whole_lines(file->data, size);
                return 0;
            }
            int error = file_grow(file);
            if (error < 0)
                return error;
        }
        ssize_t got = fd_pread(file->fd, file->data + size, file->capacity - size, size);
        if (got < 0)
            return (int)got;
        size += (size_t)got;
        if (got == 0 || (file->one_record && size < file->capacity))
            break;
    }
    file->size = size;
    return 0;
}

void file_close(struct file *file)
{
    /* A zeroed struct was never opened: its descriptor 0 is not ours. */
    if (file->data != NULL)
        close_fd(&file->fd);
    free(file->data);
    *file = (struct file){.fd = -1};
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\0';
}

static size_t trim(char *text, size_t size)
{
    size_t start = 0;

    while (size > 0 && is_space(text[size - 1]))
        size--;
    while (start < size && is_space(text[start]))
        start++;
    memmove(text, text + start, size - start);
    text[size - start] = '\0';
    return size - start;
}

ssize_t file_read_text(int dir_fd, const char *path, char *out, size_t size)
{
    cleanup_fd int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return -errno;

    ssize_t got = fd_pread(fd, out, size - 1, 0);
    if (got < 0)
        return got;
    size_t length = trim(out, (size_t)got);
    return length > 0 ? (ssize_t)length : -ENODATA;
}

int file_read_u64(int dir_fd, const char *path, uint64_t *ret_value)
{
    char text[32];

    ssize_t length = file_read_text(dir_fd, path, text, sizeof text);
    if (length < 0)
        return (int)length;
    struct scan scan = scan_over(text, (size_t)length);
    return scan_u64(&scan, ret_value) ? 0 : -EINVAL;
}

#include "read/bytes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static ssize_t read_fd(int fd, char *out, size_t room)
{
    ssize_t got;

    do {
        got = read(fd, out, room);
    } while (got < 0 && errno == EINTR);
    return got < 0 ? -errno : got;
}

/* Fills the buffer as far as there are bytes. */
static int fill(struct bytes *bytes)
{
    while (bytes->size < bytes->capacity) {
        ssize_t got = read_fd(bytes->fd, bytes->data + bytes->size, bytes->capacity - bytes->size);
        if (got <= 0)
            return (int)got;
        bytes->size += (size_t)got;
    }
    return 0;
}

/* All the rest; the library wants it in one piece. */
static int fill_packed(struct bytes *bytes)
{
    int error = 0;

    while (error == 0 && bytes->size == bytes->capacity) {
        if (bytes->capacity >= BYTES_PACKED_MAX)
            return -EFBIG;
        char *data = realloc(bytes->data, bytes->capacity * 2);
        if (data == NULL)
            return -ENOMEM;
        bytes->data = data;
        bytes->capacity *= 2;
        error = fill(bytes);
    }
    return error;
}

static int open_packed(struct bytes *bytes)
{
    int error = fill_packed(bytes);

    if (error == 0)
        error = gunzip_open(&bytes->gunzip, bytes->data, bytes->size);
    bytes->is_packed = true;
    return error;
}

/* Two bytes are enough to tell, but a pipe may bring them one by one. */
static int read_head(struct bytes *bytes)
{
    while (bytes->size < 2) {
        ssize_t got = read_fd(bytes->fd, bytes->data + bytes->size, bytes->capacity - bytes->size);
        if (got <= 0)
            return (int)got;
        bytes->size += (size_t)got;
    }
    return 0;
}

int bytes_open(struct bytes *bytes, int fd)
{
    *bytes = (struct bytes){.fd = fd, .capacity = BYTES_HEAD_MAX};
    bytes->data = malloc(bytes->capacity);
    int error = bytes->data != NULL ? read_head(bytes) : -ENOMEM;

    if (error == 0 && gunzip_is_gzip(bytes->data, bytes->size)) {
        error = fill(bytes);
        if (error == 0)
            error = open_packed(bytes);
    }
    if (error < 0)
        bytes_close(bytes);
    return error;
}

/* gzip itself unpacks piece by piece: what we cannot take it can, as far as it is whole. */
static void name_damage(struct bytes *bytes, int error)
{
    const char *fault = error == -EBADMSG ? "is damaged or cut off"
                        : error == -EFBIG ? "is too large to be unpacked in one piece"
                                          : strerror(-error);

    snprintf(bytes->problem, sizeof bytes->problem,
             "the compressed data from byte %zu on: %s; only what is before it is read (gzip -dc "
             "FILE | resource-tracker --from - may get further)",
             bytes->gunzip.at, fault);
}

static size_t read_packed(struct bytes *bytes, char *out, size_t room)
{
    ssize_t got = gunzip_read(&bytes->gunzip, out, room);

    if (got < 0) {
        name_damage(bytes, (int)got);
        return 0;
    }
    return (size_t)got;
}

static size_t read_plain(struct bytes *bytes, char *out, size_t room)
{
    size_t left = bytes->size - bytes->at;

    if (left > 0) {
        size_t taken = left < room ? left : room;
        memcpy(out, bytes->data + bytes->at, taken);
        bytes->at += taken;
        return taken;
    }
    ssize_t got = read_fd(bytes->fd, out, room);
    if (got < 0) {
        snprintf(bytes->problem, sizeof bytes->problem,
                 "cannot be read further (%s); only what is before it is read",
                 strerror((int)-got));
        return 0;
    }
    return (size_t)got;
}

size_t bytes_read(struct bytes *bytes, char *out, size_t room)
{
    if (bytes->problem[0] != '\0')
        return 0;
    return bytes->is_packed ? read_packed(bytes, out, room) : read_plain(bytes, out, room);
}

void bytes_close(struct bytes *bytes)
{
    gunzip_close(&bytes->gunzip);
    free(bytes->data);
    if (bytes->fd >= 0)
        close(bytes->fd);
    *bytes = (struct bytes){.fd = -1};
}

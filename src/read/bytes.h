/*
 * The bytes of a recorded file, unpacked when it is gzip data. Plain ones are read as they are
 * asked for, whatever their size; compressed ones are taken into memory first (BYTES_PACKED_MAX).
 */
#ifndef READ_BYTES_H
#define READ_BYTES_H

#include "read/gunzip.h"

#define BYTES_PACKED_MAX ((size_t)1 << 30)
#define BYTES_HEAD_MAX ((size_t)65536)
#define BYTES_PROBLEM_MAX 240

struct bytes {
    int fd;
    char *data; /* the first bytes of a plain file, all of a compressed one */
    size_t size;
    size_t at;
    size_t capacity;
    bool is_packed;
    struct gunzip gunzip;
    char problem[BYTES_PROBLEM_MAX]; /* why the bytes ended before their end; "": they did not */
};

/* Takes the descriptor, also when it fails: a negative errno. */
int bytes_open(struct bytes *bytes, int fd);

/* The next bytes, at most `room`; 0 at the end, and then bytes->problem says whether it is one. */
size_t bytes_read(struct bytes *bytes, char *out, size_t room);

/* Takes a zeroed one with fd -1 too. */
void bytes_close(struct bytes *bytes);

#endif

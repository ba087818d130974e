/*
 * Bytes out of gzip data that is in memory, member after member: what the uploader's objects are
 * when they were joined, and what `gzip` writes. One member is decoded at a time and must fit
 * GUNZIP_MEMBER_MAX; libdeflate decodes whole members only, so one that is damaged or cut off gives
 * nothing, while those before it do. A few bytes that claim to be terabytes end with an error.
 */
#ifndef READ_GUNZIP_H
#define READ_GUNZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define GUNZIP_MEMBER_MAX ((size_t)1 << 30)
#define GUNZIP_TOTAL_MAX ((uint64_t)16 << 30)

struct gunzip {
    const unsigned char *data; /* the caller's */
    size_t size;
    size_t at;
    void *decompressor;
    char *member; /* decoded; this much is not yet taken: */
    size_t member_capacity;
    size_t member_size;
    size_t member_at;
    uint64_t total;
};

/* Whether these first bytes of a file are those of gzip data. */
bool gunzip_is_gzip(const void *data, size_t size);

/* -ENOMEM, -ENOTSUP in a build without the library, or 0. */
int gunzip_open(struct gunzip *gunzip, const void *data, size_t size);

/*
 * The next bytes, at most `room`; 0 at the end. -EBADMSG: what comes is damaged or cut off;
 * -EFBIG: it is too large when decoded; -ENOMEM. gunzip->at is then where it begins.
 */
ssize_t gunzip_read(struct gunzip *gunzip, char *out, size_t room);

/* Takes a zeroed one too. */
void gunzip_close(struct gunzip *gunzip);

#endif

#include "read/gunzip.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#ifdef TRACKER_NET
#include <libdeflate.h>
#endif

/* A batch of rows; larger ones are decoded again with more room, at a third of the time in all. */
#define MEMBER_INITIAL ((size_t)1 << 20)
#define MEMBER_GROWTH 4

bool gunzip_is_gzip(const void *data, size_t size)
{
    return size >= 2 && memcmp(data, "\x1f\x8b", 2) == 0;
}

#ifdef TRACKER_NET

int gunzip_open(struct gunzip *gunzip, const void *data, size_t size)
{
    *gunzip = (struct gunzip){.data = data, .size = size, .member_capacity = MEMBER_INITIAL};
    gunzip->decompressor = libdeflate_alloc_decompressor();
    gunzip->member = malloc(gunzip->member_capacity);
    if (gunzip->decompressor != NULL && gunzip->member != NULL)
        return 0;
    gunzip_close(gunzip);
    return -ENOMEM;
}

/* Nothing in the old room is worth keeping: decoding begins anew. */
static int make_more_room(struct gunzip *gunzip)
{
    if (gunzip->member_capacity >= GUNZIP_MEMBER_MAX)
        return -EFBIG;
    free(gunzip->member);
    gunzip->member_capacity *= MEMBER_GROWTH;
    gunzip->member = malloc(gunzip->member_capacity);
    return gunzip->member != NULL ? 0 : -ENOMEM;
}

static int decode_once(struct gunzip *gunzip, size_t *ret_taken, size_t *ret_made)
{
    switch (libdeflate_gzip_decompress_ex(gunzip->decompressor, gunzip->data + gunzip->at,
                                          gunzip->size - gunzip->at, gunzip->member,
                                          gunzip->member_capacity, ret_taken, ret_made)) {
    case LIBDEFLATE_SUCCESS:
        return 0;
    case LIBDEFLATE_INSUFFICIENT_SPACE:
        return -ENOSPC;
    default:
        return -EBADMSG;
    }
}

static int decode_member(struct gunzip *gunzip)
{
    size_t taken = 0;
    size_t made = 0;
    int error;

    gunzip->member_at = 0;
    gunzip->member_size = 0;
    if (gunzip->member == NULL)
        return -ENOMEM;
    while ((error = decode_once(gunzip, &taken, &made)) == -ENOSPC)
        if ((error = make_more_room(gunzip)) < 0)
            return error;
    if (error < 0)
        return error;
    if (made > GUNZIP_TOTAL_MAX - gunzip->total)
        return -EFBIG;
    gunzip->at += taken;
    gunzip->total += made;
    gunzip->member_size = made;
    return 0;
}

#else

int gunzip_open(struct gunzip *gunzip, const void *data, size_t size)
{
    (void)data;
    (void)size;
    *gunzip = (struct gunzip){0};
    return -ENOTSUP;
}

static int decode_member(struct gunzip *gunzip)
{
    (void)gunzip;
    return -ENOTSUP;
}

#endif

/* Tapes and file systems fill up with zeros; gzip passes them over too. */
static bool is_padding(const unsigned char *data, size_t size)
{
    return size == 0 || (data[0] == 0 && memcmp(data, data + 1, size - 1) == 0);
}

ssize_t gunzip_read(struct gunzip *gunzip, char *out, size_t room)
{
    while (gunzip->member_at == gunzip->member_size) {
        if (is_padding(gunzip->data + gunzip->at, gunzip->size - gunzip->at))
            return 0;
        int error = decode_member(gunzip);
        if (error < 0)
            return error;
    }
    size_t left = gunzip->member_size - gunzip->member_at;
    size_t taken = left < room ? left : room;
    memcpy(out, gunzip->member + gunzip->member_at, taken);
    gunzip->member_at += taken;
    return (ssize_t)taken;
}

void gunzip_close(struct gunzip *gunzip)
{
#ifdef TRACKER_NET
    if (gunzip->decompressor != NULL)
        libdeflate_free_decompressor(gunzip->decompressor);
#endif
    free(gunzip->member);
    *gunzip = (struct gunzip){0};
}

#include "net/gzip.h"

#include <errno.h>
#include <libdeflate.h>

/* Beyond it, rows get hardly smaller and take much longer. */
#define LEVEL 6

/* libdeflate writes no name and no time, so that equal bytes in are equal bytes out. */
static int compress_into(struct libdeflate_compressor *compressor, const void *data, size_t size,
                         struct buf *out)
{
    size_t bound = libdeflate_gzip_compress_bound(compressor, size);
    size_t left = out->max - out->size;

    /* The bound is for bytes without any order: what is really written may well fit. (Not to the
     * last byte: libdeflate wants some room behind it.) */
    size_t room_size = bound < left ? bound : left;
    char *room = buf_room(out, room_size);
    if (room == NULL)
        return -ENOMEM;
    size_t written = libdeflate_gzip_compress(compressor, data, size, room, room_size);
    if (written == 0)
        return -ENOMEM;
    out->size += written;
    return 0;
}

int gzip_compress(const void *data, size_t size, struct buf *out)
{
    struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(LEVEL);

    if (compressor == NULL)
        return -ENOMEM;
    int result = compress_into(compressor, size > 0 ? data : "", size, out);
    libdeflate_free_compressor(compressor);
    return result;
}

#include "encode/report_page.h"

#include <errno.h>
#ifdef TRACKER_NET
#include <libdeflate.h>

static int put_unpacked(struct buf *out, const unsigned char *packed, size_t packed_size,
                        size_t size)
{
    struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
    char *room = buf_room(out, size);
    int error = -ENOMEM;

    if (decompressor != NULL && room != NULL &&
        libdeflate_gzip_decompress(decompressor, packed, packed_size, room, size, NULL) ==
            LIBDEFLATE_SUCCESS) {
        out->size += size;
        error = 0;
    }
    libdeflate_free_decompressor(decompressor);
    return error;
}
#else
static int put_unpacked(struct buf *out, const unsigned char *packed, size_t packed_size,
                        size_t size)
{
    (void)size;
    buf_bytes(out, (const char *)packed, packed_size);
    return out->overflow ? -ENOMEM : 0;
}
#endif

int report_page_style(struct buf *out)
{
    return put_unpacked(out, report_style, report_style_packed_size, report_style_size);
}

int report_page_script(struct buf *out)
{
    return put_unpacked(out, report_script, report_script_packed_size, report_script_size);
}

/*
 * Foreign bytes as gzip data: they end, with the same bytes however they are taken, and what was
 * packed before them is there.
 */
#include "support.h"

#include "net/gzip.h"
#include "read/gunzip.h"

#define OUTPUT_LOOKED_AT (1 << 20)

struct outcome {
    size_t size;
    uint64_t hash;
    ssize_t last;
};

static struct outcome unpack(const void *data, size_t size, size_t room)
{
    static char chunk[65536];
    struct outcome outcome = {.hash = 1469598103934665603u};
    struct gunzip gunzip;

    FUZZ_CHECK(gunzip_open(&gunzip, data, size) == 0);
    while (outcome.size < OUTPUT_LOOKED_AT &&
           (outcome.last = gunzip_read(&gunzip, chunk, room)) > 0) {
        FUZZ_CHECK((size_t)outcome.last <= room);
        for (ssize_t i = 0; i < outcome.last; i++)
            outcome.hash = (outcome.hash ^ (unsigned char)chunk[i]) * 1099511628211u;
        outcome.size += (size_t)outcome.last;
    }
    FUZZ_CHECK(gunzip.at <= size);
    gunzip_close(&gunzip);
    return outcome;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct buf packed;

    struct outcome whole = unpack(data, size, 65536);
    struct outcome pieces = unpack(data, size, 4096);
    if (whole.size < OUTPUT_LOOKED_AT)
        FUZZ_CHECK(whole.size == pieces.size && whole.hash == pieces.hash &&
                   whole.last == pieces.last);

    if (packed.data == NULL)
        FUZZ_CHECK(buf_init(&packed, 65536, 64 << 20) == 0);
    buf_reset(&packed);
    FUZZ_CHECK(gzip_compress(data, size, &packed) == 0);
    FUZZ_CHECK(gunzip_is_gzip(packed.data, packed.size));
    struct outcome alone = unpack(packed.data, packed.size, 4096);
    FUZZ_CHECK(alone.size == size && alone.last == 0);
    buf_bytes(&packed, (const char *)data, size);
    FUZZ_CHECK(unpack(packed.data, packed.size, 4096).size >= size);
    return 0;
}

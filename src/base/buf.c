#include "base/buf.h"

#include "base/fmt.h"

#include <errno.h>
#include <stdlib.h>

int buf_init(struct buf *buf, size_t initial, size_t max)
{
    *buf = (struct buf){.max = max};
    buf->data = malloc(initial);
    if (buf->data == NULL)
        return -ENOMEM;
    buf->capacity = initial;
    return 0;
}

void buf_free(struct buf *buf)
{
    free(buf->data);
    *buf = (struct buf){0};
}

static int buf_grow(struct buf *buf, size_t needed)
{
    if (needed > buf->max)
        return -EOVERFLOW;

    size_t capacity = buf->capacity > 0 ? buf->capacity : 64;
    while (capacity < needed)
        capacity *= 2;
    if (capacity > buf->max)
        capacity = buf->max;

    char *data = realloc(buf->data, capacity);
    if (data == NULL)
        return -ENOMEM;
    buf->data = data;
    buf->capacity = capacity;
    return 0;
}

char *buf_room(struct buf *buf, size_t need)
{
    if (buf->overflow)
        return NULL;
    if (need > buf->capacity - buf->size && buf_grow(buf, buf->size + need) < 0) {
        buf->overflow = true;
        return NULL;
    }
    return buf->data + buf->size;
}

void buf_bytes(struct buf *buf, const char *bytes, size_t size)
{
    char *room = buf_room_at_hand(buf, size);
    if (room == NULL)
        return;
    memcpy(room, bytes, size);
    buf->size += size;
}

void buf_char(struct buf *buf, char c)
{
    char *room = buf_room_at_hand(buf, 1);
    if (room == NULL)
        return;
    *room = c;
    buf->size++;
}

void buf_u64(struct buf *buf, uint64_t value)
{
    char *room = buf_room_at_hand(buf, FMT_U64_MAX);
    if (room != NULL)
        buf->size += fmt_u64(room, value);
}

void buf_fixed(struct buf *buf, double value, unsigned decimals)
{
    char *room = buf_room_at_hand(buf, FMT_FIXED_MAX);
    if (room != NULL)
        buf->size += fmt_fixed(room, value, decimals);
}

void buf_drop_front(struct buf *buf, size_t count)
{
    memmove(buf->data, buf->data + count, buf->size - count);
    buf->size -= count;
}

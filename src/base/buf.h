/*
 * A byte buffer with a stated maximum. It grows by doubling until that maximum and is reused
 * afterwards, so a steady state allocates nothing. Writing beyond the maximum (or running out of
 * memory) sets `overflow` and drops the bytes; the caller looks once, at the end.
 * Owned by one thread; buf_free takes a zeroed struct too.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct buf {
    char *data;
    size_t size;
    size_t capacity;
    size_t max;
    bool overflow;
};

int buf_init(struct buf *buf, size_t initial, size_t max);
void buf_free(struct buf *buf);

static inline void buf_reset(struct buf *buf)
{
    buf->size = 0;
    buf->overflow = false;
}

/* Room for `need` more bytes at the end, or NULL; the caller then adds to buf->size what it wrote.
 */
char *buf_room(struct buf *buf, size_t need);

/* Here, since a sample is some thousand of these, and there is nearly always room. */
static inline char *buf_room_at_hand(struct buf *buf, size_t need)
{
    if (need <= buf->capacity - buf->size && !buf->overflow)
        return buf->data + buf->size;
    return buf_room(buf, need);
}

void buf_bytes(struct buf *buf, const char *bytes, size_t size);
void buf_char(struct buf *buf, char c);
void buf_u64(struct buf *buf, uint64_t value);
void buf_fixed(struct buf *buf, double value, unsigned decimals);

static inline void buf_text(struct buf *buf, const char *text)
{
    buf_bytes(buf, text, strlen(text));
}

/* Forgets the first `count` bytes. */
void buf_drop_front(struct buf *buf, size_t count);

#endif

#include "net/secret.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#define CAPACITY_MIN 64

void *secret_malloc(size_t size)
{
    return malloc(size);
}

void *secret_calloc(size_t count, size_t size)
{
    return calloc(count, size);
}

char *secret_strdup(const char *text)
{
    return strdup(text);
}

void *secret_realloc(void *memory, size_t size)
{
    size_t before = memory != NULL ? malloc_usable_size(memory) : 0;
    void *moved = malloc(size);

    if (moved == NULL)
        return NULL;
    if (before > 0)
        memcpy(moved, memory, before < size ? before : size);
    secret_free(memory);
    return moved;
}

/* All that malloc gave, which may be more than was asked for: a realloc may have shrunk it. */
void secret_free(void *memory)
{
    if (memory != NULL)
        sodium_memzero(memory, malloc_usable_size(memory));
    free(memory);
}

/* Leaves it as it is when that does not work; the buffer itself then says so. */
static void grow(struct buf *buf, size_t needed)
{
    size_t capacity = buf->capacity > CAPACITY_MIN ? buf->capacity : CAPACITY_MIN;

    if (needed > buf->max)
        return;
    while (capacity < needed)
        capacity *= 2;
    if (capacity > buf->max)
        capacity = buf->max;
    char *data = secret_realloc(buf->data, capacity);
    if (data == NULL)
        return;
    buf->data = data;
    buf->capacity = capacity;
}

void secret_buf_bytes(struct buf *buf, const void *bytes, size_t size)
{
    if (!buf->overflow && size > buf->capacity - buf->size)
        grow(buf, buf->size + size);
    if (size > buf->capacity - buf->size)
        buf->overflow = true; /* or it would grow in its own way */
    buf_bytes(buf, bytes, size);
}

void secret_buf_free(struct buf *buf)
{
    secret_free(buf->data);
    *buf = (struct buf){0};
}

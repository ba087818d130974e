/*
 * A struct buf over an array of the caller's: bounded text without allocation. It never grows, so
 * it is not freed.
 */
#ifndef NET_FIXED_H
#define NET_FIXED_H

#include "base/buf.h"

static inline struct buf fixed_over(char *array, size_t size)
{
    return (struct buf){.data = array, .capacity = size, .max = size};
}

/* Ends the text with a NUL; false, and an empty text, when it did not fit. */
static inline bool fixed_end(struct buf *text)
{
    buf_char(text, '\0');
    if (text->overflow)
        text->data[0] = '\0';
    return !text->overflow;
}

#endif

/*
 * A buffer for what is under test to write into, with the functions that cmocka calls before and
 * after a test, or a group of tests.
 */
#ifndef TESTS_UNIT_OUT_H
#define TESTS_UNIT_OUT_H

#include "scratch.h"

#include "base/buf.h"

/* Little, so that it has to grow under most tests. */
#define OUT_INITIAL 64
#define OUT_MAX (1 << 20)

static struct buf out;

static inline int out_make(void **state)
{
    (void)state;
    return buf_init(&out, OUT_INITIAL, OUT_MAX);
}

static inline int out_drop(void **state)
{
    (void)state;
    buf_free(&out);
    return 0;
}

#endif

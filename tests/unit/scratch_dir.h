/*
 * A scratch directory of its own for each test: `dir`, with `make` and `drop` to set it up and take
 * it down.
 */
#ifndef TESTS_UNIT_SCRATCH_DIR_H
#define TESTS_UNIT_SCRATCH_DIR_H

#include "scratch.h"

static struct scratch dir;

static int make(void **state)
{
    (void)state;
    scratch_make(&dir);
    return 0;
}

static int drop(void **state)
{
    (void)state;
    scratch_remove(&dir);
    return 0;
}

#endif

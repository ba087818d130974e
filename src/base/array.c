#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>

void *array_grow(void *array, size_t *capacity, size_t needed, size_t element_size)
{
    if (needed <= *capacity && array != NULL)
        return array;
    if (needed > SIZE_MAX / 4 / element_size)
        return NULL;

    /* Half as much again, so that adding one by one stays cheap. */
    size_t roomy = needed + needed / 2 + 8;
    void *grown = realloc(array, roomy * element_size);
    if (grown != NULL)
        *capacity = roomy;
    return grown;
}

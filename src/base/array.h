/*
 * Growing arrays. `array = array_grow(array, …)` must be checked: NULL leaves the old array valid.
 */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stddef.h>

/* The array with room for at least `needed` elements, perhaps moved; NULL when out of memory. */
void *array_grow(void *array, size_t *capacity, size_t needed, size_t element_size);

#endif

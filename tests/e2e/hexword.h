/*
 * Words of the tests' tools in hexadecimal digits, so that any byte can be in them; "-" is empty.
 */
#ifndef TESTS_E2E_HEXWORD_H
#define TESTS_E2E_HEXWORD_H

#include "base/scan.h"

#include <string.h>
#include <sys/types.h>

/* In place, with a NUL behind it; the number of bytes, or -1: not a hexadecimal digit. */
static inline ssize_t hexword_decode(char *word)
{
    size_t size = strcmp(word, "-") == 0 ? 0 : strlen(word) / 2;

    for (size_t i = 0; i < size; i++) {
        int high = hex_value(word[2 * i]);
        int low = hex_value(word[2 * i + 1]);
        if (high < 0 || low < 0)
            return -1;
        word[i] = (char)(high << 4 | low);
    }
    word[size] = '\0';
    return (ssize_t)size;
}

#endif

/*
 * Foreign names that are not known here (keys of a newer version, columns of somebody else's), each
 * to be told once. Plain data; of those that do not fit the list, it says how many they are.
 */
#ifndef READ_NAMES_H
#define READ_NAMES_H

#include "base/scan.h"

#define NAMES_MAX 256
#define NAMES_LIST_MAX 160

struct names {
    uint64_t seen[NAMES_MAX]; /* hashes of all */
    size_t count;
    size_t left_out;           /* new ones that the list has no room for */
    size_t listed_size;        /* of the list before it says how many */
    char list[NAMES_LIST_MAX]; /* the new ones, separated by commas; "": none */
};

/* The list begins anew; what was seen stays so. */
void names_start(struct names *names);

/* Adds `name`, or `group`.`name`, to the list unless it was seen before. `group` may be "". */
void names_add(struct names *names, const char *group, const struct scan *name);

#endif

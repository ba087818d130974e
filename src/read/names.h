/*
 * Foreign names that are not known here (keys of a newer version, columns of somebody else's), each
 * to be told once. Plain data; what does not fit is not told.
 */
#ifndef READ_NAMES_H
#define READ_NAMES_H

#include "base/scan.h"

#define NAMES_MAX 128
#define NAMES_LIST_MAX 160

struct names {
    uint64_t seen[NAMES_MAX]; /* hashes of all */
    size_t count;
    char list[NAMES_LIST_MAX]; /* the new ones, separated by commas; "": none */
};

/* Adds `name`, or `group`.`name`, to the list unless it was seen before. */
void names_add(struct names *names, const char *group, const struct scan *name);

#endif

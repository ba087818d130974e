/*
 * Listing a directory by the system call: opendir() would allocate a buffer at every sample.
 */
#ifndef BASE_DIR_H
#define BASE_DIR_H

#include <dirent.h>
#include <stdbool.h>

/* Returns false to end the listing early. */
typedef bool dir_visit(void *context, const struct dirent64 *entry);

/* Visits every entry of the directory that `dir_fd` stands for; 0 or a negative errno. */
int dir_each(int dir_fd, dir_visit *visit, void *context);

#endif

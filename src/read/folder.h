/*
 * The files of a folder that hold recorded samples.
 */
#ifndef READ_FOLDER_H
#define READ_FOLDER_H

#include <stddef.h>

/* Beyond this, files are left out. */
#define FOLDER_FILES_MAX 100000

struct folder {
    char **paths; /* in the order of their names */
    size_t count;
    size_t capacity;
};

/* Regular files only: a pipe in there would make us wait. 0 or a negative errno. */
int folder_list(struct folder *folder, int dir_fd, const char *path);
void folder_free(struct folder *folder);

#endif

#include "read/folder.h"

#include "base/array.h"
#include "base/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const endings[] = {".csv", ".csv.gz", ".jsonl", ".jsonl.gz"};

struct listing {
    struct folder *folder;
    int dir_fd;
    const char *path;
    bool is_out_of_memory;
};

static bool has_ending(const char *name)
{
    size_t size = strlen(name);

    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t ending = strlen(endings[i]);
        if (size > ending && strcmp(name + size - ending, endings[i]) == 0)
            return true;
    }
    return false;
}

static bool is_regular(int dir_fd, const char *name)
{
    struct stat status;

    return fstatat(dir_fd, name, &status, 0) == 0 && S_ISREG(status.st_mode);
}

static bool add_path(struct folder *folder, const char *path, const char *name)
{
    char **paths = array_grow(folder->paths, &folder->capacity, folder->count + 1, sizeof *paths);
    char *joined;

    if (paths == NULL)
        return false;
    folder->paths = paths;
    const char *slash = path[0] != '\0' && path[strlen(path) - 1] == '/' ? "" : "/";
    if (asprintf(&joined, "%s%s%s", path, slash, name) < 0)
        return false;
    folder->paths[folder->count++] = joined;
    return true;
}

static bool visit(void *context, const struct dirent64 *entry)
{
    struct listing *listing = context;

    if (!has_ending(entry->d_name) || !is_regular(listing->dir_fd, entry->d_name))
        return true;
    listing->is_out_of_memory = !add_path(listing->folder, listing->path, entry->d_name);
    return !listing->is_out_of_memory && listing->folder->count < FOLDER_FILES_MAX;
}

static int compare(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

int folder_list(struct folder *folder, int dir_fd, const char *path)
{
    struct listing listing = {.folder = folder, .dir_fd = dir_fd, .path = path};

    int error = dir_each(dir_fd, visit, &listing);
    if (listing.is_out_of_memory)
        error = -ENOMEM;
    if (error < 0)
        return error;
    if (folder->count > 0)
        qsort(folder->paths, folder->count, sizeof *folder->paths, compare);
    return 0;
}

void folder_free(struct folder *folder)
{
    for (size_t i = 0; i < folder->count; i++)
        free(folder->paths[i]);
    free(folder->paths);
    *folder = (struct folder){0};
}

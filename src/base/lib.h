/*
 * Libraries that may or may not be there, loaded while we run. A file is looked at before it is
 * loaded: the loader maps a file that was cut short without complaint, and the first touch behind
 * its end would kill us.
 */
#ifndef BASE_LIB_H
#define BASE_LIB_H

#include <stddef.h>

/* A function by name, and where its pointer goes in the caller's table. */
struct lib_symbol {
    const char *name;
    size_t offset;
};

#define LIB_PATH_MAX 1024
#define LIB_PROBLEM_MAX (LIB_PATH_MAX + 128)

/*
 * Loads `name` (a file name, or a path when it has a slash) from the loader's own folders, those in
 * its cache, then from `folders`, which ends with NULL and may itself be NULL. 0; -ENOENT when
 * there is none; -ENOEXEC when those that are there cannot be used: `ret_bad`, of LIB_PATH_MAX
 * bytes, then names the last of them.
 */
int lib_open(const char *name, const char *const *folders, void **ret_lib, char *ret_bad);
void lib_close(void *lib);

/* Fills in the functions; those that the library lacks become NULL. */
void lib_load(void *lib, const struct lib_symbol *symbols, size_t count, void *table);

/*
 * The next text in `data`, from an offset on, that is a whole path to a file of that name and ends
 * with a NUL; the offset behind it, or 0.
 */
size_t lib_next_path(const char *data, size_t size, size_t from, const char *name,
                     const char **ret_path);

/* Whether a file looks like a whole library for this machine: 0 or a negative errno. */
int lib_check(const char *path);

#endif

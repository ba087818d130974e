/*
 * What most unit tests need besides cmocka: a scratch directory, files in it, and what was written
 * to a descriptor meanwhile. A helper that fails fails the test.
 */
#ifndef TESTS_UNIT_SCRATCH_H
#define TESTS_UNIT_SCRATCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct scratch {
    char path[64];
    int fd;
};

struct scratch_path {
    char text[128];
};

static inline void scratch_make(struct scratch *scratch)
{
    snprintf(scratch->path, sizeof scratch->path, "/tmp/tracker-unit-XXXXXX");
    assert_non_null(mkdtemp(scratch->path));
    scratch->fd = open(scratch->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(scratch->fd >= 0);
}

static inline int scratch_remove_one(const char *path, const struct stat *status, int kind,
                                     struct FTW *where)
{
    (void)status;
    (void)kind;
    (void)where;
    return remove(path);
}

static inline void scratch_remove(struct scratch *scratch)
{
    close(scratch->fd);
    assert_int_equal(nftw(scratch->path, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static inline struct scratch_path scratch_path(const struct scratch *scratch, const char *name)
{
    struct scratch_path path;

    assert_true((size_t)snprintf(path.text, sizeof path.text, "%s/%s", scratch->path, name) <
                sizeof path.text);
    return path;
}

static inline void scratch_write(const struct scratch *scratch, const char *name, const char *bytes,
                                 size_t size)
{
    int fd = openat(scratch->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
    close(fd);
}

static inline void scratch_text(const struct scratch *scratch, const char *name, const char *text)
{
    scratch_write(scratch, name, text, strlen(text));
}

/* The whole of a file as a string that the caller frees; NULL when there is no such file. */
static inline char *scratch_read(const struct scratch *scratch, const char *name)
{
    struct stat status;

    int fd = openat(scratch->fd, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    assert_int_equal(fstat(fd, &status), 0);
    char *text = calloc(1, (size_t)status.st_size + 1);
    assert_non_null(text);
    assert_int_equal(read(fd, text, (size_t)status.st_size), status.st_size);
    close(fd);
    return text;
}

static inline void scratch_expect(const struct scratch *scratch, const char *name, const char *text)
{
    char *content = scratch_read(scratch, name);

    assert_non_null(content);
    bool as_wanted = strcmp(content, text) == 0;
    if (!as_wanted)
        print_error("%s holds:\n%s\ninstead of:\n%s\n", name, content, text);
    free(content);
    assert_true(as_wanted);
}

/* What goes to a descriptor between begin and end. */
struct capture {
    int target;
    int saved;
    int file;
    char text[16384];
};

static inline void capture_begin(struct capture *capture, int target)
{
    capture->target = target;
    fflush(stdout);
    capture->saved = fcntl(target, F_DUPFD_CLOEXEC, 100);
    capture->file = memfd_create("capture", MFD_CLOEXEC);
    assert_true(capture->saved >= 0 && capture->file >= 0);
    assert_int_equal(dup2(capture->file, target), target);
}

static inline const char *capture_end(struct capture *capture)
{
    assert_int_equal(dup2(capture->saved, capture->target), capture->target);
    close(capture->saved);
    ssize_t size = pread(capture->file, capture->text, sizeof capture->text - 1, 0);
    close(capture->file);
    assert_true(size >= 0);
    capture->text[size] = '\0';
    return capture->text;
}

#endif

#include "sink/report_file.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "encode/report.h"
#include "sink/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE_INITIAL (256 * 1024)

/* As many as the kernel follows. */
#define LINKS_MAX 40
#define NAME_TRIES_MAX 100

/* Where a report goes. */
struct place {
    char path[PATH_MAX];      /* links resolved: the link stays, the file is replaced */
    char temporary[PATH_MAX]; /* beside it; named when it is made */
    bool is_direct;           /* a device, pipe or our own output: there is nothing to replace */
    bool is_pipe;
    bool is_there;
    mode_t mode; /* of what is there */
};

static bool is_own_output(const struct stat *status)
{
    struct stat given;

    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
        if (fstat(fd, &given) == 0 && given.st_dev == status->st_dev &&
            given.st_ino == status->st_ino)
            return true;
    return false;
}

/* --- finding it --- */

/* Length of "dir/" in "dir/name". */
static int folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? (int)(slash + 1 - path) : 0;
}

/* To the file that a link names, where that is not there yet and realpath() knows nothing of it. */
static int follow_links(char path[PATH_MAX])
{
    char target[PATH_MAX];
    char joined[2 * PATH_MAX];

    for (int links = 0; links < LINKS_MAX; links++) {
        ssize_t size = readlink(path, target, sizeof target - 1);
        if (size < 0)
            return errno == EINVAL || errno == ENOENT ? 0 : -errno;
        target[size] = '\0';
        int length = snprintf(joined, sizeof joined, "%.*s%s",
                              target[0] == '/' ? 0 : folder_length(path), path, target);
        if (length >= PATH_MAX)
            return -ENAMETOOLONG;
        memcpy(path, joined, (size_t)length + 1);
    }
    return -ELOOP;
}

static int look_at_what_is_there(struct place *place, const struct stat *status, const char *path)
{
    if (S_ISDIR(status->st_mode))
        return -EISDIR;
    if (access(path, W_OK) < 0)
        return -errno;
    place->is_there = true;
    place->mode = status->st_mode & 07777;
    place->is_pipe = S_ISFIFO(status->st_mode);
    place->is_direct = !S_ISREG(status->st_mode) || is_own_output(status);
    if (!place->is_direct && realpath(path, place->path) == NULL)
        return -errno;
    return 0;
}

static int find_place(struct place *place, const char *path)
{
    struct stat status;

    memset(place, 0, sizeof *place);
    if (path[0] == '\0')
        return -ENOENT;
    if (strlen(path) >= sizeof place->path)
        return -ENAMETOOLONG;
    memcpy(place->path, path, strlen(path) + 1);
    if (stat(path, &status) == 0)
        return look_at_what_is_there(place, &status, path);
    /* Others than "not there": a link that the kernel will not follow for us, for one. */
    return errno == ENOENT ? follow_links(place->path) : -errno;
}

/* --- the file beside it --- */

/* dir/.name.RANDOM.new for dir/name: nobody can have laid something there for us. */
static int name_temporary(struct place *place)
{
    int folder = folder_length(place->path);
    uint64_t random;

    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random)
        random = clock_monotonic_ns() ^ (uint64_t)getpid() << 32;
    int length = snprintf(place->temporary, sizeof place->temporary, "%.*s.%.200s.%016llx.new",
                          folder, place->path, place->path + folder, (unsigned long long)random);
    return length > 0 && (size_t)length < sizeof place->temporary ? 0 : -ENAMETOOLONG;
}

/* Not mkostemp: the file shall have the mode that the umask leaves. */
static int create_temporary(struct place *place)
{
    for (int tries = 0; tries < NAME_TRIES_MAX; tries++) {
        int error = name_temporary(place);
        if (error < 0)
            return error;
        int fd = open(place->temporary, O_WRONLY | O_CLOEXEC | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd < 0 ? -errno : fd;
    }
    return -EEXIST;
}

/*
 * There is a file that we may write but not replace: mounted by itself into a container, another
 * user's in a folder like /tmp, or in a folder we may not write to.
 */
static bool must_stay(const struct place *place, int error)
{
    return place->is_there && (error == -EBUSY || error == -EPERM || error == -EXDEV ||
                               error == -EACCES || error == -EROFS);
}

/* --- before the run --- */

int report_file_probe(const char *path)
{
    struct place place;
    int error = find_place(&place, path);

    if (error < 0 || place.is_direct)
        return error;
    cleanup_fd int fd = create_temporary(&place);
    if (fd < 0)
        return must_stay(&place, fd) ? 0 : fd;
    (void)unlink(place.temporary);
    return 0;
}

int report_file_hold(const char *path, int *ret_fd)
{
    struct place place;
    int error = find_place(&place, path);

    *ret_fd = -1;
    if (error < 0 || !place.is_pipe)
        return error;
    *ret_fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    return *ret_fd < 0 ? -errno : 0;
}

/* --- after it --- */

static int write_all(int fd, const struct buf *page)
{
    for (size_t done = 0; done < page->size;) {
        ssize_t written = write(fd, page->data + done, page->size - done);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return -errno;
        if (written == 0)
            return -ENOSPC;
        done += (size_t)written;
    }
    return 0;
}

/* In the place of the older one, which is gone then: on failure nothing is left. */
static int overwrite(const struct place *place, const struct buf *page)
{
    int fd = open(place->path, O_WRONLY | O_CLOEXEC | O_TRUNC | O_NOCTTY);

    if (fd < 0)
        return -errno;
    int error = write_all(fd, page);
    if (error < 0)
        (void)!ftruncate(fd, 0);
    if (close(fd) < 0 && error == 0)
        error = -errno;
    return error;
}

/* Complete beside it first, so that a disk without room for it leaves the older one. */
static int replace(struct place *place, const struct buf *page)
{
    int fd = create_temporary(place);
    if (fd < 0)
        return must_stay(place, fd) ? overwrite(place, page) : fd;
    int error = write_all(fd, page);
    if (error == 0 && place->is_there)
        (void)fchmod(fd, place->mode);
    /* Some file systems only now say that there is no room. */
    if (close(fd) < 0 && error == 0)
        error = -errno;
    bool is_complete = error == 0;
    if (is_complete && rename(place->temporary, place->path) < 0)
        error = -errno;
    if (error < 0)
        (void)unlink(place->temporary);
    return is_complete && must_stay(place, error) ? overwrite(place, page) : error;
}

static int write_direct(const struct place *place, const struct buf *page, uint64_t deadline_ns)
{
    struct writer writer = {.fd = -1};
    int error = writer_open_path(&writer, place->path);

    if (error == 0) {
        writer_line(&writer, page);
        writer_finish(&writer, deadline_ns);
        if (writer.pending.size > 0 || writer.dead)
            error = writer.error != 0 ? -writer.error : -EIO;
    }
    writer_close(&writer);
    return error;
}

int report_file_write(const char *path, const struct digest *const *digests, size_t count,
                      uint64_t deadline_ns)
{
    struct place place;
    struct buf page;
    int error = find_place(&place, path);

    if (error < 0)
        return error;
    error = buf_init(&page, PAGE_INITIAL, REPORT_BYTES_MAX);
    if (error == 0)
        error = report_write(digests, count, &page);
    if (error == 0)
        error = place.is_direct ? write_direct(&place, &page, deadline_ns) : replace(&place, &page);
    buf_free(&page);
    return error;
}

const char *report_file_rest(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0 &&
                   !is_own_output(&status)
               ? "the older one is still there"
               : "there is none";
}

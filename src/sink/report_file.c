#include "sink/report_file.h"

#include "base/cleanup.h"
#include "encode/report.h"
#include "sink/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE_INITIAL (256 * 1024)

/* Where a report goes. */
struct place {
    char path[PATH_MAX];      /* links resolved: the link stays, the file is replaced */
    char temporary[PATH_MAX]; /* beside it */
    bool is_direct;           /* a device, pipe or our own output: there is nothing to replace */
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

/* dir/.name.PID.new for dir/name */
static int name_temporary(struct place *place)
{
    const char *slash = strrchr(place->path, '/');
    int folder = slash != NULL ? (int)(slash + 1 - place->path) : 0;
    int length = snprintf(place->temporary, sizeof place->temporary, "%.*s.%.200s.%ld.new", folder,
                          place->path, place->path + folder, (long)getpid());

    return length > 0 && (size_t)length < sizeof place->temporary ? 0 : -ENAMETOOLONG;
}

static int find_place(struct place *place, const char *path)
{
    struct stat status;

    *place = (struct place){.is_there = stat(path, &status) == 0};
    if (path[0] == '\0')
        return -ENOENT;
    if (strlen(path) >= sizeof place->path)
        return -ENAMETOOLONG;
    memcpy(place->path, path, strlen(path) + 1);
    if (place->is_there) {
        if (S_ISDIR(status.st_mode))
            return -EISDIR;
        if (access(path, W_OK) < 0)
            return -errno;
        place->mode = status.st_mode & 07777;
        place->is_direct = !S_ISREG(status.st_mode) || is_own_output(&status);
        if (!place->is_direct && realpath(path, place->path) == NULL)
            return -errno;
    }
    return name_temporary(place);
}

static int create_temporary(const struct place *place)
{
    const int flags = O_WRONLY | O_CLOEXEC | O_CREAT | O_EXCL | O_NOFOLLOW;
    int fd = open(place->temporary, flags, 0666);

    /* One of an earlier process that had our PID and was killed. */
    if (fd < 0 && errno == EEXIST && unlink(place->temporary) == 0)
        fd = open(place->temporary, flags, 0666);
    return fd < 0 ? -errno : fd;
}

int report_file_probe(const char *path)
{
    struct place place;
    int error = find_place(&place, path);

    if (error < 0 || place.is_direct)
        return error;
    cleanup_fd int fd = create_temporary(&place);
    if (fd < 0)
        return fd;
    (void)unlink(place.temporary);
    return 0;
}

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

static int replace(const struct place *place, const struct buf *page)
{
    int fd = create_temporary(place);
    if (fd < 0)
        return fd;
    int error = write_all(fd, page);
    if (error == 0 && place->is_there)
        (void)fchmod(fd, place->mode);
    /* Some file systems only now say that there is no room. */
    if (close(fd) < 0 && error == 0)
        error = -errno;
    if (error == 0 && rename(place->temporary, place->path) < 0)
        error = -errno;
    if (error < 0)
        (void)unlink(place->temporary);
    return error;
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

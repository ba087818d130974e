#include "sink/writer.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define PENDING_INITIAL 4096
/* The caller stops long before; this is what one more line of any size may need. */
#define PENDING_MAX (64 * 1024 * 1024)

static int writer_init(struct writer *writer, int fd)
{
    *writer = (struct writer){.fd = fd};
    return buf_init(&writer->pending, PENDING_INITIAL, PENDING_MAX);
}

/*
 * `-o /dev/stdout`, or `-o out` beside `> out`: the file is the command's output too. Opened anew
 * it would have a position of its own, and each would overwrite the other.
 */
static int find_shared(const char *path)
{
    struct stat wanted;
    struct stat given;

    if (stat(path, &wanted) < 0 || !S_ISREG(wanted.st_mode))
        return -1;
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
        if (fstat(fd, &given) == 0 && given.st_dev == wanted.st_dev &&
            given.st_ino == wanted.st_ino)
            return fd;
    return -1;
}

int writer_open_path(struct writer *writer, const char *path)
{
    /* Non-blocking: the open of a pipe without a reader would wait, and the command with it. */
    const int flags = O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    struct stat status;
    bool created = true;

    int shared_fd = find_shared(path);
    if (shared_fd >= 0)
        return writer_open_fd(writer, shared_fd);
    int fd = open(path, flags | O_CREAT | O_EXCL, 0666);
    if (fd < 0 && errno == EEXIST) {
        created = false;
        fd = open(path, flags | O_CREAT, 0666);
    }
    if (fd < 0)
        return -errno;
    int error = writer_init(writer, fd);
    writer->owns_fd = true;
    writer->created = created;
    writer->is_own_file = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    return error;
}

/*
 * Our stdout or stderr is often the command's too. Setting O_NONBLOCK on it would change it for the
 * command; opening the same pipe or terminal again gives a descriptor with flags of its own.
 */
static int reopen_nonblocking(int fd)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

int writer_open_fd(struct writer *writer, int fd)
{
    struct stat status;

    int error = writer_init(writer, fd);
    if (error < 0 || fstat(fd, &status) < 0)
        return error;
    if (S_ISSOCK(status.st_mode)) {
        writer->is_socket = true;
    } else if (S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode)) {
        int own = reopen_nonblocking(fd);
        writer->may_block = own < 0;
        writer->owns_fd = own >= 0;
        if (own >= 0)
            writer->fd = own;
    }
    return 0;
}

void writer_truncate(struct writer *writer)
{
    if (writer->is_own_file && ftruncate(writer->fd, 0) < 0)
        writer->error = errno;
}

static bool is_writable(int fd, int timeout_ms)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLOUT};

    return poll(&poll_fd, 1, timeout_ms) > 0;
}

/* Bytes written, or a negative errno. */
static ssize_t write_some(const struct writer *writer, const char *data, size_t size)
{
    ssize_t wrote;

    if (writer->may_block) {
        if (!is_writable(writer->fd, 0))
            return -EAGAIN;
        /* A pipe that is writable takes this much without waiting. */
        size = size < PIPE_BUF ? size : PIPE_BUF;
    }
    do {
        wrote = writer->is_socket ? send(writer->fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL)
                                  : write(writer->fd, data, size);
    } while (wrote < 0 && errno == EINTR);
    return wrote < 0 ? -errno : wrote;
}

/* Where an own file may be cut without tearing a line. */
static void note_written(struct writer *writer, const char *data, size_t size)
{
    const char *newline = memrchr(data, '\n', size);

    if (newline != NULL)
        writer->whole_bytes = writer->written + (newline - data) + 1;
    writer->written += (off_t)size;
}

/* How much of `data` went out; the reason for the rest is in writer->error. */
static size_t write_out(struct writer *writer, const char *data, size_t size)
{
    size_t done = 0;

    writer->error = 0;
    while (done < size) {
        ssize_t wrote = write_some(writer, data + done, size - done);
        if (wrote <= 0) {
            writer->error = wrote < 0 ? (int)-wrote : EIO;
            break;
        }
        done += (size_t)wrote;
    }
    if (writer->error == EPIPE || writer->error == EBADF || writer->error == ECONNRESET)
        writer->dead = true;
    note_written(writer, data, done);
    return done;
}

void writer_flush(struct writer *writer)
{
    if (writer->dead)
        buf_reset(&writer->pending);
    if (writer->pending.size == 0)
        return;
    size_t done = write_out(writer, writer->pending.data, writer->pending.size);
    buf_drop_front(&writer->pending, done);
}

void writer_line(struct writer *writer, const struct buf *line)
{
    if (writer->dead)
        return;
    if (writer->pending.size > 0) {
        buf_bytes(&writer->pending, line->data, line->size);
        writer_flush(writer);
        return;
    }
    buf_reset(&writer->pending);
    size_t done = write_out(writer, line->data, line->size);
    if (done < line->size && !writer->dead)
        buf_bytes(&writer->pending, line->data + done, line->size - done);
}

void writer_finish(struct writer *writer, uint64_t deadline_ns)
{
    writer_flush(writer);
    while (writer->pending.size > 0 && writer->error == EAGAIN) {
        uint64_t now_ns = clock_monotonic_ns();
        if (now_ns >= deadline_ns ||
            !is_writable(writer->fd, (int)((deadline_ns - now_ns) / NS_PER_MS) + 1))
            break;
        writer_flush(writer);
    }
    if (writer->pending.size > 0 && writer->is_own_file &&
        ftruncate(writer->fd, writer->whole_bytes) < 0)
        writer->error = errno;
}

void writer_close(struct writer *writer)
{
    if (writer->owns_fd)
        close(writer->fd);
    buf_free(&writer->pending);
    writer->fd = -1;
}

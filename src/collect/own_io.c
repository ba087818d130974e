#include "collect/own_io.h"

#include "base/cleanup.h"
#include "base/dir.h"
#include "base/sysroot.h"
#include "collect/pid_file.h"
#include "model/sample.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>

/* Of threads that have been joined. Only the sampling thread's. */
static struct pid_io ended_threads;

struct thread_sum {
    int task_fd;
    bool is_whole;
    struct pid_io io;
};

static bool add_thread(void *context, const struct dirent64 *entry)
{
    struct thread_sum *sum = context;
    struct scan name = scan_over(entry->d_name, strlen(entry->d_name));
    char text[PID_FILE_MAX];
    struct pid_io io;
    uint64_t thread;

    if (!scan_u64(&name, &thread) || name.at != name.end || thread > INT_MAX)
        return true;
    ssize_t got = pid_file_read(sum->task_fd, (pid_t)thread, "io", text);
    sum->is_whole = got > 0 && pid_io_parse(scan_over(text, (size_t)got), &io);
    if (!sum->is_whole)
        return false;
    sum->io.read_bytes += io.read_bytes;
    sum->io.write_bytes += io.write_bytes;
    return true;
}

/* The whole is read first: what a thread does in between is then missed now, not counted twice. */
bool own_io_read(const struct own_io *own, struct usage *ret_usage)
{
    struct thread_sum threads = {.task_fd = own->task_fd, .io = ended_threads};
    char text[PID_FILE_MAX];
    struct pid_io all;

    ssize_t got = own->io_fd >= 0 ? pid_file_pread(own->io_fd, text) : -1;
    if (got <= 0 || !pid_io_parse(scan_over(text, (size_t)got), &all))
        return false;
    if (own->task_fd < 0 || dir_each(own->task_fd, add_thread, &threads) < 0 || !threads.is_whole)
        return false;
    *ret_usage = (struct usage){0};
    ret_usage->reaped[QUANTITY_READ] = counter_growth(all.read_bytes, threads.io.read_bytes);
    ret_usage->reaped[QUANTITY_WRITE] = counter_growth(all.write_bytes, threads.io.write_bytes);
    return true;
}

void own_io_open(struct own_io *own)
{
    own->io_fd = open(SYSROOT_PROC "/self/io", O_RDONLY | O_CLOEXEC);
    own->task_fd = open(SYSROOT_PROC "/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

void own_io_close(struct own_io *own)
{
    close_fd(&own->io_fd);
    close_fd(&own->task_fd);
}

void own_io_of_this_thread(struct pid_io *ret_io)
{
    char text[PID_FILE_MAX];
    cleanup_fd int fd = open(SYSROOT_PROC "/thread-self/io", O_RDONLY | O_CLOEXEC);

    ssize_t got = fd >= 0 ? pid_file_pread(fd, text) : -1;
    if (got <= 0 || !pid_io_parse(scan_over(text, (size_t)got), ret_io))
        *ret_io = (struct pid_io){0};
}

void own_io_thread_ended(const struct pid_io *io)
{
    ended_threads.read_bytes += io->read_bytes;
    ended_threads.write_bytes += io->write_bytes;
}

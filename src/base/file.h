/*
 * Reading kernel files. `struct file` keeps its descriptor and buffer: a read is preads from
 * offset 0 to the end, with no open, close or allocation once the buffer has grown to fit.
 * A short pread of a seq file is not its end, so only a read of nothing is; except where the kernel
 * makes the whole content as one record (stat, meminfo, loadavg), which saves a system call.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/scan.h"

#include <stddef.h>
#include <sys/types.h>

struct file {
    int fd;
    char *data;
    size_t size;
    size_t capacity;
    size_t max;      /* content beyond this is cut off at the last whole line */
    bool one_record; /* set after opening: a read that does not fill the buffer has it all */
};

/* `initial` bytes are allocated now; the buffer may grow to `max`. */
int file_open(struct file *file, int dir_fd, const char *path, size_t initial, size_t max);

/* Reads the whole content into data/size. On failure size is 0 and the error returned. */
int file_read(struct file *file);

static inline struct scan file_scan(const struct file *file)
{
    return scan_over(file->data, file->size);
}

/* Takes a zeroed or half-opened file too. */
void file_close(struct file *file);

/* pread that is not ended by a signal; the size or a negative errno. */
ssize_t fd_pread(int fd, void *out, size_t size, uint64_t offset);

/* Writes all of it at a place; 0 or a negative errno. */
int fd_write_at(int fd, const void *bytes, size_t size, uint64_t offset);

/*
 * One-shot read of a small text such as a sysfs attribute: at most size - 1 bytes, blanks and line
 * ends trimmed on both sides, NUL-terminated. Returns the length or a negative errno; an attribute
 * that is empty after trimming is -ENODATA.
 */
ssize_t file_read_text(int dir_fd, const char *path, char *out, size_t size);

/* As above, for an attribute that holds one unsigned number. */
int file_read_u64(int dir_fd, const char *path, uint64_t *ret_value);

#endif

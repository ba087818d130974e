#include "net/spool.h"

#include "base/cleanup.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MEMORY_INITIAL 4096
#define SUFFIX ".csv"
#define PEEK_SIZE 4096

static int open_file(struct spool *spool, const char *folder, const char *header)
{
    int length = snprintf(spool->path, sizeof spool->path, "%s/resource-tracker-%d-XXXXXX" SUFFIX,
                          folder, (int)getpid());
    if (length < 0 || (size_t)length >= sizeof spool->path)
        return -ENAMETOOLONG;
    spool->fd = mkostemps(spool->path, (int)strlen(SUFFIX), O_CLOEXEC);
    if (spool->fd < 0)
        return -errno;
    int error = fd_write_at(spool->fd, header, strlen(header), 0);
    if (error < 0) {
        (void)unlink(spool->path);
        close_fd(&spool->fd);
        return error;
    }
    spool->header_size = strlen(header);
    spool->file = (struct spool_part){
        .begin = spool->header_size, .cut = spool->header_size, .end = spool->header_size};
    return 0;
}

int spool_open(struct spool *spool, const char *folder, const char *header, size_t held_max)
{
    *spool = (struct spool){.fd = -1};
    if (buf_init(&spool->memory, MEMORY_INITIAL, held_max) < 0)
        return -ENOMEM;
    int error = open_file(spool, folder, header);
    if (error < 0)
        spool->path[0] = '\0';
    return error;
}

/* --- in --- */

/* Whole or not at all: a row that a full disk has cut off is taken back. */
static bool append_to_file(struct spool *spool, const void *bytes, size_t size, uint64_t rows)
{
    if (fd_write_at(spool->fd, bytes, size, spool->file.end) < 0) {
        int ignored = ftruncate(spool->fd, (off_t)spool->file.end);
        (void)ignored;
        return false;
    }
    spool->file.end += size;
    spool->file.rows += rows;
    spool->file.uncut_rows += rows;
    return true;
}

/* Whether the file stays within its maximum. What was punched out takes no room on the disk. */
static bool has_room(const struct spool *spool, size_t size)
{
    uint64_t begin = spool->has_no_holes ? spool->header_size : spool->file.begin;

    return spool->file.end - begin + size <= SPOOL_FILE_MAX;
}

/* The disk may have room again. Rows that are in a batch stay where that says they are. */
static void move_held_to_file(struct spool *spool)
{
    struct spool_part *held = &spool->held;

    if (spool->fd < 0 || spool->memory.size == 0 || held->cut != held->begin ||
        !append_to_file(spool, spool->memory.data, spool->memory.size, held->uncut_rows))
        return;
    held->begin = held->end;
    held->cut = held->end;
    held->rows = 0;
    held->uncut_rows = 0;
    buf_reset(&spool->memory);
}

static bool append_to_memory(struct spool *spool, const void *row, size_t size)
{
    size_t before = spool->memory.size;

    buf_bytes(&spool->memory, row, size);
    if (spool->memory.overflow) {
        spool->memory.size = before;
        spool->memory.overflow = false;
        return false;
    }
    spool->held.end += size;
    spool->held.rows++;
    spool->held.uncut_rows++;
    return true;
}

/* Rows keep their order: while some are held, those that follow are held too. */
bool spool_append(struct spool *spool, const void *row, size_t size)
{
    if (has_room(spool, spool->memory.size))
        move_held_to_file(spool);
    bool is_kept = (spool->fd >= 0 && spool->memory.size == 0 && has_room(spool, size) &&
                    append_to_file(spool, row, size, 1)) ||
                   append_to_memory(spool, row, size);

    spool->lost_rows += !is_kept;
    return is_kept;
}

/* --- out --- */

static int read_at(int fd, char *out, size_t size, uint64_t offset)
{
    for (size_t done = 0; done < size;) {
        ssize_t got = fd_pread(fd, out + done, size - done, offset + done);
        if (got <= 0)
            return got < 0 ? (int)got : -EIO;
        done += (size_t)got;
    }
    return 0;
}

/* Some bytes of a batch; 0 or a negative errno. */
static int peek(const struct spool *spool, const struct spool_batch *batch, uint64_t from,
                char *out, size_t size)
{
    if (!batch->is_held)
        return read_at(spool->fd, out, size, batch->offset + from);
    memcpy(out, spool->memory.data + (batch->offset - spool->held.begin) + from, size);
    return 0;
}

/* Shortens a batch to the rows that end within its maximum; to one row at least. */
static void shorten(const struct spool *spool, struct spool_batch *batch)
{
    char bytes[PEEK_SIZE];
    struct spool_batch shorter = *batch;

    shorter.size = 0;
    shorter.rows = 0;
    for (uint64_t from = 0; from < batch->size; from += sizeof bytes) {
        uint64_t left = batch->size - from;
        size_t size = left < sizeof bytes ? (size_t)left : sizeof bytes;
        if (peek(spool, batch, from, bytes, size) < 0)
            return;
        for (size_t i = 0; i < size; i++) {
            if (bytes[i] != '\n')
                continue;
            if (from + i >= spool->batch_max && shorter.rows > 0) {
                *batch = shorter;
                return;
            }
            shorter.size = from + i + 1;
            shorter.rows++;
        }
    }
}

static bool cut(const struct spool *spool, struct spool_part *part, bool is_held,
                struct spool_batch *ret_batch)
{
    if (part->cut == part->end)
        return false;
    *ret_batch = (struct spool_batch){.is_held = is_held,
                                      .offset = part->cut,
                                      .size = part->end - part->cut,
                                      .rows = part->uncut_rows};
    if (spool->batch_max > 0 && ret_batch->size > spool->batch_max)
        shorten(spool, ret_batch);
    part->cut += ret_batch->size;
    part->uncut_rows -= ret_batch->rows;
    return true;
}

bool spool_cut(struct spool *spool, struct spool_batch *ret_batch)
{
    return cut(spool, &spool->file, false, ret_batch) || cut(spool, &spool->held, true, ret_batch);
}

int spool_read(const struct spool *spool, const struct spool_batch *batch, struct buf *out)
{
    if (batch->is_held) {
        buf_bytes(out, spool->memory.data + (batch->offset - spool->held.begin), batch->size);
        return out->overflow ? -ENOMEM : 0;
    }
    char *room = buf_room(out, batch->size);
    if (room == NULL)
        return -ENOMEM;
    int error = read_at(spool->fd, room, batch->size, batch->offset);
    if (error == 0)
        out->size += batch->size;
    return error;
}

/* Where no hole can be made, zeros are written: what was delivered must not be found again. False:
 * it takes as much room as before. */
static bool blank(int fd, uint64_t offset, uint64_t size)
{
    static const char zeros[4096];

    if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)size) == 0)
        return true;
    for (uint64_t done = 0; done < size; done += sizeof zeros) {
        uint64_t left = size - done;
        (void)fd_write_at(fd, zeros, left < sizeof zeros ? left : sizeof zeros, offset + done);
    }
    return false;
}

/* The file begins anew when all of it was delivered. */
static void release_file(struct spool *spool, const struct spool_batch *batch)
{
    struct spool_part *file = &spool->file;

    file->begin = batch->offset + batch->size;
    if (file->begin < file->end || ftruncate(spool->fd, (off_t)spool->header_size) < 0) {
        if (!blank(spool->fd, batch->offset, batch->size))
            spool->has_no_holes = true;
        return;
    }
    file->begin = spool->header_size;
    file->cut = spool->header_size;
    file->end = spool->header_size;
}

void spool_release(struct spool *spool, const struct spool_batch *batch)
{
    if (!batch->is_held) {
        spool->file.rows -= batch->rows;
        release_file(spool, batch);
        return;
    }
    spool->held.rows -= batch->rows;
    spool->held.begin += batch->size;
    buf_drop_front(&spool->memory, batch->size);
}

static void uncut(struct spool_part *part)
{
    part->cut = part->begin;
    part->uncut_rows = part->rows;
}

void spool_uncut(struct spool *spool)
{
    uncut(&spool->file);
    uncut(&spool->held);
}

void spool_release_all(struct spool *spool)
{
    struct spool_batch batch;

    spool_uncut(spool);
    while (spool_cut(spool, &batch))
        spool_release(spool, &batch);
}

void spool_settle(struct spool *spool)
{
    uncut(&spool->held);
    move_held_to_file(spool);
}

bool spool_is_findable(const struct spool *spool)
{
    struct stat opened;
    struct stat named;

    return spool->fd >= 0 && fstat(spool->fd, &opened) == 0 && stat(spool->path, &named) == 0 &&
           opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

void spool_tidy(struct spool *spool)
{
    if (spool->fd >= 0 && spool->file.begin == spool->file.end && spool_is_findable(spool))
        (void)unlink(spool->path);
}

/* Nobody will ask for what is still in memory: it goes where somebody may find it. */
void spool_close(struct spool *spool)
{
    spool_settle(spool);
    spool_tidy(spool);
    close_fd(&spool->fd);
    buf_free(&spool->memory);
}

#include "net/leftover.h"

#include "base/file.h"
#include "net/gzip.h"
#include "net/url.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE_MAX (1024 * 1024)
#define BUF_MAX (64 * 1024 * 1024)
#define NAME_MAX_BYTES 128
#define NUMBER_MAX 1000

/* Never over a file that is there: it may be all that is left of another run. */
static int create(const char *folder, const char *name, char *ret_path)
{
    char safe[NAME_MAX_BYTES];
    size_t size = 0;

    for (; size < sizeof safe - 1 && name[size] != '\0'; size++)
        safe[size] = url_is_unreserved(name[size]) ? name[size] : '_';
    safe[size] = '\0';
    for (int number = 0; number < NUMBER_MAX; number++) {
        char suffix[16] = "";
        if (number > 0)
            snprintf(suffix, sizeof suffix, "-%d", number);
        int length = snprintf(ret_path, SPOOL_PATH_MAX, "%s/resource-tracker-%s%s.csv.gz", folder,
                              safe, suffix);
        if (length < 0 || length >= SPOOL_PATH_MAX)
            return -ENAMETOOLONG;
        int fd = open(ret_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd >= 0 ? fd : -errno;
    }
    return -EEXIST;
}

/* One gzip member; several in a row are one gzip file. */
static int add_member(int fd, uint64_t *offset, const char *data, size_t size, struct buf *packed)
{
    buf_reset(packed);
    int error = gzip_compress(data, size, packed);
    if (error == 0)
        error = fd_write_at(fd, packed->data, packed->size, *offset);
    *offset += packed->size;
    return error;
}

static int write_rows(struct spool *spool, const char *header, int fd, struct buf *rows,
                      struct buf *packed)
{
    struct spool_batch batch;
    uint64_t offset = 0;
    int error = add_member(fd, &offset, header, strlen(header), packed);

    while (error == 0 && spool_cut(spool, &batch)) {
        buf_reset(rows);
        error = spool_read(spool, &batch, rows);
        if (error == 0)
            error = add_member(fd, &offset, rows->data, rows->size, packed);
    }
    return error;
}

int leftover_save(struct spool *spool, const char *header, const char *folder, const char *name,
                  char *ret_path)
{
    struct buf rows = {0};
    struct buf packed = {0};

    int fd = create(folder, name, ret_path);
    if (fd < 0)
        return fd;
    spool_uncut(spool);
    spool->batch_max = PIECE_MAX;
    int error = buf_init(&rows, PIECE_MAX, BUF_MAX);
    if (error == 0)
        error = buf_init(&packed, PIECE_MAX, BUF_MAX);
    if (error == 0)
        error = write_rows(spool, header, fd, &rows, &packed);
    /* Some file systems say only now that they had no room. */
    if (error == 0 && fsync(fd) < 0 && errno != EINVAL && errno != EROFS)
        error = -errno;
    if (close(fd) < 0 && error == 0)
        error = -errno;
    if (error == 0)
        spool_release_all(spool);
    else
        (void)unlink(ret_path);
    buf_free(&rows);
    buf_free(&packed);
    return error;
}

/*
 * Rows that wait to be delivered, in a file, so that memory stays small however long the network is
 * away and nothing is lost even when we are killed. Rows are appended by the sampling thread; the
 * uploader takes them away in batches, first to last, and lets a batch go only when it was
 * confirmed. When the disk is full, or the file has its maximum, rows are held in memory, up to a
 * maximum of its own; what is beyond that is counted as lost.
 *
 * The file has a header line and then exactly what has not been confirmed: what was is punched out
 * of it (it reads as NUL bytes), and a file without rows is removed in the end. Not locked: whoever
 * shares a spool between threads does that.
 */
#ifndef NET_SPOOL_H
#define NET_SPOOL_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

#define SPOOL_PATH_MAX 4096
/* What the file may take of the disk: seven weeks of rows of 250 bytes, one a second. */
#define SPOOL_FILE_MAX (UINT64_C(1) << 30)

/* Rows in a row: where they begin and end, and where batches of them end. */
struct spool_part {
    uint64_t begin; /* what was confirmed ends here */
    uint64_t cut;   /* batches end here */
    uint64_t end;
    uint64_t rows;       /* not yet confirmed */
    uint64_t uncut_rows; /* and in no batch */
};

struct spool {
    int fd;            /* -1: there is no file, all is held in memory */
    bool has_no_holes; /* what was confirmed could not be punched out */
    char path[SPOOL_PATH_MAX];
    size_t header_size;
    struct spool_part file;
    struct spool_part held; /* these come after those of the file */
    struct buf memory;      /* from held.begin on */
    uint64_t batch_max;     /* bytes in a batch, beyond its first row; 0: whatever there is */
    uint64_t lost_rows;
};

/* A batch: rows from one place to another. */
struct spool_batch {
    bool is_held;
    uint64_t offset;
    uint64_t size;
    uint64_t rows;
};

/*
 * Makes a file in `folder` that only its owner can read and that begins with `header` (a line).
 * Where that cannot be, all is held in memory: the error is returned, and the spool works
 * nevertheless, unless it is -ENOMEM.
 */
int spool_open(struct spool *spool, const char *folder, const char *header, size_t held_max);

/* One row with its line end. False: it was lost. */
bool spool_append(struct spool *spool, const void *row, size_t size);

/*
 * Makes a batch of the rows since the last one, as far as its maximum allows; false when there are
 * none. Rows in the file and rows in memory make two.
 */
bool spool_cut(struct spool *spool, struct spool_batch *ret_batch);

/* Appends the rows of a batch to `out`; 0 or a negative errno. */
int spool_read(const struct spool *spool, const struct spool_batch *batch, struct buf *out);

/* The first batch that was not yet released has been delivered. */
void spool_release(struct spool *spool, const struct spool_batch *batch);

/* Batches that were not released are no more: their rows are cut anew. */
void spool_uncut(struct spool *spool);

/* All rows, in batches or not, have been delivered. */
void spool_release_all(struct spool *spool);

/* Rows that are held in memory go into the file, if that takes them now. */
void spool_settle(struct spool *spool);

/* Rows that are not yet confirmed. */
static inline uint64_t spool_rows(const struct spool *spool)
{
    return spool->file.rows + spool->held.rows;
}

/* Their size. */
static inline uint64_t spool_size(const struct spool *spool)
{
    return spool->file.end - spool->file.begin + spool->held.end - spool->held.begin;
}

/* Whether somebody can find the file by its name. */
bool spool_is_findable(const struct spool *spool);

/* Removes the file if nothing is left in it, without closing it. */
void spool_tidy(struct spool *spool);

/* Removes the file if nothing is left in it; one with rows stays, at spool->path. */
void spool_close(struct spool *spool);

#endif

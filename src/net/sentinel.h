/*
 * What the API says and wants to hear: reading its answers and making the body that ends a run.
 * Pure, but that the first call makes jansson wipe all memory before it is freed: no other thread
 * may be using jansson then. Two dialects exist in the field; see docs/streaming.md.
 */
#ifndef NET_SENTINEL_H
#define NET_SENTINEL_H

#include "base/buf.h"
#include "net/s3.h"

#include <stdbool.h>
#include <stdint.h>

#define SENTINEL_ID_MAX 256
#define SENTINEL_PREFIX_MAX 1024
/* Larger answers are none. */
#define SENTINEL_ANSWER_MAX ((size_t)256 * 1024)

enum sentinel_dialect { SENTINEL_SPECIFIED, SENTINEL_DEPLOYED };

/* Holds secrets: wiped with sentinel_run_wipe(). */
struct sentinel_run {
    char id[SENTINEL_ID_MAX];
    char upload_prefix[SENTINEL_PREFIX_MAX]; /* without a slash at its end; "" when there is none */
    char region[S3_REGION_MAX];              /* "" when it is not told */
    struct s3_credentials credentials;
    uint64_t expires_secs; /* Unix time; 0: not told */
};
void sentinel_run_wipe(struct sentinel_run *run);

/* -EINVAL, with the run untouched, unless it is an object with what a run must have. */
int sentinel_parse_run(const void *answer, size_t size, struct sentinel_run *ret_run);

/* The answer to a refresh, in the same form or with the credentials alone; sets only those. */
int sentinel_parse_credentials(const void *answer, size_t size, struct sentinel_run *run);

/* "2026-11-15T08:00:00Z", with a fraction or another offset; false for anything else. */
bool sentinel_parse_time(const char *text, uint64_t *ret_secs);

/* S3 address of a batch: PREFIX/RUN_ID/000007.csv.gz; -EINVAL when there is no room or prefix. */
int sentinel_batch_uri(const struct sentinel_run *run, unsigned number, char *out, size_t size);

struct sentinel_end {
    const char *run_id;
    bool has_failed;    /* a non-zero exit, or a signal that nobody sent to end it in good order */
    bool has_exit_code; /* not of what a signal ended */
    int exit_code;
    uint64_t finished_secs;  /* Unix time */
    const char *const *uris; /* of what was stored; none: the data goes with this */
    size_t uri_count;
    const void *csv_gzip; /* all rows; used by the one dialect */
    size_t csv_gzip_size;
    const char *csv; /* the same as text; by the other */
    size_t csv_size;
};

/* 0 or -ENOMEM. What `out` grows out of is wiped; secret_buf_free() does that to the rest. */
int sentinel_end_body(const struct sentinel_end *end, enum sentinel_dialect dialect,
                      struct buf *out);

#endif

/*
 * Storing objects in S3: finds the region of a bucket, signs, puts, and says what is to be done
 * when it did not work. One try each: whoever calls decides when to try again.
 *
 * One thread at a time.
 */
#ifndef NET_S3_CLIENT_H
#define NET_S3_CLIENT_H

#include "net/http.h"
#include "net/s3.h"

enum s3_outcome {
    S3_STORED,
    S3_EXPIRED,   /* the credentials are no longer good: get new ones */
    S3_TRY_AGAIN, /* busy, unreachable, or what was wrong (clock, region) has been learned */
    S3_REFUSED,   /* will not work the same way again */
};

struct s3_client {
    struct http *http;
    const char *endpoint;        /* NULL: Amazon's; else a URL, path-style */
    const char *region_endpoint; /* where regions are asked for; NULL: at Amazon's */
    /* Learned. A region that was only guessed is not kept. */
    char bucket[S3_BUCKET_MAX];
    char region[S3_REGION_MAX];
    unsigned region_changes;  /* in a row, with nothing stored in between */
    int64_t clock_ahead_secs; /* of the server's clock; what we sign with is corrected by it */
};

struct s3_result {
    enum s3_outcome outcome;
    unsigned wait_secs; /* as the server asked for; 0: it did not */
    int status;
    char problem[HTTP_PROBLEM_MAX]; /* for a person: status and the server's code */
};

/* `endpoint` is borrowed for good; "" is as NULL. */
void s3_client_init(struct s3_client *client, struct http *http, const char *endpoint);

/* `region` as the API told it; NULL or "": it is asked for, once per bucket. */
void s3_client_put(struct s3_client *client, const struct s3_uri *uri, const char *region,
                   const struct s3_credentials *credentials, const void *body, size_t size,
                   struct s3_result *ret_result);

#endif

/*
 * The way of a run to the API and to S3, one try at a time: register, store batches, finish. It
 * knows the dialect the API speaks, renews credentials, and numbers objects; when to try again is
 * the uploader's business. Holds secrets: wiped when closed.
 *
 * One thread at a time.
 */
#ifndef NET_DELIVERY_H
#define NET_DELIVERY_H

#include "net/api.h"
#include "net/s3_client.h"

#define DELIVERY_URI_MAX (SENTINEL_PREFIX_MAX + SENTINEL_ID_MAX + 32)

struct delivery {
    struct api api;
    struct s3_client s3;
    struct sentinel_run run;
    bool is_registered;
    bool has_place; /* to store objects in */
    enum sentinel_dialect dialect;
    unsigned stored_count; /* objects; they are numbered from 0 without gaps */
    uint64_t renewed_ns;   /* when credentials were last asked for; 0: never */

    /* Of the last try that failed. */
    bool is_refused;    /* the same again would hardly help */
    bool is_open;       /* it may have been done all the same */
    unsigned wait_secs; /* as the server asked for */
    char problem[HTTP_PROBLEM_MAX];
};

/* `s3_endpoint` is borrowed for good; NULL or "": Amazon's. */
void delivery_init(struct delivery *delivery, struct http *http, const char *url, const char *token,
                   const char *s3_endpoint);
void delivery_wipe(struct delivery *delivery);

/* Makes the body that registers the run in a dialect; 0 or a negative errno. */
typedef int delivery_describe(void *context, enum sentinel_dialect dialect, struct buf *out);

bool delivery_register(struct delivery *delivery, delivery_describe *describe, void *context);

/* The next object, gzip. The same bytes are given again until it was stored. */
bool delivery_store(struct delivery *delivery, const struct buf *object);

/* The run is over; `end` without the ID, the time and the addresses of what was stored. */
bool delivery_finish(struct delivery *delivery, const struct sentinel_end *end);

#endif

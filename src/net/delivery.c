#include "net/delivery.h"

#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#define BODY_INITIAL 4096
#define DESCRIPTION_MAX (1024 * 1024)
#define END_MAX (64 * 1024 * 1024)
#define RENEW_BEFORE_SECS 300
/* An API whose credentials last less than that is not asked before every batch. */
#define RENEW_PAUSE_NS (60 * NS_PER_SEC)

void delivery_init(struct delivery *delivery, struct http *http, const char *url, const char *token,
                   const char *s3_endpoint)
{
    *delivery = (struct delivery){.dialect = SENTINEL_SPECIFIED};
    api_init(&delivery->api, http, url, token);
    s3_client_init(&delivery->s3, http, s3_endpoint);
}

void delivery_wipe(struct delivery *delivery)
{
    sodium_memzero(delivery, sizeof *delivery);
}

static void note_failure(struct delivery *delivery, bool is_refused, unsigned wait_secs,
                         const char *problem)
{
    delivery->is_refused = is_refused;
    delivery->wait_secs = wait_secs;
    snprintf(delivery->problem, sizeof delivery->problem, "%s", problem);
}

static bool note_result(struct delivery *delivery, const struct api_result *result)
{
    if (result->outcome == API_DONE)
        return true;
    note_failure(delivery, result->outcome != API_TRY_AGAIN, result->wait_secs, result->problem);
    delivery->is_open = result->is_open;
    return false;
}

/* --- the beginning --- */

static void find_place(struct delivery *delivery)
{
    char text[DELIVERY_URI_MAX];
    struct s3_uri uri;

    delivery->has_place = sentinel_batch_uri(&delivery->run, 0, text, sizeof text) == 0 &&
                          s3_uri_parse(text, &uri) == 0;
}

static void try_register(struct delivery *delivery, delivery_describe *describe, void *context,
                         enum sentinel_dialect dialect, struct api_result *ret_result)
{
    struct buf body;

    *ret_result = (struct api_result){.outcome = API_TRY_AGAIN, .problem = "out of memory"};
    if (buf_init(&body, BODY_INITIAL, DESCRIPTION_MAX) < 0)
        return;
    if (describe(context, dialect, &body) < 0)
        snprintf(ret_result->problem, sizeof ret_result->problem,
                 "what is known of it is too long");
    else
        api_register(&delivery->api, &body, &delivery->run, ret_result);
    buf_free(&body);
}

bool delivery_register(struct delivery *delivery, delivery_describe *describe, void *context)
{
    struct api_result result;

    delivery->dialect = SENTINEL_SPECIFIED;
    try_register(delivery, describe, context, delivery->dialect, &result);
    if (result.outcome == API_OTHER_DIALECT) {
        delivery->dialect = SENTINEL_DEPLOYED;
        try_register(delivery, describe, context, delivery->dialect, &result);
    }
    if (!note_result(delivery, &result))
        return false;
    delivery->is_registered = true;
    find_place(delivery);
    return true;
}

/* --- batches --- */

static bool renew(struct delivery *delivery)
{
    struct api_result result;

    delivery->renewed_ns = clock_monotonic_ns();
    api_refresh(&delivery->api, &delivery->run, &result);
    return note_result(delivery, &result);
}

/* By the server's clock as far as it is known: ours may be wrong. */
static bool is_about_to_expire(const struct delivery *delivery)
{
    int64_t now_secs =
        (int64_t)(clock_ns(CLOCK_REALTIME) / NS_PER_SEC) + delivery->s3.clock_ahead_secs;
    uint64_t expires_secs = delivery->run.expires_secs;

    return expires_secs != 0 && (int64_t)expires_secs - now_secs <= RENEW_BEFORE_SECS &&
           (delivery->renewed_ns == 0 ||
            clock_monotonic_ns() - delivery->renewed_ns >= RENEW_PAUSE_NS);
}

static enum s3_outcome put(struct delivery *delivery, const struct s3_uri *uri,
                           const struct buf *object)
{
    struct sentinel_run *run = &delivery->run;
    struct s3_result result;

    s3_client_put(&delivery->s3, uri, run->region, &run->credentials, object->data, object->size,
                  &result);
    if (result.outcome != S3_STORED)
        note_failure(delivery, result.outcome == S3_REFUSED, result.wait_secs, result.problem);
    return result.outcome;
}

bool delivery_store(struct delivery *delivery, const struct buf *object)
{
    char text[DELIVERY_URI_MAX];
    struct s3_uri uri;

    if (sentinel_batch_uri(&delivery->run, delivery->stored_count, text, sizeof text) < 0 ||
        s3_uri_parse(text, &uri) < 0) {
        note_failure(delivery, true, 0, "there is no place to store them");
        return false;
    }
    /* Without new ones the old may still do. */
    if (is_about_to_expire(delivery))
        (void)renew(delivery);
    enum s3_outcome outcome = put(delivery, &uri, object);
    if (outcome == S3_EXPIRED && renew(delivery))
        outcome = put(delivery, &uri, object);
    if (outcome != S3_STORED)
        return false;
    delivery->stored_count++;
    return true;
}

/* --- the end --- */

static void free_uris(char **uris, size_t count)
{
    for (size_t i = 0; uris != NULL && i < count; i++)
        free(uris[i]);
    free(uris);
}

/* Of all that was stored: which they are follows from how many. NULL: no memory. */
static char **make_uris(const struct delivery *delivery)
{
    char text[DELIVERY_URI_MAX];
    char **uris = calloc((size_t)delivery->stored_count + 1, sizeof *uris);

    for (unsigned i = 0; uris != NULL && i < delivery->stored_count; i++) {
        if (sentinel_batch_uri(&delivery->run, i, text, sizeof text) == 0)
            uris[i] = strdup(text);
        if (uris[i] == NULL) {
            free_uris(uris, i);
            return NULL;
        }
    }
    return uris;
}

static void try_finish(struct delivery *delivery, const struct sentinel_end *end,
                       struct api_result *ret_result)
{
    struct buf body;

    *ret_result = (struct api_result){.outcome = API_TRY_AGAIN, .problem = "out of memory"};
    if (buf_init(&body, BODY_INITIAL, END_MAX) < 0)
        return;
    if (sentinel_end_body(end, delivery->dialect, &body) == 0)
        api_finish(&delivery->api, delivery->run.id, &body, ret_result);
    buf_free(&body);
}

bool delivery_finish(struct delivery *delivery, const struct sentinel_end *end)
{
    struct sentinel_end whole = *end;
    struct api_result result;
    char **uris = make_uris(delivery);

    if (uris == NULL) {
        note_failure(delivery, false, 0, "out of memory");
        return false;
    }
    whole.run_id = delivery->run.id;
    whole.finished_secs = clock_ns(CLOCK_REALTIME) / NS_PER_SEC;
    whole.uris = (const char *const *)uris;
    whole.uri_count = delivery->stored_count;
    try_finish(delivery, &whole, &result);
    if (result.outcome == API_OTHER_DIALECT && delivery->dialect == SENTINEL_SPECIFIED) {
        delivery->dialect = SENTINEL_DEPLOYED;
        try_finish(delivery, &whole, &result);
    }
    free_uris(uris, delivery->stored_count);
    return note_result(delivery, &result);
}

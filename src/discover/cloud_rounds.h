/*
 * Which requests are made, in two rounds: first one of every vendor, then the rest of those that
 * may still be it. What comes back is fed in by the caller, who alone knows of time and sockets:
 *
 *   round = cloud_rounds_first(…);   http_perform_all(… round->requests, round->responses …);
 *   round = cloud_rounds_second(…);  http_perform_all(…);
 *   cloud_rounds_end(rounds, host);
 */
#ifndef DISCOVER_CLOUD_ROUNDS_H
#define DISCOVER_CLOUD_ROUNDS_H

#include "discover/cloud_vendors.h"
#include "net/http.h"

/* Some documents have the user's start-up script in them: up to 64 KiB, in base64 or escaped. */
#define CLOUD_ANSWER_MAX (128 << 10)
#define CLOUD_CONNECT_MS 1000
#define CLOUD_URL_MAX 512
#define CLOUD_CALLS_MAX (CLOUD_VENDOR_COUNT * CLOUD_PATHS_MAX)

struct cloud_round {
    size_t count;
    struct http_request requests[CLOUD_CALLS_MAX];
    struct http_response responses[CLOUD_CALLS_MAX];
    struct cloud_call {
        size_t vendor;
        size_t path; /* CLOUD_PATHS_MAX: the token */
        char url[CLOUD_URL_MAX];
    } calls[CLOUD_CALLS_MAX];
};

struct cloud_rounds;

/* NULL when out of memory. `endpoint` as in cloud.h; it must stay as long as the rounds. */
struct cloud_rounds *cloud_rounds_open(const char *endpoint);

/* Owned by the rounds. `limit_ms` is for each request. */
struct cloud_round *cloud_rounds_first(struct cloud_rounds *rounds, unsigned limit_ms);

/* Whether someone asked us to come again later: Azure, when there were too many at once. */
bool cloud_rounds_is_throttled(const struct cloud_rounds *rounds);

/* To be called when the first round was performed; may be empty. */
struct cloud_round *cloud_rounds_second(struct cloud_rounds *rounds, unsigned limit_ms);

/* Sets the facts of the vendor that it is, if any, and frees everything. */
void cloud_rounds_end(struct cloud_rounds *rounds, struct host *host);

#endif

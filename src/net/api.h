/*
 * The API that runs are registered with: one request each, and what its answer means. Whoever calls
 * decides when to try again. The token is sent as a header and never shown.
 *
 * One thread at a time.
 */
#ifndef NET_API_H
#define NET_API_H

#include "net/http.h"
#include "net/sentinel.h"

#define API_URL_MAX 1024
#define API_TOKEN_MAX 4096

enum api_outcome {
    API_DONE,
    API_TRY_AGAIN,     /* busy, unreachable, or an answer that makes no sense */
    API_OTHER_DIALECT, /* it does not like what it was sent */
    API_REFUSED,       /* the token, or the address: the same again would hardly help */
};

struct api {
    struct http *http;
    char url[API_URL_MAX]; /* without a slash at its end */
    char authorization[sizeof "Authorization: Bearer " + API_TOKEN_MAX];
};

struct api_result {
    enum api_outcome outcome;
    int status;                     /* of HTTP; 0: no answer */
    bool is_open;                   /* nobody can say whether it was done */
    unsigned wait_secs;             /* as the server asked for; 0: it did not */
    char problem[HTTP_PROBLEM_MAX]; /* for a person */
};

/* NULL, or what is wrong with it, as the end of a sentence that begins with its name. */
const char *api_url_problem(const char *url);
const char *api_token_problem(const char *token);

/* Both have no problem. */
void api_init(struct api *api, struct http *http, const char *url, const char *token);
void api_wipe(struct api *api);

/* `body` is a JSON object; `ret_run` is set when it is done. */
void api_register(struct api *api, const struct buf *body, struct sentinel_run *ret_run,
                  struct api_result *ret_result);

/* Sets the credentials of the run when it is done. */
void api_refresh(struct api *api, struct sentinel_run *run, struct api_result *ret_result);

void api_finish(struct api *api, const char *run_id, const struct buf *body,
                struct api_result *ret_result);

#endif

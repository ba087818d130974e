#include "net/api.h"

#include "base/clock.h"
#include "net/fixed.h"
#include "net/retry.h"
#include "net/url.h"

#include <stdio.h>
#include <string.h>

#include <sodium.h>

#define CONNECT_MS 10000
#define TOTAL_MS 30000
#define ANSWER_MAX (256 * 1024)
#define PATH_URL_MAX (API_URL_MAX + 3 * SENTINEL_ID_MAX + 64)

/* --- what the user gave --- */

static bool is_visible_ascii(const char *text)
{
    for (; *text != '\0'; text++)
        if (*text <= ' ' || *text > '~')
            return false;
    return true;
}

const char *api_url_problem(const char *url)
{
    const char *problem = url_problem(url);

    return problem == NULL && strlen(url) >= API_URL_MAX ? "is too long" : problem;
}

const char *api_token_problem(const char *token)
{
    if (!is_visible_ascii(token))
        return "holds a blank, a line end or another byte that cannot be in a token";
    return strlen(token) < API_TOKEN_MAX ? NULL : "is too long";
}

void api_init(struct api *api, struct http *http, const char *url, const char *token)
{
    api->http = http;
    snprintf(api->url, sizeof api->url, "%s", url);
    for (size_t size = strlen(api->url); size > 0 && api->url[size - 1] == '/'; size--)
        api->url[size - 1] = '\0';
    snprintf(api->authorization, sizeof api->authorization, "Authorization: Bearer %s", token);
}

void api_wipe(struct api *api)
{
    sodium_memzero(api, sizeof *api);
}

/* --- what an answer means --- */

static bool is_passing(int status)
{
    return status == 408 || status == 425 || status == 429 || (status >= 500 && status != 501);
}

static enum api_outcome outcome_of(const struct http_response *response)
{
    int status = response->status;

    if (response->failure == HTTP_BAD_URL)
        return API_REFUSED;
    if (response->failure != HTTP_ANSWERED)
        return API_TRY_AGAIN;
    if (status >= 200 && status < 300)
        return API_DONE;
    if (status == 400 || status == 415 || status == 422)
        return API_OTHER_DIALECT;
    return is_passing(status) ? API_TRY_AGAIN : API_REFUSED;
}

static void describe(const struct http_response *response, char *out, size_t size)
{
    int status = response->status;

    if (response->failure != HTTP_ANSWERED)
        snprintf(out, size, "%s", response->problem);
    else if (status == 401 || status == 403)
        snprintf(out, size, "the token in SENTINEL_API_TOKEN is not accepted (HTTP %d)", status);
    else if (status >= 300 && status < 400)
        snprintf(out, size, "it points elsewhere (HTTP %d), where the token is not sent", status);
    else
        snprintf(out, size, "HTTP %d", status);
}

/* --- requests --- */

static void post(struct api *api, const char *url, const struct buf *body,
                 struct http_response *response, struct api_result *ret_result)
{
    const char *headers[] = {api->authorization, "Content-Type: application/json",
                             "Accept: application/json", NULL};
    struct http_request request = {
        .method = "POST",
        .url = url,
        .headers = headers,
        .body = body != NULL ? body->data : NULL,
        .body_size = body != NULL ? body->size : 0,
        .connect_ms = CONNECT_MS,
        .total_ms = TOTAL_MS,
        .response_max = ANSWER_MAX,
    };

    http_perform(api->http, &request, response);
    *ret_result = (struct api_result){
        .outcome = outcome_of(response),
        .status = response->status,
        .is_open = response->was_sent && response->failure != HTTP_ANSWERED,
        .wait_secs = retry_after_secs(response->retry_after, clock_ns(CLOCK_REALTIME) / NS_PER_SEC),
    };
    if (ret_result->outcome != API_DONE)
        describe(response, ret_result->problem, sizeof ret_result->problem);
}

/* What an ID may hold is the server's choice: in a path it is encoded. */
static bool run_url(const struct api *api, const char *run_id, const char *action, char *out)
{
    struct buf url = fixed_over(out, PATH_URL_MAX);

    buf_text(&url, api->url);
    buf_text(&url, "/runs/");
    url_encode(run_id, "", &url);
    buf_char(&url, '/');
    buf_text(&url, action);
    return fixed_end(&url);
}

static void make_no_sense(struct api_result *result)
{
    result->outcome = API_TRY_AGAIN;
    snprintf(result->problem, sizeof result->problem, "the answer (HTTP %d) makes no sense",
             result->status);
}

void api_register(struct api *api, const struct buf *body, struct sentinel_run *ret_run,
                  struct api_result *ret_result)
{
    struct http_response response = {0};
    char url[PATH_URL_MAX];

    snprintf(url, sizeof url, "%s/runs", api->url);
    post(api, url, body, &response, ret_result);
    if (ret_result->outcome == API_DONE &&
        sentinel_parse_run(response.body.data, response.body.size, ret_run) < 0)
        make_no_sense(ret_result);
    http_response_free(&response);
}

static void post_to_run(struct api *api, const char *run_id, const char *action,
                        const struct buf *body, struct http_response *response,
                        struct api_result *ret_result)
{
    char url[PATH_URL_MAX];

    if (run_url(api, run_id, action, url)) {
        post(api, url, body, response, ret_result);
        return;
    }
    *ret_result = (struct api_result){.outcome = API_REFUSED};
    snprintf(ret_result->problem, sizeof ret_result->problem, "the run's ID is too long");
}

void api_refresh(struct api *api, struct sentinel_run *run, struct api_result *ret_result)
{
    struct http_response response = {0};

    post_to_run(api, run->id, "refresh-credentials", NULL, &response, ret_result);
    if (ret_result->outcome == API_DONE &&
        sentinel_parse_credentials(response.body.data, response.body.size, run) < 0)
        make_no_sense(ret_result);
    http_response_free(&response);
}

void api_finish(struct api *api, const char *run_id, const struct buf *body,
                struct api_result *ret_result)
{
    struct http_response response = {0};

    post_to_run(api, run_id, "finish", body, &response, ret_result);
    http_response_free(&response);
}

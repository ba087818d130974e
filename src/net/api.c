#include "net/api.h"

#include "base/clock.h"
#include "base/scan.h"
#include "net/fixed.h"
#include "net/retry.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

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

static const char *host_of(const char *url)
{
    if (strncasecmp(url, "https://", 8) == 0)
        return url + 8;
    return strncasecmp(url, "http://", 7) == 0 ? url + 7 : NULL;
}

static bool is_letter_or_digit(char c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

/* "example.com:8080" or "[::1]:8080": a name, and a number of a port that may be missing. */
static bool is_host(const char *text, size_t size)
{
    bool is_bracketed = text[0] == '[';
    size_t i = is_bracketed;
    uint64_t port;

    while (i < size &&
           (is_letter_or_digit(text[i]) || strchr(is_bracketed ? ":.%" : "-._", text[i]) != NULL))
        i++;
    if (i == (size_t)is_bracketed || (is_bracketed && (i == size || text[i++] != ']')))
        return false;
    if (i == size)
        return true;
    struct scan scan = scan_over(text + i, size - i);
    return scan_char(&scan, ':') && scan_u64(&scan, &port) && scan.at == scan.end && port > 0 &&
           port <= UINT16_MAX;
}

const char *api_url_problem(const char *url)
{
    const char *host = host_of(url);

    if (host == NULL)
        return "does not begin with https:// or http://";
    if (!is_visible_ascii(url))
        return "holds a blank or another byte that cannot be in an address";
    size_t host_size = strcspn(host, "/?#");
    if (memchr(host, '@', host_size) != NULL)
        return "holds a user name or password, which has no place there";
    if (!is_host(host, host_size))
        return "names no host, or a port that is none";
    if (strpbrk(host, "?#") != NULL)
        return "holds a '?' or '#'";
    return strlen(url) < API_URL_MAX ? NULL : "is too long";
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
    static const char hex[] = "0123456789ABCDEF";
    struct buf url = fixed_over(out, PATH_URL_MAX);

    buf_text(&url, api->url);
    buf_text(&url, "/runs/");
    for (const char *at = run_id; *at != '\0'; at++) {
        unsigned char byte = (unsigned char)*at;
        if (is_letter_or_digit(*at) || strchr("-._~", *at) != NULL) {
            buf_char(&url, *at);
        } else {
            buf_char(&url, '%');
            buf_char(&url, hex[byte >> 4]);
            buf_char(&url, hex[byte & 15]);
        }
    }
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

#include "net/s3_client.h"

#include "base/clock.h"
#include "base/scan.h"
#include "net/retry.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include <sodium.h>

#define CONNECT_MS 10000
#define PUT_MS 60000
#define HEAD_MS 10000
#define ERROR_MAX (16 * 1024)
/* Amazon takes requests that are up to 15 minutes off; less than a minute is not worth correcting.
 */
#define SKEW_MIN_SECS 60
/* More often than that no bucket moves: two servers contradict each other. */
#define REGION_CHANGES_MAX 3
#define YEAR_MIN 2000
#define YEAR_MAX 2199
#define WORD_MAX 64

void s3_client_init(struct s3_client *client, struct http *http, const char *endpoint)
{
    *client = (struct s3_client){
        .http = http,
        .endpoint = endpoint != NULL && endpoint[0] != '\0' ? endpoint : NULL,
    };
}

/* --- the region --- */

static void keep_region(struct s3_client *client, const char *bucket, const char *region)
{
    struct scan name = scan_over(bucket, strlen(bucket));
    struct scan place = scan_over(region, strlen(region));

    if (!scan_copy(&name, client->bucket, sizeof client->bucket) ||
        !scan_copy(&place, client->region, sizeof client->region))
        client->bucket[0] = '\0';
}

static bool is_known(const struct s3_client *client, const char *bucket)
{
    return strcmp(client->bucket, bucket) == 0 && client->region[0] != '\0';
}

/* The header is there whatever the status: also on "forbidden" and "moved". */
static bool ask_region(struct s3_client *client, const char *bucket)
{
    char url[S3_URL_MAX];
    struct http_response response = {0};

    if (client->region_endpoint != NULL)
        snprintf(url, sizeof url, "%s/%s", client->region_endpoint, bucket);
    else if (s3_bucket_is_label(bucket))
        snprintf(url, sizeof url, "https://%s.s3.amazonaws.com/", bucket);
    else
        snprintf(url, sizeof url, "https://s3.amazonaws.com/%s", bucket);
    struct http_request request = {
        .method = "HEAD",
        .url = url,
        .connect_ms = CONNECT_MS,
        .total_ms = HEAD_MS,
        .response_max = 1024,
    };
    http_perform(client->http, &request, &response);
    bool is_told = s3_region_is_valid(response.bucket_region);
    if (is_told) {
        keep_region(client, bucket, response.bucket_region);
        client->region_changes = 0;
    }
    http_response_free(&response);
    return is_told;
}

/* Other stores than Amazon's have one region, which most do not even look at. */
static const char *find_region(struct s3_client *client, const char *bucket, const char *told)
{
    if (is_known(client, bucket))
        return client->region;
    if (told != NULL && told[0] != '\0')
        return told;
    if (client->endpoint == NULL && ask_region(client, bucket))
        return client->region;
    return client->endpoint == NULL ? S3_REGION_FALLBACK : "us-east-1";
}

/* --- what the answer means --- */

/* The text of an element of a body that is XML, as far as it is a plain word; "" otherwise. */
static void take_element(const struct http_response *response, const char *name, char *out,
                         size_t size)
{
    char opening[32];
    int length = snprintf(opening, sizeof opening, "<%s>", name);
    struct scan rest = scan_over(response->body.data, response->body.size);
    struct scan text;

    out[0] = '\0';
    const char *found = memmem(rest.at, scan_left(&rest), opening, (size_t)length);
    if (found == NULL)
        return;
    rest.at = found + length;
    if (!scan_until(&rest, '<', &text) || scan_left(&text) >= size)
        return;
    for (const char *at = text.at; at < text.end; at++)
        if (!is_digit(*at) && *at != '-' && ((*at | 0x20) < 'a' || (*at | 0x20) > 'z'))
            return;
    (void)scan_copy(&text, out, size);
}

static bool has_code(const struct http_response *response, const char *code)
{
    char told[WORD_MAX];

    take_element(response, "Code", told, sizeof told);
    return strcmp(told, code) == 0;
}

static int64_t server_now_secs(const struct s3_client *client)
{
    return (int64_t)(clock_ns(CLOCK_REALTIME) / NS_PER_SEC) + client->clock_ahead_secs;
}

/* True: the clocks were further apart than we knew. A date of another age is not believed. */
static bool learn_clock(struct s3_client *client, const struct http_response *response)
{
    struct tm parts = {0};
    const char *end = strptime(response->date, "%a, %d %b %Y %H:%M:%S GMT", &parts);

    if (end == NULL || parts.tm_year < YEAR_MIN - 1900 || parts.tm_year > YEAR_MAX - 1900)
        return false;
    int64_t server_secs = timegm(&parts);
    int64_t change = server_secs - server_now_secs(client);
    if (change > -SKEW_MIN_SECS && change < SKEW_MIN_SECS)
        return false;
    client->clock_ahead_secs += change;
    return true;
}

/* Amazon tells it in a header, others only in the body of the refusal. */
static bool learn_region(struct s3_client *client, const char *bucket, const char *used,
                         const struct http_response *response)
{
    char in_body[S3_REGION_MAX];
    const char *region = response->bucket_region;

    if (!s3_region_is_valid(region)) {
        take_element(response, "Region", in_body, sizeof in_body);
        region = in_body;
    }
    if (!s3_region_is_valid(region) || strcmp(region, used) == 0)
        return false;
    if (!is_known(client, bucket))
        client->region_changes = 0;
    if (client->region_changes == REGION_CHANGES_MAX)
        return false;
    client->region_changes++;
    keep_region(client, bucket, region);
    return true;
}

/* 409: somebody else was writing the same object. */
static bool is_passing(const struct http_response *response)
{
    int status = response->status;

    if (status == 409)
        return has_code(response, "OperationAborted") ||
               has_code(response, "ConditionalRequestConflict");
    return status == 408 || status == 425 || status == 429 || (status >= 500 && status != 501) ||
           has_code(response, "RequestTimeout");
}

/* An error page without an end is an error all the same; a success with one is no answer of S3's.
 */
static bool is_judged_by_status(const struct http_response *response)
{
    return response->failure == HTTP_ANSWERED ||
           (response->failure == HTTP_TOO_LARGE && response->status >= 300);
}

static enum s3_outcome outcome_of(struct s3_client *client, const char *bucket, const char *region,
                                  const struct http_response *response)
{
    if (response->failure == HTTP_BAD_URL)
        return S3_REFUSED;
    /* Bad certificates too: clocks are set and authorities installed while a job runs. */
    if (!is_judged_by_status(response))
        return S3_TRY_AGAIN;
    if (response->status == 200 || response->status == 201)
        return S3_STORED;
    if (has_code(response, "ExpiredToken") || has_code(response, "TokenRefreshRequired"))
        return S3_EXPIRED;
    if (has_code(response, "RequestTimeTooSkewed"))
        return learn_clock(client, response) ? S3_TRY_AGAIN : S3_REFUSED;
    if (learn_region(client, bucket, region, response) || is_passing(response))
        return S3_TRY_AGAIN;
    return S3_REFUSED;
}

/* Of the server's words only the code: in the rest it may repeat our token. */
static void describe(const struct http_response *response, char *out, size_t size)
{
    char code[WORD_MAX];

    if (!is_judged_by_status(response)) {
        snprintf(out, size, "%s", response->problem);
        return;
    }
    take_element(response, "Code", code, sizeof code);
    snprintf(out, size, "HTTP %d%s%s", response->status, code[0] != '\0' ? " " : "", code);
}

/* --- storing --- */

static void refuse(struct s3_result *result, const char *problem)
{
    *result = (struct s3_result){.outcome = S3_REFUSED};
    snprintf(result->problem, sizeof result->problem, "%s", problem);
}

static void send_signed(struct s3_client *client, const struct s3_uri *uri,
                        const struct s3_target *target, const struct s3_signed *signature,
                        const void *body, size_t size, struct s3_result *ret_result)
{
    /* The object is gzip, whoever reads it; neither header is among those signed. */
    const char *headers[sizeof signature->headers / sizeof signature->headers[0] + 2];
    struct http_response response = {0};
    size_t count = 0;

    for (size_t i = 0; signature->headers[i] != NULL; i++)
        headers[count++] = signature->headers[i];
    headers[count++] = "Content-Type: text/csv";
    headers[count++] = "Content-Encoding: gzip";
    headers[count] = NULL;
    struct http_request request = {
        .method = "PUT",
        .url = target->url,
        .headers = headers,
        .body = body,
        .body_size = size,
        .connect_ms = CONNECT_MS,
        .total_ms = PUT_MS,
        .response_max = ERROR_MAX,
    };
    http_perform(client->http, &request, &response);
    *ret_result = (struct s3_result){
        .outcome = outcome_of(client, uri->bucket, target->region, &response),
        .wait_secs = retry_after_secs(response.retry_after, (uint64_t)server_now_secs(client)),
        .status = response.status,
    };
    if (ret_result->outcome == S3_STORED)
        client->region_changes = 0;
    else
        describe(&response, ret_result->problem, sizeof ret_result->problem);
    http_response_free(&response);
}

void s3_client_put(struct s3_client *client, const struct s3_uri *uri, const char *region,
                   const struct s3_credentials *credentials, const void *body, size_t size,
                   struct s3_result *ret_result)
{
    struct s3_target target;
    struct s3_signed signature;

    if (s3_target_make(uri, find_region(client, uri->bucket, region), client->endpoint, &target) <
        0) {
        refuse(ret_result, "the bucket, the region or the endpoint cannot be part of an address");
        return;
    }
    if (s3_sign_put(&target, credentials, (uint64_t)server_now_secs(client), body, size,
                    &signature) < 0)
        refuse(ret_result, "the credentials hold bytes that cannot be sent");
    else
        send_signed(client, uri, &target, &signature, body, size, ret_result);
    /* It holds the session token. */
    sodium_memzero(&signature, sizeof signature);
}

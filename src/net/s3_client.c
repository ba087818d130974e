#include "net/s3_client.h"

#include "base/clock.h"
#include "base/scan.h"

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
#define WAIT_MAX_SECS 3600

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
    snprintf(client->bucket, sizeof client->bucket, "%s", bucket);
    snprintf(client->region, sizeof client->region, "%s", region);
}

/* The header is there whatever the status: also on "forbidden" and "moved". */
static bool ask_region(struct s3_client *client, const char *bucket)
{
    char url[S3_URL_MAX];
    struct http_response response = {0};

    if (client->region_endpoint != NULL)
        snprintf(url, sizeof url, "%s/%s", client->region_endpoint, bucket);
    else if (strchr(bucket, '.') == NULL)
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
    bool is_told =
        response.bucket_region[0] != '\0' && strlen(response.bucket_region) < S3_REGION_MAX;
    if (is_told)
        keep_region(client, bucket, response.bucket_region);
    http_response_free(&response);
    return is_told;
}

/* Other stores than Amazon's have one region, which most do not even look at. */
static const char *find_region(struct s3_client *client, const char *bucket, const char *told)
{
    if (strcmp(client->bucket, bucket) == 0 && client->region[0] != '\0')
        return client->region;
    if (told != NULL && told[0] != '\0')
        return told;
    if (client->endpoint == NULL && ask_region(client, bucket))
        return client->region;
    return client->endpoint == NULL ? S3_REGION_FALLBACK : "us-east-1";
}

/* --- what the answer means --- */

/* "<Code>ExpiredToken</Code>" in a body that is XML. */
static bool has_code(const struct http_response *response, const char *code)
{
    char wanted[96];
    int length = snprintf(wanted, sizeof wanted, "<Code>%s</Code>", code);

    return memmem(response->body.data, response->body.size, wanted, (size_t)length) != NULL;
}

static unsigned wait_of(const struct http_response *response)
{
    struct scan scan = scan_over(response->retry_after, strlen(response->retry_after));
    uint64_t secs;

    if (!scan_u64(&scan, &secs) || scan.at != scan.end)
        return 0;
    return secs < WAIT_MAX_SECS ? (unsigned)secs : WAIT_MAX_SECS;
}

/* True: the clocks were further apart than we knew. */
static bool learn_clock(struct s3_client *client, const struct http_response *response)
{
    struct tm parts = {0};
    const char *end = strptime(response->date, "%a, %d %b %Y %H:%M:%S GMT", &parts);

    if (end == NULL)
        return false;
    int64_t server_secs = timegm(&parts);
    int64_t ahead = server_secs - (int64_t)(clock_ns(CLOCK_REALTIME) / NS_PER_SEC);
    int64_t change = ahead - client->clock_ahead_secs;
    if (change > -SKEW_MIN_SECS && change < SKEW_MIN_SECS)
        return false;
    client->clock_ahead_secs = ahead;
    return true;
}

static bool learn_region(struct s3_client *client, const char *bucket, const char *used,
                         const struct http_response *response)
{
    if (response->bucket_region[0] == '\0' || strcmp(response->bucket_region, used) == 0 ||
        strlen(response->bucket_region) >= S3_REGION_MAX)
        return false;
    keep_region(client, bucket, response->bucket_region);
    return true;
}

static bool is_passing(int status)
{
    return status == 408 || status == 425 || status == 429 || status >= 500;
}

static enum s3_outcome outcome_of(struct s3_client *client, const char *bucket, const char *region,
                                  const struct http_response *response)
{
    if (response->failure == HTTP_BAD_CERTIFICATE || response->failure == HTTP_BAD_URL)
        return S3_REFUSED;
    if (response->failure != HTTP_ANSWERED)
        return S3_TRY_AGAIN;
    if (response->status == 200 || response->status == 201)
        return S3_STORED;
    if (has_code(response, "ExpiredToken") || has_code(response, "TokenRefreshRequired"))
        return S3_EXPIRED;
    if (has_code(response, "RequestTimeTooSkewed"))
        return learn_clock(client, response) ? S3_TRY_AGAIN : S3_REFUSED;
    if (learn_region(client, bucket, region, response) || is_passing(response->status))
        return S3_TRY_AGAIN;
    return S3_REFUSED;
}

/* The server's own words, as far as they are one line of plain text. */
static void describe(const struct http_response *response, char *out, size_t size)
{
    if (response->failure != HTTP_ANSWERED) {
        snprintf(out, size, "%s", response->problem);
        return;
    }
    int length = snprintf(out, size, "HTTP %d ", response->status);
    for (size_t i = 0; i < response->body.size && (size_t)length + 1 < size; i++) {
        unsigned char c = (unsigned char)response->body.data[i];
        out[length++] = (char)(c >= ' ' && c < 0x7f ? c : ' ');
    }
    out[length] = '\0';
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
        .wait_secs = wait_of(&response),
        .status = response.status,
    };
    if (ret_result->outcome != S3_STORED)
        describe(&response, ret_result->problem, sizeof ret_result->problem);
    http_response_free(&response);
}

void s3_client_put(struct s3_client *client, const struct s3_uri *uri, const char *region,
                   const struct s3_credentials *credentials, const void *body, size_t size,
                   struct s3_result *ret_result)
{
    struct s3_target target;
    struct s3_signed signature;
    int64_t now_secs = (int64_t)(clock_ns(CLOCK_REALTIME) / NS_PER_SEC) + client->clock_ahead_secs;

    if (s3_target_make(uri, find_region(client, uri->bucket, region), client->endpoint, &target) <
        0) {
        refuse(ret_result, "the bucket, the region or the endpoint cannot be part of an address");
        return;
    }
    if (s3_sign_put(&target, credentials, (uint64_t)now_secs, body, size, &signature) < 0)
        refuse(ret_result, "the credentials hold bytes that cannot be sent");
    else
        send_signed(client, uri, &target, &signature, body, size, ret_result);
    /* It holds the session token. */
    sodium_memzero(&signature, sizeof signature);
}

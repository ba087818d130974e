#include "net/http.h"

#include "base/clock.h"
#include "base/env.h"
#include "base/scan.h"
#include "net/curl.h"
#include "net/secret.h"
#include "version.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#define USER_AGENT "resource-tracker/" TRACKER_VERSION
#define BODY_INITIAL 1024
#define WAIT_MS 100
#define PAUSE_NS 5000000
/* How much longer than ours the limits are that are told to a libcurl that outlasts them. */
#define HEAD_START_MS 1000
/* Some 50 KiB each. */
#define LEFT_BEHIND_MAX 64

struct http {
    struct curl curl;
    const char *ca_file; /* NULL: libcurl's own */
    const char *ca_path;
    _Atomic uint64_t deadline_ns; /* 0: none */
    bool was_used;
    /*
     * A thread of libcurl's looks names up, and getaddrinfo() may take half a minute. Before 7.87
     * libcurl waits for it even when the request's time is over; then we are the first to give up,
     * and leave the request as it is.
     */
    bool is_patient;
    unsigned left_behind;
};

/* One request under way. */
struct exchange {
    const struct http_request *request;
    struct http_response *response;
    void *easy;
    struct curl_list *headers;
    uint64_t lookup_until_ns; /* by then the host's address is known, or there is no time left */
    bool is_too_large;
    bool is_done;
};

/* --- certificates --- */

static const char *const ca_files[] = {
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/tls/cacert.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
};

/* libcurl itself does not look at SSL_CERT_FILE, and one built elsewhere looks in other places. */
static void find_certificates(struct http *http)
{
    http->ca_path = env_text("SSL_CERT_DIR");
    http->ca_file = env_text("CURL_CA_BUNDLE");
    if (http->ca_file == NULL)
        http->ca_file = env_text("SSL_CERT_FILE");
    for (size_t i = 0; http->ca_file == NULL && i < sizeof ca_files / sizeof ca_files[0]; i++)
        if (access(ca_files[i], R_OK) == 0)
            http->ca_file = ca_files[i];
}

int http_open(struct http **ret_http, char *problem)
{
    struct http *http = calloc(1, sizeof *http);

    if (http == NULL)
        return -ENOMEM;
    int error = curl_open(&http->curl, problem, HTTP_PROBLEM_MAX);
    if (error < 0) {
        free(http);
        return error;
    }
    find_certificates(http);
    *ret_http = http;
    return 0;
}

void http_close(struct http *http)
{
    if (http == NULL)
        return;
    curl_close(&http->curl, http->was_used);
    free(http);
}

/* --- hurry --- */

void http_hurry(struct http *http, uint64_t deadline_ns)
{
    atomic_store(&http->deadline_ns, deadline_ns);
}

/* Until the deadline, WAIT_MS at most: it may be set while we wait. 0: it is over. */
static int time_left_ms(struct http *http)
{
    uint64_t deadline_ns = atomic_load(&http->deadline_ns);
    uint64_t now_ns = clock_monotonic_ns();

    if (deadline_ns == 0 || deadline_ns >= now_ns + WAIT_MS * NS_PER_MS)
        return WAIT_MS;
    return deadline_ns > now_ns ? (int)((deadline_ns - now_ns) / NS_PER_MS) + 1 : 0;
}

static void say_too_late(struct http_response *response)
{
    response->failure = HTTP_TIMED_OUT;
    snprintf(response->problem, sizeof response->problem, "no answer in time");
}

void http_response_free(struct http_response *response)
{
    secret_buf_free(&response->body);
    *response = (struct http_response){0};
}

/* --- what comes in --- */

static size_t take_body(const char *data, size_t size, size_t count, void *context)
{
    struct exchange *exchange = context;
    struct buf *body = &exchange->response->body;

    secret_buf_bytes(body, data, size * count);
    exchange->is_too_large = body->overflow;
    return body->overflow ? 0 : size * count;
}

/* The value of a header line if it is the one named; without blanks and the line's end. */
static void take_value(const char *line, size_t size, const char *name, char *out)
{
    size_t length = strlen(name);

    if (size <= length || strncasecmp(line, name, length) != 0 || line[length] != ':')
        return;
    struct scan value = scan_over(line + length + 1, size - length - 1);
    scan_blanks(&value);
    while (value.end > value.at && (unsigned char)value.end[-1] <= ' ')
        value.end--;
    (void)scan_copy(&value, out, HTTP_HEADER_MAX);
}

static size_t take_header(const char *data, size_t size, size_t count, void *context)
{
    struct exchange *exchange = context;
    struct http_response *response = exchange->response;
    size_t length = size * count;

    take_value(data, length, "x-amz-bucket-region", response->bucket_region);
    take_value(data, length, "retry-after", response->retry_after);
    take_value(data, length, "date", response->date);
    return length;
}

/* --- one exchange --- */

static void response_reset(struct http_response *response)
{
    http_response_free(response);
    response->failure = HTTP_BROKEN;
}

static int body_init(struct buf *body, size_t max)
{
    size_t initial = max < BODY_INITIAL ? max : BODY_INITIAL;

    return buf_init(body, initial > 0 ? initial : 1, max > 0 ? max : 1);
}

static bool has_header(const struct http_request *request, const char *name)
{
    size_t length = strlen(name);

    for (const char *const *at = request->headers; at != NULL && *at != NULL; at++)
        if (strncasecmp(*at, name, length) == 0 && (*at)[length] == ':')
            return true;
    return false;
}

static bool add_header(const struct curl *curl, struct exchange *exchange, const char *text)
{
    struct curl_list *longer = curl->list_append(exchange->headers, text);

    if (longer == NULL)
        return false;
    exchange->headers = longer;
    return true;
}

/* Without these two, libcurl would add a form's type and wait for leave to send a large body. */
static bool add_headers(const struct curl *curl, struct exchange *exchange)
{
    const struct http_request *request = exchange->request;
    bool fine = add_header(curl, exchange, "Expect:");

    if (!has_header(request, "Content-Type"))
        fine = fine && add_header(curl, exchange, "Content-Type:");
    for (const char *const *at = request->headers; fine && at != NULL && *at != NULL; at++)
        fine = add_header(curl, exchange, *at);
    return fine;
}

static void set_method(const struct curl *curl, struct exchange *exchange)
{
    const struct http_request *request = exchange->request;
    bool has_body = strcmp(request->method, "GET") != 0 && strcmp(request->method, "HEAD") != 0;

    if (has_body) {
        curl->easy_setopt(exchange->easy, CURL_POST_FIELDS,
                          request->body != NULL ? request->body : "");
        curl->easy_setopt(exchange->easy, CURL_POST_FIELD_SIZE, (int64_t)request->body_size);
    }
    if (strcmp(request->method, "HEAD") == 0)
        curl->easy_setopt(exchange->easy, CURL_NO_BODY, 1L);
    else
        curl->easy_setopt(exchange->easy, CURL_CUSTOM_REQUEST, request->method);
}

static void set_security(const struct http *http, struct exchange *exchange)
{
    const struct curl *curl = &http->curl;

    curl->easy_setopt(exchange->easy, CURL_FOLLOW_LOCATION, 0L);
    curl->easy_setopt(exchange->easy, CURL_PROTOCOLS,
                      (long)(CURL_PROTOCOL_HTTP | CURL_PROTOCOL_HTTPS));
    curl->easy_setopt(exchange->easy, CURL_VERIFY_PEER, 1L);
    curl->easy_setopt(exchange->easy, CURL_VERIFY_HOST, 2L);
    if (http->ca_file != NULL)
        curl->easy_setopt(exchange->easy, CURL_CA_FILE, http->ca_file);
    if (http->ca_path != NULL)
        curl->easy_setopt(exchange->easy, CURL_CA_PATH, http->ca_path);
    if (exchange->request->no_proxy)
        curl->easy_setopt(exchange->easy, CURL_NO_PROXY, "*");
}

static void set_limits(struct http *http, struct exchange *exchange)
{
    const struct curl *curl = &http->curl;
    unsigned connect_ms = exchange->request->connect_ms;
    unsigned total_ms = exchange->request->total_ms;
    unsigned lookup_ms = connect_ms < total_ms ? connect_ms : total_ms;

    curl->easy_setopt(exchange->easy, CURL_NO_SIGNAL, 1L);
    http->is_patient = curl->easy_setopt(exchange->easy, CURL_QUICK_EXIT, 1L) != CURL_OK;
    long more_ms = http->is_patient ? HEAD_START_MS : 0;
    curl->easy_setopt(exchange->easy, CURL_CONNECT_TIMEOUT_MS, (long)connect_ms + more_ms);
    curl->easy_setopt(exchange->easy, CURL_TIMEOUT_MS, (long)total_ms + more_ms);
    exchange->lookup_until_ns = clock_monotonic_ns() + lookup_ms * NS_PER_MS;
}

static bool exchange_open(struct http *http, struct exchange *exchange)
{
    const struct curl *curl = &http->curl;

    if (body_init(&exchange->response->body, exchange->request->response_max) < 0)
        return false;
    exchange->easy = curl->easy_init();
    if (exchange->easy == NULL || !add_headers(curl, exchange))
        return false;
    curl->easy_setopt(exchange->easy, CURL_URL, exchange->request->url);
    curl->easy_setopt(exchange->easy, CURL_USER_AGENT, USER_AGENT);
    curl->easy_setopt(exchange->easy, CURL_HTTP_HEADER, exchange->headers);
    curl->easy_setopt(exchange->easy, CURL_WRITE_FUNCTION, take_body);
    curl->easy_setopt(exchange->easy, CURL_WRITE_DATA, exchange);
    curl->easy_setopt(exchange->easy, CURL_HEADER_FUNCTION, take_header);
    curl->easy_setopt(exchange->easy, CURL_HEADER_DATA, exchange);
    curl->easy_setopt(exchange->easy, CURL_PRIVATE, exchange);
    /* What was signed is what is sent: "/../" stays. */
    curl->easy_setopt(exchange->easy, CURL_PATH_AS_IS, 1L);
    curl->easy_setopt(exchange->easy, CURL_SUPPRESS_CONNECT_HEADERS, 1L);
    set_method(curl, exchange);
    set_security(http, exchange);
    set_limits(http, exchange);
    return true;
}

static enum http_failure failure_of(int result)
{
    switch (result) {
    case CURL_OK:
        return HTTP_ANSWERED;
    case CURL_BAD_PROTOCOL:
    case CURL_BAD_URL:
        return HTTP_BAD_URL;
    case CURL_NO_PROXY_HOST:
    case CURL_NO_HOST:
        return HTTP_NO_HOST;
    case CURL_TIMED_OUT:
        return HTTP_TIMED_OUT;
    case CURL_BAD_PEER_OLD:
    case CURL_BAD_PEER:
    case CURL_BAD_CA_FILE:
        return HTTP_BAD_CERTIFICATE;
    case CURL_TLS_ERROR: /* broken off while it began */
    case CURL_NO_CONNECTION:
    case CURL_PARTIAL:
    case CURL_GOT_NOTHING:
    case CURL_SEND_ERROR:
    case CURL_RECEIVE_ERROR:
        return HTTP_NO_CONNECTION;
    default:
        return HTTP_BROKEN;
    }
}

/* "HTTP/0.9 is not spoken" has the number of "no such protocol": but then something was sent. */
static bool was_sent(const struct curl *curl, const struct exchange *exchange)
{
    long size = 0;

    return curl->easy_getinfo(exchange->easy, CURL_INFO_REQUEST_SIZE, &size) == CURL_OK && size > 0;
}

/* An answer that breaks off was none: half of one is not to be believed. Of one that is too large
 * the status is. */
static void exchange_done(const struct curl *curl, struct exchange *exchange, int result)
{
    struct http_response *response = exchange->response;
    long status = 0;

    exchange->is_done = true;
    response->problem[0] = '\0';
    response->failure = exchange->is_too_large ? HTTP_TOO_LARGE : failure_of(result);
    if (response->failure == HTTP_BAD_URL && was_sent(curl, exchange))
        response->failure = HTTP_BROKEN;
    /* libcurl's longer words may hold a proxy's password. */
    if (response->failure != HTTP_ANSWERED)
        snprintf(response->problem, sizeof response->problem, "%s",
                 exchange->is_too_large ? "the answer is too large" : curl->easy_strerror(result));
    if (response->failure == HTTP_ANSWERED || response->failure == HTTP_TOO_LARGE)
        curl->easy_getinfo(exchange->easy, CURL_INFO_STATUS, &status);
    response->status = (int)status;
}

/* --- all of them --- */

static void collect_done(const struct curl *curl, void *multi)
{
    struct curl_message *message;
    int left;

    while ((message = curl->multi_info_read(multi, &left)) != NULL) {
        struct exchange *exchange = NULL;
        if (message->kind != CURL_MESSAGE_DONE)
            continue;
        curl->easy_getinfo(message->easy, CURL_INFO_PRIVATE, &exchange);
        exchange_done(curl, exchange, message->data.result);
    }
}

static bool is_looking_up(const struct curl *curl, const struct exchange *exchange)
{
    double secs = 0;

    return exchange->easy != NULL && !exchange->is_done &&
           (curl->easy_getinfo(exchange->easy, CURL_INFO_NAME_LOOKUP_TIME, &secs) != CURL_OK ||
            secs <= 0);
}

/* Whether a request would now keep libcurl waiting: any, or one whose time for that is over. */
static bool is_stuck(const struct http *http, const struct exchange *exchanges, size_t count,
                     uint64_t now_ns)
{
    if (!http->is_patient || http->left_behind == LEFT_BEHIND_MAX)
        return false;
    for (size_t i = 0; i < count; i++)
        if (now_ns >= exchanges[i].lookup_until_ns && is_looking_up(&http->curl, &exchanges[i]))
            return true;
    return false;
}

/* Until all are done; false when there is no more time. */
static bool run(struct http *http, void *multi, const struct exchange *exchanges, size_t count)
{
    static const struct timespec pause = {.tv_nsec = PAUSE_NS};
    const struct curl *curl = &http->curl;
    int running = 0;
    int ready = 0;

    while (curl->multi_perform(multi, &running) == 0) {
        collect_done(curl, multi);
        int left_ms = time_left_ms(http);
        if (running == 0)
            break;
        if (left_ms == 0 || is_stuck(http, exchanges, count, clock_monotonic_ns()))
            return false;
        if (curl->multi_wait(multi, NULL, 0, left_ms, &ready) != 0)
            break;
        /* While a name is being resolved there is nothing to wait for, and it returns at once. */
        if (ready == 0)
            (void)nanosleep(&pause, NULL);
    }
    collect_done(curl, multi);
    return true;
}

static void exchanges_close(struct http *http, void *multi, struct exchange *exchanges,
                            size_t count)
{
    const struct curl *curl = &http->curl;
    bool is_left_behind = is_stuck(http, exchanges, count, UINT64_MAX);

    http->left_behind += is_left_behind;
    for (size_t i = 0; i < count; i++) {
        if (exchanges[i].easy != NULL && !is_left_behind) {
            curl->multi_remove(multi, exchanges[i].easy);
            curl->easy_cleanup(exchanges[i].easy);
        }
        if (exchanges[i].headers != NULL)
            curl->list_free(exchanges[i].headers);
    }
    if (!is_left_behind)
        curl->multi_cleanup(multi);
}

static void exchanges_run(struct http *http, struct exchange *exchanges, size_t count)
{
    const struct curl *curl = &http->curl;
    void *multi = curl->multi_init();

    if (multi == NULL)
        return;
    http->was_used = true;
    /* From 8.20 on its threads stay, and it would wait for those too. */
    curl->multi_setopt(multi, CURL_MULTI_QUICK_EXIT, 1L);
    for (size_t i = 0; i < count; i++)
        if (exchange_open(http, &exchanges[i]))
            curl->multi_add(multi, exchanges[i].easy);
    bool is_late = !run(http, multi, exchanges, count);
    for (size_t i = 0; i < count; i++) {
        exchanges[i].response->was_sent =
            exchanges[i].easy != NULL && was_sent(curl, &exchanges[i]);
        if (is_late && !exchanges[i].is_done)
            say_too_late(exchanges[i].response);
    }
    exchanges_close(http, multi, exchanges, count);
}

void http_perform_all(struct http *http, const struct http_request *requests,
                      struct http_response *responses, size_t count)
{
    struct exchange *exchanges = calloc(count, sizeof *exchanges);
    bool is_late = time_left_ms(http) == 0;

    for (size_t i = 0; i < count; i++) {
        response_reset(&responses[i]);
        snprintf(responses[i].problem, sizeof responses[i].problem, "out of memory");
        if (is_late)
            say_too_late(&responses[i]);
        if (exchanges != NULL)
            exchanges[i] = (struct exchange){.request = &requests[i], .response = &responses[i]};
    }
    if (exchanges != NULL && !is_late)
        exchanges_run(http, exchanges, count);
    free(exchanges);
}

void http_perform(struct http *http, const struct http_request *request,
                  struct http_response *response)
{
    http_perform_all(http, request, response, 1);
}

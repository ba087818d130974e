/*
 * HTTP over libcurl, which is loaded only when this is opened: a run without a token never does.
 * Certificates are always verified, redirects are never followed, answers have a maximum size, and
 * every phase has a time limit. What is sent is not kept, shown or logged.
 *
 * One thread at a time per struct http, and one that has SIGPIPE blocked or ignored: TLS libraries
 * write to connections that the other side has closed.
 */
#ifndef NET_HTTP_H
#define NET_HTTP_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_PROBLEM_MAX 256
#define HTTP_HEADER_MAX 128

enum http_failure {
    HTTP_ANSWERED,
    HTTP_NO_HOST,       /* the name cannot be resolved */
    HTTP_NO_CONNECTION, /* refused, unreachable, broken off */
    HTTP_TIMED_OUT,
    HTTP_BAD_CERTIFICATE,
    HTTP_TOO_LARGE, /* the answer is beyond the request's maximum; its status is known */
    HTTP_BAD_URL,
    HTTP_BROKEN, /* an answer that is no HTTP, out of memory … */
};

struct http_request {
    const char *method; /* GET, PUT, POST, HEAD */
    const char *url;
    const char *const *headers; /* "Name: value" each; ends with NULL; may be NULL */
    const void *body;           /* NULL: none */
    size_t body_size;
    unsigned connect_ms;
    unsigned total_ms;
    size_t response_max; /* of the body, in bytes */
    bool no_proxy;
};

struct http_response {
    enum http_failure failure;
    int status;                          /* of HTTP; 0 when there was no answer */
    bool was_sent;                       /* something of the request */
    struct buf body;                     /* not ended by NUL; may hold secrets */
    char bucket_region[HTTP_HEADER_MAX]; /* x-amz-bucket-region; "" when absent */
    char retry_after[HTTP_HEADER_MAX];
    char date[HTTP_HEADER_MAX];
    char problem[HTTP_PROBLEM_MAX]; /* what went wrong, for a person; "" when answered */
};

struct http;

/* 0; -ENOENT when there is no libcurl: `problem` of HTTP_PROBLEM_MAX bytes then says so. */
int http_open(struct http **ret_http, char *problem);

/* libcurl stays loaded if a request was made: a thread of its may still be looking a name up. */
void http_close(struct http *http);

/*
 * Whatever is under way or comes must be over by then (monotonic clock; 0: no matter when): it has
 * HTTP_TIMED_OUT otherwise. From any thread, up to http_close(). Noticed within 100 ms.
 */
void http_hurry(struct http *http, uint64_t deadline_ns);

/* A response is zeroed before its first use, can be used again, and is freed in the end: that wipes
 * its body. */
void http_response_free(struct http_response *response);

void http_perform(struct http *http, const struct http_request *request,
                  struct http_response *response);

/* All at the same time; returns when the last is done, each within its own limits. */
void http_perform_all(struct http *http, const struct http_request *requests,
                      struct http_response *responses, size_t count);

#endif

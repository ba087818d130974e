/*
 * A metadata service without sockets: what it answers to which request, and the rounds of
 * discovery played against it.
 */
#ifndef TESTS_UNIT_CLOUD_PLAY_H
#define TESTS_UNIT_CLOUD_PLAY_H

#include "discover/cloud_rounds.h"
#include "scratch.h"

#define ENDPOINT "http://service:80"

struct play_answer {
    const char *path;   /* NULL: any */
    const char *method; /* NULL: GET */
    const char *header; /* that the request must have; NULL: none */
    int status;         /* 0: 200 */
    enum http_failure failure;
    const char *body;
};

/* What was asked for, over both rounds. */
struct play_log {
    size_t count[2];
    char requests[2][4096]; /* "PUT /path|header|header\n" each */
    bool throttled;
};

static inline bool play_has_header(const struct http_request *request, const char *header)
{
    for (const char *const *at = request->headers; at != NULL && *at != NULL; at++)
        if (strcmp(*at, header) == 0)
            return true;
    return false;
}

/* The last row that fits counts; without one it is a 404. */
static inline void play_one(const struct play_answer *answers, const struct http_request *request,
                            struct http_response *response)
{
    const char *path = request->url + strlen(ENDPOINT);
    const struct play_answer *found = NULL;

    for (; answers->body != NULL; answers++)
        if ((answers->path == NULL || strcmp(answers->path, path) == 0) &&
            (answers->path == NULL ||
             strcmp(answers->method != NULL ? answers->method : "GET", request->method) == 0) &&
            (answers->header == NULL || play_has_header(request, answers->header)))
            found = answers;
    memset(response, 0, sizeof *response);
    response->status = found == NULL ? 404 : found->status != 0 ? found->status : 200;
    if (found != NULL && found->failure != HTTP_ANSWERED) {
        response->failure = found->failure;
        response->status = 0;
    }
    if (found == NULL || found->body[0] == '\0')
        return;
    /* Exactly as large as it is, so that a byte read beyond it is an error under ASan. */
    size_t size = strlen(found->body);
    assert_int_equal(buf_init(&response->body, size, size), 0);
    buf_bytes(&response->body, found->body, size);
}

static inline void play_round(const struct play_answer *answers, struct cloud_round *round,
                              unsigned limit_ms, struct play_log *log, size_t which)
{
    char *out = log->requests[which];

    log->count[which] = round->count;
    for (size_t i = 0; i < round->count; i++) {
        const struct http_request *request = &round->requests[i];
        assert_memory_equal(request->url, ENDPOINT "/", strlen(ENDPOINT "/"));
        assert_true(request->no_proxy);
        assert_int_equal(request->total_ms, limit_ms);
        assert_true(request->connect_ms > 0 && request->connect_ms <= 1000);
        assert_true(request->connect_ms <= limit_ms);
        assert_int_equal(request->response_max, CLOUD_ANSWER_MAX);
        size_t used = strlen(out);
        used += (size_t)snprintf(out + used, sizeof log->requests[0] - used, "%s %s",
                                 request->method, request->url + strlen(ENDPOINT));
        for (const char *const *at = request->headers; *at != NULL; at++)
            used += (size_t)snprintf(out + used, sizeof log->requests[0] - used, "|%s", *at);
        (void)snprintf(out + used, sizeof log->requests[0] - used, "\n");
        play_one(answers, request, &round->responses[i]);
    }
}

static inline struct play_log play_logged(const struct play_answer *answers, struct host *host)
{
    struct cloud_rounds *rounds = cloud_rounds_open(ENDPOINT "/");
    struct play_log log = {0};

    host_reset(host);
    assert_non_null(rounds);
    play_round(answers, cloud_rounds_first(rounds, 1500), 1500, &log, 0);
    log.throttled = cloud_rounds_is_throttled(rounds);
    play_round(answers, cloud_rounds_second(rounds, 500), 500, &log, 1);
    cloud_rounds_end(rounds, host);
    return log;
}

static inline struct host play(const struct play_answer *answers)
{
    struct host host;

    (void)play_logged(answers, &host);
    return host;
}

#endif

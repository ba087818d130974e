#include "discover/cloud_rounds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOKEN CLOUD_PATHS_MAX
#define TOKEN_MAX 512
#define TOKEN_HEADER_MAX (TOKEN_MAX + 64)

/* What is known of one vendor. */
struct suspect {
    struct cloud_answer answers[CLOUD_PATHS_MAX];
    const struct http_response *first; /* to the first request; NULL: not made */
    char token_header[TOKEN_HEADER_MAX];
    const char *headers[3];
};

struct cloud_rounds {
    const char *endpoint;
    struct suspect suspects[CLOUD_VENDOR_COUNT];
    struct cloud_round first;
    struct cloud_round second;
};

struct cloud_rounds *cloud_rounds_open(const char *endpoint)
{
    struct cloud_rounds *rounds = calloc(1, sizeof *rounds);

    if (rounds != NULL && endpoint != NULL && endpoint[0] != '\0')
        rounds->endpoint = endpoint;
    return rounds;
}

/* --- requests --- */

/* An endpoint may end with a slash. False when it is too long. */
static bool make_url(const char *base, const char *path, char *out)
{
    size_t length = strlen(base);

    while (length > 0 && base[length - 1] == '/')
        length--;
    int made = snprintf(out, CLOUD_URL_MAX, "%.*s%s", (int)length, base, path);
    return made > 0 && made < CLOUD_URL_MAX;
}

static void set_headers(struct suspect *suspect, const char *one, const char *two)
{
    size_t count = 0;

    if (one != NULL)
        suspect->headers[count++] = one;
    if (two != NULL)
        suspect->headers[count++] = two;
    suspect->headers[count] = NULL;
}

static void add_call(const struct cloud_rounds *rounds, struct cloud_round *round, size_t vendor,
                     size_t path, unsigned limit_ms)
{
    const struct cloud_vendor *row = &cloud_vendors[vendor];
    struct cloud_call *call = &round->calls[round->count];
    const char *base = rounds->endpoint != NULL ? rounds->endpoint : row->base;

    if (!make_url(base, path == TOKEN ? row->token->path : row->paths[path], call->url))
        return;
    call->vendor = vendor;
    call->path = path;
    round->requests[round->count++] = (struct http_request){
        .method = path == TOKEN ? "PUT" : "GET",
        .url = call->url,
        .headers = rounds->suspects[vendor].headers,
        .connect_ms = CLOUD_CONNECT_MS < limit_ms ? CLOUD_CONNECT_MS : limit_ms,
        .total_ms = limit_ms,
        .response_max = CLOUD_ANSWER_MAX,
        .no_proxy = true,
    };
}

struct cloud_round *cloud_rounds_first(struct cloud_rounds *rounds, unsigned limit_ms)
{
    for (size_t i = 0; i < CLOUD_VENDOR_COUNT; i++) {
        const struct cloud_token *token = cloud_vendors[i].token;
        size_t before = rounds->first.count;
        set_headers(&rounds->suspects[i], cloud_vendors[i].header,
                    token != NULL ? token->asking : NULL);
        add_call(rounds, &rounds->first, i, token != NULL ? TOKEN : 0, limit_ms);
        if (rounds->first.count > before)
            rounds->suspects[i].first = &rounds->first.responses[before];
    }
    return &rounds->first;
}

/* --- answers --- */

static bool is_answer(const struct http_response *response)
{
    return response->failure == HTTP_ANSWERED && response->status == 200;
}

static void read_answers(struct cloud_rounds *rounds, const struct cloud_round *round)
{
    for (size_t i = 0; i < round->count; i++) {
        const struct http_response *response = &round->responses[i];
        const struct cloud_call *call = &round->calls[i];
        if (is_answer(response) && call->path != TOKEN)
            cloud_answer_read(&rounds->suspects[call->vendor].answers[call->path],
                              response->body.data, response->body.size);
    }
}

/* Too many requests, or not able to just now. */
static bool is_busy(const struct http_response *response)
{
    return response != NULL && response->failure == HTTP_ANSWERED &&
           (response->status == 429 || response->status == 503);
}

bool cloud_rounds_is_throttled(const struct cloud_rounds *rounds)
{
    for (size_t i = 0; i < CLOUD_VENDOR_COUNT; i++)
        if (is_busy(rounds->suspects[i].first))
            return true;
    return false;
}

/* Whether anyone was answered where this vendor would be. */
static bool is_inhabited(const struct cloud_rounds *rounds, const char *base)
{
    for (size_t i = 0; i < CLOUD_VENDOR_COUNT; i++) {
        const struct http_response *first = rounds->suspects[i].first;
        if (first != NULL && first->failure == HTTP_ANSWERED && first->status != 0 &&
            (rounds->endpoint != NULL || strcmp(cloud_vendors[i].base, base) == 0))
            return true;
    }
    return false;
}

static bool take_token(struct suspect *suspect, const struct cloud_token *token)
{
    struct cloud_answer answer = {0};
    char word[TOKEN_MAX];

    cloud_answer_read(&answer, suspect->first->body.data, suspect->first->body.size);
    bool fine = cloud_answer_word(&answer, NULL, word, sizeof word);
    cloud_answer_free(&answer);
    if (fine)
        snprintf(suspect->token_header, sizeof suspect->token_header, "%s%s", token->header, word);
    return fine;
}

/*
 * Whether a vendor with tokens is to be asked on. Where tokens are refused, the older protocol
 * without them may do; so it may in a container, where the token gets lost on the way (its packets
 * live for one hop) while everything else is answered.
 */
static bool goes_on_with_token(const struct cloud_rounds *rounds, size_t vendor,
                               struct suspect *suspect)
{
    const struct cloud_vendor *row = &cloud_vendors[vendor];
    const struct http_response *first = suspect->first;

    if (first == NULL)
        return false;
    if (is_answer(first)) {
        if (!take_token(suspect, row->token))
            return false;
        set_headers(suspect, row->header, suspect->token_header);
        return true;
    }
    set_headers(suspect, row->header, NULL);
    if (first->failure == HTTP_TIMED_OUT)
        return is_inhabited(rounds, row->base);
    return first->failure == HTTP_ANSWERED && first->status >= 400 && first->status < 500;
}

struct cloud_round *cloud_rounds_second(struct cloud_rounds *rounds, unsigned limit_ms)
{
    read_answers(rounds, &rounds->first);
    for (size_t i = 0; i < CLOUD_VENDOR_COUNT; i++) {
        const struct cloud_vendor *row = &cloud_vendors[i];
        struct suspect *suspect = &rounds->suspects[i];
        bool is_whole = row->token != NULL || is_busy(suspect->first);
        bool goes_on = row->token != NULL ? goes_on_with_token(rounds, i, suspect)
                                          : is_whole || row->fits(suspect->answers);
        for (size_t path = is_whole ? 0 : 1; goes_on && path < cloud_path_count(row); path++)
            add_call(rounds, &rounds->second, i, path, limit_ms);
    }
    return &rounds->second;
}

/* --- the end --- */

static void free_round(struct cloud_round *round)
{
    for (size_t i = 0; i < round->count; i++)
        http_response_free(&round->responses[i]);
}

void cloud_rounds_end(struct cloud_rounds *rounds, struct host *host)
{
    bool is_found = false;

    read_answers(rounds, &rounds->second);
    for (size_t i = 0; i < CLOUD_VENDOR_COUNT; i++) {
        struct suspect *suspect = &rounds->suspects[i];
        if (!is_found && cloud_vendors[i].fits(suspect->answers)) {
            cloud_vendor_take(&cloud_vendors[i], suspect->answers, host);
            is_found = true;
        }
        for (size_t path = 0; path < CLOUD_PATHS_MAX; path++)
            cloud_answer_free(&suspect->answers[path]);
    }
    free_round(&rounds->first);
    free_round(&rounds->second);
    free(rounds);
}

/*
 * What metadata services answer: parts separated by form feeds. Each vendor reads them as the
 * answers to its paths in turn; then whole discoveries are made in which every request is answered
 * with one of them, the token included. What is taken must be a word, and only what fits is taken.
 */
#include "discover/cloud_rounds.h"
#include "support.h"

#define PARTS CLOUD_PATHS_MAX

static void check_word(const char *text)
{
    size_t length = strnlen(text, HOST_TEXT_MAX);

    FUZZ_CHECK(length < HOST_TEXT_MAX);
    for (size_t i = 0; i < length; i++)
        FUZZ_CHECK(text[i] > ' ' && text[i] <= '~' && text[i] != '<' && text[i] != '>');
}

static void check_host(const struct host *host)
{
    check_word(host->id);
    check_word(host->cloud_vendor_id);
    check_word(host->cloud_account_id);
    check_word(host->cloud_region_id);
    check_word(host->cloud_zone_id);
    check_word(host->cloud_instance_type);
}

static void check_vendors(const struct cloud_answer *answers)
{
    for (size_t i = 0; i < CLOUD_VENDOR_COUNT; i++) {
        struct host host;
        host_reset(&host);
        (void)cloud_vendors[i].fits(answers);
        cloud_vendor_take(&cloud_vendors[i], answers, &host);
        check_host(&host);
    }
}

/* Nothing of an answer may end a header's line. */
static void check_headers(const struct http_request *request)
{
    for (const char *const *at = request->headers; *at != NULL; at++)
        FUZZ_CHECK(strpbrk(*at, "\r\n") == NULL && strchr(*at, ':') != NULL);
}

static void answer_round(struct cloud_round *round, const struct fuzz_part *parts, size_t shift)
{
    FUZZ_CHECK(round->count <= CLOUD_CALLS_MAX);
    for (size_t i = 0; i < round->count; i++) {
        struct http_response *response = &round->responses[i];
        struct fuzz_part part = parts[(round->calls[i].path + shift) % PARTS];
        check_headers(&round->requests[i]);
        response->status = 200;
        if (part.size == 0)
            continue;
        FUZZ_CHECK(buf_init(&response->body, part.size, part.size) == 0);
        buf_bytes(&response->body, part.data, part.size);
    }
}

static void check_discovery(const struct fuzz_part *parts, size_t shift)
{
    struct cloud_rounds *rounds = cloud_rounds_open(NULL);
    struct host host;

    FUZZ_CHECK(rounds != NULL);
    host_reset(&host);
    answer_round(cloud_rounds_first(rounds, 1500), parts, shift);
    answer_round(cloud_rounds_second(rounds, 500), parts, shift);
    cloud_rounds_end(rounds, &host);
    check_host(&host);
    FUZZ_CHECK(host.cloud_vendor_id[0] != '\0' ||
               (host.id[0] == '\0' && host.cloud_region_id[0] == '\0'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_part rest = {(const char *)data, size};
    struct fuzz_part parts[PARTS];
    struct cloud_answer answers[PARTS] = {0};
    char *exact[PARTS] = {0};

    for (size_t i = 0; i < PARTS; i++) {
        parts[i] = fuzz_next_part(&rest);
        exact[i] = malloc(parts[i].size > 0 ? parts[i].size : 1);
        FUZZ_CHECK(exact[i] != NULL);
        if (parts[i].size > 0)
            memcpy(exact[i], parts[i].data, parts[i].size);
        cloud_answer_read(&answers[i], exact[i], parts[i].size);
    }
    check_vendors(answers);
    for (size_t shift = 0; shift < 2; shift++)
        check_discovery(parts, shift);
    for (size_t i = 0; i < PARTS; i++) {
        cloud_answer_free(&answers[i]);
        free(exact[i]);
    }
    return 0;
}

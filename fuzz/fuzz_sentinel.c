/* The API's answers: whatever they hold, a run has an id, and nothing in it could end a header. */
#include "support.h"

#include "net/sentinel.h"

static void check_text(const char *text, size_t size)
{
    size_t length = strnlen(text, size);

    FUZZ_CHECK(length < size);
    for (size_t i = 0; i < length; i++)
        FUZZ_CHECK((unsigned char)text[i] >= ' ' && text[i] != 0x7f);
}

static void check_run(const struct sentinel_run *run)
{
    char uri[4096];

    FUZZ_CHECK(run->id[0] != '\0');
    check_text(run->id, sizeof run->id);
    check_text(run->upload_prefix, sizeof run->upload_prefix);
    check_text(run->region, sizeof run->region);
    check_text(run->credentials.access_key, sizeof run->credentials.access_key);
    check_text(run->credentials.secret_key, sizeof run->credentials.secret_key);
    check_text(run->credentials.session_token, sizeof run->credentials.session_token);
    (void)sentinel_batch_uri(run, 7, uri, sizeof uri);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sentinel_run run = {0};
    char *text = malloc(size + 1);
    uint64_t secs;

    if (text == NULL)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (sentinel_parse_run(data, size, &run) == 0)
        check_run(&run);
    struct sentinel_run refreshed = {.id = "x"};
    if (sentinel_parse_credentials(data, size, &refreshed) == 0)
        check_run(&refreshed);
    (void)sentinel_parse_time(text, &secs);
    free(text);
    return 0;
}

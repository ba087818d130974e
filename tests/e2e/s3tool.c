/*
 * Our S3 client for the tests to drive.
 *
 * s3tool ENDPOINT REGION_ENDPOINT LIMIT_MS: "-" is none, 0 the client's own limits. Credentials are
 * S3TOOL_ACCESS_KEY, S3TOOL_SECRET_KEY and S3TOOL_TOKEN; S3TOOL_LINGER_SECS is how long it stays
 * when HTTP has been closed. Reads one command a line:
 *
 *   put URI REGION FILE    the file as it is; the first two are hexadecimal, "-" is empty
 *   pack URI REGION FILE   the file, compressed
 *
 * and answers each with a line: outcome, status, wait_secs, the limits asked for (total_ms of each
 * request, with commas) and the problem, separated by tabs.
 */
#include "hexword.h"

#include "net/gzip.h"
#include "net/s3_client.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_SIZE_MAX ((size_t)64 << 20)
#define LIMITS_MAX 256

static unsigned limit_ms;
static char limits[LIMITS_MAX];

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "s3tool: %s\n", what);
    exit(1);
}

/* --- between the client and HTTP: linked with --wrap=http_perform --- */

void __real_http_perform(struct http *http, const struct http_request *request,
                         struct http_response *response);
void __wrap_http_perform(struct http *http, const struct http_request *request,
                         struct http_response *response);

/* Writes the limits down, and shortens them: a test need not wait for minutes. */
void __wrap_http_perform(struct http *http, const struct http_request *request,
                         struct http_response *response)
{
    struct http_request shorter = *request;
    size_t used = strlen(limits);

    snprintf(limits + used, sizeof limits - used, "%s%u/%u", used > 0 ? "," : "",
             request->connect_ms, request->total_ms);
    if (limit_ms > 0) {
        shorter.connect_ms = limit_ms;
        shorter.total_ms = limit_ms;
    }
    __real_http_perform(http, &shorter, response);
}

/* --- input --- */

static char *decode(char *word)
{
    if (word == NULL)
        die("a command has four words");
    if (hexword_decode(word) < 0)
        die("not a hexadecimal digit");
    return word;
}

static void take_variable(const char *name, char *out, size_t size)
{
    const char *value = getenv(name);

    if (value == NULL)
        value = "";
    if (strlen(value) >= size)
        die("a credential is too long for its place");
    memcpy(out, value, strlen(value) + 1);
}

static void take_credentials(struct s3_credentials *credentials)
{
    take_variable("S3TOOL_ACCESS_KEY", credentials->access_key, sizeof credentials->access_key);
    take_variable("S3TOOL_SECRET_KEY", credentials->secret_key, sizeof credentials->secret_key);
    take_variable("S3TOOL_TOKEN", credentials->session_token, sizeof credentials->session_token);
}

static void read_whole(const char *path, struct buf *out)
{
    char chunk[65536];
    size_t size;
    FILE *file = path != NULL ? fopen(path, "rbe") : NULL;

    if (file == NULL || buf_init(out, sizeof chunk, FILE_SIZE_MAX) < 0)
        die("cannot open the file");
    while ((size = fread(chunk, 1, sizeof chunk, file)) > 0)
        buf_bytes(out, chunk, size);
    if (ferror(file) || out->overflow)
        die("cannot read the file");
    fclose(file);
}

/* --- commands --- */

static void pack(struct buf *body)
{
    struct buf packed;

    if (buf_init(&packed, 64, FILE_SIZE_MAX) < 0 ||
        gzip_compress(body->data, body->size, &packed) < 0)
        die("gzip_compress failed");
    buf_free(body);
    *body = packed;
}

static void answer(const struct s3_result *result)
{
    static const char *const outcomes[] = {
        [S3_STORED] = "stored",
        [S3_EXPIRED] = "expired",
        [S3_TRY_AGAIN] = "try again",
        [S3_REFUSED] = "refused",
    };

    printf("%s\t%d\t%u\t%s\t%s\n", outcomes[result->outcome], result->status, result->wait_secs,
           limits, result->problem);
    if (fflush(stdout) != 0)
        die("cannot write");
    limits[0] = '\0';
}

static void obey(struct s3_client *client, const struct s3_credentials *credentials, char *line)
{
    struct s3_result result;
    struct s3_uri uri;
    struct buf body;
    const char *verb = strsep(&line, " ");
    const char *uri_text = decode(strsep(&line, " "));
    const char *region = decode(strsep(&line, " "));

    read_whole(line, &body);
    if (strcmp(verb, "pack") == 0)
        pack(&body);
    if (s3_uri_parse(uri_text, &uri) < 0)
        die("not an S3 URI");
    s3_client_put(client, &uri, region, credentials, body.data, body.size, &result);
    buf_free(&body);
    answer(&result);
}

static const char *or_none(const char *text)
{
    return strcmp(text, "-") == 0 ? NULL : text;
}

int main(int argc, char **argv)
{
    char problem[HTTP_PROBLEM_MAX];
    struct s3_credentials credentials;
    struct s3_client client;
    struct http *http;
    char *line = NULL;
    size_t capacity = 0;
    ssize_t size;

    if (argc != 4)
        die("usage: s3tool ENDPOINT REGION_ENDPOINT LIMIT_MS");
    signal(SIGPIPE, SIG_IGN);
    limit_ms = (unsigned)strtoul(argv[3], NULL, 10);
    take_credentials(&credentials);
    if (http_open(&http, problem) < 0)
        die(problem);
    s3_client_init(&client, http, or_none(argv[1]));
    client.region_endpoint = or_none(argv[2]);
    while ((size = getline(&line, &capacity, stdin)) > 0) {
        line[strcspn(line, "\n")] = '\0';
        obey(&client, &credentials, line);
    }
    free(line);
    s3_credentials_wipe(&credentials);
    http_close(http);
    const char *linger = getenv("S3TOOL_LINGER_SECS");
    if (linger != NULL)
        sleep((unsigned)strtoul(linger, NULL, 10));
    return 0;
}

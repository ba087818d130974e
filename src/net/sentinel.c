#include "net/sentinel.h"

#include "base/scan.h"
#include "net/secret.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>
#include <sodium.h>

#define SECS_PER_MINUTE 60
#define SECS_PER_HOUR 3600
/* Ours have three. */
#define DEPTH_MAX 32

void sentinel_run_wipe(struct sentinel_run *run)
{
    sodium_memzero(run, sizeof *run);
}

/* --- times --- */

static bool take_offset(const char *text, int64_t *ret_secs)
{
    struct scan scan = scan_over(text, strlen(text));
    uint64_t hours;
    uint64_t minutes = 0;
    int64_t sign = text[0] == '-' ? -1 : 1;

    if (scan_equals(&scan, "Z") || scan_equals(&scan, "z") || scan_left(&scan) == 0) {
        *ret_secs = 0;
        return true;
    }
    if (!scan_char(&scan, '+') && !scan_char(&scan, '-'))
        return false;
    const char *digits = scan.at;
    if (!scan_u64(&scan, &hours))
        return false;
    if (scan.at - digits == 4) { /* +0200 */
        minutes = hours % 100;
        hours /= 100;
    } else if (scan_char(&scan, ':') && !scan_u64(&scan, &minutes)) {
        return false;
    }
    if (scan.at != scan.end || hours >= 24 || minutes >= 60)
        return false;
    *ret_secs = sign * (int64_t)(hours * SECS_PER_HOUR + minutes * SECS_PER_MINUTE);
    return true;
}

bool sentinel_parse_time(const char *text, uint64_t *ret_secs)
{
    struct tm parts = {0};
    int64_t offset_secs;

    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &parts);
    if (rest == NULL)
        return false;
    if (*rest == '.')
        rest += 1 + strspn(rest + 1, "0123456789");
    if (!take_offset(rest, &offset_secs))
        return false;
    int64_t secs = timegm(&parts) - offset_secs;
    if (secs <= 0)
        return false;
    *ret_secs = (uint64_t)secs;
    return true;
}

/* --- answers --- */

static void set_up_json(void)
{
    json_set_alloc_funcs(secret_malloc, secret_free);
}

/* Keys, and the answer that they came in, are in jansson's buffers too. */
static void wipe_json_when_freed(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, set_up_json);
}

/*
 * Whether brackets are nested no deeper than the parser can follow on the stack of a thread:
 * jansson stops at 2048, and has used 170 KiB by then.
 */
static bool is_shallow(const char *text, size_t size)
{
    bool in_string = false;
    int depth = 0;

    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        if (c == '"')
            in_string = !in_string;
        else if (in_string && c == '\\')
            i++;
        else if (!in_string && (c == '[' || c == '{') && ++depth > DEPTH_MAX)
            return false;
        else if (!in_string && (c == ']' || c == '}'))
            depth--;
    }
    return true;
}

/* NULL when it is no object that we could work with. */
static json_t *load(const void *answer, size_t size)
{
    wipe_json_when_freed();
    if (size > SENTINEL_ANSWER_MAX || !is_shallow(answer, size))
        return NULL;
    return json_loadb(answer, size, 0, NULL);
}

/* A text that fits, and has nothing in it that could end a header line or a path. */
static bool take_text(const json_t *object, const char *key, char *out, size_t size)
{
    const char *text = json_string_value(json_object_get(object, key));
    size_t length = json_string_length(json_object_get(object, key));

    if (text == NULL || length == 0 || length >= size || strlen(text) != length)
        return false;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
            return false;
    memcpy(out, text, length + 1);
    return true;
}

static uint64_t take_expiry(const json_t *credentials)
{
    static const char *const keys[] = {"expiration", "expires_at"};
    uint64_t secs = 0;

    for (size_t i = 0; i < sizeof keys / sizeof keys[0] && secs == 0; i++) {
        const char *text = json_string_value(json_object_get(credentials, keys[i]));
        if (text != NULL && !sentinel_parse_time(text, &secs))
            secs = 0;
    }
    return secs;
}

static bool take_credentials(const json_t *object, struct sentinel_run *run)
{
    const json_t *credentials = json_object_get(object, "upload_credentials");
    struct s3_credentials *keys = &run->credentials;

    if (credentials == NULL)
        credentials = object;
    if (!take_text(credentials, "access_key", keys->access_key, sizeof keys->access_key) ||
        !take_text(credentials, "secret_key", keys->secret_key, sizeof keys->secret_key))
        return false;
    /* Keys that belong to a token are no good without it. */
    const json_t *token = json_object_get(credentials, "session_token");
    keys->session_token[0] = '\0';
    if (token != NULL && !json_is_null(token) &&
        !take_text(credentials, "session_token", keys->session_token, sizeof keys->session_token))
        return false;
    if (!take_text(credentials, "region", run->region, sizeof run->region) ||
        !s3_region_is_valid(run->region))
        run->region[0] = '\0';
    run->expires_secs = take_expiry(credentials);
    return true;
}

static void take_prefix(const json_t *object, struct sentinel_run *run)
{
    char *prefix = run->upload_prefix;

    if (!take_text(object, "upload_uri_prefix", prefix, sizeof run->upload_prefix))
        prefix[0] = '\0';
    for (size_t length = strlen(prefix); length > 0 && prefix[length - 1] == '/'; length--)
        prefix[length - 1] = '\0';
}

/* A run without a place to upload to is one all the same: its data goes with its end. */
int sentinel_parse_run(const void *answer, size_t size, struct sentinel_run *ret_run)
{
    json_t *object = load(answer, size);
    struct sentinel_run run = {0};

    bool is_run = json_is_object(object) && take_text(object, "run_id", run.id, sizeof run.id) &&
                  strchr(run.id, '/') == NULL;
    if (is_run) {
        take_prefix(object, &run);
        if (!take_credentials(object, &run))
            run.upload_prefix[0] = '\0';
        *ret_run = run;
    }
    json_decref(object);
    sentinel_run_wipe(&run);
    return is_run ? 0 : -EINVAL;
}

int sentinel_parse_credentials(const void *answer, size_t size, struct sentinel_run *run)
{
    json_t *object = load(answer, size);
    struct sentinel_run renewed = *run;

    bool is_fine = json_is_object(object) && take_credentials(object, &renewed);
    if (is_fine) {
        /* What is not told again stands. */
        if (renewed.region[0] == '\0')
            memcpy(renewed.region, run->region, sizeof renewed.region);
        *run = renewed;
    }
    json_decref(object);
    sentinel_run_wipe(&renewed);
    return is_fine ? 0 : -EINVAL;
}

int sentinel_batch_uri(const struct sentinel_run *run, unsigned number, char *out, size_t size)
{
    if (run->upload_prefix[0] == '\0')
        return -EINVAL;
    int length = snprintf(out, size, "%s/%s/%06u.csv.gz", run->upload_prefix, run->id, number);
    return length > 0 && (size_t)length < size ? 0 : -EINVAL;
}

/* --- the end --- */

static bool add(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value) == 0;
}

static json_t *uri_list(const struct sentinel_end *end)
{
    json_t *list = json_array();

    for (size_t i = 0; list != NULL && i < end->uri_count; i++)
        if (json_array_append_new(list, json_string(end->uris[i])) != 0) {
            json_decref(list);
            list = NULL;
        }
    return list;
}

/* The seeds want base64 of gzip, the deployed API the text itself. */
static json_t *inline_data(const struct sentinel_end *end, enum sentinel_dialect dialect)
{
    if (dialect == SENTINEL_DEPLOYED)
        return json_stringn(end->csv, end->csv_size);
    size_t size = sodium_base64_ENCODED_LEN(end->csv_gzip_size, sodium_base64_VARIANT_ORIGINAL);
    char *text = malloc(size);
    if (text == NULL)
        return NULL;
    sodium_bin2base64(text, size, end->csv_gzip, end->csv_gzip_size,
                      sodium_base64_VARIANT_ORIGINAL);
    json_t *value = json_string(text);
    secret_free(text);
    return value;
}

static json_t *finished_at(uint64_t secs)
{
    char text[32];
    struct tm parts;
    time_t when = (time_t)secs;

    if (gmtime_r(&when, &parts) == NULL ||
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
        return NULL;
    return json_string(text);
}

static bool fill_end(json_t *object, const struct sentinel_end *end, enum sentinel_dialect dialect)
{
    bool is_inline = end->uri_count == 0;
    bool done = true;

    if (dialect == SENTINEL_SPECIFIED)
        done = add(object, "run_id", json_string(end->run_id));
    if (end->has_exit_code || dialect == SENTINEL_SPECIFIED)
        done = done && add(object, "exit_code",
                           end->has_exit_code ? json_integer(end->exit_code) : json_null());
    done = done && add(object, "run_status", json_string(end->has_failed ? "failed" : "finished"));
    done = done && add(object, "data_source", json_string(is_inline ? "inline" : "s3"));
    done = done && (is_inline ? add(object, "data_csv", inline_data(end, dialect))
                              : add(object, "data_uris", uri_list(end)));
    if (dialect == SENTINEL_DEPLOYED)
        done = done && add(object, "finished_at", finished_at(end->finished_secs));
    return done;
}

int sentinel_end_body(const struct sentinel_end *end, enum sentinel_dialect dialect,
                      struct buf *out)
{
    wipe_json_when_freed();
    json_t *object = json_object();
    char *text =
        object != NULL && fill_end(object, end, dialect) ? json_dumps(object, JSON_COMPACT) : NULL;

    if (text != NULL)
        secret_buf_bytes(out, text, strlen(text));
    bool is_whole = text != NULL && !out->overflow;
    secret_free(text);
    json_decref(object);
    return is_whole ? 0 : -ENOMEM;
}

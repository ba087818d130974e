/*
 * The canonical request holds the session token, so it is hashed piece by piece and never put
 * together in memory. Every key on the way to the signature is wiped.
 */
#include "net/sigv4.h"

#include "net/fixed.h"
#include "net/hmac.h"

#include <errno.h>
#include <sodium.h>
#include <time.h>

#define SERVICE "s3"
#define ALGORITHM "AWS4-HMAC-SHA256"
#define KEY_PREFIX "AWS4"
#define SCOPE_END "aws4_request"
#define TOKEN_HEADER "x-amz-security-token"
/* YYYYMMDDTHHMMSSZ, of which the first 8 are the date stamp */
#define AMZ_DATE_SIZE sizeof "20130524T000000Z"
#define DATE_STAMP_LENGTH 8
/* date stamp, region, service and end */
#define SCOPE_SIZE (DATE_STAMP_LENGTH + S3_REGION_MAX + sizeof "//" SERVICE "/" SCOPE_END)
#define STRING_TO_SIGN_SIZE (sizeof ALGORITHM + AMZ_DATE_SIZE + SCOPE_SIZE + SIGV4_HEX_SIZE)
/* 9999-12-31T23:59:59Z: years have four digits */
#define LAST_SECOND UINT64_C(253402300799)

_Static_assert(SIGV4_KEY_SIZE == HMAC_SIZE, "a key is a MAC");
_Static_assert(SIGV4_HEX_SIZE == 2 * crypto_hash_sha256_BYTES + 1, "a hash in digits");
_Static_assert(S3_SIGNATURE_MAX >=
                   sizeof((struct s3_credentials *)0)->access_key + SCOPE_SIZE + 512,
               "an authorization always fits");

void s3_credentials_wipe(struct s3_credentials *credentials)
{
    sodium_memzero(credentials, sizeof *credentials);
}

/* --- what may be signed with --- */

/* Goes over the wire as it is and into the signature as it is: no byte that an HTTP library, a
 * proxy or the rules for canonical headers (which fold blanks) might change. */
static bool is_header_value(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\0')
            return true;
        if (text[i] <= ' ' || text[i] > '~')
            return false;
    }
    return false; /* no end */
}

/* Stays here, so it may be anything that was not cut out of a file by mistake. */
static bool is_secret(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\0')
            return i > 0;
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
            return false;
    }
    return false;
}

static bool are_usable(const struct s3_credentials *with)
{
    return with->access_key[0] != '\0' &&
           is_header_value(with->access_key, sizeof with->access_key) &&
           is_secret(with->secret_key, sizeof with->secret_key) &&
           is_header_value(with->session_token, sizeof with->session_token);
}

/* --- the signature --- */

static void hmac(const unsigned char *key, size_t key_size, const char *text,
                 unsigned char *ret_mac)
{
    hmac_sha256(key, key_size, text, strlen(text), ret_mac);
}

void sigv4_signing_key(const struct s3_credentials *credentials, const char *date_stamp,
                       const char *region, const char *service, unsigned char *ret_key)
{
    enum { prefix_length = sizeof KEY_PREFIX - 1 };
    unsigned char seed[prefix_length + sizeof credentials->secret_key];
    unsigned char step[2][SIGV4_KEY_SIZE];
    size_t length = strnlen(credentials->secret_key, sizeof credentials->secret_key);

    memcpy(seed, KEY_PREFIX, prefix_length);
    memcpy(seed + prefix_length, credentials->secret_key, length);
    hmac(seed, prefix_length + length, date_stamp, step[0]);
    hmac(step[0], sizeof step[0], region, step[1]);
    hmac(step[1], sizeof step[1], service, step[0]);
    hmac(step[0], sizeof step[0], SCOPE_END, ret_key);
    sodium_memzero(seed, sizeof seed);
    sodium_memzero(step, sizeof step);
}

void sigv4_signature(const unsigned char *key, const char *string_to_sign, char *ret_hex)
{
    unsigned char mac[HMAC_SIZE];

    hmac(key, SIGV4_KEY_SIZE, string_to_sign, mac);
    sodium_bin2hex(ret_hex, SIGV4_HEX_SIZE, mac, sizeof mac);
}

/* --- what is signed --- */

struct signing {
    const struct s3_target *target;
    const struct s3_credentials *credentials;
    const char *signed_headers;
    char date[AMZ_DATE_SIZE];
    char date_stamp[DATE_STAMP_LENGTH + 1];
    char scope[SCOPE_SIZE];
    char body_hash[SIGV4_HEX_SIZE];
};

static void two_digits(struct buf *out, int value)
{
    buf_char(out, (char)('0' + value / 10 % 10));
    buf_char(out, (char)('0' + value % 10));
}

static int amz_date(uint64_t now_secs, char *out)
{
    struct buf text = fixed_over(out, AMZ_DATE_SIZE);
    time_t now = (time_t)now_secs;
    struct tm date;

    if (now_secs > LAST_SECOND || gmtime_r(&now, &date) == NULL)
        return -EINVAL;
    int year = date.tm_year + 1900;
    two_digits(&text, year / 100);
    two_digits(&text, year);
    two_digits(&text, date.tm_mon + 1);
    two_digits(&text, date.tm_mday);
    buf_char(&text, 'T');
    two_digits(&text, date.tm_hour);
    two_digits(&text, date.tm_min);
    two_digits(&text, date.tm_sec);
    buf_char(&text, 'Z');
    return fixed_end(&text) ? 0 : -EINVAL;
}

static void hash_body(const void *body, size_t size, char *ret_hex)
{
    unsigned char hash[crypto_hash_sha256_BYTES];

    crypto_hash_sha256(hash, size > 0 ? body : (const void *)"", size);
    sodium_bin2hex(ret_hex, SIGV4_HEX_SIZE, hash, sizeof hash);
}

static void hash_texts(crypto_hash_sha256_state *state, const char *const *texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        crypto_hash_sha256_update(state, (const unsigned char *)texts[i], strlen(texts[i]));
}

#define HASH_TEXTS(state, texts) hash_texts(state, texts, sizeof(texts) / sizeof(texts)[0])

static void hash_canonical_request(const struct signing *signing, char *ret_hex)
{
    const char *const first[] = {
        "PUT\n",
        signing->target->path,
        "\n\n", /* no query */
        "host:",
        signing->target->host,
        "\nx-amz-content-sha256:",
        signing->body_hash,
        "\nx-amz-date:",
        signing->date,
        "\n",
    };
    const char *const token[] = {TOKEN_HEADER ":", signing->credentials->session_token, "\n"};
    const char *const last[] = {"\n", signing->signed_headers, "\n", signing->body_hash};
    unsigned char hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_state state;

    crypto_hash_sha256_init(&state);
    HASH_TEXTS(&state, first);
    if (signing->credentials->session_token[0] != '\0')
        HASH_TEXTS(&state, token);
    HASH_TEXTS(&state, last);
    crypto_hash_sha256_final(&state, hash);
    sodium_bin2hex(ret_hex, SIGV4_HEX_SIZE, hash, sizeof hash);
    sodium_memzero(&state, sizeof state);
}

static bool join(char *out, size_t size, const char *const *texts, size_t count)
{
    struct buf text = fixed_over(out, size);

    for (size_t i = 0; i < count; i++)
        buf_text(&text, texts[i]);
    return fixed_end(&text);
}

#define JOIN(out, ...)                                                                             \
    join(out, sizeof(out), (const char *const[]){__VA_ARGS__},                                     \
         sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static int sign(const struct signing *signing, char *ret_hex)
{
    char request_hash[SIGV4_HEX_SIZE];
    char string_to_sign[STRING_TO_SIGN_SIZE];
    unsigned char key[SIGV4_KEY_SIZE];

    hash_canonical_request(signing, request_hash);
    if (!JOIN(string_to_sign, ALGORITHM, "\n", signing->date, "\n", signing->scope, "\n",
              request_hash))
        return -EINVAL;
    sigv4_signing_key(signing->credentials, signing->date_stamp, signing->target->region, SERVICE,
                      key);
    sigv4_signature(key, string_to_sign, ret_hex);
    sodium_memzero(key, sizeof key);
    return 0;
}

static int write_headers(const struct signing *signing, const char *signature,
                         struct s3_signed *out)
{
    const char *token = signing->credentials->session_token;
    size_t count = 0;

    bool fits = JOIN(out->content_sha256, "x-amz-content-sha256: ", signing->body_hash) &&
                JOIN(out->date, "x-amz-date: ", signing->date) &&
                JOIN(out->authorization, "Authorization: ", ALGORITHM,
                     " Credential=", signing->credentials->access_key, "/", signing->scope,
                     ", SignedHeaders=", signing->signed_headers, ", Signature=", signature);
    if (!fits)
        return -EINVAL;
    out->headers[count++] = out->content_sha256;
    out->headers[count++] = out->date;
    out->security_token[0] = '\0';
    if (token[0] != '\0') {
        if (!JOIN(out->security_token, TOKEN_HEADER ": ", token))
            return -EINVAL;
        out->headers[count++] = out->security_token;
    }
    out->headers[count++] = out->authorization;
    out->headers[count] = NULL;
    return 0;
}

int s3_sign_put(const struct s3_target *target, const struct s3_credentials *credentials,
                uint64_t now_secs, const void *body, size_t size, struct s3_signed *ret_signed)
{
    struct signing signing = {.target = target, .credentials = credentials};
    char signature[SIGV4_HEX_SIZE];

    if (!are_usable(credentials) || amz_date(now_secs, signing.date) < 0)
        return -EINVAL;
    memcpy(signing.date_stamp, signing.date, DATE_STAMP_LENGTH);
    if (!JOIN(signing.scope, signing.date_stamp, "/", target->region, "/" SERVICE "/" SCOPE_END))
        return -EINVAL;
    signing.signed_headers = credentials->session_token[0] != '\0'
                                 ? "host;x-amz-content-sha256;x-amz-date;" TOKEN_HEADER
                                 : "host;x-amz-content-sha256;x-amz-date";
    hash_body(body, size, signing.body_hash);
    if (sign(&signing, signature) < 0)
        return -EINVAL;
    return write_headers(&signing, signature, ret_signed);
}

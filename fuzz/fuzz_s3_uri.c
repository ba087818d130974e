/*
 * S3 URIs, endpoints, regions and credentials: any bytes, in seven parts: URI, region, endpoint
 * ("" for none), access key, secret key, session token, body. Whatever comes, a URL begins with its
 * scheme and host, nothing that ends a line is in it or in a header, and the headers are whole.
 */
#include "net/s3.h"
#include "support.h"

#define NOW UINT64_C(1369353600)

/* Both end with a NUL; what does not fit is cut. */
static void copy_part(struct fuzz_part part, char *out, size_t size)
{
    size_t length = part.size < size - 1 ? part.size : size - 1;

    if (length > 0)
        memcpy(out, part.data, length);
    out[length] = '\0';
}

static void check_visible(const char *text, bool may_have_blanks)
{
    for (; *text != '\0'; text++)
        FUZZ_CHECK((*text > ' ' || (may_have_blanks && *text == ' ')) && *text <= '~');
}

static size_t check_prefix(const char *text, const char *prefix)
{
    FUZZ_CHECK(strncmp(text, prefix, strlen(prefix)) == 0);
    return strlen(prefix);
}

static void check_path(const char *path)
{
    static const char fine[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";

    FUZZ_CHECK(path[0] == '/');
    for (; *path != '\0'; path++) {
        if (*path != '%') {
            FUZZ_CHECK(strchr(fine, *path) != NULL);
            continue;
        }
        for (int i = 0; i < 2; i++)
            FUZZ_CHECK(*++path != '\0' && strchr("0123456789ABCDEF", *path) != NULL);
    }
}

static void check_target(const struct s3_target *target)
{
    const char *rest = target->url;

    FUZZ_CHECK(strlen(target->host) < sizeof target->host && target->host[0] != '\0');
    for (const char *at = target->host; *at != '\0'; at++)
        FUZZ_CHECK(strchr("abcdefghijklmnopqrstuvwxyz0123456789-._:[]", *at) != NULL);
    rest += strncmp(rest, "http://", 7) == 0 ? 7 : check_prefix(rest, "https://");
    rest += check_prefix(rest, target->host);
    FUZZ_CHECK(strcmp(rest, target->path) == 0);
    check_path(target->path);
}

static void check_signed(const struct s3_signed *made, const struct s3_credentials *credentials)
{
    const char *const *header = made->headers;

    check_prefix(*header++, "x-amz-content-sha256: ");
    check_prefix(*header++, "x-amz-date: 20130524T000000Z");
    if (credentials->session_token[0] != '\0') {
        size_t name = check_prefix(*header, "x-amz-security-token: ");
        FUZZ_CHECK(strcmp(*header++ + name, credentials->session_token) == 0);
    }
    size_t start = check_prefix(*header, "Authorization: AWS4-HMAC-SHA256 Credential=");
    check_prefix(*header++ + start, credentials->access_key);
    FUZZ_CHECK(*header == NULL);
    for (header = made->headers; *header != NULL; header++)
        check_visible(*header, true);
    const char *signature = strrchr(made->authorization, '=');
    FUZZ_CHECK(signature != NULL && strspn(signature + 1, "0123456789abcdef") == 64 &&
               signature[65] == '\0');
}

static void check_uri(const char *text, const struct s3_uri *uri)
{
    const char *rest = text + check_prefix(text, "s3://");

    rest += check_prefix(rest, uri->bucket);
    FUZZ_CHECK(*rest == '/' && uri->bucket[0] != '\0' && uri->key[0] != '\0');
    FUZZ_CHECK(strcmp(rest + 1, uri->key) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char text[2048], region[128], endpoint[S3_URL_MAX + 512];
    static struct s3_target target;
    static struct s3_signed made;
    struct fuzz_part rest = {(const char *)data, size};
    struct s3_credentials credentials;
    struct s3_uri uri;

    copy_part(fuzz_next_part(&rest), text, sizeof text);
    copy_part(fuzz_next_part(&rest), region, sizeof region);
    copy_part(fuzz_next_part(&rest), endpoint, sizeof endpoint);
    copy_part(fuzz_next_part(&rest), credentials.access_key, sizeof credentials.access_key);
    copy_part(fuzz_next_part(&rest), credentials.secret_key, sizeof credentials.secret_key);
    copy_part(fuzz_next_part(&rest), credentials.session_token, sizeof credentials.session_token);
    if (s3_uri_parse(text, &uri) == 0)
        check_uri(text, &uri);
    else /* the rest is worth a try all the same */
        uri = (struct s3_uri){"bucket", "key"};
    if (s3_target_make(&uri, region, endpoint[0] != '\0' ? endpoint : NULL, &target) < 0)
        return 0;
    check_target(&target);
    if (s3_sign_put(&target, &credentials, NOW, rest.data, rest.size, &made) < 0)
        return 0;
    check_signed(&made, &credentials);
    s3_credentials_wipe(&credentials);
    return 0;
}

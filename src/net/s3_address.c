/*
 * The path is percent-encoded once, and the same text goes into the URL and into the signature:
 * S3, unlike other AWS services, does not encode it a second time. Hosts are written the way HTTP
 * libraries send them (lower case, the shortest IPv6, no usual port), since the Host header is
 * signed.
 */
#include "base/scan.h"
#include "net/fixed.h"
#include "net/s3.h"

#include <arpa/inet.h>
#include <errno.h>
#include <strings.h>

#define BUCKET_LENGTH_MIN 3
#define DNS_LABEL_MAX 63
#define PORT_DIGITS_MAX 5
#define PORT_MAX 65535

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static char to_lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

static bool is_alphanumeric(char c)
{
    return is_lower(to_lower(c)) || is_digit(c);
}

/* Those that RFC 3986 calls unreserved. */
static bool is_unreserved(char c)
{
    return is_alphanumeric(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

/* --- names --- */

static bool is_bucket(const char *name, size_t length)
{
    if (length < BUCKET_LENGTH_MIN || length >= S3_BUCKET_MAX)
        return false;
    for (size_t i = 0; i < length; i++)
        if (!is_unreserved(name[i]) || name[i] == '~')
            return false;
    return true;
}

static bool is_key_length(size_t length)
{
    return length > 0 && length < S3_KEY_MAX;
}

bool s3_region_is_valid(const char *name)
{
    size_t length = strnlen(name, S3_REGION_MAX);

    if (length == 0 || length >= S3_REGION_MAX)
        return false;
    for (size_t i = 0; i < length; i++)
        if (!is_lower(name[i]) && !is_digit(name[i]) && name[i] != '-')
            return false;
    return true;
}

/*
 * Whether https://BUCKET.s3.… reaches the bucket: the certificate covers one label, DNS does not
 * tell cases apart, and old buckets may have names that no DNS label can have.
 */
bool s3_bucket_is_label(const char *name)
{
    size_t length = strlen(name);

    for (size_t i = 0; i < length; i++)
        if (!is_lower(name[i]) && !is_digit(name[i]) && name[i] != '-')
            return false;
    return length > 0 && length <= DNS_LABEL_MAX && name[0] != '-' && name[length - 1] != '-';
}

int s3_uri_parse(const char *text, struct s3_uri *ret_uri)
{
    struct scan rest = scan_over(text, strlen(text));
    struct scan bucket;

    if (!scan_starts_with(&rest, "s3://"))
        return -EINVAL;
    rest.at += strlen("s3://");
    if (!scan_until(&rest, '/', &bucket) || !is_bucket(bucket.at, scan_left(&bucket)) ||
        !is_key_length(scan_left(&rest)))
        return -EINVAL;
    scan_copy(&bucket, ret_uri->bucket, sizeof ret_uri->bucket);
    scan_copy(&rest, ret_uri->key, sizeof ret_uri->key);
    return 0;
}

static bool is_uri(const struct s3_uri *uri)
{
    return is_bucket(uri->bucket, strnlen(uri->bucket, sizeof uri->bucket)) &&
           is_key_length(strnlen(uri->key, sizeof uri->key));
}

/* --- endpoints --- */

struct endpoint {
    const char *scheme; /* "https://" */
    char host[S3_HOST_MAX];
    uint64_t port; /* 0: the scheme's */
    struct scan base;
};

/* Takes "[…]" off; IPv6 addresses without a zone, in their shortest form. */
static bool take_ipv6(struct scan *rest, struct buf *host)
{
    char text[INET6_ADDRSTRLEN];
    struct in6_addr address;
    struct scan inside;

    if (!scan_char(rest, '[') || !scan_until(rest, ']', &inside) ||
        !scan_copy(&inside, text, sizeof text) || inet_pton(AF_INET6, text, &address) != 1 ||
        inet_ntop(AF_INET6, &address, text, sizeof text) == NULL)
        return false;
    buf_char(host, '[');
    buf_text(host, text);
    buf_char(host, ']');
    return true;
}

/* Digits, or hexadecimal ones behind "0x". */
static bool is_number(const char *label)
{
    if (label[0] == '0' && label[1] == 'x')
        return label[2 + strspn(label + 2, "0123456789abcdef")] == '\0';
    return label[strspn(label, "0123456789")] == '\0';
}

/* "127.1" and "0x7f000001" are addresses to an HTTP library, which sends another Host then. */
static bool is_odd_ipv4(const char *host, const char *last_label)
{
    struct in_addr address;

    return is_number(last_label) && inet_pton(AF_INET, host, &address) != 1;
}

static bool take_name(struct scan *rest, struct buf *host)
{
    size_t label = 0;

    for (; rest->at < rest->end && *rest->at != ':'; rest->at++) {
        char c = to_lower(*rest->at);

        if (!is_unreserved(c) || c == '~' || host->overflow)
            return false;
        if (c == '.' && host->size == label)
            return false;
        buf_char(host, c);
        if (c == '.')
            label = host->size;
        else if (host->size - label > DNS_LABEL_MAX)
            return false;
    }
    if (host->size == label)
        return false;
    /* For a look at the whole; the next byte is written over the NUL. */
    buf_char(host, '\0');
    if (host->overflow || is_odd_ipv4(host->data, host->data + label))
        return false;
    host->size--;
    return true;
}

/* ":9000" or nothing, up to the end. */
static bool take_port(struct scan *rest, uint64_t *ret_port)
{
    *ret_port = 0;
    if (!scan_char(rest, ':'))
        return scan_left(rest) == 0;
    return scan_left(rest) <= PORT_DIGITS_MAX && scan_left(rest) > 0 && is_digit(*rest->at) &&
           scan_u64(rest, ret_port) && scan_left(rest) == 0 && *ret_port > 0 &&
           *ret_port <= PORT_MAX;
}

static bool take_base(struct scan *rest)
{
    for (const char *at = rest->at; at < rest->end; at++)
        if (!is_unreserved(*at) && *at != '/')
            return false;
    while (scan_left(rest) > 0 && rest->end[-1] == '/')
        rest->end--;
    return true;
}

static int parse_endpoint(const char *text, struct endpoint *ret_endpoint)
{
    struct buf host = fixed_over(ret_endpoint->host, sizeof ret_endpoint->host);
    bool tls = strncasecmp(text, "https://", 8) == 0;

    if (!tls && strncasecmp(text, "http://", 7) != 0)
        return -EINVAL;
    text += tls ? 8 : 7;
    size_t authority_length = strcspn(text, "/");
    struct scan authority = scan_over(text, authority_length);
    struct scan base = scan_over(text + authority_length, strlen(text + authority_length));
    bool is_ipv6 = text[0] == '[';

    if (!(is_ipv6 ? take_ipv6(&authority, &host) : take_name(&authority, &host)) ||
        !take_port(&authority, &ret_endpoint->port) || !take_base(&base))
        return -EINVAL;
    if (ret_endpoint->port == (tls ? 443 : 80))
        ret_endpoint->port = 0;
    ret_endpoint->scheme = tls ? "https://" : "http://";
    ret_endpoint->base = base;
    return fixed_end(&host) ? 0 : -EINVAL;
}

/* --- targets --- */

static void put_encoded(struct buf *out, const char *text)
{
    static const char digits[] = "0123456789ABCDEF";

    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;

        if (is_unreserved(*text) || *text == '/') {
            buf_char(out, *text);
            continue;
        }
        buf_char(out, '%');
        buf_char(out, digits[byte >> 4]);
        buf_char(out, digits[byte & 15]);
    }
}

/* Amazon's partitions have names of their own; those of the GovCloud are as all others. */
static const char *domain_of(const char *region)
{
    static const struct {
        const char *prefix;
        const char *domain;
    } partitions[] = {
        {"cn-", ".amazonaws.com.cn"},    {"us-iso-", ".c2s.ic.gov"},
        {"us-isob-", ".sc2s.sgov.gov"},  {"us-isof-", ".csp.hci.ic.gov"},
        {"eu-isoe-", ".cloud.adc-e.uk"}, {"eusc-", ".amazonaws.eu"},
    };

    for (size_t i = 0; i < sizeof partitions / sizeof partitions[0]; i++)
        if (strncmp(region, partitions[i].prefix, strlen(partitions[i].prefix)) == 0)
            return partitions[i].domain;
    return ".amazonaws.com";
}

/* Host and path of an object at AWS. */
static void address_at_aws(const struct s3_uri *uri, const char *region, struct buf *host,
                           struct buf *path)
{
    bool in_host = s3_bucket_is_label(uri->bucket);

    if (in_host) {
        buf_text(host, uri->bucket);
        buf_char(host, '.');
    } else {
        buf_char(path, '/');
        buf_text(path, uri->bucket);
    }
    buf_text(host, "s3.");
    buf_text(host, region);
    buf_text(host, domain_of(region));
}

static void address_below(const struct s3_uri *uri, const struct endpoint *endpoint,
                          struct buf *host, struct buf *path)
{
    buf_text(host, endpoint->host);
    if (endpoint->port != 0) {
        buf_char(host, ':');
        buf_u64(host, endpoint->port);
    }
    buf_bytes(path, endpoint->base.at, scan_left(&endpoint->base));
    buf_char(path, '/');
    buf_text(path, uri->bucket);
}

int s3_target_make(const struct s3_uri *uri, const char *region, const char *endpoint,
                   struct s3_target *ret_target)
{
    struct endpoint parsed = {.scheme = "https://"};
    struct s3_target target;
    struct buf host = fixed_over(target.host, sizeof target.host);
    struct buf path = fixed_over(target.path, sizeof target.path);
    struct buf url = fixed_over(target.url, sizeof target.url);
    struct buf region_copy = fixed_over(target.region, sizeof target.region);

    if (!is_uri(uri) || !s3_region_is_valid(region))
        return -EINVAL;
    if (endpoint != NULL && parse_endpoint(endpoint, &parsed) < 0)
        return -EINVAL;
    if (endpoint != NULL)
        address_below(uri, &parsed, &host, &path);
    else
        address_at_aws(uri, region, &host, &path);
    buf_char(&path, '/');
    put_encoded(&path, uri->key);
    buf_text(&region_copy, region);
    if (!fixed_end(&host) || !fixed_end(&path) || !fixed_end(&region_copy))
        return -EINVAL;
    buf_text(&url, parsed.scheme);
    buf_text(&url, target.host);
    buf_text(&url, target.path);
    if (!fixed_end(&url))
        return -EINVAL;
    *ret_target = target;
    return 0;
}

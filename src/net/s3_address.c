/*
 * The path is percent-encoded once, and the same text goes into the URL and into the signature:
 * S3, unlike other AWS services, does not encode it a second time.
 */
#include "base/scan.h"
#include "net/fixed.h"
#include "net/s3.h"
#include "net/url.h"

#include <errno.h>

#define BUCKET_LENGTH_MIN 3
#define DNS_LABEL_MAX 63

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

/* --- names --- */

static bool is_bucket(const char *name, size_t length)
{
    if (length < BUCKET_LENGTH_MIN || length >= S3_BUCKET_MAX)
        return false;
    for (size_t i = 0; i < length; i++)
        if (!url_is_unreserved(name[i]) || name[i] == '~')
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

/* --- targets --- */

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

static void address_below(const struct s3_uri *uri, const struct url *endpoint, struct buf *host,
                          struct buf *path)
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
    struct url parsed = {.is_https = true};
    struct s3_target target;
    struct buf host = fixed_over(target.host, sizeof target.host);
    struct buf path = fixed_over(target.path, sizeof target.path);
    struct buf url = fixed_over(target.url, sizeof target.url);
    struct buf region_copy = fixed_over(target.region, sizeof target.region);

    if (!is_uri(uri) || !s3_region_is_valid(region))
        return -EINVAL;
    if (endpoint != NULL && url_parse(endpoint, &parsed) < 0)
        return -EINVAL;
    if (endpoint != NULL)
        address_below(uri, &parsed, &host, &path);
    else
        address_at_aws(uri, region, &host, &path);
    buf_char(&path, '/');
    url_encode(uri->key, "/", &path);
    buf_text(&region_copy, region);
    if (!fixed_end(&host) || !fixed_end(&path) || !fixed_end(&region_copy))
        return -EINVAL;
    buf_text(&url, parsed.is_https ? "https://" : "http://");
    buf_text(&url, target.host);
    buf_text(&url, target.path);
    if (!fixed_end(&url))
        return -EINVAL;
    *ret_target = target;
    return 0;
}

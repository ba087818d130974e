/*
 * S3 addresses and signatures (AWS Signature Version 4), pure. The signature is made with exactly
 * the headers host, x-amz-content-sha256, x-amz-date and, with a session token,
 * x-amz-security-token.
 */
#ifndef NET_S3_H
#define NET_S3_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

#define S3_BUCKET_MAX 256
#define S3_KEY_MAX 1025
#define S3_REGION_MAX 64
#define S3_HOST_MAX 512
#define S3_URL_MAX 8192
#define S3_SIGNATURE_MAX 8192
#define S3_REGION_FALLBACK "eu-central-1"

struct s3_uri {
    char bucket[S3_BUCKET_MAX];
    char key[S3_KEY_MAX];
};

/* "s3://bucket/path/to/object"; -EINVAL for anything else, an empty bucket or key included. */
int s3_uri_parse(const char *text, struct s3_uri *ret_uri);

/* Whether a bucket's name can be the first part of a host's; a region's name is one at all. */
bool s3_bucket_is_label(const char *bucket);
bool s3_region_is_valid(const char *region);

/* Secrets: wiped with s3_credentials_wipe() when no longer needed. */
struct s3_credentials {
    char access_key[256];
    char secret_key[256];
    char session_token[4096]; /* "" when there is none */
};
void s3_credentials_wipe(struct s3_credentials *credentials);

/* Where an object goes. */
struct s3_target {
    char host[S3_HOST_MAX]; /* as in the Host header, with the port if it is not the usual one */
    char url[S3_URL_MAX];
    char path[S3_URL_MAX]; /* canonical, percent-encoded, begins with '/' */
    char region[S3_REGION_MAX];
};

/*
 * `endpoint` NULL: https://BUCKET.s3.REGION.amazonaws.com/KEY (path-style under the regional host
 * when the bucket's name has a dot, since no certificate covers it otherwise; another domain for
 * regions of other partitions, as amazonaws.com.cn for "cn-north-1"). Otherwise path-style below
 * that URL, as MinIO wants it. -EINVAL: a bucket, region or endpoint that cannot be part of an
 * address.
 */
int s3_target_make(const struct s3_uri *uri, const char *region, const char *endpoint,
                   struct s3_target *ret_target);

/* The headers of a signed PUT: "x-amz-date: …" and so on, ready for http_request.headers. */
struct s3_signed {
    char content_sha256[128];
    char date[64];
    char security_token[sizeof "x-amz-security-token: " + 4096];
    char authorization[S3_SIGNATURE_MAX];
    const char *headers[6]; /* the above that are used, then NULL */
};

/* `now_secs` is Unix time. */
int s3_sign_put(const struct s3_target *target, const struct s3_credentials *credentials,
                uint64_t now_secs, const void *body, size_t size, struct s3_signed *ret_signed);

#endif

#include "net/s3.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* --- URIs --- */

static void expect_uri(const char *text, const char *bucket, const char *key)
{
    struct s3_uri uri;

    if (s3_uri_parse(text, &uri) != 0)
        fail_msg("'%s' is refused", text);
    assert_string_equal(uri.bucket, bucket);
    assert_string_equal(uri.key, key);
}

static void expect_no_uri(const char *text)
{
    struct s3_uri uri = {"untouched", "too"};

    if (s3_uri_parse(text, &uri) != -EINVAL)
        fail_msg("'%s' is taken", text);
    assert_string_equal(uri.bucket, "untouched");
    assert_string_equal(uri.key, "too");
}

static void test_t_s3_01_uri_is_bucket_and_key(void **state)
{
    (void)state;
    expect_uri("s3://bucket/path/obj", "bucket", "path/obj");
    expect_uri("s3://my.bucket-1_A/x", "my.bucket-1_A", "x");
}

static void test_t_s3_02_other_schemes_are_refused(void **state)
{
    (void)state;
    expect_no_uri("https://bucket/path");
    expect_no_uri("s3:/bucket/path");
    expect_no_uri("S3://bucket/path");
    expect_no_uri(" s3://bucket/path");
    expect_no_uri("s3a://bucket/path");
    expect_no_uri("bucket/path");
    expect_no_uri("s3");
    expect_no_uri("");
}

static void test_t_s3_03_empty_key_or_bucket_is_refused(void **state)
{
    (void)state;
    expect_no_uri("s3://bucket/");
    expect_no_uri("s3://bucket");
    expect_no_uri("s3:///key");
    expect_no_uri("s3://");
}

static void test_keys_are_kept_as_they_are(void **state)
{
    (void)state;
    expect_uri("s3://bucket//x", "bucket", "/x");
    expect_uri("s3://bucket///", "bucket", "//");
    expect_uri("s3://bucket/a%20b?c=d#e", "bucket", "a%20b?c=d#e");
    expect_uri("s3://bucket/a/../b", "bucket", "a/../b");
    expect_uri("s3://bucket/\x01\n\xff", "bucket", "\x01\n\xff");
}

static void test_buckets_that_cannot_be(void **state)
{
    (void)state;
    expect_no_uri("s3://ab/x");
    expect_no_uri("s3://bu cket/x");
    expect_no_uri("s3://bucket\n/x");
    expect_no_uri("s3://b%20cket/x");
    expect_no_uri("s3://user@bucket/x");
    expect_no_uri("s3://bucket:80/x");
    expect_no_uri("s3://b~cket/x");
    expect_no_uri("s3://b\xc3\xbc"
                  "cket/x");
}

static void test_lengths(void **state)
{
    struct s3_uri uri;
    char text[2048];

    (void)state;
    snprintf(text, sizeof text, "s3://%0255d/%01024d", 0, 0);
    assert_int_equal(s3_uri_parse(text, &uri), 0);
    assert_int_equal(strlen(uri.bucket), 255);
    assert_int_equal(strlen(uri.key), 1024);
    snprintf(text, sizeof text, "s3://%0256d/x", 0);
    expect_no_uri(text);
    snprintf(text, sizeof text, "s3://bucket/%01025d", 0);
    expect_no_uri(text);
}

/* --- targets --- */

static struct s3_uri uri_of(const char *bucket, const char *key)
{
    struct s3_uri uri;

    snprintf(uri.bucket, sizeof uri.bucket, "%s", bucket);
    snprintf(uri.key, sizeof uri.key, "%s", key);
    return uri;
}

struct place {
    const char *bucket, *key, *region, *endpoint;
    const char *host, *path, *url;
};

static void check(const struct place *places, size_t count)
{
    static struct s3_target target;

    for (const struct place *place = places; place < places + count; place++) {
        struct s3_uri uri = uri_of(place->bucket, place->key);

        if (s3_target_make(&uri, place->region, place->endpoint, &target) != 0)
            fail_msg("'%s' is refused", place->url);
        assert_string_equal(target.host, place->host);
        assert_string_equal(target.path, place->path);
        assert_string_equal(target.url, place->url);
        assert_string_equal(target.region, place->region);
    }
}

#define CHECK(places) check(places, sizeof(places) / sizeof(places)[0])

static void test_objects_at_aws(void **state)
{
    static const struct place places[] = {
        {"bucket", "path/obj", "eu-central-1", NULL, "bucket.s3.eu-central-1.amazonaws.com",
         "/path/obj", "https://bucket.s3.eu-central-1.amazonaws.com/path/obj"},
        {"bucket", "/x", "us-east-1", NULL, "bucket.s3.us-east-1.amazonaws.com", "//x",
         "https://bucket.s3.us-east-1.amazonaws.com//x"},
        {"bucket", "x", "cn-north-1", NULL, "bucket.s3.cn-north-1.amazonaws.com.cn", "/x",
         "https://bucket.s3.cn-north-1.amazonaws.com.cn/x"},
    };
    (void)state;
    CHECK(places);
}

static void test_every_partition_has_its_domain(void **state)
{
    static const char *const hosts[][2] = {
        {"us-gov-west-1", "s3.us-gov-west-1.amazonaws.com"},
        {"us-iso-east-1", "s3.us-iso-east-1.c2s.ic.gov"},
        {"us-isob-east-1", "s3.us-isob-east-1.sc2s.sgov.gov"},
        {"us-isof-south-1", "s3.us-isof-south-1.csp.hci.ic.gov"},
        {"eu-isoe-west-1", "s3.eu-isoe-west-1.cloud.adc-e.uk"},
        {"eusc-de-east-1", "s3.eusc-de-east-1.amazonaws.eu"},
        {"us-isolated-1", "s3.us-isolated-1.amazonaws.com"},
        {"cnx", "s3.cnx.amazonaws.com"},
        {"eusc", "s3.eusc.amazonaws.com"},
    };
    struct s3_target target;

    (void)state;
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        struct s3_uri uri = {.bucket = "my.bucket", .key = "k"};
        assert_int_equal(s3_target_make(&uri, hosts[i][0], NULL, &target), 0);
        assert_string_equal(target.host, hosts[i][1]);
    }
}

static void test_buckets_that_are_no_dns_label_go_into_the_path(void **state)
{
    static const char host[] = "s3.us-east-1.amazonaws.com";
    static const struct place places[] = {
        {"my.bucket", "k", "us-east-1", NULL, host, "/my.bucket/k",
         "https://s3.us-east-1.amazonaws.com/my.bucket/k"},
        {"MyBucket", "k", "us-east-1", NULL, host, "/MyBucket/k",
         "https://s3.us-east-1.amazonaws.com/MyBucket/k"},
        {"my_bucket", "k", "us-east-1", NULL, host, "/my_bucket/k",
         "https://s3.us-east-1.amazonaws.com/my_bucket/k"},
        {"-bucket", "k", "us-east-1", NULL, host, "/-bucket/k",
         "https://s3.us-east-1.amazonaws.com/-bucket/k"},
        {"bucket-", "k", "us-east-1", NULL, host, "/bucket-/k",
         "https://s3.us-east-1.amazonaws.com/bucket-/k"},
    };
    static struct s3_target target;
    char name[65];
    struct s3_uri uri;

    (void)state;
    CHECK(places);
    snprintf(name, sizeof name, "%063d", 0);
    uri = uri_of(name, "k");
    assert_int_equal(s3_target_make(&uri, "us-east-1", NULL, &target), 0);
    assert_string_equal(target.path, "/k");
    snprintf(name, sizeof name, "%064d", 0);
    uri = uri_of(name, "k");
    assert_int_equal(s3_target_make(&uri, "us-east-1", NULL, &target), 0);
    assert_string_equal(target.host, host);
}

static void test_objects_below_an_endpoint(void **state)
{
    static const struct place places[] = {
        {"bucket", "k", "us-east-1", "http://127.0.0.1:9000", "127.0.0.1:9000", "/bucket/k",
         "http://127.0.0.1:9000/bucket/k"},
        {"bucket", "k", "us-east-1", "https://minio.example:9000/base/", "minio.example:9000",
         "/base/bucket/k", "https://minio.example:9000/base/bucket/k"},
        {"bucket", "k", "cn-x", "https://minio.example//", "minio.example", "/bucket/k",
         "https://minio.example/bucket/k"},
        {"bucket", "k", "us-east-1", "http://minio:80/a/b.c~/", "minio", "/a/b.c~/bucket/k",
         "http://minio/a/b.c~/bucket/k"},
        {"bucket", "k", "us-east-1", "https://minio:443", "minio", "/bucket/k",
         "https://minio/bucket/k"},
        {"bucket", "k", "us-east-1", "http://minio:443", "minio:443", "/bucket/k",
         "http://minio:443/bucket/k"},
        {"bucket", "k", "us-east-1", "https://minio:0080", "minio:80", "/bucket/k",
         "https://minio:80/bucket/k"},
        {"Bu.ck_et", "k", "us-east-1", "HTTP://Mini_O.Example", "mini_o.example", "/Bu.ck_et/k",
         "http://mini_o.example/Bu.ck_et/k"},
        {"bucket", "k", "us-east-1", "http://3f2a", "3f2a", "/bucket/k", "http://3f2a/bucket/k"},
        {"bucket", "k", "us-east-1", "http://[::1]:9000", "[::1]:9000", "/bucket/k",
         "http://[::1]:9000/bucket/k"},
        {"bucket", "k", "us-east-1", "http://[2001:DB8:0:0:0:0:0:1]", "[2001:db8::1]", "/bucket/k",
         "http://[2001:db8::1]/bucket/k"},
    };
    (void)state;
    CHECK(places);
}

static void test_paths_are_encoded_once(void **state)
{
    static const struct place places[] = {
        {"bucket", "a b+c=d%20~-._", "us-east-1", "http://h", "h", "/bucket/a%20b%2Bc%3Dd%2520~-._",
         "http://h/bucket/a%20b%2Bc%3Dd%2520~-._"},
        {"bucket", "?#&;:@!$'()*,[]", "us-east-1", "http://h", "h",
         "/bucket/%3F%23%26%3B%3A%40%21%24%27%28%29%2A%2C%5B%5D",
         "http://h/bucket/%3F%23%26%3B%3A%40%21%24%27%28%29%2A%2C%5B%5D"},
        {"bucket", "\xc3\xa4/\xff\x01\r\n\x7f", "us-east-1", "http://h", "h",
         "/bucket/%C3%A4/%FF%01%0D%0A%7F", "http://h/bucket/%C3%A4/%FF%01%0D%0A%7F"},
        {"bucket", "a//b/../c/./", "us-east-1", "http://h", "h", "/bucket/a//b/../c/./",
         "http://h/bucket/a//b/../c/./"},
    };
    (void)state;
    CHECK(places);
}

static void test_the_longest_key_fits(void **state)
{
    static struct s3_target target;
    struct s3_uri uri = uri_of("bucket", "");

    (void)state;
    memset(uri.key, 0xff, sizeof uri.key - 1);
    uri.key[sizeof uri.key - 1] = '\0';
    assert_int_equal(s3_target_make(&uri, "us-east-1", NULL, &target), 0);
    assert_int_equal(strlen(target.path), 1 + 3 * 1024);
}

/* --- what cannot be part of an address --- */

static void expect_no_target(struct s3_uri uri, const char *region, const char *endpoint)
{
    static struct s3_target target;

    snprintf(target.url, sizeof target.url, "untouched");
    if (s3_target_make(&uri, region, endpoint, &target) != -EINVAL)
        fail_msg("'%s' at '%s' is taken", region, endpoint != NULL ? endpoint : "AWS");
    assert_string_equal(target.url, "untouched");
}

static void test_endpoints_that_cannot_be(void **state)
{
    static const char *const endpoints[] = {"",
                                            "minio",
                                            "minio:9000",
                                            "ftp://minio",
                                            "http:/minio",
                                            "http://",
                                            "https:///x",
                                            "http://:9000",
                                            "http://minio:",
                                            "http://minio:0",
                                            "http://minio:65536",
                                            "http://minio:000080",
                                            "http://minio:9x",
                                            "http://minio: 9",
                                            "http://minio:9000:1",
                                            "http://minio:-1",
                                            "http://user@minio",
                                            "http://user:word@minio",
                                            "http://minio?x",
                                            "http://minio/?x=1",
                                            "http://minio/#x",
                                            "http://minio#x",
                                            "http://mi nio",
                                            " http://minio",
                                            "http://minio ",
                                            "http://minio/a b",
                                            "http://minio/a%20b",
                                            "http://minio\r\nX: y",
                                            "http://minio/\n",
                                            "http://mini\xc3\xb6",
                                            "http://minio\\x",
                                            "http://.minio",
                                            "http://minio..example",
                                            "http://minio.",
                                            "http://127.1",
                                            "http://2130706433",
                                            "http://0x7f.1",
                                            "http://127.0.0.01",
                                            "http://1.2.3.4.5",
                                            "http://0x7f000001",
                                            "http://[::1",
                                            "http://::1",
                                            "http://[]",
                                            "http://[::1]x",
                                            "http://[fe80::1%25eth0]",
                                            "http://[127.0.0.1]",
                                            "http://[::g]",
                                            "http://[[::1]]"};

    (void)state;
    for (size_t i = 0; i < sizeof endpoints / sizeof endpoints[0]; i++)
        expect_no_target(uri_of("bucket", "k"), "us-east-1", endpoints[i]);
}

static void test_endpoints_that_are_too_long(void **state)
{
    char text[S3_URL_MAX + 64];
    struct s3_uri uri = uri_of("bucket", "k");

    (void)state;
    snprintf(text, sizeof text, "http://h/%0*d", S3_URL_MAX, 0);
    expect_no_target(uri, "us-east-1", text);
    /* The path fits, the URL does not. */
    snprintf(text, sizeof text, "http://h/%0*d", S3_URL_MAX - 16, 0);
    expect_no_target(uri, "us-east-1", text);
    snprintf(text, sizeof text, "http://%064d", 0);
    expect_no_target(uri, "us-east-1", text);
    size_t length = (size_t)snprintf(text, sizeof text, "http://");
    for (int i = 0; i < 300; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "a.");
    snprintf(text + length, sizeof text - length, "a");
    expect_no_target(uri, "us-east-1", text);
}

static void test_regions_and_names_that_cannot_be(void **state)
{
    char text[65];

    (void)state;
    expect_no_target(uri_of("bucket", "k"), "", NULL);
    expect_no_target(uri_of("bucket", "k"), "EU-central-1", NULL);
    expect_no_target(uri_of("bucket", "k"), "eu.central", NULL);
    expect_no_target(uri_of("bucket", "k"), "eu/x", "http://h");
    expect_no_target(uri_of("bucket", "k"), "eu\r\n", "http://h");
    snprintf(text, sizeof text, "%064d", 0);
    expect_no_target(uri_of("bucket", "k"), text, NULL);
    expect_no_target(uri_of("", "k"), "us-east-1", NULL);
    expect_no_target(uri_of("buc/ket", "k"), "us-east-1", NULL);
    expect_no_target(uri_of("bucket", ""), "us-east-1", NULL);

    struct s3_uri endless;
    memset(&endless, 'a', sizeof endless);
    expect_no_target(endless, "us-east-1", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_t_s3_01_uri_is_bucket_and_key),
        cmocka_unit_test(test_t_s3_02_other_schemes_are_refused),
        cmocka_unit_test(test_t_s3_03_empty_key_or_bucket_is_refused),
        cmocka_unit_test(test_keys_are_kept_as_they_are),
        cmocka_unit_test(test_buckets_that_cannot_be),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_objects_at_aws),
        cmocka_unit_test(test_every_partition_has_its_domain),
        cmocka_unit_test(test_buckets_that_are_no_dns_label_go_into_the_path),
        cmocka_unit_test(test_objects_below_an_endpoint),
        cmocka_unit_test(test_paths_are_encoded_once),
        cmocka_unit_test(test_the_longest_key_fits),
        cmocka_unit_test(test_endpoints_that_cannot_be),
        cmocka_unit_test(test_endpoints_that_are_too_long),
        cmocka_unit_test(test_regions_and_names_that_cannot_be),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Expected values: those AWS publishes for its examples, and whole headers made by botocore
 * (tests/e2e/test_sigv4.py compares many more with it).
 */
#include "net/sigv4.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* 2013-05-24T00:00:00Z */
#define NOW UINT64_C(1369353600)
#define TOKEN "AQoDYXdzEXAMPLEtoken//+0123456789=="
#define BODY "Welcome to Amazon S3."
#define BODY_SHA256 "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"
#define EMPTY_SHA256 "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static const struct s3_credentials without_token = {
    .access_key = "AKIAIOSFODNN7EXAMPLE",
    .secret_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
};
static const struct s3_credentials with_token = {
    .access_key = "AKIAIOSFODNN7EXAMPLE",
    .secret_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    .session_token = TOKEN,
};

static struct s3_target target;
static struct s3_signed made;

static void aim(const char *text, const char *region, const char *endpoint)
{
    struct s3_uri uri;

    assert_int_equal(s3_uri_parse(text, &uri), 0);
    assert_int_equal(s3_target_make(&uri, region, endpoint, &target), 0);
}

/* --- what AWS publishes --- */

static void test_signing_key_of_the_documentation(void **state)
{
    static const unsigned char wanted[SIGV4_KEY_SIZE] = {
        0xf4, 0x78, 0x0e, 0x2d, 0x9f, 0x65, 0xfa, 0x89, 0x5f, 0x9c, 0x67,
        0xb3, 0x2c, 0xe1, 0xba, 0xf0, 0xb0, 0xd8, 0xa4, 0x35, 0x05, 0xa0,
        0x00, 0xa1, 0xa9, 0xe0, 0x90, 0xd4, 0x14, 0xdb, 0x40, 0x4d};
    static const struct s3_credentials credentials = {
        .secret_key = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"};
    unsigned char key[SIGV4_KEY_SIZE];

    (void)state;
    sigv4_signing_key(&credentials, "20120215", "us-east-1", "iam", key);
    assert_memory_equal(key, wanted, sizeof key);
}

static void expect_signature(const char *request_hash, const char *wanted)
{
    char text[256];
    char hex[SIGV4_HEX_SIZE];
    unsigned char key[SIGV4_KEY_SIZE];

    snprintf(text, sizeof text,
             "AWS4-HMAC-SHA256\n20130524T000000Z\n20130524/us-east-1/s3/aws4_request\n%s",
             request_hash);
    sigv4_signing_key(&without_token, "20130524", "us-east-1", "s3", key);
    sigv4_signature(key, text, hex);
    assert_string_equal(hex, wanted);
}

/* GET Object and PUT Object of "Signature Calculations for the Authorization Header". */
static void test_signatures_of_the_documentation(void **state)
{
    (void)state;
    expect_signature("7344ae5b7ee6c3e7e6b0fe0640412a37625d1fbfff95c48bbb2dc43964946972",
                     "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
    expect_signature("9e0e90d9c76de8fa5b200d8c849cd5b8dc7a3be3951ddb7f6a76b4158342019d",
                     "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}

/* --- whole requests --- */

static void test_t_s3_04_authorization_with_a_token(void **state)
{
    (void)state;
    aim("s3://examplebucket/runs/2024-02-29/part=0001 +\xc3\xa4%.csv.gz", "eu-central-1", NULL);
    assert_int_equal(s3_sign_put(&target, &with_token, 1709251199, NULL, 0, &made), 0);
    assert_string_equal(made.headers[0], "x-amz-content-sha256: " EMPTY_SHA256);
    assert_string_equal(made.headers[1], "x-amz-date: 20240229T235959Z");
    assert_string_equal(made.headers[2], "x-amz-security-token: " TOKEN);
    assert_string_equal(
        made.headers[3],
        "Authorization: AWS4-HMAC-SHA256 "
        "Credential=AKIAIOSFODNN7EXAMPLE/20240229/eu-central-1/s3/aws4_request, "
        "SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token, "
        "Signature=c99ffbe83e78e61aab087d96abbe2f6bb5f4f7d962a66d196fb7705faf0982b3");
    assert_null(made.headers[4]);
}

static void test_t_s3_04_authorization_without_a_token(void **state)
{
    (void)state;
    aim("s3://examplebucket/test.txt", "us-east-1", NULL);
    assert_int_equal(s3_sign_put(&target, &without_token, NOW, BODY, strlen(BODY), &made), 0);
    assert_string_equal(made.headers[0], "x-amz-content-sha256: " BODY_SHA256);
    assert_string_equal(made.headers[1], "x-amz-date: 20130524T000000Z");
    assert_string_equal(
        made.headers[2],
        "Authorization: AWS4-HMAC-SHA256 "
        "Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
        "SignedHeaders=host;x-amz-content-sha256;x-amz-date, "
        "Signature=8cc5c20259004520867267998ddf3dcd8a5b6cc394cc733f0ef9c77bf3573a46");
    assert_null(made.headers[3]);
    assert_string_equal(made.security_token, "");
}

static void test_t_s3_04_authorization_below_an_endpoint(void **state)
{
    (void)state;
    aim("s3://my.bucket/a//b/../c~", "us-east-1", "http://127.0.0.1:9000");
    assert_int_equal(s3_sign_put(&target, &with_token, NOW, BODY, strlen(BODY), &made), 0);
    assert_non_null(
        strstr(made.authorization,
               "Signature=a583e73accaf9b9d9d14777270e76058a90f7ea0ee6bfa8ce54a42d5e9771985"));
}

static void test_dates(void **state)
{
    static const struct {
        uint64_t now;
        const char *header;
    } dates[] = {
        {0, "x-amz-date: 19700101T000000Z"},
        {951827696, "x-amz-date: 20000229T123456Z"},
        {4102444799, "x-amz-date: 20991231T235959Z"},
        {253402300799, "x-amz-date: 99991231T235959Z"},
    };

    (void)state;
    aim("s3://bucket/x", "us-east-1", NULL);
    for (size_t i = 0; i < sizeof dates / sizeof dates[0]; i++) {
        assert_int_equal(s3_sign_put(&target, &with_token, dates[i].now, "", 0, &made), 0);
        assert_string_equal(made.date, dates[i].header);
    }
    assert_int_equal(s3_sign_put(&target, &with_token, 253402300800, "", 0, &made), -EINVAL);
    assert_int_equal(s3_sign_put(&target, &with_token, UINT64_MAX, "", 0, &made), -EINVAL);
}

/* --- credentials --- */

static void test_the_longest_credentials_fit(void **state)
{
    struct s3_credentials longest;

    (void)state;
    memset(&longest, 'a', sizeof longest);
    longest.access_key[sizeof longest.access_key - 1] = '\0';
    longest.secret_key[sizeof longest.secret_key - 1] = '\0';
    longest.session_token[sizeof longest.session_token - 1] = '\0';
    aim("s3://bucket/x", "us-east-1", NULL);
    memset(target.region, 'r', sizeof target.region - 1);
    assert_int_equal(s3_sign_put(&target, &longest, NOW, "", 0, &made), 0);
    assert_int_equal(strlen(made.security_token), strlen("x-amz-security-token: ") + 4095);
    assert_non_null(strstr(made.authorization, "a/20130524/rrr"));
}

static void expect_refused(const struct s3_credentials *credentials)
{
    snprintf(made.date, sizeof made.date, "untouched");
    assert_int_equal(s3_sign_put(&target, credentials, NOW, "", 0, &made), -EINVAL);
    assert_string_equal(made.date, "untouched");
}

/* Each byte in each place, but those that may be there. */
static void test_bytes_that_must_not_reach_the_wire(void **state)
{
    (void)state;
    aim("s3://bucket/x", "us-east-1", NULL);
    for (int byte = 1; byte < 256; byte++) {
        bool is_control = byte < ' ' || byte == 0x7f;
        struct s3_credentials bad = with_token;

        if (byte <= ' ' || byte >= 0x7f) {
            bad.access_key[3] = (char)byte;
            expect_refused(&bad);
            bad = with_token;
            bad.session_token[0] = (char)byte;
            expect_refused(&bad);
            bad = with_token;
        }
        bad.secret_key[5] = (char)byte;
        assert_int_equal(s3_sign_put(&target, &bad, NOW, "", 0, &made), is_control ? -EINVAL : 0);
    }
}

static void test_credentials_that_cannot_be(void **state)
{
    struct s3_credentials bad = with_token;

    (void)state;
    aim("s3://bucket/x", "us-east-1", NULL);
    bad.access_key[0] = '\0';
    expect_refused(&bad);
    bad = with_token;
    bad.secret_key[0] = '\0';
    expect_refused(&bad);
    bad = with_token;
    memset(bad.access_key, 'a', sizeof bad.access_key);
    expect_refused(&bad);
    bad = with_token;
    memset(bad.secret_key, 'a', sizeof bad.secret_key);
    expect_refused(&bad);
    bad = with_token;
    memset(bad.session_token, 'a', sizeof bad.session_token);
    expect_refused(&bad);
}

static void test_wiping(void **state)
{
    static const struct s3_credentials nothing;
    struct s3_credentials credentials = with_token;

    (void)state;
    s3_credentials_wipe(&credentials);
    assert_memory_equal(&credentials, &nothing, sizeof nothing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signing_key_of_the_documentation),
        cmocka_unit_test(test_signatures_of_the_documentation),
        cmocka_unit_test(test_t_s3_04_authorization_with_a_token),
        cmocka_unit_test(test_t_s3_04_authorization_without_a_token),
        cmocka_unit_test(test_t_s3_04_authorization_below_an_endpoint),
        cmocka_unit_test(test_dates),
        cmocka_unit_test(test_the_longest_credentials_fit),
        cmocka_unit_test(test_bytes_that_must_not_reach_the_wire),
        cmocka_unit_test(test_credentials_that_cannot_be),
        cmocka_unit_test(test_wiping),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

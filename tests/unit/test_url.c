#include "scratch.h"

#include "net/url.h"

#include <errno.h>

static void test_what_is_an_address(void **state)
{
    (void)state;
    assert_null(url_problem("https://api.example.com"));
    assert_null(url_problem("http://127.0.0.1:8080/base/"));
    assert_null(url_problem("HTTPS://[::1]:8080"));
    assert_null(url_problem("https://host/a%20b/c:d@e+f,g=h;i(j)$k"));
    assert_null(url_problem("https://api.example.com./"));
    assert_null(url_problem("https://[fe80::1%25eth0]:8080"));
    assert_null(url_problem("http://127.1"));
    assert_null(url_problem("http://host1.5:000443"));
    assert_non_null(url_problem(""));
    assert_non_null(url_problem("api.example.com"));
    assert_non_null(url_problem("ftp://api.example.com"));
    assert_non_null(url_problem("file:///etc/passwd"));
    assert_non_null(url_problem("https://"));
    assert_non_null(url_problem("https:///runs"));
    assert_non_null(url_problem("https://:443/"));
    assert_non_null(url_problem("http://[::1"));
    assert_non_null(url_problem("http://[]"));
    assert_non_null(url_problem("http://[::1]x"));
    assert_non_null(url_problem("http://example.com:"));
    assert_non_null(url_problem("http://example.com:0"));
    assert_non_null(url_problem("http://example.com:65536"));
    assert_non_null(url_problem("http://example.com:80x"));
    assert_non_null(url_problem("http://ex*mple.com"));
    assert_non_null(url_problem("http://example.com\\evil"));
    assert_null(url_problem("http://example.com:65535/x"));
    assert_non_null(url_problem("https://a b"));
    assert_non_null(url_problem("https://a\nb"));
    assert_non_null(url_problem("https://\xc3\xa9.example"));
    assert_non_null(url_problem("https://user:secret@example.com"));
    assert_non_null(url_problem("https://example.com?x=1"));
    assert_non_null(url_problem("https://example.com/#x"));
}

static void test_what_is_wrong_is_told(void **state)
{
    (void)state;
    assert_string_equal(url_problem("https://host?x=a@b"), "holds a '?' or '#'");
    assert_string_equal(url_problem("https://host/#a@b"), "holds a '?' or '#'");
    assert_string_equal(url_problem("https://a:b@host"),
                        "holds a user name or password, which has no place there");
    assert_string_equal(url_problem("https://host:x"), "names no host, or a port that is none");
}

/* Of what may be asked, only what can be signed without doubt. */
static void test_what_cannot_be_signed(void **state)
{
    static const char *const addresses[] = {
        "https://host/a%20b", "https://host/a:b", "https://host./",
        "https://[::1%lo]",   "http://127.1",     "http://host1.5",
    };
    struct url url;

    (void)state;
    for (size_t i = 0; i < sizeof addresses / sizeof addresses[0]; i++) {
        assert_null(url_problem(addresses[i]));
        assert_int_equal(url_parse(addresses[i], &url), -EINVAL);
    }
}

static void assert_host(const char *text, const char *host, uint64_t port, const char *base)
{
    struct url url;

    assert_int_equal(url_parse(text, &url), 0);
    assert_string_equal(url.host, host);
    assert_int_equal(url.port, port);
    assert_int_equal(scan_left(&url.base), strlen(base));
    assert_memory_equal(url.base.at, base, strlen(base));
}

static void test_parts(void **state)
{
    (void)state;
    assert_host("https://Example.COM", "example.com", 0, "");
    assert_host("https://example.com:443/", "example.com", 0, "");
    assert_host("http://example.com:443/a/b//", "example.com", 443, "/a/b");
    assert_host("http://[0:0::1]:80", "[::1]", 0, "");
}

static bool is_local(const char *text)
{
    struct url url;

    assert_int_equal(url_parse(text, &url), 0);
    return url_is_this_machine(&url);
}

static void test_this_machine(void **state)
{
    (void)state;
    assert_true(is_local("http://localhost:8080"));
    assert_true(is_local("http://LOCALHOST"));
    assert_true(is_local("http://127.0.0.1:1/x"));
    assert_true(is_local("http://[::1]:1"));
    assert_false(is_local("http://localhost.example"));
    assert_false(is_local("http://127.0.0.1.example"));
    assert_false(is_local("http://[::2]"));
    assert_false(is_local("http://10.0.0.1"));
}

static void test_encoding(void **state)
{
    char text[64];
    struct buf out = {.data = text, .capacity = sizeof text, .max = sizeof text};

    (void)state;
    url_encode("a/b c~%\xc3\xa9", "/", &out);
    url_encode("a/b", "", &out);
    assert_int_equal(out.size, strlen("a/b%20c~%25%C3%A9a%2Fb"));
    assert_memory_equal(text, "a/b%20c~%25%C3%A9a%2Fb", out.size);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_an_address),    cmocka_unit_test(test_what_is_wrong_is_told),
        cmocka_unit_test(test_what_cannot_be_signed), cmocka_unit_test(test_parts),
        cmocka_unit_test(test_this_machine),          cmocka_unit_test(test_encoding),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "scratch.h"

#include "net/api.h"

static void test_lengths(void **state)
{
    static char text[API_TOKEN_MAX + 1];

    (void)state;
    memset(text, 'x', sizeof text - 1);
    assert_non_null(api_token_problem(text));
    text[API_TOKEN_MAX - 1] = '\0';
    assert_null(api_token_problem(text));
    memcpy(text, "https://host/", strlen("https://host/"));
    assert_non_null(api_url_problem(text));
    text[API_URL_MAX - 1] = '\0';
    assert_null(api_url_problem(text));
}

static void test_tokens(void **state)
{
    (void)state;
    assert_null(api_token_problem("abc-DEF_123.~+/="));
    assert_non_null(api_token_problem("abc\ndef"));
    assert_non_null(api_token_problem("abc\r\nX-Evil: 1"));
    assert_non_null(api_token_problem("abc def"));
    assert_non_null(api_token_problem("\x7f"));
    assert_non_null(api_token_problem("t\xc3\xb6ken"));
}

static void test_slashes_at_the_end(void **state)
{
    struct api api;

    (void)state;
    api_init(&api, NULL, "https://example.com/base//", "t");
    assert_string_equal(api.url, "https://example.com/base");
    assert_string_equal(api.authorization, "Authorization: Bearer t");
    api_wipe(&api);
    assert_int_equal(api.authorization[0], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_slashes_at_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

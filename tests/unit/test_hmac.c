/*
 * The test cases of RFC 4231.
 */
#include "scratch.h"

#include "net/hmac.h"

static void expect(const char *key, size_t key_size, const char *data, size_t size,
                   const char *wanted)
{
    unsigned char mac[HMAC_SIZE];
    char text[2 * HMAC_SIZE + 1];

    hmac_sha256((const unsigned char *)key, key_size, data, size, mac);
    for (size_t i = 0; i < HMAC_SIZE; i++)
        snprintf(text + 2 * i, 3, "%02x", mac[i]);
    assert_string_equal(text, wanted);
}

static void test_published_cases(void **state)
{
    static const char long_key[] = "Test Using Larger Than Block-Size Key - Hash Key First";
    static const char long_text[] =
        "This is a test using a larger than block-size key and a larger than block-size data. The "
        "key needs to be hashed before being used by the HMAC algorithm.";
    char key[131];
    char data[50];

    (void)state;
    memset(key, 0x0b, 20);
    expect(key, 20, "Hi There", 8,
           "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    expect("Jefe", 4, "what do ya want for nothing?", 28,
           "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(key, 0xaa, sizeof key);
    memset(data, 0xdd, sizeof data);
    expect(key, 20, data, 50, "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
    expect(key, sizeof key, long_key, strlen(long_key),
           "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    expect(key, sizeof key, long_text, strlen(long_text),
           "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}

static void test_a_key_of_exactly_a_block(void **state)
{
    char key[64];

    (void)state;
    memset(key, 'k', sizeof key);
    expect(key, sizeof key, "", 0,
           "83026a325aaee70e36cfe607536aa1054104ad1077c36134810d4ccded1ccd3b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_cases),
        cmocka_unit_test(test_a_key_of_exactly_a_block),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

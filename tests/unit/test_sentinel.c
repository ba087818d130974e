#include "memory_search.h"

#include "net/secret.h"
#include "net/sentinel.h"

#include <pthread.h>
#include <time.h>

#define RUN                                                                                        \
    "{\"run_id\":\"r-1\",\"upload_uri_prefix\":\"s3://bucket/some/prefix\",\"extra\":[1],"         \
    "\"upload_credentials\":{\"access_key\":\"AK\",\"secret_key\":\"SK\","                         \
    "\"session_token\":\"ST\",\"expiration\":\"2026-11-15T08:00:00Z\"}}"

static struct sentinel_run run;

static int parse(const char *text)
{
    memset(&run, 0, sizeof run);
    return sentinel_parse_run(text, strlen(text), &run);
}

static void test_a_run_is_understood(void **state)
{
    (void)state;
    assert_int_equal(parse(RUN), 0);
    assert_string_equal(run.id, "r-1");
    assert_string_equal(run.upload_prefix, "s3://bucket/some/prefix");
    assert_string_equal(run.credentials.access_key, "AK");
    assert_string_equal(run.credentials.secret_key, "SK");
    assert_string_equal(run.credentials.session_token, "ST");
    assert_string_equal(run.region, "");
    assert_int_equal(run.expires_secs, 1794729600);
}

static void test_what_may_be_missing(void **state)
{
    (void)state;
    assert_int_equal(parse("{\"run_id\":\"x\"}"), 0);
    assert_string_equal(run.upload_prefix, "");
    assert_int_equal(run.expires_secs, 0);
    /* A place without keys to it is none. */
    assert_int_equal(parse("{\"run_id\":\"x\",\"upload_uri_prefix\":\"s3://b/p\"}"), 0);
    assert_string_equal(run.upload_prefix, "");
    assert_int_equal(
        parse("{\"run_id\":\"x\",\"upload_uri_prefix\":\"s3://b/p///\","
              "\"upload_credentials\":{\"access_key\":\"a\",\"secret_key\":\"s\","
              "\"expires_at\":\"2026-11-15T08:00:00.123+02:00\",\"region\":\"eu-1\"}}"),
        0);
    assert_string_equal(run.upload_prefix, "s3://b/p");
    assert_string_equal(run.credentials.session_token, "");
    assert_string_equal(run.region, "eu-1");
    assert_int_equal(run.expires_secs, 1794729600 - 7200);
}

static void test_what_is_no_run(void **state)
{
    static const char *const texts[] = {
        "",
        "null",
        "[]",
        "{}",
        "\"run_id\"",
        "{\"run_id\":7}",
        "{\"run_id\":\"\"}",
        "{\"run_id\":\"a/b\"}",
        "{\"run_id\":\"a\\nb\"}",
        "{\"run_id\":\"a\\u0000b\"}",
        "{\"run_id\":\"x\"",
        "<html>",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_int_equal(parse(texts[i]), -EINVAL);
        assert_string_equal(run.id, "");
    }
}

static void test_credentials_that_cannot_be_sent_are_none(void **state)
{
    (void)state;
    assert_int_equal(parse("{\"run_id\":\"x\",\"upload_uri_prefix\":\"s3://b/p\","
                           "\"upload_credentials\":{\"access_key\":\"a\\r\\nX: y\","
                           "\"secret_key\":\"s\"}}"),
                     0);
    assert_string_equal(run.upload_prefix, "");
}

static void test_a_refresh_changes_the_credentials_alone(void **state)
{
    static const char *const answers[] = {
        "{\"upload_credentials\":{\"access_key\":\"A2\",\"secret_key\":\"S2\","
        "\"session_token\":\"T2\",\"expires_at\":\"2026-11-15T09:00:00Z\"}}",
        "{\"access_key\":\"A2\",\"secret_key\":\"S2\",\"session_token\":\"T2\","
        "\"expiration\":\"2026-11-15T09:00:00Z\"}",
    };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(parse(RUN), 0);
        assert_int_equal(sentinel_parse_credentials(answers[i], strlen(answers[i]), &run), 0);
        assert_string_equal(run.id, "r-1");
        assert_string_equal(run.upload_prefix, "s3://bucket/some/prefix");
        assert_string_equal(run.credentials.access_key, "A2");
        assert_int_equal(run.expires_secs, 1794729600 + 3600);
    }
    assert_int_equal(sentinel_parse_credentials("{}", 2, &run), -EINVAL);
    assert_string_equal(run.credentials.access_key, "A2");
}

static void test_times(void **state)
{
    static const struct {
        const char *text;
        uint64_t secs;
    } good[] = {
        {"2026-11-15T08:00:00Z", 1794729600},
        {"2026-11-15T08:00:00.999999Z", 1794729600},
        {"2026-11-15T08:00:00+00:00", 1794729600},
        {"2026-11-15T08:00:00", 1794729600},
        {"2026-11-15T08:00:00-05:30", 1794729600 + 19800},
        {"2026-11-15T08:00:00+0200", 1794729600 - 7200},
        {"2026-11-15T08:00:00+02", 1794729600 - 7200},
    };
    static const char *const bad[] = {"",
                                      "soon",
                                      "2026-11-15",
                                      "2026-11-15 08:00:00Z",
                                      "2026-11-15T08:00:00X",
                                      "2026-11-15T08:00:00+99:00",
                                      "2026-11-15T08:00:00Z.",
                                      "1900-01-01T00:00:00Z",
                                      "2026-11-15T08:00:00+",
                                      "2026-13-45T99:00:00Z"};
    uint64_t secs;

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_true(sentinel_parse_time(good[i].text, &secs));
        assert_int_equal(secs, good[i].secs);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(sentinel_parse_time(bad[i], &secs));
}

static void test_batches_have_addresses_in_order(void **state)
{
    char uri[128];
    char tiny[8];

    (void)state;
    assert_int_equal(parse(RUN), 0);
    assert_int_equal(sentinel_batch_uri(&run, 0, uri, sizeof uri), 0);
    assert_string_equal(uri, "s3://bucket/some/prefix/r-1/000000.csv.gz");
    assert_int_equal(sentinel_batch_uri(&run, 1234567, uri, sizeof uri), 0);
    assert_string_equal(uri, "s3://bucket/some/prefix/r-1/1234567.csv.gz");
    assert_int_equal(sentinel_batch_uri(&run, 0, tiny, sizeof tiny), -EINVAL);
    run.upload_prefix[0] = '\0';
    assert_int_equal(sentinel_batch_uri(&run, 0, uri, sizeof uri), -EINVAL);
}

static void assert_end(const struct sentinel_end *end, enum sentinel_dialect dialect,
                       const char *wanted)
{
    struct buf body;

    assert_int_equal(buf_init(&body, 64, 65536), 0);
    assert_int_equal(sentinel_end_body(end, dialect, &body), 0);
    buf_char(&body, '\0');
    assert_string_equal(body.data, wanted);
    buf_free(&body);
}

/* T-EOR-02: the run's own id; T-EOR-04: s3 as soon as one batch was stored. */
static void test_t_eor_02_04_the_end_of_a_run_with_objects(void **state)
{
    const char *const uris[] = {"s3://b/1", "s3://b/2"};
    struct sentinel_end end = {.run_id = "r-1",
                               .has_exit_code = true,
                               .finished_secs = 1794729600,
                               .uris = uris,
                               .uri_count = 2};

    (void)state;
    assert_end(&end, SENTINEL_SPECIFIED,
               "{\"run_id\":\"r-1\",\"exit_code\":0,\"run_status\":\"finished\","
               "\"data_source\":\"s3\",\"data_uris\":[\"s3://b/1\",\"s3://b/2\"]}");
    end.exit_code = 3;
    end.has_failed = true;
    assert_end(
        &end, SENTINEL_DEPLOYED,
        "{\"exit_code\":3,\"run_status\":\"failed\",\"data_source\":\"s3\","
        "\"data_uris\":[\"s3://b/1\",\"s3://b/2\"],\"finished_at\":\"2026-11-15T08:00:00Z\"}");
}

static void test_t_eor_03_without_objects_the_data_goes_along(void **state)
{
    struct sentinel_end end = {.run_id = "r-1",
                               .has_failed = true,
                               .finished_secs = 1794729600,
                               .csv_gzip = "\x1f\x8b\xff",
                               .csv_gzip_size = 3,
                               .csv = "a,b\n1,\"2\"\n",
                               .csv_size = 10};

    (void)state;
    assert_end(&end, SENTINEL_SPECIFIED,
               "{\"run_id\":\"r-1\",\"exit_code\":null,\"run_status\":\"failed\","
               "\"data_source\":\"inline\",\"data_csv\":\"H4v/\"}");
    assert_end(&end, SENTINEL_DEPLOYED,
               "{\"run_status\":\"failed\",\"data_source\":\"inline\","
               "\"data_csv\":\"a,b\\n1,\\\"2\\\"\\n\",\"finished_at\":\"2026-11-15T08:00:00Z\"}");
}

static void test_a_body_beyond_the_buffer_is_no_body(void **state)
{
    struct sentinel_end end = {.run_id = "r-1", .csv_gzip = "x", .csv_gzip_size = 1};
    struct buf body;

    (void)state;
    assert_int_equal(buf_init(&body, 16, 16), 0);
    assert_int_equal(sentinel_end_body(&end, SENTINEL_SPECIFIED, &body), -ENOMEM);
    buf_free(&body);
}

enum { SECRET };

/* Neither jansson's tree nor its buffers. */
static void test_secrets_do_not_stay_in_memory(void **state)
{
    static char answer[] = "{\"run_id\":\"x\",\"upload_credentials\":{\"access_key\":\"a\","
                           "\"secret_key\":\"free() itself writes over the beginning. "
                           "0123456789012345678901234567890123456789\"}}";

    (void)state;
    skip_under_sanitizers();
    needle_write(SECRET, strstr(answer, "01234"));
    assert_int_equal(parse(answer), 0);
    assert_int_equal(sentinel_parse_credentials(answer, strlen(answer), &run), 0);
    sodium_memzero(answer, sizeof answer);
    assert_int_equal(needle_copies(SECRET), 1);
    sentinel_run_wipe(&run);
    assert_int_equal(needle_copies(SECRET), 0);
}

static void test_bodies_do_not_stay_in_memory(void **state)
{
    static char csv[NEEDLE_LENGTH + 5000];
    struct sentinel_end end = {
        .run_id = "r-1", .csv_gzip = csv, .csv_gzip_size = 3, .csv = csv, .csv_size = sizeof csv};
    struct buf body;

    (void)state;
    skip_under_sanitizers();
    memset(csv, '.', sizeof csv);
    needle_write(SECRET, csv);
    assert_int_equal(buf_init(&body, 64, 65536), 0);
    assert_int_equal(sentinel_end_body(&end, SENTINEL_DEPLOYED, &body), 0);
    sodium_memzero(csv, sizeof csv);
    assert_int_equal(needle_copies(SECRET), 1);
    secret_buf_free(&body);
    assert_int_equal(needle_copies(SECRET), 0);
}

/* --- hostile answers --- */

#define STACK_SIZE ((size_t)128 * 1024)

struct hostile {
    const char *begin; /* before what is repeated */
    const char *repeated;
    const char *end; /* behind it */
};

static struct buf hostile_text;

static void *parse_both(void *unused)
{
    struct sentinel_run parsed = {0};

    (void)unused;
    int error = sentinel_parse_run(hostile_text.data, hostile_text.size, &parsed);
    int other = sentinel_parse_credentials(hostile_text.data, hostile_text.size, &parsed);
    return error == -EINVAL && other == -EINVAL ? NULL : "was taken for an answer";
}

/* On a stack that is smaller than a parser that follows would need. */
static void assert_refused_on_a_small_stack(const struct hostile *text, size_t size)
{
    pthread_attr_t attributes;
    pthread_t thread;
    void *fault = "not run";

    assert_int_equal(buf_init(&hostile_text, size, size), 0);
    buf_text(&hostile_text, text->begin);
    while (hostile_text.size + strlen(text->repeated) + strlen(text->end) <= size)
        buf_text(&hostile_text, text->repeated);
    buf_text(&hostile_text, text->end);
    assert_false(hostile_text.overflow);
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, STACK_SIZE), 0);
    assert_int_equal(pthread_create(&thread, &attributes, parse_both, NULL), 0);
    assert_int_equal(pthread_join(thread, &fault), 0);
    pthread_attr_destroy(&attributes);
    buf_free(&hostile_text);
    assert_null(fault);
}

static void test_hostile_answers_are_refused_at_no_great_cost(void **state)
{
    static const struct hostile texts[] = {
        {"", "[", ""},
        {"", "{\"a\":", ""},
        {"{\"a\\\"\":", "[", ""},
        {"{\"a\\\\\":", "[{\"[\":", ""},
        {"", "]", ""},
        {"", "\"", ""},
        {"\"", "\\", ""},
        {"{\"a\":[", "[],", "1]}"},
        {"{\"a\":", "9", "}"},
        {"{\"a\":0.", "0", "1}"},
        {"{\"a\":9.", "9", "e99999}"},
        {"{", "\"a\":1,", "\"a\":1}"},
        {"{", "\"run_id\":[],", "\"run_id\":{}}"},
        {"", " ", "{}"},
        {"{\"run_id\":\"", "x", "\"}"},
    };
    static const size_t sizes[] = {1000, 5000, SENTINEL_ANSWER_MAX, (size_t)1 << 20};
    clock_t begin = clock();

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        for (size_t j = 0; j < sizeof sizes / sizeof sizes[0]; j++)
            assert_refused_on_a_small_stack(&texts[i], sizes[j]);
    /* Measured: 0.15 s without sanitizers. */
    assert_true((clock() - begin) / CLOCKS_PER_SEC < 20);
}

static void test_an_answer_may_be_large_but_not_larger(void **state)
{
    static char answer[SENTINEL_ANSWER_MAX + 1];

    (void)state;
    memset(answer, ' ', sizeof answer);
    memcpy(answer, RUN, strlen(RUN));
    assert_int_equal(sentinel_parse_run(answer, SENTINEL_ANSWER_MAX, &run), 0);
    assert_string_equal(run.id, "r-1");
    assert_int_equal(sentinel_parse_run(answer, SENTINEL_ANSWER_MAX + 1, &run), -EINVAL);
}

/* What is not ours may be nested, if not without end; brackets in texts are none. */
static void test_an_answer_may_be_nested(void **state)
{
    (void)state;
    assert_int_equal(parse("{\"run_id\":\"x\",\"a\":[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]}"), 0);
    assert_int_equal(parse("{\"run_id\":\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[{{{{{{{{\"}"), 0);
    assert_int_equal(parse("{\"run_id\":\"x\",\"a\":[[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],"
                           "[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[]]}"),
                     0);
}

static void test_secrets_are_wiped(void **state)
{
    static const struct sentinel_run nothing;

    (void)state;
    assert_int_equal(parse(RUN), 0);
    sentinel_run_wipe(&run);
    assert_memory_equal(&run, &nothing, sizeof run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_run_is_understood),
        cmocka_unit_test(test_what_may_be_missing),
        cmocka_unit_test(test_what_is_no_run),
        cmocka_unit_test(test_credentials_that_cannot_be_sent_are_none),
        cmocka_unit_test(test_a_refresh_changes_the_credentials_alone),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_batches_have_addresses_in_order),
        cmocka_unit_test(test_t_eor_02_04_the_end_of_a_run_with_objects),
        cmocka_unit_test(test_t_eor_03_without_objects_the_data_goes_along),
        cmocka_unit_test(test_a_body_beyond_the_buffer_is_no_body),
        cmocka_unit_test(test_secrets_do_not_stay_in_memory),
        cmocka_unit_test(test_bodies_do_not_stay_in_memory),
        cmocka_unit_test(test_hostile_answers_are_refused_at_no_great_cost),
        cmocka_unit_test(test_an_answer_may_be_large_but_not_larger),
        cmocka_unit_test(test_an_answer_may_be_nested),
        cmocka_unit_test(test_secrets_are_wiped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

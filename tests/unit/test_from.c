#include "scratch_dir.h"

#include "app/config.h"
#include "app/from.h"
#include "encode/summary.h"

#define SAMPLE "{\"timestamp_secs\":1700000000,\"job_name\":\"j\",\"cpu\":{\"process_count\":7}}\n"

static struct capture out;
static struct capture err;
static struct config config;
static struct scratch_path paths[3];
static const char *from[3];

/* Files with these texts; NULL: it is not there. */
static int from_texts(const char *first, const char *second)
{
    const char *const texts[] = {first, second};

    config.from = from;
    config.from_count = 0;
    for (size_t i = 0; i < 2; i++) {
        char name[] = {(char)('a' + i), '\0'};
        if (texts[i] != NULL)
            scratch_text(&dir, name, texts[i]);
        paths[i] = scratch_path(&dir, name);
        from[config.from_count++] = paths[i].text;
    }
    capture_begin(&out, STDOUT_FILENO);
    capture_begin(&err, STDERR_FILENO);
    int status = from_run(&config);
    (void)capture_end(&err);
    (void)capture_end(&out);
    return status;
}

static int start(void **state)
{
    memset(&config, 0, sizeof config);
    return make(state);
}

static void test_what_can_be_read_is(void **state)
{
    (void)state;
    assert_int_equal(from_texts(SAMPLE, SAMPLE), 0);
    assert_string_equal(err.text, "");
    assert_non_null(strstr(out.text, "duration"));
    assert_int_equal(from_texts(SAMPLE "oops\n", "nothing here"), 0);
    assert_non_null(strstr(err.text, "/a:2: is no sample"));
    assert_non_null(strstr(err.text, "/b:1: is neither a sample"));
    assert_non_null(strstr(err.text, "/b: no sample could be read"));
    assert_true(strlen(out.text) > 0);
}

static void test_nothing_could_be_read(void **state)
{
    (void)state;
    assert_int_equal(from_texts("", NULL), 1);
    assert_string_equal(out.text, "");
    assert_non_null(strstr(err.text, "/a: is empty"));
    assert_non_null(strstr(err.text, "/b: cannot be opened: No such file"));
    assert_null(strstr(err.text, "no sample could be read"));
}

static void test_as_it_is_wanted(void **state)
{
    (void)state;
    config.summary = SUMMARY_NONE;
    assert_int_equal(from_texts(SAMPLE, NULL), 0);
    assert_string_equal(out.text, "");
    config.summary = SUMMARY_JSON;
    config.run.job_name = "ours";
    config.run.team = "team";
    assert_int_equal(from_texts(SAMPLE, NULL), 0);
    assert_int_equal(out.text[0], '{');
    assert_non_null(strstr(out.text, "\"job_name\":\"j\""));
    assert_non_null(strstr(out.text, "\"team\":\"team\""));
}

static void test_a_report_beside_it(void **state)
{
    struct scratch_path report = scratch_path(&dir, "report.html");

    (void)state;
    config.report = report.text;
    config.summary = SUMMARY_NONE;
    assert_int_equal(from_texts(SAMPLE, SAMPLE), 0);
    assert_int_equal(access(report.text, R_OK), 0);
    config.report = paths[1].text;
    assert_int_equal(from_texts(SAMPLE, SAMPLE), 2);
    scratch_expect(&dir, "b", SAMPLE);
    config.report = "/nowhere/at/all";
    assert_int_equal(from_texts(SAMPLE, SAMPLE), 125);
    assert_non_null(strstr(err.text, "cannot write the report"));
}

static void test_a_report_over_what_is_in_a_folder(void **state)
{
    struct scratch_path report = scratch_path(&dir, "x.jsonl");

    (void)state;
    scratch_text(&dir, "x.jsonl", SAMPLE);
    from[0] = dir.path;
    config.from = from;
    config.from_count = 1;
    config.report = report.text;
    capture_begin(&err, STDERR_FILENO);
    int status = from_run(&config);
    (void)capture_end(&err);
    assert_int_equal(status, 2);
    assert_non_null(strstr(err.text, "give another file"));
    scratch_expect(&dir, "x.jsonl", SAMPLE);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, start, drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_what_can_be_read_is),
        TEST(test_nothing_could_be_read),
        TEST(test_as_it_is_wanted),
        TEST(test_a_report_beside_it),
        TEST(test_a_report_over_what_is_in_a_folder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

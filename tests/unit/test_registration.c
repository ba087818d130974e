#include "json_check.h"
#include "out.h"

#include "encode/registration.h"

static struct host host;

static int set_up(void **state)
{
    host_reset(&host);
    return out_make(state);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, out_drop)

static const char *told(const struct run *run, pid_t pid, enum host_names names)
{
    buf_reset(&out);
    assert_int_equal(json_registration(run, pid, &host, names, &out), 0);
    buf_char(&out, '\0');
    return out.data;
}

static void assert_has(const char *text, const char *wanted)
{
    if (strstr(text, wanted) == NULL)
        fail_msg("%s is not in %s", wanted, text);
}

static void assert_lacks(const char *text, const char *unwanted)
{
    if (strstr(text, unwanted) != NULL)
        fail_msg("%s is in %s", unwanted, text);
}

static char *words[] = {"sh", "-c", "echo \"a\\b\"", NULL};
static struct tag tags[] = {{"team", "x y"}, {"k", "v=w"}};

static void test_as_specified(void **state)
{
    struct run run = {.job_name = "train", .command = words, .tags = tags, .tag_count = 2};

    (void)state;
    snprintf(host.name, sizeof host.name, "node");
    const char *text = told(&run, 42, HOST_NAMES_SPECIFIED);
    assert_has(text, "\"host_name\":\"node\"");
    assert_has(text, "\"job_name\":\"train\"");
    assert_has(text, "\"tags\":{\"team\":\"x y\",\"k\":\"v=w\"}");
    assert_has(text, "\"command\":[\"sh\",\"-c\",\"echo \\\"a\\\\b\\\"\"]");
    assert_has(text, "\"pid\":42}");
    assert_has(text, "\"cloud_vendor_id\":null");
    assert_lacks(text, "stage_name");
}

static void test_as_deployed(void **state)
{
    struct run run = {.job_name = "train", .command = words, .tags = tags, .tag_count = 2};

    (void)state;
    snprintf(host.name, sizeof host.name, "node");
    const char *text = told(&run, 42, HOST_NAMES_DEPLOYED);
    assert_has(text, "\"host_hostname\":\"node\"");
    assert_has(text, "\"host_server_allocation\":null");
    assert_has(text, "\"tags\":[\"team=x y\",\"k=v=w\"]");
    assert_has(text,
               "\"command\":\"[\\\"sh\\\",\\\"-c\\\",\\\"echo \\\\\\\"a\\\\\\\\b\\\\\\\"\\\"]\"");
    assert_lacks(text, "\"pid\"");
    assert_lacks(text, "\"host_name\"");
}

static void test_nothing_said(void **state)
{
    struct run run = {0};

    (void)state;
    const char *text = told(&run, 0, HOST_NAMES_SPECIFIED);
    assert_lacks(text, "command");
    assert_lacks(text, "tags");
    assert_lacks(text, "pid");
    assert_lacks(text, "job_name");
}

static void test_everything_said(void **state)
{
    struct run run = {.job_name = "a",
                      .project_name = "b",
                      .stage_name = "c",
                      .task_name = "d",
                      .team = "e",
                      .env = "f",
                      .language = "g",
                      .orchestrator = "h",
                      .executor = "i",
                      .external_run_id = "j",
                      .container_image = ""};

    (void)state;
    assert_has(
        told(&run, 0, HOST_NAMES_SPECIFIED),
        ",\"job_name\":\"a\",\"project_name\":\"b\",\"stage_name\":\"c\",\"task_name\":\"d\","
        "\"team\":\"e\",\"env\":\"f\",\"language\":\"g\",\"orchestrator\":\"h\","
        "\"executor\":\"i\",\"external_run_id\":\"j\",\"container_image\":\"\"}");
}

static void test_hostile_texts(void **state)
{
    struct run run = {.job_name = "\"},{\"x\":\"\n\xff\x01"};

    (void)state;
    const char *text = told(&run, 0, HOST_NAMES_SPECIFIED);
    assert_true(is_json(text, strlen(text)));
    assert_has(text, "\"job_name\":\"\\\"},{\\\"x\\\":\\\"\\u000a");
}

static void test_a_command_line_of_megabytes(void **state)
{
    static char word[5000];
    static char *many[1001];
    struct run run = {.command = many};

    (void)state;
    memset(word, 'x', sizeof word - 1);
    for (size_t i = 0; i < 1000; i++)
        many[i] = word;
    const char *text = told(&run, 0, HOST_NAMES_SPECIFIED);
    assert_true(strlen(text) < 70 * 1024);
    assert_true(is_json(text, strlen(text)));
    assert_has(text, "xxx\",\"…\"]");
    text = told(&run, 0, HOST_NAMES_DEPLOYED);
    assert_true(is_json(text, strlen(text)));
}

static void test_too_long(void **state)
{
    struct run run = {.job_name = "a name that does not fit"};
    struct buf small;

    (void)state;
    assert_int_equal(buf_init(&small, 16, 64), 0);
    assert_int_equal(json_registration(&run, 0, &host, HOST_NAMES_SPECIFIED, &small), -ENOMEM);
    buf_free(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_as_specified),
        TEST(test_as_deployed),
        TEST(test_nothing_said),
        TEST(test_everything_said),
        TEST(test_hostile_texts),
        TEST(test_too_long),
        TEST(test_a_command_line_of_megabytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

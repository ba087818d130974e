/*
 * The uploader where nothing answers, with rows coming in all the while. With servers that answer
 * it is tested end to end.
 */
#include "gunzip.h"

#include "base/clock.h"
#include "net/spool.h"
#include "net/uploader.h"

#define HEADER "n\n"
#define ROWS 200

static struct scratch scratch;
static struct uploader *uploader;
static int look_count;

static void look_around(void *context, struct http *http)
{
    (void)context;
    assert_non_null(http);
    look_count++;
}

static int describe(void *context, enum sentinel_dialect dialect, struct buf *out)
{
    (void)context;
    (void)dialect;
    buf_text(out, "{}");
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    scratch_make(&scratch);
    look_count = 0;
    struct uploader_options options = {
        .url = "http://127.0.0.1:1",
        .token = "token",
        .interval_ns = 10 * NS_PER_MS,
        .header = HEADER,
        .folders = {scratch.path, "/tmp"},
        .look_around = look_around,
        .describe = describe,
    };
    assert_int_equal(uploader_start(&options, &uploader), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    scratch_remove(&scratch);
    return 0;
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

static void append_rows(char *wanted)
{
    struct timespec pause = clock_timespec(NS_PER_MS);

    strcpy(wanted, HEADER);
    for (int i = 0; i < ROWS; i++) {
        char row[16];
        int size = snprintf(row, sizeof row, "%d\n", i);
        uploader_row(uploader, row, (size_t)size);
        strcat(wanted, row);
        if (i == 10)
            uploader_may_register(uploader);
        (void)nanosleep(&pause, NULL);
    }
}

static bool was_said(const char *part)
{
    bool found = false;

    for (const char *message; (message = uploader_message(uploader)) != NULL;)
        found = found || strstr(message, part) != NULL;
    return found;
}

static void end_within(uint64_t ns)
{
    struct uploader_end end = {.has_exit_code = true, .deadline_ns = clock_monotonic_ns() + ns};

    uploader_announce_end(uploader, &end);
    uploader_end(uploader);
}

static void assert_left(const char *wanted)
{
    char path[SPOOL_PATH_MAX];

    snprintf(path, sizeof path, "%s/resource-tracker-%d.csv.gz", scratch.path, (int)getpid());
    char *text = gunzip_file(path);
    assert_string_equal(text, wanted);
    free(text);
}

static void test_all_rows_are_saved(void **state)
{
    char wanted[ROWS * 8];

    (void)state;
    append_rows(wanted);
    end_within(2 * NS_PER_SEC);
    assert_true(was_said("200 rows"));
    assert_left(wanted);
    assert_true(uploader_close(uploader));
}

/* Then they are in memory until the end, and in the next folder after it. */
static void test_the_folder_vanishes(void **state)
{
    (void)state;
    uploader_row(uploader, "1\n", 2);
    scratch_remove(&scratch);
    end_within(NS_PER_SEC / 2);
    char path[64];
    snprintf(path, sizeof path, "/tmp/resource-tracker-%d.csv.gz", (int)getpid());
    char *text = gunzip_file(path);
    assert_string_equal(text, HEADER "1\n");
    free(text);
    unlink(path);
    assert_true(was_said(path));
    assert_true(uploader_close(uploader));
    scratch_make(&scratch);
}

static void test_closed_without_an_end(void **state)
{
    (void)state;
    uploader_row(uploader, "1\n", 2);
    assert_true(uploader_close(uploader));
}

static void test_hardly_any_time(void **state)
{
    (void)state;
    uploader_row(uploader, "1\n", 2);
    end_within(NS_PER_SEC / 2);
    assert_left(HEADER "1\n");
    assert_true(uploader_close(uploader));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_all_rows_are_saved),
        TEST(test_the_folder_vanishes),
        TEST(test_closed_without_an_end),
        TEST(test_hardly_any_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

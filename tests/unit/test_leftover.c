#include "gunzip.h"

#include "net/leftover.h"

#include <signal.h>
#include <sys/resource.h>

#define HEADER "a,b\n"

static struct scratch scratch;
static struct spool spool;
static char path[SPOOL_PATH_MAX];

static int set_up(void **state)
{
    (void)state;
    scratch_make(&scratch);
    assert_int_equal(spool_open(&spool, scratch.path, HEADER, 1 << 20), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    spool_close(&spool);
    scratch_remove(&scratch);
    return 0;
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

static void append(const char *row)
{
    assert_true(spool_append(&spool, row, strlen(row)));
}

static void assert_saved(const char *name, const char *wanted)
{
    char expected[SPOOL_PATH_MAX];
    char *text = gunzip_file(path);

    snprintf(expected, sizeof expected, "%s/%s", scratch.path, name);
    assert_string_equal(path, expected);
    assert_string_equal(text, wanted);
    free(text);
}

static void test_all_that_was_not_confirmed(void **state)
{
    struct spool_batch batch;

    (void)state;
    append("1,1\n");
    assert_true(spool_cut(&spool, &batch));
    spool_release(&spool, &batch);
    append("2,2\n");
    assert_true(spool_cut(&spool, &batch));
    append("3,3\n");
    assert_int_equal(leftover_save(&spool, HEADER, scratch.path, "run-7", path), 0);
    assert_saved("resource-tracker-run-7.csv.gz", "a,b\n2,2\n3,3\n");
    assert_int_equal(spool_rows(&spool), 0);
    assert_int_equal(spool_size(&spool), 0);
}

static void test_a_name_that_is_none(void **state)
{
    (void)state;
    append("1,1\n");
    assert_int_equal(leftover_save(&spool, HEADER, scratch.path, "../../x y\n\xc3\xa9", path), 0);
    assert_saved("resource-tracker-.._.._x_y___.csv.gz", "a,b\n1,1\n");
}

static void test_an_older_one_stays(void **state)
{
    (void)state;
    append("1,1\n");
    assert_int_equal(leftover_save(&spool, HEADER, scratch.path, "x", path), 0);
    append("2,2\n");
    assert_int_equal(leftover_save(&spool, HEADER, scratch.path, "x", path), 0);
    assert_saved("resource-tracker-x-1.csv.gz", "a,b\n2,2\n");
    snprintf(path, sizeof path, "%s/resource-tracker-x.csv.gz", scratch.path);
    assert_saved("resource-tracker-x.csv.gz", "a,b\n1,1\n");
}

static void test_more_than_a_piece(void **state)
{
    char row[16];
    char wanted_end[] = "0299999,x\n";

    (void)state;
    for (int i = 0; i < 300000; i++) {
        snprintf(row, sizeof row, "%07d,x\n", i);
        append(row);
    }
    assert_int_equal(leftover_save(&spool, HEADER, scratch.path, "big", path), 0);
    char *text = gunzip_file(path);
    assert_int_equal(strlen(text), 4 + 300000 * 10);
    assert_string_equal(text + strlen(text) - 10, wanted_end);
    free(text);
}

static void test_no_folder(void **state)
{
    (void)state;
    append("1,1\n");
    assert_int_equal(leftover_save(&spool, HEADER, "/nowhere/at/all", "x", path), -ENOENT);
    assert_int_equal(spool_rows(&spool), 1);
}

/* Then the rows stay where they are, and half a file is none. */
static void test_a_full_disk(void **state)
{
    struct rlimit limit;

    (void)state;
    append("1,1\n");
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    struct rlimit none = {.rlim_cur = 10, .rlim_max = limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    int error = leftover_save(&spool, HEADER, scratch.path, "x", path);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(error, -EFBIG);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(spool_rows(&spool), 1);
    assert_int_equal(leftover_save(&spool, HEADER, scratch.path, "x", path), 0);
    assert_saved("resource-tracker-x.csv.gz", "a,b\n1,1\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_all_that_was_not_confirmed),
        TEST(test_a_name_that_is_none),
        TEST(test_an_older_one_stays),
        TEST(test_more_than_a_piece),
        TEST(test_no_folder),
        TEST(test_a_full_disk),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

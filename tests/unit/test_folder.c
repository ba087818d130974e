#include "scratch_dir.h"

#include "read/folder.h"

static void test_files_in_the_order_of_their_names(void **state)
{
    static const char *const names[] = {"000002.csv.gz", "000001.csv.gz", "b.jsonl", "a.jsonl.gz",
                                        "z.csv"};
    static const char *const others[] = {"notes.txt", ".csv", "x.csv.bak", "y.gz", "csv"};
    struct folder folder = {0};

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        scratch_text(&dir, names[i], "");
        scratch_text(&dir, others[i], "");
    }
    assert_int_equal(mkdirat(dir.fd, "sub.csv", 0700), 0);
    assert_int_equal(mkfifoat(dir.fd, "pipe.csv", 0600), 0);
    assert_int_equal(symlinkat("nowhere", dir.fd, "broken.csv"), 0);
    assert_int_equal(folder_list(&folder, dir.fd, dir.path), 0);
    assert_int_equal(folder.count, 5);
    assert_string_equal(folder.paths[0], scratch_path(&dir, "000001.csv.gz").text);
    assert_string_equal(folder.paths[1], scratch_path(&dir, "000002.csv.gz").text);
    assert_string_equal(folder.paths[2], scratch_path(&dir, "a.jsonl.gz").text);
    assert_string_equal(folder.paths[3], scratch_path(&dir, "b.jsonl").text);
    assert_string_equal(folder.paths[4], scratch_path(&dir, "z.csv").text);
    folder_free(&folder);
}

static void test_an_empty_one_and_none(void **state)
{
    struct folder folder = {0};

    (void)state;
    assert_int_equal(folder_list(&folder, dir.fd, "x/"), 0);
    assert_int_equal(folder.count, 0);
    scratch_text(&dir, "a.csv", "");
    assert_int_equal(folder_list(&folder, dir.fd, "x/"), 0);
    assert_string_equal(folder.paths[0], "x/a.csv");
    folder_free(&folder);
    assert_int_equal(folder_list(&folder, -1, "x"), -EBADF);
    folder_free(&folder);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, make, drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_files_in_the_order_of_their_names),
        TEST(test_an_empty_one_and_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

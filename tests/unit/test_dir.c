#include "base/dir.h"

#include "scratch_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

struct seen {
    size_t files;
    size_t limit;
};

static bool see(void *context, const struct dirent64 *entry)
{
    struct seen *seen = context;

    if (strncmp(entry->d_name, "file-", 5) != 0)
        return true;
    return ++seen->files < seen->limit;
}

static int open_with_files(size_t count)
{
    char name[64];

    for (size_t i = 0; i < count; i++) {
        snprintf(name, sizeof name, "file-with-a-name-of-some-length-%zu", i);
        scratch_write(&dir, name, "", 0);
    }
    return open(dir.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* More than one system call's worth. */
static void test_every_entry_is_visited_each_time(void **state)
{
    (void)state;
    int fd = open_with_files(1500);
    for (int round = 0; round < 2; round++) {
        struct seen seen = {.limit = SIZE_MAX};
        assert_int_equal(dir_each(fd, see, &seen), 0);
        assert_int_equal(seen.files, 1500);
    }
    close(fd);
}

static void test_a_visitor_can_end_it(void **state)
{
    struct seen seen = {.limit = 3};

    (void)state;
    int fd = open_with_files(10);
    assert_int_equal(dir_each(fd, see, &seen), 0);
    assert_int_equal(seen.files, 3);
    close(fd);
}

static void test_what_is_no_directory(void **state)
{
    struct seen seen = {0};

    (void)state;
    assert_int_equal(dir_each(-1, see, &seen), -EBADF);
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_int_equal(dir_each(fd, see, &seen), -ENOTDIR);
    close(fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_every_entry_is_visited_each_time),
        TEST(test_a_visitor_can_end_it),
        TEST(test_what_is_no_directory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "in_child.h"
#include "sink/report_file.h"

#include <dirent.h>
#include <sys/resource.h>

static struct scratch scratch;
static struct digest digest;

static int make(void **state)
{
    (void)state;
    scratch_make(&scratch);
    return digest_init(&digest, true);
}

static int drop(void **state)
{
    (void)state;
    digest_free(&digest);
    scratch_remove(&scratch);
    return 0;
}

static int write_to(const char *path)
{
    const struct digest *digests[] = {&digest};

    return report_file_write(path, digests, 1, 0);
}

static size_t count_files(void)
{
    size_t count = 0;
    DIR *folder = opendir(scratch.path);

    assert_non_null(folder);
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder))
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(folder);
    return count;
}

static void expect_page(const char *name)
{
    char *page = scratch_read(&scratch, name);

    assert_non_null(page);
    assert_int_equal(strncmp(page, "<!DOCTYPE html>", 15), 0);
    assert_non_null(strstr(page, "</html>\n"));
    free(page);
}

static void test_a_probe_leaves_nothing(void **state)
{
    (void)state;
    assert_int_equal(report_file_probe(scratch_path(&scratch, "r.html").text), 0);
    assert_int_equal(count_files(), 0);
    scratch_text(&scratch, "r.html", "old");
    assert_int_equal(report_file_probe(scratch_path(&scratch, "r.html").text), 0);
    scratch_expect(&scratch, "r.html", "old");
    assert_int_equal(count_files(), 1);
}

static void test_what_cannot_be_a_report_is_refused(void **state)
{
    (void)state;
    assert_int_equal(report_file_probe(scratch.path), -EISDIR);
    assert_int_equal(report_file_probe(scratch_path(&scratch, "no/r.html").text), -ENOENT);
    assert_int_equal(report_file_probe("/dev/null/r.html"), -ENOTDIR);
    assert_true(report_file_probe("/proc/r.html") < 0);
    assert_int_equal(report_file_probe(""), -ENOENT);
}

static void test_a_report_takes_the_place_of_an_older_one(void **state)
{
    struct stat status;
    struct scratch_path kept = scratch_path(&scratch, "r.html");

    (void)state;
    assert_int_equal(write_to(kept.text), 0);
    expect_page("r.html");
    scratch_text(&scratch, "r.html", "old");
    assert_int_equal(chmod(kept.text, 0640), 0);
    assert_int_equal(write_to(kept.text), 0);
    expect_page("r.html");
    assert_int_equal(stat(kept.text, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0640);
    assert_int_equal(count_files(), 1);
}

static void test_a_link_stays_and_its_file_is_replaced(void **state)
{
    struct stat status;
    struct scratch_path link = scratch_path(&scratch, "link.html");

    (void)state;
    scratch_text(&scratch, "r.html", "old");
    assert_int_equal(symlink("r.html", link.text), 0);
    assert_int_equal(write_to(link.text), 0);
    assert_int_equal(lstat(link.text, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    expect_page("r.html");
}

static void test_a_link_to_nothing_stays_and_its_file_is_made(void **state)
{
    struct stat status;
    struct scratch_path link = scratch_path(&scratch, "link.html");

    (void)state;
    assert_int_equal(mkdir(scratch_path(&scratch, "dir").text, 0755), 0);
    assert_int_equal(symlink("dir/next", link.text), 0);
    assert_int_equal(symlink("r.html", scratch_path(&scratch, "dir/next").text), 0);
    assert_int_equal(report_file_probe(link.text), 0);
    assert_int_equal(write_to(link.text), 0);
    assert_int_equal(lstat(link.text, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    expect_page("dir/r.html");
    assert_int_equal(symlink("loop", scratch_path(&scratch, "loop").text), 0);
    assert_int_equal(report_file_probe(scratch_path(&scratch, "loop").text), -ELOOP);
    assert_int_equal(symlink("no/r.html", scratch_path(&scratch, "astray").text), 0);
    assert_int_equal(report_file_probe(scratch_path(&scratch, "astray").text), -ENOENT);
}

/* As a user who may write the file, but neither replace it nor, at last, make another beside it. */
static void overwrite_as_another_user(void)
{
    struct scratch_path path = scratch_path(&scratch, "r.html");

    CHECK(setuid(65534) == 0);
    CHECK(report_file_probe(path.text) == 0);
    CHECK(write_to(path.text) == 0);
}

static void test_a_file_that_cannot_be_replaced_is_written_over(void **state)
{
    struct stat before;
    struct stat after;
    struct scratch_path path = scratch_path(&scratch, "r.html");

    (void)state;
    if (geteuid() != 0)
        skip();
    for (int round = 0; round < 2; round++) {
        scratch_text(&scratch, "r.html", "old");
        assert_int_equal(chmod(path.text, 0666), 0);
        assert_int_equal(chmod(scratch.path, round == 0 ? 01777 : 0755), 0);
        assert_int_equal(stat(path.text, &before), 0);
        in_child(overwrite_as_another_user);
        assert_int_equal(stat(path.text, &after), 0);
        assert_true(before.st_ino == after.st_ino);
        expect_page("r.html");
        assert_int_equal(count_files(), 1);
    }
}

static void test_a_pipe_needs_a_reader_and_keeps_it(void **state)
{
    struct scratch_path path = scratch_path(&scratch, "pipe");
    char byte;
    int held;

    (void)state;
    assert_int_equal(mkfifo(path.text, 0600), 0);
    assert_int_equal(report_file_hold(path.text, &held), -ENXIO);
    int reader = open(path.text, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_int_equal(report_file_probe(path.text), 0);
    assert_int_equal(report_file_hold(path.text, &held), 0);
    assert_true(held >= 0);
    assert_int_equal(read(reader, &byte, 1), -1); /* not its end */
    assert_int_equal(errno, EAGAIN);
    close(held);
    close(reader);
    assert_int_equal(report_file_hold(scratch_path(&scratch, "r.html").text, &held), 0);
    assert_int_equal(held, -1);
}

static void test_what_is_left_after_a_failure(void **state)
{
    struct scratch_path path = scratch_path(&scratch, "r.html");

    (void)state;
    assert_string_equal(report_file_rest(path.text), "there is none");
    scratch_text(&scratch, "r.html", "old");
    assert_string_equal(report_file_rest(path.text), "the older one is still there");
    assert_string_equal(report_file_rest("/dev/full"), "there is none");
}

/* What somebody laid where a name of our PID would be is his. */
static void test_the_name_beside_it_cannot_be_guessed(void **state)
{
    char name[64];

    (void)state;
    snprintf(name, sizeof name, ".r.html.%ld.new", (long)getpid());
    scratch_text(&scratch, name, "his");
    assert_int_equal(report_file_probe(scratch_path(&scratch, "r.html").text), 0);
    assert_int_equal(write_to(scratch_path(&scratch, "r.html").text), 0);
    scratch_expect(&scratch, name, "his");
}

/* A limit on the size of files stands for a full disk. */
static void test_a_full_disk_leaves_the_older_one(void **state)
{
    struct rlimit before;
    struct scratch_path path = scratch_path(&scratch, "r.html");

    (void)state;
    scratch_text(&scratch, "r.html", "old");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit small = {.rlim_cur = 4096, .rlim_max = before.rlim_max};
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    int error = write_to(path.text);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);
    assert_int_equal(error, -EFBIG);
    scratch_expect(&scratch, "r.html", "old");
    assert_int_equal(count_files(), 1);
}

static void test_a_device_is_written_to_as_it_is(void **state)
{
    struct stat status;

    (void)state;
    assert_int_equal(report_file_probe("/dev/null"), 0);
    assert_int_equal(write_to("/dev/null"), 0);
    assert_int_equal(stat("/dev/null", &status), 0);
    assert_true(S_ISCHR(status.st_mode));
    assert_int_equal(write_to("/dev/full"), -ENOSPC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_probe_leaves_nothing, make, drop),
        cmocka_unit_test_setup_teardown(test_what_cannot_be_a_report_is_refused, make, drop),
        cmocka_unit_test_setup_teardown(test_a_report_takes_the_place_of_an_older_one, make, drop),
        cmocka_unit_test_setup_teardown(test_a_link_stays_and_its_file_is_replaced, make, drop),
        cmocka_unit_test_setup_teardown(test_a_link_to_nothing_stays_and_its_file_is_made, make,
                                        drop),
        cmocka_unit_test_setup_teardown(test_a_file_that_cannot_be_replaced_is_written_over, make,
                                        drop),
        cmocka_unit_test_setup_teardown(test_a_pipe_needs_a_reader_and_keeps_it, make, drop),
        cmocka_unit_test_setup_teardown(test_what_is_left_after_a_failure, make, drop),
        cmocka_unit_test_setup_teardown(test_the_name_beside_it_cannot_be_guessed, make, drop),
        cmocka_unit_test_setup_teardown(test_a_full_disk_leaves_the_older_one, make, drop),
        cmocka_unit_test_setup_teardown(test_a_device_is_written_to_as_it_is, make, drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "base/sysroot.h"
#include "scratch_dir.h"

#include <sys/statvfs.h>

static bool is_same_directory(int fd, const char *path)
{
    struct stat a;
    struct stat b;

    return fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

static void test_usual_places(void **state)
{
    struct sysroot root;
    const char *culprit = "untouched";

    (void)state;
    assert_int_equal(sysroot_open(&root, NULL, NULL, &culprit), 0);
    assert_string_equal(culprit, "untouched");
    assert_true(is_same_directory(root.proc_fd, "/proc"));
    assert_true(root.proc_is_procfs);
    assert_false(root.proc_is_foreign);
    assert_true((fcntl(root.proc_fd, F_GETFD) & FD_CLOEXEC) != 0);
    sysroot_close(&root);
}

static void test_named_places(void **state)
{
    struct sysroot root;
    const char *culprit;
    struct scratch_path proc = scratch_path(&dir, "proc");
    struct scratch_path sys = scratch_path(&dir, "sys");

    (void)state;
    mkdirat(dir.fd, "proc", 0755);
    mkdirat(dir.fd, "sys", 0755);
    assert_int_equal(sysroot_open(&root, proc.text, sys.text, &culprit), 0);
    assert_true(is_same_directory(root.proc_fd, proc.text));
    assert_true(is_same_directory(root.sys_fd, sys.text));
    assert_false(root.proc_is_procfs);
    assert_true(root.proc_is_foreign);
    sysroot_close(&root);
    assert_int_equal(root.proc_fd, -1);
    assert_int_equal(root.sys_fd, -1);
    sysroot_close(&root);
}

static void test_named_procfs_is_known_as_one(void **state)
{
    struct sysroot root;
    const char *culprit;

    (void)state;
    assert_int_equal(sysroot_open(&root, "/proc", NULL, &culprit), 0);
    assert_true(root.proc_is_procfs);
    assert_true(root.proc_is_foreign);
    sysroot_close(&root);
}

static void test_missing_named_place_is_the_culprit(void **state)
{
    struct sysroot root;
    const char *culprit = NULL;
    struct scratch_path missing = scratch_path(&dir, "missing");
    int next = open("/dev/null", O_RDONLY | O_CLOEXEC);

    (void)state;
    close(next);
    assert_int_equal(sysroot_open(&root, missing.text, NULL, &culprit), -ENOENT);
    assert_ptr_equal(culprit, missing.text);
    assert_int_equal(sysroot_open(&root, dir.path, missing.text, &culprit), -ENOENT);
    assert_ptr_equal(culprit, missing.text);
    assert_int_equal(root.proc_fd, -1); /* given back */
    int now = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_int_equal(now, next);
    close(now);
}

static void test_file_is_no_place(void **state)
{
    struct sysroot root;
    const char *culprit = NULL;
    struct scratch_path file = scratch_path(&dir, "file");

    (void)state;
    scratch_text(&dir, "file", "x");
    assert_int_equal(sysroot_open(&root, NULL, file.text, &culprit), -ENOTDIR);
    assert_ptr_equal(culprit, file.text);
}

static void test_space_is_that_of_statvfs(void **state)
{
    struct sysroot root;
    const char *culprit;
    struct statvfs fs;
    struct fs_space space = {0};

    (void)state;
    assert_int_equal(sysroot_open(&root, NULL, NULL, &culprit), 0);
    assert_int_equal(statvfs("/tmp", &fs), 0);
    assert_int_equal(root.space("/tmp", &space), 0);
    assert_int_equal(space.total_bytes, (uint64_t)fs.f_blocks * fs.f_frsize);
    assert_true(space.free_bytes <= space.total_bytes);
    assert_true(space.available_bytes <= space.free_bytes);
    space.total_bytes = 1;
    assert_int_equal(root.space(scratch_path(&dir, "missing").text, &space), -ENOENT);
    assert_int_equal(space.total_bytes, 1);
    sysroot_close(&root);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_usual_places),
        TEST(test_named_places),
        TEST(test_named_procfs_is_known_as_one),
        TEST(test_missing_named_place_is_the_culprit),
        TEST(test_file_is_no_place),
        TEST(test_space_is_that_of_statvfs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "collect/proc_count.h"

#include "support.h"

#include <stdio.h>
#include <sys/stat.h>

#define AN_HOUR (3600 * SECOND)

/*
 * A folder on most file systems has a link count like that of /proc: two and one per folder in it.
 * On the others (btrfs: always 1) the shortcut is never proved and the listing answers alone.
 */
static bool links_tell(unsigned folders)
{
    struct stat status;

    assert_int_equal(fstat(support_root()->proc_fd, &status), 0);
    return status.st_nlink == 2 + folders;
}

static void add_process(unsigned pid)
{
    char path[64];

    snprintf(path, sizeof path, "proc/%u/stat", pid);
    support_write(path, "");
}

static void open_with_processes(struct proc_count *count, bool is_procfs)
{
    support_open_empty();
    for (unsigned pid = 1; pid <= 5; pid++)
        add_process(pid * 1000);
    support_write("proc/sys/kernel/pid_max", "");
    support_write("proc/fs/x", "");
    support_write("proc/stat", "");
    proc_count_init(count, support_root()->proc_fd, is_procfs);
}

static void test_numbered_entries_are_counted(void **state)
{
    struct proc_count count;

    (void)state;
    open_with_processes(&count, false);
    assert_int_equal(proc_count_read(&count, 1), 5);
    add_process(77);
    assert_int_equal(proc_count_read(&count, 2), 6);
    support_remove("proc/1000");
    support_remove("proc/2000");
    assert_int_equal(proc_count_read(&count, 3), 4);
    assert_false(count.shortcut);
}

static void test_names_that_only_resemble_are_not_counted(void **state)
{
    struct proc_count count;

    (void)state;
    support_open_empty();
    support_write("proc/self/stat", "");
    support_write("proc/thread-self/stat", "");
    support_write("proc/0/stat", "");
    support_write("proc/.1/stat", "");
    support_write("proc/a1/stat", "");
    proc_count_init(&count, support_root()->proc_fd, false);
    assert_int_equal(proc_count_read(&count, 1), 0);
}

static void test_the_link_count_answers_when_it_is_proved(void **state)
{
    struct proc_count count;

    (void)state;
    open_with_processes(&count, true);
    assert_int_equal(proc_count_read(&count, 1), 5);
    assert_int_equal(count.shortcut, links_tell(7));
    add_process(77);
    add_process(78);
    assert_int_equal(proc_count_read(&count, 2), 7);
    support_remove("proc/77");
    assert_int_equal(proc_count_read(&count, 3), 6);
}

/* In another PID namespace the links count processes that the listing does not show. */
static void test_links_that_do_not_add_up_are_not_used(void **state)
{
    struct proc_count count;

    (void)state;
    open_with_processes(&count, true);
    support_write("proc/.hidden/stat", "");
    assert_int_equal(proc_count_read(&count, 1), 5);
    assert_false(count.shortcut);
    add_process(77);
    assert_int_equal(proc_count_read(&count, 2), 6);
}

/* A module adds a folder: for a while it looks like a process. */
static void test_the_proof_is_renewed(void **state)
{
    struct proc_count count;

    (void)state;
    open_with_processes(&count, true);
    assert_int_equal(proc_count_read(&count, 1), 5);
    support_write("proc/module/x", "");
    assert_int_equal(proc_count_read(&count, 1 + AN_HOUR), 5);
    assert_int_equal(proc_count_read(&count, 2 + AN_HOUR), 5);
}

static void test_links_below_the_fixed_part_are_an_error(void **state)
{
    struct proc_count count;

    (void)state;
    open_with_processes(&count, true);
    assert_int_equal(proc_count_read(&count, 1), 5);
    count.shortcut = true;
    count.fixed = 1000000;
    assert_true(proc_count_read(&count, 2) < 0);
}

static void test_no_proc_is_an_error(void **state)
{
    struct proc_count count;

    (void)state;
    proc_count_init(&count, -1, true);
    assert_true(proc_count_read(&count, 1) < 0);
}

static void test_more_entries_than_a_listing_takes_at_once(void **state)
{
    enum { COUNT = 3000 };
    struct proc_count count;

    (void)state;
    support_open_empty();
    for (unsigned pid = 1; pid <= COUNT; pid++) {
        char path[64];
        snprintf(path, sizeof path, "proc/%u", pid);
        support_write(path, "");
    }
    proc_count_init(&count, support_root()->proc_fd, false);
    assert_int_equal(proc_count_read(&count, 1), COUNT);
}

static void test_the_real_proc_has_this_process(void **state)
{
    struct sysroot root;
    struct proc_count count;
    const char *culprit;

    (void)state;
    assert_int_equal(sysroot_open(&root, NULL, NULL, &culprit), 0);
    proc_count_init(&count, root.proc_fd, root.proc_is_procfs);
    for (uint64_t now_ns = 1; now_ns < 4; now_ns++)
        assert_true(proc_count_read(&count, now_ns) >= 1);
    sysroot_close(&root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_numbered_entries_are_counted),
        TEST(test_names_that_only_resemble_are_not_counted),
        TEST(test_the_link_count_answers_when_it_is_proved),
        TEST(test_links_that_do_not_add_up_are_not_used),
        TEST(test_the_proof_is_renewed),
        TEST(test_links_below_the_fixed_part_are_an_error),
        TEST(test_no_proc_is_an_error),
        TEST(test_more_entries_than_a_listing_takes_at_once),
        TEST(test_the_real_proc_has_this_process),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

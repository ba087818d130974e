#include "collect/job_cgroup.h"

#include "puppet.h"

#include "base/clock.h"

static struct scan over(const char *text)
{
    return scan_over(text, strlen(text));
}

static void assert_text(const struct scan *scan, const char *wanted)
{
    if (!scan_equals(scan, wanted))
        fail_msg("%.*s is not %s", (int)scan_left(scan), scan->at, wanted);
}

/* --- where we are --- */

static void test_our_path_is_that_of_the_unified_hierarchy(void **state)
{
    struct scan path;

    (void)state;
    assert_true(cgroup_own_path(over("0::/user.slice/user-0.slice/session-1.scope\n"), &path));
    assert_text(&path, "/user.slice/user-0.slice/session-1.scope");
    assert_true(cgroup_own_path(over("9:name=systemd:/a\n4:memory:/b\n0::/\n"), &path));
    assert_text(&path, "/");
    assert_true(cgroup_own_path(over("0::/with space (deleted)"), &path));
    assert_text(&path, "/with space (deleted)");
}

static void test_without_the_unified_hierarchy_there_is_no_path(void **state)
{
    static const char *const texts[] = {
        "", "\n", "1:name=systemd:/a\n", "10::/a\n", "0::\n", "0:cpu:/a\n", "0::relative\n",
    };
    struct scan path = {0};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_false(cgroup_own_path(over(texts[i]), &path));
    assert_null(path.at);
}

#define BEFORE                                                                                     \
    "22 27 0:21 / /proc rw,relatime - proc proc rw\n"                                              \
    "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"

static void test_the_mount_point_is_found_by_type(void **state)
{
    struct scan place;
    struct scan root;

    (void)state;
    assert_true(cgroup2_mount_point(
        over(BEFORE "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"),
        &place, &root));
    assert_text(&place, "/sys/fs/cgroup/unified");
    assert_text(&root, "/");
    /* Optional fields come before the dash, any number of them. */
    assert_true(cgroup2_mount_point(over("41 31 0:38 / /one rw shared:9 master:1 propagate_from:2 "
                                         "- cgroup2 none rw,nsdelegate"),
                                    &place, &root));
    assert_text(&place, "/one");
    assert_true(cgroup2_mount_point(over("41 31 0:38 /pod/x /first rw - cgroup2 a rw\n"
                                         "42 31 0:38 / /second rw - cgroup2 b rw\n"),
                                    &place, &root));
    assert_text(&place, "/first");
    assert_text(&root, "/pod/x");
}

static void test_other_mounts_are_not_taken_for_it(void **state)
{
    static const char *const texts[] = {
        "",
        BEFORE,
        "41 31 0:38 / /cgroup2 rw - tmpfs cgroup2 rw\n",
        "41 31 0:38 / /a rw - cgroup2x x rw\n",
        "41 31 0:38 / /a rw -\n",
        "41 31 0:38 / /a rw cgroup2 cgroup2 rw\n",
        "41 31 0:38 /\n",
        "cgroup2\n",
        "- cgroup2 - cgroup2\n",
    };
    struct scan place = {0};
    struct scan root;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_false(cgroup2_mount_point(over(texts[i]), &place, &root));
    assert_null(place.at);
}

/* --- cpu.stat --- */

static void test_user_and_system_time_are_read(void **state)
{
    uint64_t user_ns;
    uint64_t system_ns;

    (void)state;
    assert_true(cgroup_cpu_stat_parse(over("usage_usec 1102\nuser_usec 825\nsystem_usec 277\n"
                                           "nice_usec 3\ncore_sched.force_idle_usec 0\n"),
                                      &user_ns, &system_ns));
    assert_int_equal(user_ns, 825000);
    assert_int_equal(system_ns, 277000);
    assert_true(cgroup_cpu_stat_parse(over("system_usec 0\nuser_usec 0"), &user_ns, &system_ns));
    assert_int_equal(user_ns, 0);
    assert_int_equal(system_ns, 0);
}

static void test_half_a_cpu_stat_is_none(void **state)
{
    static const char *const texts[] = {
        "",
        "usage_usec 1102\nuser_usec 825\n",
        "system_usec 277\n",
        "user_usec\nsystem_usec 277\n",
        "user_usec x\nsystem_usec 277\n",
        "user_usec -1\nsystem_usec 277\n",
        "xuser_usec 1\nsystem_usec 277\n",
        "user_usec 18446744073709551616\nsystem_usec 277\n",
    };
    uint64_t user_ns = 77;
    uint64_t system_ns = 78;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_false(cgroup_cpu_stat_parse(over(texts[i]), &user_ns, &system_ns));
    assert_int_equal(user_ns, 77);
    assert_int_equal(system_ns, 78);
}

/* --- a real one --- */

static void test_without_one_there_is_nothing_to_read_or_close(void **state)
{
    struct job_cgroup cgroup = {0};
    uint64_t user_ns = 77;
    uint64_t system_ns = 78;
    bool has_input = fcntl(STDIN_FILENO, F_GETFD) >= 0;

    (void)state;
    assert_false(job_cgroup_read(&cgroup, &user_ns, &system_ns));
    assert_int_equal(user_ns, 77);
    job_cgroup_close(&cgroup);
    job_cgroup_close(&cgroup);
    assert_int_equal(fcntl(STDIN_FILENO, F_GETFD) >= 0, has_input);
}

static void open_or_give_up(struct job_cgroup *cgroup, pid_t command)
{
    if (job_cgroup_open(cgroup, command) < 0) {
        CHECK(cgroup->path[0] == '\0');
        _exit(NOT_HERE);
    }
    CHECK(access(cgroup->path, F_OK) == 0);
}

static void count_everything(void)
{
    struct job_cgroup cgroup;
    uint64_t user_ns;
    uint64_t system_ns;

    open_or_give_up(&cgroup, puppets_begin(NULL));
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", cgroup.path);
    CHECK(job_cgroup_read(&cgroup, &user_ns, &system_ns));
    uint64_t before_ns = user_ns + system_ns;
    CHECK(puppet_ask(0, ORDER_IGNORE, 0) == 0);
    puppet_child(0, 1);
    puppet_ask(1, ORDER_BURN, 30);
    puppet_ask(0, ORDER_BURN, 30);
    puppet_end(1);
    puppet_end(0);
    CHECK(waitpid(puppets[0].pid, NULL, 0) == puppets[0].pid);
    CHECK(job_cgroup_read(&cgroup, &user_ns, &system_ns));
    CHECK(user_ns + system_ns >= before_ns + 59 * NS_PER_MS);
    job_cgroup_close(&cgroup);
    CHECK(cgroup.path[0] == '\0');
    CHECK(access(path, F_OK) < 0 && errno == ENOENT);
    CHECK(!job_cgroup_read(&cgroup, &user_ns, &system_ns));
}

static void test_a_real_one_counts_whoever_is_in_it(void **state)
{
    (void)state;
    in_child_or_skip(count_everything);
}

static void keep_the_living(void)
{
    struct job_cgroup cgroup;
    char path[PATH_MAX];

    open_or_give_up(&cgroup, puppets_begin(NULL));
    snprintf(path, sizeof path, "%s", cgroup.path);
    job_cgroup_close(&cgroup);
    CHECK(access(path, F_OK) == 0);
    CHECK(puppet_ask(0, ORDER_BURN, 1) > 0); /* it lives on unharmed */
    puppet_end(0);
    CHECK(waitpid(puppets[0].pid, NULL, 0) == puppets[0].pid);
    CHECK(rmdir(path) == 0);
}

static void test_one_that_is_still_used_stays(void **state)
{
    (void)state;
    in_child_or_skip(keep_the_living);
}

static void refuse_a_command_that_is_not(void)
{
    struct job_cgroup cgroup;
    int error = job_cgroup_open(&cgroup, 5000000); /* beyond the largest pid_max */

    if (error != -ESRCH)
        _exit(NOT_HERE);
    CHECK(cgroup.path[0] == '\0');
    /* Nothing was left behind: it can be tried again with the same result. */
    CHECK(job_cgroup_open(&cgroup, 5000000) == -ESRCH);
}

static void test_nothing_is_left_of_one_for_a_command_that_is_not(void **state)
{
    (void)state;
    in_child_or_skip(refuse_a_command_that_is_not);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_our_path_is_that_of_the_unified_hierarchy),
        cmocka_unit_test(test_without_the_unified_hierarchy_there_is_no_path),
        cmocka_unit_test(test_the_mount_point_is_found_by_type),
        cmocka_unit_test(test_other_mounts_are_not_taken_for_it),
        cmocka_unit_test(test_user_and_system_time_are_read),
        cmocka_unit_test(test_half_a_cpu_stat_is_none),
        cmocka_unit_test(test_without_one_there_is_nothing_to_read_or_close),
        cmocka_unit_test(test_a_real_one_counts_whoever_is_in_it),
        cmocka_unit_test(test_one_that_is_still_used_stays),
        cmocka_unit_test(test_nothing_is_left_of_one_for_a_command_that_is_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "support.h"

#include "discover/allocation.h"

#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#define MEMORY_MIB 16000

static enum allocation_bounds bounds(void)
{
    return allocation_is_confined(support_root(), MEMORY_MIB);
}

static void assert_whole(void)
{
    assert_int_equal(bounds(), ALLOCATION_WHOLE);
}

static void assert_part(void)
{
    assert_int_equal(bounds(), ALLOCATION_PART);
}

static void assert_unknown(void)
{
    assert_int_equal(bounds(), ALLOCATION_UNKNOWN);
}

static void write_quota(const char *path, double cpus)
{
    char text[64];

    snprintf(text, sizeof text, "%lld 100000\n", (long long)(cpus * 100000));
    support_write(path, text);
}

static double all_cpus(void)
{
    return (double)sysconf(_SC_NPROCESSORS_ONLN);
}

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(allocation_name(ALLOCATION_PART, NAN, NAN), "shared");
    assert_string_equal(allocation_name(ALLOCATION_WHOLE, 1, 4), "shared");
    assert_string_equal(allocation_name(ALLOCATION_WHOLE, 0.3, 4), "dedicated");
    assert_null(allocation_name(ALLOCATION_WHOLE, NAN, 4));
    assert_null(allocation_name(ALLOCATION_WHOLE, 1, NAN));
    assert_string_equal(allocation_name(ALLOCATION_UNKNOWN, 1, 4), "shared");
    assert_null(allocation_name(ALLOCATION_UNKNOWN, 0.3, 4));
    assert_null(allocation_name(ALLOCATION_UNKNOWN, NAN, NAN));
}

static void test_without_limits_it_is_not_confined(void **state)
{
    (void)state;
    support_open_empty();
    /* The first of all groups has no limits, nor files for them. */
    support_write("proc/self/cgroup", "0::/\n");
    support_write("sys/fs/cgroup/cgroup.procs", "1\n");
    assert_whole();
    support_write("proc/self/cgroup", "0::/a/b\n");
    support_write("sys/fs/cgroup/a/b/cgroup.procs", "1\n");
    support_write("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    support_write("sys/fs/cgroup/a/b/memory.max", "max\n");
    assert_whole();
    write_quota("sys/fs/cgroup/a/b/cpu.max", all_cpus());
    support_write("sys/fs/cgroup/a/b/memory.max", "99999999999999\n");
    assert_whole();
}

static void test_what_cannot_be_seen_is_not_known(void **state)
{
    (void)state;
    support_open_empty();
    assert_unknown();
    assert_null(allocation_name(bounds(), NAN, NAN));
    assert_null(allocation_name(bounds(), 0, 4));
    /* A group, but no file system of groups: the folder that it would be mounted on is empty. */
    support_write("proc/self/cgroup", "0::/a/b\n");
    assert_unknown();
    support_write("sys/fs/other", "");
    assert_unknown();
    /* In a container the group's name may be the host's: then only the first of all is seen. */
    support_write("sys/fs/cgroup/cgroup.procs", "1\n");
    assert_whole();
    support_remove("sys/fs/cgroup/cgroup.procs");
    support_write("proc/self/cgroup", "3:cpuset:/\n2:cpu,cpuacct:/job\n0::/\n");
    assert_unknown();
    support_write("sys/fs/cgroup/cpuacct/job/cgroup.procs", "1\n");
    assert_whole();
}

static void test_a_limit_of_its_group_confines(void **state)
{
    (void)state;
    support_open_empty();
    support_write("proc/self/cgroup", "0::/a/b\n");
    write_quota("sys/fs/cgroup/a/b/cpu.max", all_cpus() / 2);
    assert_part();
    support_write("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    support_write("sys/fs/cgroup/a/b/cgroup.procs", "1\n");
    assert_whole();
    support_write("sys/fs/cgroup/a/b/memory.max", "1073741824\n");
    assert_part();
}

static void test_a_limit_above_confines(void **state)
{
    (void)state;
    support_open_empty();
    support_write("proc/self/cgroup", "0::/a/b/c\n");
    write_quota("sys/fs/cgroup/a/cpu.max", all_cpus() / 4);
    assert_part();
    support_remove("sys/fs/cgroup/a/cpu.max");
    /* In a container its own group is the root of what is seen. */
    support_write("proc/self/cgroup", "0::/\n");
    support_write("sys/fs/cgroup/memory.max", "1073741824\n");
    assert_part();
}

static void test_version_1(void **state)
{
    (void)state;
    support_open_empty();
    support_write("proc/self/cgroup", "5:cpuacct,cpu:/job\n4:memory:/job\n1:name=systemd:/x\n");
    support_write("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "-1\n");
    support_write("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
    support_write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712\n");
    support_write("sys/fs/cgroup/memory/job/cgroup.procs", "1\n");
    assert_whole();
    support_write("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "50000\n");
    assert_part();
    support_write("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "-1\n");
    support_write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "104857600\n");
    assert_part();
}

static void test_affinity_confines(void **state)
{
    cpu_set_t all;
    cpu_set_t one;

    (void)state;
    support_open_empty();
    if (all_cpus() < 2)
        skip();
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    enum allocation_bounds on_one = bounds();
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    assert_int_equal(on_one, ALLOCATION_PART);
}

static void test_garbage_confines_nobody(void **state)
{
    static const char *const texts[] = {"",       ":", "::", "0::", "x\n\n:::\n", "0::/../../..",
                                        "1:a:b:c"};

    (void)state;
    support_open_empty();
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        support_write("proc/self/cgroup", texts[i]);
        assert_unknown();
    }
    support_write("proc/self/cgroup", "0::/a\n");
    support_write("sys/fs/cgroup/a/cpu.max", "5 0\n");
    support_write("sys/fs/cgroup/a/memory.max", "-5\n");
    assert_unknown();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_names),
        TEST(test_without_limits_it_is_not_confined),
        TEST(test_what_cannot_be_seen_is_not_known),
        TEST(test_a_limit_of_its_group_confines),
        TEST(test_a_limit_above_confines),
        TEST(test_version_1),
        TEST(test_affinity_confines),
        TEST(test_garbage_confines_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

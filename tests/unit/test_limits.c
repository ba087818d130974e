#include "support.h"

#include "discover/limits.h"

#include <math.h>
#include <unistd.h>

static struct limits limits;

static void read_cgroup(pid_t pid)
{
    limits_of_cgroup(support_root(), pid, &limits);
}

static void test_no_limits(void **state)
{
    (void)state;
    support_open_empty();
    read_cgroup(0);
    assert_true(isinf(limits.cpus) && isinf(limits.memory_mib));
    support_write("proc/self/cgroup", "0::/a\n");
    support_write("sys/fs/cgroup/a/cpu.max", "max 100000\n");
    support_write("sys/fs/cgroup/a/memory.max", "max\n");
    read_cgroup(0);
    assert_true(isinf(limits.cpus) && isinf(limits.memory_mib));
}

static void test_the_lowest_of_all_levels_holds(void **state)
{
    (void)state;
    support_open_empty();
    support_write("proc/self/cgroup", "0::/a/b\n");
    support_write("sys/fs/cgroup/a/b/cpu.max", "400000 100000\n");
    support_write("sys/fs/cgroup/a/cpu.max", "150000 100000\n");
    support_write("sys/fs/cgroup/a/b/memory.max", "1073741824\n");
    support_write("sys/fs/cgroup/a/memory.max", "4294967296\n");
    read_cgroup(0);
    assert_true(limits.cpus == 1.5);
    assert_true(limits.memory_mib == 1024);
}

static void test_version_1(void **state)
{
    (void)state;
    support_open_empty();
    support_write("proc/self/cgroup", "5:memory:/job\n3:cpuacct,cpu:/job\n1:name=systemd:/job\n");
    support_write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "536870912\n");
    support_write("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "50000\n");
    support_write("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
    read_cgroup(0);
    assert_true(limits.cpus == 0.5);
    assert_true(limits.memory_mib == 512);
    support_write("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "-1\n");
    read_cgroup(0);
    assert_true(isinf(limits.cpus));
}

static void test_of_another_process(void **state)
{
    (void)state;
    support_open_empty();
    support_write("proc/self/cgroup", "0::/mine\n");
    support_write("proc/4711/cgroup", "0::/theirs\n");
    support_write("sys/fs/cgroup/mine/memory.max", "1048576\n");
    support_write("sys/fs/cgroup/theirs/memory.max", "2097152\n");
    read_cgroup(4711);
    assert_true(limits.memory_mib == 2);
    read_cgroup(4712); /* gone */
    assert_true(isinf(limits.memory_mib));
}

static void test_affinity_is_a_limit_too(void **state)
{
    (void)state;
    support_open_empty();
    limits_of_process(support_root(), 0, &limits);
    assert_true(limits.cpus >= 1 && limits.cpus <= (double)sysconf(_SC_NPROCESSORS_CONF));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_no_limits),
        TEST(test_the_lowest_of_all_levels_holds),
        TEST(test_version_1),
        TEST(test_of_another_process),
        TEST(test_affinity_is_a_limit_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

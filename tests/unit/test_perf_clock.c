#include "collect/perf_clock.h"

#include "puppet.h"

#include "base/clock.h"

/* Whether the kernel lets us; where it does not, the collector does without. */
static bool is_allowed(void)
{
    int fd = perf_clock_open(getpid());

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static void follow_a_child(void)
{
    uint64_t first_ns;
    uint64_t later_ns;

    int fd = perf_clock_open(puppets_begin(NULL));
    CHECK(fd >= 0);
    CHECK((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    CHECK(perf_clock_read(fd, &first_ns));
    puppet_ask(0, ORDER_BURN, 20);
    CHECK(perf_clock_read(fd, &later_ns));
    CHECK(later_ns >= first_ns + 19 * NS_PER_MS);
    close(fd);
}

static void test_it_counts_what_the_child_uses(void **state)
{
    (void)state;
    if (!is_allowed())
        skip();
    in_child(follow_a_child);
}

static void follow_those_nobody_waits_for(void)
{
    uint64_t used_ns;

    int fd = perf_clock_open(puppets_begin(NULL));
    CHECK(fd >= 0);
    CHECK(puppet_ask(0, ORDER_IGNORE, 0) == 0);
    puppet_child(0, 1);
    puppet_child(1, 2);
    puppet_ask(2, ORDER_BURN, 20);
    puppet_ask(1, ORDER_BURN, 20);
    puppet_end(2);
    puppet_end(1);
    CHECK(puppet_state(1) == '\0');
    CHECK(perf_clock_read(fd, &used_ns));
    CHECK(used_ns >= 38 * NS_PER_MS);
    close(fd);
}

static void test_it_counts_descendants_nobody_waits_for(void **state)
{
    (void)state;
    if (!is_allowed())
        skip();
    in_child(follow_those_nobody_waits_for);
}

static void read_after_the_end(void)
{
    uint64_t used_ns;

    int fd = perf_clock_open(puppets_begin(NULL));
    puppet_ask(0, ORDER_BURN, 10);
    puppet_end(0);
    CHECK(waitpid(puppets[0].pid, NULL, 0) == puppets[0].pid);
    CHECK(perf_clock_read(fd, &used_ns));
    CHECK(used_ns >= 9 * NS_PER_MS);
    close(fd);
}

static void test_the_sum_outlives_the_child(void **state)
{
    (void)state;
    if (!is_allowed())
        skip();
    in_child(read_after_the_end);
}

static void test_there_is_none_of_a_process_that_is_not(void **state)
{
    (void)state;
    assert_true(perf_clock_open(5000000) < 0); /* beyond the largest pid_max */
}

static void test_without_a_descriptor_there_is_no_reading(void **state)
{
    uint64_t used_ns = 77;

    (void)state;
    assert_false(perf_clock_read(-1, &used_ns));
    assert_false(perf_clock_read(-EACCES, &used_ns));
    assert_int_equal(used_ns, 77);
}

static void test_a_short_reading_is_none(void **state)
{
    uint64_t used_ns;
    int fds[2];

    (void)state;
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    assert_int_equal(write(fds[1], "1234", 4), 4);
    assert_false(perf_clock_read(fds[0], &used_ns));
    close(fds[1]);
    assert_false(perf_clock_read(fds[0], &used_ns));
    close(fds[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_counts_what_the_child_uses),
        cmocka_unit_test(test_it_counts_descendants_nobody_waits_for),
        cmocka_unit_test(test_the_sum_outlives_the_child),
        cmocka_unit_test(test_there_is_none_of_a_process_that_is_not),
        cmocka_unit_test(test_without_a_descriptor_there_is_no_reading),
        cmocka_unit_test(test_a_short_reading_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

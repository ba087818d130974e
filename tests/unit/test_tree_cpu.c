#include "collect/tree_cpu.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct tree_cpu cpu;
static struct ledger ledger;
static int ends[2];

static int make(void **state)
{
    (void)state;
    ledger = (struct ledger){0};
    ledger.total[QUANTITY_CPU] = NS_PER_SEC;
    ledger.total[QUANTITY_STIME] = NS_PER_SEC / 4;
    assert_int_equal(pipe(ends), 0);
    cpu = (struct tree_cpu){.perf_fd = ends[0]};
    return 0;
}

static int drop(void **state)
{
    (void)state;
    close(ends[0]);
    close(ends[1]);
    return 0;
}

/* The perf clock is read as eight bytes; a pipe can give them too. */
static struct cpu_total read_with(uint64_t perf_ns, const char *source)
{
    struct cpu_total total;

    assert_int_equal(write(ends[1], &perf_ns, sizeof perf_ns), sizeof perf_ns);
    assert_string_equal(tree_cpu_read(&cpu, &ledger, &total), source);
    return total;
}

static void test_without_perf_the_sum_stands(void **state)
{
    struct cpu_total total;

    (void)state;
    cpu.perf_fd = -1;
    assert_string_equal(tree_cpu_read(&cpu, &ledger, &total), "proc");
    assert_int_equal(total.sum_ns, NS_PER_SEC);
    assert_int_equal(total.system_ns, NS_PER_SEC / 4);
}

static void test_a_little_more_is_not_believed(void **state)
{
    (void)state;
    assert_int_equal(read_with(NS_PER_SEC + 60 * NS_PER_MS, "proc").sum_ns, NS_PER_SEC);
    assert_int_equal(read_with(NS_PER_SEC / 2, "proc").sum_ns, NS_PER_SEC);
}

static void test_a_gap_is_believed_from_then_on(void **state)
{
    (void)state;
    struct cpu_total total = read_with(2 * NS_PER_SEC, "proc+perf");
    assert_int_equal(total.sum_ns, 2 * NS_PER_SEC);
    assert_int_equal(total.system_ns, NS_PER_SEC / 2); /* split as the rest is */
    ledger.total[QUANTITY_CPU] = 2 * NS_PER_SEC;
    total = read_with(2 * NS_PER_SEC + 1, "proc+perf");
    assert_int_equal(total.sum_ns, 2 * NS_PER_SEC + 1);
}

static void test_stolen_time_is_not_use(void **state)
{
    (void)state;
    tree_cpu_note_host(&cpu, NS_PER_SEC, NS_PER_SEC);
    assert_int_equal(read_with(2 * NS_PER_SEC, "proc").sum_ns, NS_PER_SEC);
    assert_int_equal(read_with(NS_PER_SEC / 2, "proc").sum_ns, NS_PER_SEC);
    assert_int_equal(read_with(3 * NS_PER_SEC, "proc+perf").sum_ns, 2 * NS_PER_SEC);
}

/* Others were busy too: they bear their part of it. */
static void test_of_stolen_time_the_tree_bears_its_part(void **state)
{
    (void)state;
    cpu.has_lost_children = true;
    tree_cpu_note_host(&cpu, 2 * NS_PER_SEC, 16 * NS_PER_SEC);
    assert_int_equal(read_with(4 * NS_PER_SEC, "proc+perf").sum_ns,
                     4 * NS_PER_SEC - NS_PER_SEC / 2);
    assert_int_equal(read_with(5 * NS_PER_SEC, "proc+perf").sum_ns,
                     5 * NS_PER_SEC - NS_PER_SEC / 2);
}

static void test_a_sign_of_lost_children_is_enough(void **state)
{
    (void)state;
    ledger.forgiven[QUANTITY_CPU] = NS_PER_SEC;
    assert_int_equal(read_with(NS_PER_SEC + 5, "proc+perf").sum_ns, NS_PER_SEC + 5);
    ledger.forgiven[QUANTITY_CPU] = 0;
    cpu.has_lost_children = true;
    assert_int_equal(read_with(NS_PER_SEC + 7, "proc+perf").sum_ns, NS_PER_SEC + 7);
    assert_int_equal(read_with(NS_PER_SEC - 7, "proc+perf").sum_ns, NS_PER_SEC);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_without_perf_the_sum_stands),
        TEST(test_a_little_more_is_not_believed),
        TEST(test_a_gap_is_believed_from_then_on),
        TEST(test_stolen_time_is_not_use),
        TEST(test_of_stolen_time_the_tree_bears_its_part),
        TEST(test_a_sign_of_lost_children_is_enough),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

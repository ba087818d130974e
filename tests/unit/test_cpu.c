#include "support.h"

#include <stdlib.h>
#include <string.h>

/* cpu_times are in ticks of 10 ms. */
#define HOST_BEFORE "cpu  100 0 50 800 10 0 0 0 0 0\n"
#define CORES_BEFORE                                                                               \
    "cpu0 60 0 20 400 10 0 0 0 0 0\n"                                                              \
    "cpu1 40 0 30 400 0 0 0 0 0 0\n"

static double value(const struct sample *sample, enum metric_id id)
{
    return sample->value[id];
}

static void start_with(const char *stat)
{
    support_open_empty();
    support_write("proc/stat", stat);
    support_start(&cpu_collector);
}

static const struct sample *read_after(const char *stat)
{
    support_write("proc/stat", stat);
    return support_read(SECOND);
}

static void assert_delta_fields(const struct sample *sample, double wanted)
{
    assert_number(value(sample, METRIC_CPU_UTILIZATION), wanted);
    assert_number(value(sample, METRIC_CPU_UTIME), wanted);
    assert_number(value(sample, METRIC_CPU_STIME), wanted);
    assert_number(value(sample, METRIC_CPU_IOWAIT), wanted);
    assert_number(value(sample, METRIC_CPU_STEAL), wanted);
}

static void assert_nothing_known(const struct sample *sample)
{
    assert_delta_fields(sample, NAN);
    assert_absent(value(sample, METRIC_CPU_CONTEXT_SWITCHES));
    assert_int_equal(sample->per_core_count, 0);
}

/* --- what the figures are --- */

/* 240 of 256 CPUs online; every fourth 100, 50, 25 and 0 of 100 ticks busy. */
static void test_cores_in_use_are_the_busy_share_of_the_online_cores(void **state)
{
    static const double wanted[] = {100, 50, 25, 0};

    (void)state;
    support_open("cores-256");
    support_start(&cpu_collector);
    const struct sample *sample = support_step_and_read();

    assert_number(value(sample, METRIC_CPU_UTILIZATION), 105);
    assert_number(value(sample, METRIC_CPU_UTIME), 90);
    assert_number(value(sample, METRIC_CPU_STIME), 15);
    assert_number(value(sample, METRIC_CPU_IOWAIT), 0);
    assert_number(value(sample, METRIC_CPU_STEAL), 0);
    assert_number(value(sample, METRIC_CPU_CONTEXT_SWITCHES), 250000);
    assert_number(value(sample, METRIC_CPU_LOAD_1M), 105.07);
    assert_number(value(sample, METRIC_CPU_PROCESS_COUNT), 4);
    for (size_t i = 0; i < sample->per_core_count; i++)
        assert_number(sample->per_core[i], wanted[i % 4]);
}

/* Interrupts and steal are use, waiting for I/O is not. CPU 0's idle time goes back by a tick. */
static void test_iowait_is_idle_and_steal_is_use(void **state)
{
    (void)state;
    support_open("cores-256");
    support_start(&cpu_collector);
    support_step_and_read();
    const struct sample *sample = support_step_and_read();

    assert_number(value(sample, METRIC_CPU_UTILIZATION), 10400.0 / 25549 * 256);
    assert_number(value(sample, METRIC_CPU_UTIME), 56);
    assert_number(value(sample, METRIC_CPU_STIME), 24);
    assert_number(value(sample, METRIC_CPU_IOWAIT), 24);
    assert_number(value(sample, METRIC_CPU_STEAL), 12);
    assert_number(value(sample, METRIC_CPU_CONTEXT_SWITCHES), 400);
    assert_number(value(sample, METRIC_CPU_PROCESS_COUNT), 5);
    assert_number(sample->per_core[0], 80); /* 40 of 50: its idle time counts as 0 */
    assert_number(sample->per_core[1], 40);
    assert_number(sample->per_core[239], 40);
    assert_number(sample->per_core[240], 50);
}

static void test_nice_is_user_time_and_guest_is_not_counted_again(void **state)
{
    (void)state;
    start_with("cpu  100 0 50 800 10 0 0 0 0 0\ncpu0 100 0 50 800 10 0 0 0 0 0\n");
    /* user grew by 20, of which 15 were a guest's; nice by 10. */
    const struct sample *sample =
        read_after("cpu  120 10 50 870 10 0 0 0 15 0\ncpu0 120 10 50 870 10 0 0 0 15 0\n");

    assert_number(value(sample, METRIC_CPU_UTIME), 0.3);
    assert_number(value(sample, METRIC_CPU_UTILIZATION), 0.3);
}

static void assert_within_cores(const struct sample *sample)
{
    double cores = (double)sample->per_core_count;

    assert_true(value(sample, METRIC_CPU_UTILIZATION) >= 0);
    assert_true(value(sample, METRIC_CPU_UTILIZATION) <= cores);
    for (size_t i = 0; i < sample->per_core_count; i++)
        assert_true(sample->per_core[i] >= 0 && sample->per_core[i] <= 100);
}

static const char *const all_hosts[] = {
    "this-machine", "cores-256", "storage", "container", "network",
};

static void test_t_cpu_01_utilization_is_within_cores(void **state)
{
    for (size_t i = 0; i < sizeof all_hosts / sizeof all_hosts[0]; i++) {
        support_open(all_hosts[i]);
        support_start(&cpu_collector);
        for (unsigned moment = 1; moment < support_moments(all_hosts[i]); moment++)
            assert_within_cores(support_step_and_read());
        assert_int_equal(support_teardown(state), 0);
    }
}

static void test_t_cpu_02_one_figure_per_online_cpu(void **state)
{
    (void)state;
    support_open("cores-256");
    support_start(&cpu_collector);
    assert_int_equal(support_read(SECOND)->per_core_count, 256);
    assert_int_equal(support_step_and_read()->per_core_count, 240); /* 16 went offline */
    assert_int_equal(support_step_and_read()->per_core_count, 256); /* and came back */
}

static void test_t_cpu_05_process_count_is_the_numbered_entries(void **state)
{
    for (size_t i = 0; i < sizeof all_hosts / sizeof all_hosts[0]; i++) {
        support_open(all_hosts[i]);
        support_start(&cpu_collector);
        assert_true(value(support_step_and_read(), METRIC_CPU_PROCESS_COUNT) >= 1);
        assert_int_equal(support_teardown(state), 0);
    }
    support_open("container");
    support_start(&cpu_collector);
    assert_number(value(support_step_and_read(), METRIC_CPU_PROCESS_COUNT), 3);
    assert_number(value(support_step_and_read(), METRIC_CPU_PROCESS_COUNT), 2);
}

static void test_t_cpu_06_first_reading_has_no_growth(void **state)
{
    (void)state;
    support_open("cores-256");
    assert_int_equal(support_start_only(&cpu_collector), 0);
    const struct sample *sample = support_read(SECOND);

    assert_delta_fields(sample, 0);
    assert_number(value(sample, METRIC_CPU_CONTEXT_SWITCHES), 0);
}

static void test_t_cpu_06_first_reading_has_no_growth_per_core(void **state)
{
    (void)state;
    support_open("cores-256");
    assert_int_equal(support_start_only(&cpu_collector), 0);
    const struct sample *sample = support_read(SECOND);

    assert_int_equal(sample->per_core_count, 256);
    for (size_t i = 0; i < sample->per_core_count; i++)
        assert_number(sample->per_core[i], 0);
}

static void test_no_tick_between_two_readings_is_no_use(void **state)
{
    (void)state;
    start_with(HOST_BEFORE CORES_BEFORE);
    const struct sample *sample = support_read(SECOND / 1000);

    assert_delta_fields(sample, 0);
    assert_number(sample->per_core[0], 0);
}

/* --- CPUs come and go --- */

static void test_a_cpu_that_comes_back_counts_from_its_last_reading(void **state)
{
    (void)state;
    start_with(HOST_BEFORE CORES_BEFORE);
    const struct sample *sample =
        read_after("cpu  110 0 50 890 10 0 0 0 0 0\ncpu0 70 0 20 490 10 0 0 0 0 0\n");
    assert_int_equal(sample->per_core_count, 1);
    assert_number(sample->per_core[0], 10);
    assert_number(value(sample, METRIC_CPU_UTILIZATION), 0.1);

    sample = read_after("cpu  160 0 50 1040 10 0 0 0 0 0\n"
                        "cpu0 95 0 20 565 10 0 0 0 0 0\ncpu1 65 0 30 475 0 0 0 0 0 0\n");
    assert_int_equal(sample->per_core_count, 2);
    assert_number(sample->per_core[0], 25);
    assert_number(sample->per_core[1], 25);
    assert_number(value(sample, METRIC_CPU_UTILIZATION), 0.5);
}

static void test_a_new_cpu_has_no_figure_yet(void **state)
{
    (void)state;
    start_with(HOST_BEFORE CORES_BEFORE);
    const struct sample *sample =
        read_after("cpu  150 0 50 1150 10 0 0 0 0 0\n"
                   "cpu0 110 0 20 450 10 0 0 0 0 0\ncpu1 40 0 30 500 0 0 0 0 0 0\n"
                   "cpu2 0 0 0 200 0 0 0 0 0 0\n");

    assert_int_equal(sample->per_core_count, 3);
    assert_number(sample->per_core[0], 50);
    assert_number(sample->per_core[1], 0);
    assert_absent(sample->per_core[2]);
    assert_number(value(sample, METRIC_CPU_UTILIZATION), 50.0 / 400 * 3);
}

static void test_gaps_in_the_numbering_are_not_cores(void **state)
{
    (void)state;
    start_with("cpu  10 0 0 90 0 0 0 0\ncpu3 5 0 0 45 0 0 0 0\ncpu1000 5 0 0 45 0 0 0 0\n");
    const struct sample *sample = read_after(
        "cpu  110 0 0 190 0 0 0 0\ncpu3 105 0 0 45 0 0 0 0\ncpu1000 5 0 0 145 0 0 0 0\n");

    assert_int_equal(sample->per_core_count, 2);
    assert_number(sample->per_core[0], 100);
    assert_number(sample->per_core[1], 0);
    assert_number(value(sample, METRIC_CPU_UTILIZATION), 1);
}

/* --- ugly files --- */

static void test_without_files_nothing_is_known(void **state)
{
    (void)state;
    support_open_empty();
    support_start(&cpu_collector);
    const struct sample *sample = support_read(SECOND);

    assert_nothing_known(sample);
    assert_absent(value(sample, METRIC_CPU_LOAD_1M));
    assert_number(value(sample, METRIC_CPU_PROCESS_COUNT), 0);
}

static void test_without_a_proc_nothing_is_known(void **state)
{
    (void)state;
    support_open_empty();
    sysroot_close(support_root());
    support_start(&cpu_collector);
    const struct sample *sample = support_read(SECOND);

    assert_nothing_known(sample);
    assert_absent(value(sample, METRIC_CPU_PROCESS_COUNT));
}

static void test_an_empty_file_tells_nothing_and_the_next_reading_goes_on(void **state)
{
    (void)state;
    start_with(HOST_BEFORE CORES_BEFORE);
    assert_nothing_known(read_after(""));
    const struct sample *sample =
        read_after("cpu  150 0 50 950 10 0 0 0 0 0\n"
                   "cpu0 110 0 20 450 10 0 0 0 0 0\ncpu1 40 0 30 500 0 0 0 0 0 0\n");

    assert_number(value(sample, METRIC_CPU_UTILIZATION), 0.5);
    assert_number(sample->per_core[0], 50);
}

static void test_garbage_tells_nothing(void **state)
{
    static const char garbage[] =
        "cpu  a b c d\ncpu0\ncpu\ncpux 1 2 3 4\n\0\xff\xfe\ncpu-1 1 2 3 4\n"
        "cpu0 1 2 3\nctxt many\nctxt\ncpu  99999999999999999999 1 1 1\n"
        "cpu65536 1 2 3 4 5 6 7 8\ncpu18446744073709551615 1 2 3 4\n";
    (void)state;
    start_with(HOST_BEFORE CORES_BEFORE);
    support_write_bytes("proc/stat", garbage, sizeof garbage - 1);
    assert_nothing_known(support_read(SECOND));
}

/* Wherever the text ends, no figure leaves its range. */
static void test_a_file_cut_anywhere_stays_within_range(void **state)
{
    static const char after[] = "cpu  150 0 50 950 10 0 0 0 0 0\ncpu0 110 0 20 450 10 0 0 0 0 0\n"
                                "cpu1 40 0 30 500 0 0 0 0 0 0\nctxt 77\n";
    (void)state;
    start_with(HOST_BEFORE CORES_BEFORE);
    for (size_t size = sizeof after - 1; size > 0; size--) {
        support_write_bytes("proc/stat", after, size);
        const struct sample *sample = support_read(SECOND);
        double utilization = value(sample, METRIC_CPU_UTILIZATION);
        assert_true(sample->per_core_count <= 2);
        assert_true(isnan(utilization) ||
                    (utilization >= 0 && utilization <= (double)sample->per_core_count));
        for (size_t i = 0; i < sample->per_core_count; i++)
            assert_true(sample->per_core[i] >= 0 && sample->per_core[i] <= 100);
    }
}

static void test_counters_that_go_backwards_give_nothing(void **state)
{
    (void)state;
    start_with(HOST_BEFORE CORES_BEFORE "ctxt 1000\n");
    const struct sample *sample =
        read_after("cpu  1 0 2 3 4 0 0 0 0 0\n"
                   "cpu0 1 0 2 3 4 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0 0 0\nctxt 9\n");

    assert_delta_fields(sample, 0);
    assert_number(value(sample, METRIC_CPU_CONTEXT_SWITCHES), 0);
    assert_number(sample->per_core[0], 0);
    assert_number(sample->per_core[1], 0);
}

static void test_counters_at_their_end_stay_within_cores(void **state)
{
    (void)state;
    start_with("cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\n");
    assert_within_cores(read_after("cpu  10 0 0 18446744073709551615 0 0 0 0 0 0\n"
                                   "cpu0 10 0 0 18446744073709551615 0 0 0 0 0 0\n"));
}

static void test_old_kernels_have_fewer_columns(void **state)
{
    (void)state;
    start_with("cpu  100 0 50 800\ncpu0 100 0 50 800\n");
    const struct sample *sample = read_after("cpu  110 0 60 880\ncpu0 110 0 60 880\n");

    assert_number(value(sample, METRIC_CPU_UTILIZATION), 0.2);
    assert_number(value(sample, METRIC_CPU_STEAL), 0);
}

static void test_a_repeated_line_is_no_overrun(void **state)
{
    char text[64 * 200 + 1] = "";
    char *end = text;

    (void)state;
    for (size_t i = 0; i < 200; i++)
        end = stpcpy(end, "cpu0 1 0 0 9 0 0 0 0 0 0\n");
    start_with(HOST_BEFORE CORES_BEFORE);
    const struct sample *sample = read_after(text);
    assert_true(sample->per_core_count >= 1 && sample->per_core_count <= 200);
    assert_number(sample->per_core[sample->per_core_count - 1], 0);
}

/* The interrupt line of a large host stands between the CPUs and the context switches. */
static void test_a_huge_line_is_passed_over(void **state)
{
    enum { ZEROS = 150000 };
    char *text = malloc(2 * ZEROS + 200);

    (void)state;
    assert_non_null(text);
    char *end =
        stpcpy(text, "cpu  150 0 50 950 10 0 0 0 0 0\ncpu0 110 0 20 450 10 0 0 0 0 0\nintr");
    for (size_t i = 0; i < ZEROS; i++)
        end = stpcpy(end, " 0");
    stpcpy(end, "\nctxt 1100\n");
    start_with(HOST_BEFORE CORES_BEFORE "intr 0 0\nctxt 1000\n");
    support_write("proc/stat", text);
    free(text);
    const struct sample *sample = support_read(SECOND);

    assert_number(value(sample, METRIC_CPU_CONTEXT_SWITCHES), 100);
    assert_number(sample->per_core[0], 50);
}

static void test_load_average_needs_its_form(void **state)
{
    static const struct {
        const char *text;
        double wanted;
    } cases[] = {
        {"0.05 0.10 0.15 1/100 1234\n", 0.05},
        {"512.40 1.00 1.00 1/100 1234\n", 512.4},
        {"3.07", 3.07},
        {"", NAN},
        {"\n", NAN},
        {"0", NAN},
        {"0.", NAN},
        {".05", NAN},
        {"-1.00 0.00 0.00", NAN},
        {"nan nan nan", NAN},
    };

    (void)state;
    support_open_empty();
    support_write("proc/loadavg", "0.00 0.00 0.00 1/1 1\n");
    support_start(&cpu_collector);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        support_write("proc/loadavg", cases[i].text);
        assert_number(value(support_read(SECOND), METRIC_CPU_LOAD_1M), cases[i].wanted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_cores_in_use_are_the_busy_share_of_the_online_cores),
        TEST(test_iowait_is_idle_and_steal_is_use),
        TEST(test_nice_is_user_time_and_guest_is_not_counted_again),
        TEST(test_t_cpu_01_utilization_is_within_cores),
        TEST(test_t_cpu_02_one_figure_per_online_cpu),
        TEST(test_t_cpu_05_process_count_is_the_numbered_entries),
        TEST(test_t_cpu_06_first_reading_has_no_growth),
        TEST(test_t_cpu_06_first_reading_has_no_growth_per_core),
        TEST(test_no_tick_between_two_readings_is_no_use),
        TEST(test_a_cpu_that_comes_back_counts_from_its_last_reading),
        TEST(test_a_new_cpu_has_no_figure_yet),
        TEST(test_gaps_in_the_numbering_are_not_cores),
        TEST(test_without_files_nothing_is_known),
        TEST(test_without_a_proc_nothing_is_known),
        TEST(test_an_empty_file_tells_nothing_and_the_next_reading_goes_on),
        TEST(test_garbage_tells_nothing),
        TEST(test_a_file_cut_anywhere_stays_within_range),
        TEST(test_counters_that_go_backwards_give_nothing),
        TEST(test_counters_at_their_end_stay_within_cores),
        TEST(test_old_kernels_have_fewer_columns),
        TEST(test_a_repeated_line_is_no_overrun),
        TEST(test_a_huge_line_is_passed_over),
        TEST(test_load_average_needs_its_form),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

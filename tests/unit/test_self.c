#include "support.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define MIB (1024 * 1024)

static void *open_self(void)
{
    void *self = NULL;
    struct sysroot nowhere = {.proc_fd = -1, .sys_fd = -1};

    assert_int_equal(self_collector.open(&(struct collect_context){.root = &nowhere}, &self), 0);
    return self;
}

static void read_self(void *self, const struct tick *tick, struct sample *sample)
{
    sample_reset(sample);
    self_collector.read(self, tick, sample);
}

static void test_cost_is_read_from_the_real_proc(void **state)
{
    struct sample sample;
    void *self = open_self();

    (void)state;
    read_self(self, &(struct tick){.now_ns = 5, .due_ns = 5}, &sample);
    self_collector.close(self);
    assert_true(sample.value[METRIC_TRACKER_CPU] > 0);
    assert_true(sample.value[METRIC_TRACKER_RSS] > 0);
}

/* The process CPU clock and getrusage know the same time. */
static void test_cpu_time_is_that_of_this_process(void **state)
{
    struct rusage before;
    struct rusage after;
    struct sample sample;
    void *self = open_self();

    (void)state;
    getrusage(RUSAGE_SELF, &before);
    read_self(self, &(struct tick){.now_ns = 5}, &sample);
    getrusage(RUSAGE_SELF, &after);
    self_collector.close(self);

    double least = (double)(before.ru_utime.tv_sec + before.ru_stime.tv_sec) +
                   (double)(before.ru_utime.tv_usec + before.ru_stime.tv_usec) / 1e6;
    double most = (double)(after.ru_utime.tv_sec + after.ru_stime.tv_sec) +
                  (double)(after.ru_utime.tv_usec + after.ru_stime.tv_usec) / 1e6;
    assert_true(sample.value[METRIC_TRACKER_CPU] >= least - 1e-5);
    assert_true(sample.value[METRIC_TRACKER_CPU] <= most + 1e-5);
}

static void test_memory_follows_what_is_touched(void **state)
{
    enum { SIZE = 64 * MIB };
    struct sample sample;
    void *self = open_self();

    (void)state;
    read_self(self, &(struct tick){.now_ns = 5}, &sample);
    double before = sample.value[METRIC_TRACKER_RSS];
    char *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    memset(memory, 1, SIZE);
    read_self(self, &(struct tick){.now_ns = 6}, &sample);
    double grown = sample.value[METRIC_TRACKER_RSS] - before;
    munmap(memory, SIZE);
    self_collector.close(self);
    /* The kernel counts per CPU and may be some pages behind. */
    assert_true(grown > 60 && grown < 80);
}

static void test_lateness_is_measured_from_the_due_time(void **state)
{
    struct sample sample;
    void *self = open_self();

    (void)state;
    read_self(self, &(struct tick){.now_ns = 1002500000, .due_ns = 1000000000}, &sample);
    assert_number(sample.value[METRIC_TRACKER_LATE], 2.5);
    read_self(self, &(struct tick){.now_ns = 1000000000, .due_ns = 1000000000}, &sample);
    assert_number(sample.value[METRIC_TRACKER_LATE], 0);
    /* Before its time is not late by 584 years. */
    read_self(self, &(struct tick){.now_ns = 999999999, .due_ns = 1000000000}, &sample);
    assert_number(sample.value[METRIC_TRACKER_LATE], 0);
    self_collector.close(self);
}

static void test_priming_tells_nothing(void **state)
{
    struct sample sample;
    void *self = open_self();

    (void)state;
    read_self(self, &(struct tick){.now_ns = 5, .priming = true}, &sample);
    self_collector.close(self);
    assert_absent(sample.value[METRIC_TRACKER_CPU]);
    assert_absent(sample.value[METRIC_TRACKER_RSS]);
    assert_absent(sample.value[METRIC_TRACKER_LATE]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cost_is_read_from_the_real_proc),
        cmocka_unit_test(test_cpu_time_is_that_of_this_process),
        cmocka_unit_test(test_memory_follows_what_is_touched),
        cmocka_unit_test(test_lateness_is_measured_from_the_due_time),
        cmocka_unit_test(test_priming_tells_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

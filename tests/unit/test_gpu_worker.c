/*
 * The worker with a backend of the test's own. Nothing here waits for a time to pass that could be
 * too short on a slow machine: readings are asked for, with a patience that only a fault outlasts.
 */
#include "support.h"

#include "collect/gpu_worker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE (20 * NS_PER_SEC)
#define HOUR (3600 * NS_PER_SEC)

static struct {
    atomic_bool hangs;
    atomic_bool detail_hangs;
    atomic_bool open_fails;
    atomic_bool device_is_gone;
    atomic_bool changed;
    atomic_uint device_count;
    atomic_uint finds;
    atomic_uint closes;
    pid_t pids[64];
    size_t pid_count;
    atomic_bool tree_was_read;
} driver;

static struct gpu_worker *worker;
static struct gpu_worker *detail;
/* Readings are asked for as of times after this, which no reading of its own comes near. */
static uint64_t base_ns;

static void wait_while_hanging(void)
{
    while (atomic_load(&driver.hangs))
        usleep(1000);
}

static bool driver_probe(const struct gpu_places *places)
{
    (void)places;
    return true;
}

static int driver_open(const struct gpu_places *places, void **ret_state, char *remark)
{
    (void)places;
    if (atomic_load(&driver.open_fails)) {
        strcpy(remark, "the driver is broken");
        return -ENODEV;
    }
    *ret_state = &driver;
    return 0;
}

static bool driver_has_changed(void *state)
{
    (void)state;
    return atomic_exchange(&driver.changed, false);
}

static int driver_find(void *state, struct gpu_table *table)
{
    (void)state;
    table->count = 0;
    atomic_fetch_add(&driver.finds, 1);
    for (unsigned i = 0; i < atomic_load(&driver.device_count); i++) {
        struct gpu_device *device = gpu_table_add(table);
        gpu_set_name(device, "a device");
        gpu_set_uuid(device, i == 0 ? "first" : "second");
    }
    return 0;
}

static int driver_read(void *state, size_t index, uint64_t now_ns, struct gpu_device *device)
{
    (void)state;
    wait_while_hanging();
    gpu_cell(device, FIELD_GPU_TEMPERATURE)->number = 40 + (double)index;
    gpu_cell(device, FIELD_GPU_POWER)->number =
        now_ns >= base_ns ? (double)(now_ns - base_ns) / NS_PER_SEC : -1;
    return atomic_load(&driver.device_is_gone) ? -ENODEV : 0;
}

static void driver_read_processes(void *state, const struct gpu_request *request,
                                  struct gpu_table *table)
{
    (void)state;
    (void)table;
    atomic_store(&driver.tree_was_read, true);
    driver.pid_count = request->pid_count;
    for (size_t i = 0; i < request->pid_count && i < 64; i++)
        driver.pids[i] = request->pids[i];
}

static void driver_read_detail(void *state, size_t index, uint64_t now_ns,
                               struct gpu_device *device)
{
    (void)state;
    (void)now_ns;
    while (atomic_load(&driver.detail_hangs))
        usleep(1000);
    gpu_cell(device, FIELD_GPU_ENERGY)->number = 1000 + (double)index;
}

static void driver_close(void *state)
{
    (void)state;
    atomic_fetch_add(&driver.closes, 1);
}

static const struct gpu_backend backend = {
    .name = "test",
    .probe = driver_probe,
    .open = driver_open,
    .has_changed = driver_has_changed,
    .find = driver_find,
    .read = driver_read,
    .read_processes = driver_read_processes,
    .read_detail = driver_read_detail,
    .close = driver_close,
};

static int reset(void **state)
{
    (void)state;
    memset(&driver, 0, sizeof driver);
    driver.device_count = 2;
    base_ns = clock_monotonic_ns() + 100 * HOUR;
    return 0;
}

static int stop(void **state)
{
    (void)state;
    atomic_store(&driver.hangs, false);
    atomic_store(&driver.detail_hangs, false);
    gpu_worker_stop(detail, PATIENCE);
    gpu_worker_stop(worker, PATIENCE);
    detail = NULL;
    worker = NULL;
    return 0;
}

#define WORKER_TEST(function) cmocka_unit_test_setup_teardown(function, reset, stop)

/* Its own schedule is far away: it reads once, and then when it is asked. */
static void start(void)
{
    assert_int_equal(gpu_worker_start(&backend, NULL, clock_monotonic_ns(), HOUR, &worker), 0);
}

static const struct gpu_reading *ask(uint64_t now_ns)
{
    assert_true(gpu_worker_ask(worker, base_ns + now_ns, PATIENCE));
    return gpu_worker_take(worker);
}

static double number(const struct gpu_reading *reading, size_t index, enum field_id field)
{
    return reading->table.devices[index].cells[field - FIELD_GPU_FIRST].number;
}

static void tell(const pid_t *pids, size_t count)
{
    gpu_worker_tell(worker, &(struct tree_pids){true, pids, count});
}

/* By name, since a sanitizer has threads of its own. */
static bool has_workers(void)
{
    DIR *tasks = opendir("/proc/self/task");
    bool found = false;

    for (struct dirent *entry; (entry = readdir(tasks)) != NULL;) {
        char path[NAME_MAX + 32];
        char name[16] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0 && read(fd, name, sizeof name - 1) > 0)
            found |= strncmp(name, "gpu", 3) == 0 && strncmp(name, "gpu_", 4) != 0;
        if (fd >= 0)
            close(fd);
    }
    closedir(tasks);
    return found;
}

/* One that was joined may be listed for a moment more. */
static void wait_for_threads_to_end(void)
{
    while (has_workers())
        usleep(1000);
}

static void test_a_reading_has_facts_and_figures(void **state)
{
    (void)state;
    start();
    const struct gpu_reading *reading = ask(77 * SECOND);

    assert_non_null(reading);
    assert_int_equal(reading->table.count, 2);
    assert_true(reading->taken_ns > 0);
    assert_number(number(reading, 1, FIELD_GPU_TEMPERATURE), 41);
    assert_number(number(reading, 0, FIELD_GPU_POWER), 77);
    assert_string_equal(reading->table.devices[1].cells[0].text, "second");
    assert_false(driver.tree_was_read);
}

static void test_a_reading_stays_until_the_next_is_taken(void **state)
{
    (void)state;
    start();
    const struct gpu_reading *first = ask(1 * SECOND);

    gpu_worker_ask(worker, base_ns + 2 * SECOND, PATIENCE);
    gpu_worker_ask(worker, base_ns + 3 * SECOND, PATIENCE);
    assert_number(number(first, 0, FIELD_GPU_POWER), 1);
    assert_number(number(gpu_worker_take(worker), 0, FIELD_GPU_POWER), 3);
    assert_number(number(gpu_worker_take(worker), 0, FIELD_GPU_POWER), 3);
}

/* The clock was looked at before the worker made a reading by itself. */
static void test_time_does_not_run_backwards(void **state)
{
    (void)state;
    start();
    assert_number(number(ask(9 * SECOND), 0, FIELD_GPU_POWER), 9);
    assert_number(number(ask(8 * SECOND), 0, FIELD_GPU_POWER), 9);
}

static void test_it_reads_by_itself_before_each_tick(void **state)
{
    (void)state;
    assert_int_equal(gpu_worker_start(&backend, NULL, clock_monotonic_ns(), 5 * NS_PER_MS, &worker),
                     0);
    uint64_t last_ns = 0;
    for (int seen = 0; seen < 5;) {
        const struct gpu_reading *reading = gpu_worker_take(worker);
        seen += reading != NULL && reading->taken_ns > last_ns;
        last_ns = reading != NULL ? reading->taken_ns : 0;
        usleep(1000);
    }
}

static void test_a_driver_that_hangs_holds_up_nobody(void **state)
{
    (void)state;
    start();
    (void)ask(1 * SECOND);
    assert_int_equal(gpu_worker_busy_since_ns(worker), 0);
    atomic_store(&driver.hangs, true);
    uint64_t begin_ns = clock_monotonic_ns();
    assert_false(gpu_worker_ask(worker, base_ns + 2 * SECOND, 20 * NS_PER_MS));
    assert_true(clock_monotonic_ns() - begin_ns >= 20 * NS_PER_MS);
    assert_number(number(gpu_worker_take(worker), 0, FIELD_GPU_POWER), 1);
    assert_true(gpu_worker_busy_since_ns(worker) > 0);

    /* It goes on where it was. */
    atomic_store(&driver.hangs, false);
    assert_number(number(ask(3 * SECOND), 0, FIELD_GPU_POWER), 3);
}

static void test_a_worker_that_hangs_is_left_behind(void **state)
{
    static struct gpu_worker *abandoned;

    (void)state;
    atomic_store(&driver.hangs, true);
    start();
    while (gpu_worker_busy_since_ns(worker) == 0)
        usleep(1000);
    assert_null(gpu_worker_take(worker));
    abandoned = worker;
    worker = NULL;
    assert_false(gpu_worker_stop(abandoned, NS_PER_MS));
    assert_int_equal(driver.closes, 0);
    atomic_store(&driver.hangs, false);
    wait_for_threads_to_end();
}

static void test_a_backend_that_cannot_be_opened_says_so_once(void **state)
{
    (void)state;
    atomic_store(&driver.open_fails, true);
    start();
    gpu_worker_ask(worker, 0, PATIENCE);
    assert_true(gpu_worker_has_failed(worker));
    assert_string_equal(gpu_worker_remark(worker), "the driver is broken");
    assert_null(gpu_worker_remark(worker));
    assert_null(gpu_worker_take(worker));
    assert_true(gpu_worker_stop(worker, PATIENCE));
    worker = NULL;
    assert_int_equal(driver.closes, 0);
    wait_for_threads_to_end();
}

static void test_stopping_closes_the_backend(void **state)
{
    (void)state;
    start();
    (void)ask(0);
    assert_false(gpu_worker_has_failed(worker));
    assert_true(gpu_worker_stop(worker, PATIENCE));
    worker = NULL;
    assert_int_equal(driver.closes, 1);
    wait_for_threads_to_end();
}

static void test_who_has_left_the_tree_is_asked_for_once_more(void **state)
{
    const pid_t family[] = {10, 11, 12};
    const pid_t rest[] = {10, 12, 13};

    (void)state;
    start();
    tell(family, 3);
    (void)ask(1 * SECOND);
    assert_int_equal(driver.pid_count, 3);
    tell(rest, 3);
    (void)ask(2 * SECOND);
    assert_int_equal(driver.pid_count, 4);
    assert_memory_equal(driver.pids, ((pid_t[]){10, 12, 13, 11}), 4 * sizeof(pid_t));
    (void)ask(3 * SECOND);
    assert_int_equal(driver.pid_count, 3);
    tell(NULL, 0);
    (void)ask(4 * SECOND);
    assert_int_equal(driver.pid_count, 3);
    (void)ask(5 * SECOND);
    assert_int_equal(driver.pid_count, 0);
}

/* Whatever the order, nobody is asked for twice. */
static void test_a_tree_in_another_order_has_nobody_twice(void **state)
{
    const pid_t family[] = {1, 2, 3, 4};
    const pid_t shuffled[] = {4, 2, 1};

    (void)state;
    start();
    tell(family, 4);
    (void)ask(1 * SECOND);
    tell(shuffled, 3);
    (void)ask(2 * SECOND);
    assert_int_equal(driver.pid_count, 4);
    assert_memory_equal(driver.pids, ((pid_t[]){4, 2, 1, 3}), 4 * sizeof(pid_t));
}

static void test_of_a_device_that_is_gone_only_facts_are_known(void **state)
{
    (void)state;
    start();
    atomic_store(&driver.device_is_gone, true);
    const struct gpu_reading *reading = ask(1 * SECOND);

    assert_int_equal(reading->table.count, 2);
    assert_absent(number(reading, 0, FIELD_GPU_TEMPERATURE));
    assert_string_equal(reading->table.devices[0].name, "a device");
}

static void test_devices_that_come_and_go_are_found(void **state)
{
    (void)state;
    start();
    uint64_t now_ns = 0;
    assert_int_equal(ask(now_ns)->table.count, 2);
    atomic_store(&driver.device_count, 1);
    atomic_store(&driver.changed, true);
    assert_int_equal(ask(now_ns + SECOND)->table.count, 2);
    assert_int_equal(ask(now_ns + 60 * SECOND)->table.count, 1);
    atomic_store(&driver.device_count, 2);
    atomic_store(&driver.changed, true);
    assert_int_equal(ask(now_ns + 120 * SECOND)->table.count, 2);
    assert_int_equal(ask(now_ns + 180 * SECOND)->table.count, 2);
    assert_int_equal(driver.finds, 3);
}

static void test_details_have_a_worker_of_their_own(void **state)
{
    const struct gpu_reading *reading = NULL;

    (void)state;
    start();
    (void)ask(0);
    assert_int_equal(gpu_worker_start_detail(worker, &detail), 0);
    while ((reading = gpu_worker_take(detail)) == NULL)
        usleep(1000);
    assert_int_equal(reading->table.count, 2);
    assert_number(number(reading, 1, FIELD_GPU_ENERGY), 1001);
    assert_absent(number(reading, 1, FIELD_GPU_TEMPERATURE));

    /* Whichever is stopped last closes. */
    assert_true(gpu_worker_stop(worker, PATIENCE));
    worker = NULL;
    assert_int_equal(driver.closes, 0);
    assert_true(gpu_worker_stop(detail, PATIENCE));
    detail = NULL;
    assert_int_equal(driver.closes, 1);
}

/* One that takes long keeps out when devices are to be listed, and what it read is not believed. */
static void test_details_make_way_when_devices_change(void **state)
{
    const struct gpu_reading *reading = NULL;

    (void)state;
    assert_int_equal(
        gpu_worker_start(&backend, NULL, clock_monotonic_ns(), 20 * NS_PER_MS, &worker), 0);
    (void)ask(0);
    atomic_store(&driver.detail_hangs, true);
    assert_int_equal(gpu_worker_start_detail(worker, &detail), 0);
    while (gpu_worker_busy_since_ns(detail) == 0)
        usleep(1000);
    atomic_store(&driver.device_count, 1);
    atomic_store(&driver.changed, true);
    assert_int_equal(ask(60 * SECOND)->table.count, 2);
    atomic_store(&driver.detail_hangs, false);
    while (ask(120 * SECOND)->table.count != 1)
        usleep(1000);
    do {
        usleep(1000);
        reading = gpu_worker_take(detail);
    } while (reading == NULL || !reading->is_whole || reading->table.count != 1);
}

/* For the thread sanitizer: everything at once. */
static void test_telling_asking_and_taking_do_not_disturb_each_other(void **state)
{
    pid_t pids[32];

    (void)state;
    assert_int_equal(gpu_worker_start(&backend, NULL, clock_monotonic_ns(), NS_PER_MS, &worker), 0);
    for (size_t i = 0; i < 500; i++) {
        for (size_t at = 0; at < 32; at++)
            pids[at] = (pid_t)(i + at);
        tell(pids, i % 32);
        if (i % 7 == 0)
            gpu_worker_ask(worker, i, NS_PER_MS);
        atomic_store(&driver.changed, i % 11 == 0);
        const struct gpu_reading *reading = gpu_worker_take(worker);
        if (reading != NULL)
            assert_int_equal(reading->table.count, 2);
    }
}

static void test_stopping_nothing_is_fine(void **state)
{
    (void)state;
    assert_true(gpu_worker_stop(NULL, PATIENCE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORKER_TEST(test_a_reading_has_facts_and_figures),
        WORKER_TEST(test_a_reading_stays_until_the_next_is_taken),
        WORKER_TEST(test_time_does_not_run_backwards),
        WORKER_TEST(test_it_reads_by_itself_before_each_tick),
        WORKER_TEST(test_a_driver_that_hangs_holds_up_nobody),
        WORKER_TEST(test_a_worker_that_hangs_is_left_behind),
        WORKER_TEST(test_a_backend_that_cannot_be_opened_says_so_once),
        WORKER_TEST(test_stopping_closes_the_backend),
        WORKER_TEST(test_who_has_left_the_tree_is_asked_for_once_more),
        WORKER_TEST(test_a_tree_in_another_order_has_nobody_twice),
        WORKER_TEST(test_of_a_device_that_is_gone_only_facts_are_known),
        WORKER_TEST(test_devices_that_come_and_go_are_found),
        WORKER_TEST(test_details_have_a_worker_of_their_own),
        WORKER_TEST(test_details_make_way_when_devices_change),
        WORKER_TEST(test_telling_asking_and_taking_do_not_disturb_each_other),
        WORKER_TEST(test_stopping_nothing_is_fine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "collect/disk_space.h"

#include "support.h"

#include <errno.h>
#include <string.h>

static struct disk_space space;
static struct sample sample;

static int close_space(void **state)
{
    disk_space_close(&space);
    return support_teardown(state);
}

#define SPACE_TEST(function) cmocka_unit_test_teardown(function, close_space)

/* Sources name their device: "/dev/N" is on row N, "/dev/loopN" too, but borrowed. */
static bool locate_by_source(const void *context, const struct mount *mount, const char *source,
                             struct disk_place *ret_place)
{
    size_t length = strlen(source);

    (void)context;
    (void)mount;
    if (source[length - 1] < '0' || source[length - 1] > '9')
        return false;
    *ret_place = (struct disk_place){
        .row = (size_t)(source[length - 1] - '0'),
        .borrowed = strncmp(source, "/dev/loop", strlen("/dev/loop")) == 0,
    };
    return true;
}

static void read_space(size_t device_rows)
{
    (void)disk_space_changed(&space);
    disk_space_locate(&space, device_rows, locate_by_source, NULL);
    sample_reset(&sample);
    disk_space_read(&space, &sample);
}

static void open_text(const char *mountinfo, const char *answers)
{
    support_open_empty();
    support_write("proc/self/mountinfo", mountinfo);
    support_write("space", answers);
    assert_int_equal(disk_space_open(&space, support_root()), 0);
    read_space(4);
}

static void assert_sums(double total_gb, double used_gb, double free_gb)
{
    assert_number(sample.value[METRIC_TOTAL_SPACE_TOTAL], total_gb);
    assert_number(sample.value[METRIC_TOTAL_SPACE_USED], used_gb);
    assert_number(sample.value[METRIC_TOTAL_SPACE_FREE], free_gb);
}

static const char *point_of_row(size_t row)
{
    return rows_cell(&space.rows, row, FIELD_MOUNT_POINT)->text;
}

static uint64_t counter_of_row(size_t row, enum field_id field)
{
    return rows_cell(&space.rows, row, field)->counter;
}

static void test_a_row_per_file_system(void **state)
{
    (void)state;
    open_text("1 0 8:1 / / rw - ext4 /dev/1 rw\n", "/ 1000 400 300\n");
    assert_int_equal(space.rows.count, 1);
    assert_string_equal(point_of_row(0), "/");
    assert_string_equal(rows_cell(&space.rows, 0, FIELD_MOUNT_FILESYSTEM)->text, "ext4");
    assert_int_equal(counter_of_row(0, FIELD_MOUNT_TOTAL), 1000);
    assert_int_equal(counter_of_row(0, FIELD_MOUNT_AVAILABLE), 300);
    assert_int_equal(counter_of_row(0, FIELD_MOUNT_USED),
                     600); /* what root could still use is free */
    assert_number(rows_cell(&space.rows, 0, FIELD_MOUNT_USED_PCT)->number, 60);
}

static void test_rows_are_grouped_by_device_and_sorted(void **state)
{
    (void)state;
    open_text("1 0 8:1 / /z rw - ext4 /dev/2 rw\n2 0 8:2 / /a rw - ext4 /dev/0 rw\n"
              "3 0 8:3 / /c rw - ext4 /dev/2 rw\n4 0 8:4 / /b rw - ext4 /dev/2 rw\n",
              "");
    assert_string_equal(point_of_row(0), "/a");
    assert_string_equal(point_of_row(1), "/b");
    assert_string_equal(point_of_row(2), "/c");
    assert_string_equal(point_of_row(3), "/z");

    struct row_range range = disk_space_rows_of(&space, 0);
    assert_int_equal(range.first, 0);
    assert_int_equal(range.count, 1);
    assert_int_equal(disk_space_rows_of(&space, 1).count, 0);
    range = disk_space_rows_of(&space, 2);
    assert_int_equal(range.first, 1);
    assert_int_equal(range.count, 3);
    assert_int_equal(disk_space_rows_of(&space, 3).count, 0);
    assert_int_equal(disk_space_rows_of(&space, SIZE_MAX).count, 0);
}

/* In GB of 10^9 bytes, cut to what six decimals can say. */
static void test_sums_over_file_systems(void **state)
{
    (void)state;
    open_text("1 0 8:1 / /a rw - ext4 /dev/0 rw\n2 0 8:2 / /b rw - ext4 /dev/1 rw\n",
              "/a 1500000000 500000000 400000000\n/b 2000000999 1000000000 1000000000\n");
    assert_sums(3.5, 2.1, 1.4);
}

static void test_files_and_memory_are_listed_but_not_summed(void **state)
{
    (void)state;
    open_text("1 0 8:1 / /a rw - ext4 /dev/0 rw\n2 0 7:1 / /snap rw - squashfs /dev/loop1 rw\n",
              "/a 1000000000 500000000 500000000\n/snap 7000000000 0 0\n");
    assert_int_equal(space.rows.count, 2);
    assert_sums(1, 0.5, 0.5);
}

static void test_file_systems_on_no_listed_device_are_left_out(void **state)
{
    (void)state;
    open_text("1 0 8:1 / /a rw - ext4 /dev/none rw\n", "/a 1000000000 0 0\n");
    assert_int_equal(space.rows.count, 0);
    assert_false(support_was_asked("/a"));
    assert_sums(0, 0, 0);
}

/* --- ZFS --- */

#define ZFS_MOUNTS                                                                                 \
    "1 0 0:60 / /tank rw - zfs tank rw\n"                                                          \
    "2 0 0:61 / /tank/home rw - zfs tank/home rw\n"                                                \
    "3 0 0:62 / /tank/vm rw - zfs tank/vm/disk rw\n"

static void test_a_pool_has_a_row_after_the_devices(void **state)
{
    (void)state;
    open_text(ZFS_MOUNTS "4 0 0:63 / /other rw - zfs other rw\n", "");
    assert_int_equal(space.pool_count, 2);
    assert_string_equal(space.pools[0].name, "tank");
    assert_string_equal(space.pools[1].name, "other");
    assert_int_equal(disk_space_rows_of(&space, 4).count, 3);
    assert_int_equal(disk_space_rows_of(&space, 5).count, 1);
}

/* Each dataset's size is what it uses plus what the pool has free. */
static void test_free_space_of_a_pool_counts_once(void **state)
{
    (void)state;
    open_text(ZFS_MOUNTS, "/tank 11000000000 10000000000 10000000000\n"
                          "/tank/home 15000000000 10000000000 10000000000\n"
                          "/tank/vm 13000000000 10000000000 10000000000\n");
    assert_sums(1 + 5 + 3 + 10, 9, 10);
}

/* /tank/a has 2 GB left of its quota, /tank/home a reservation of which 1 GB is its own. */
static void test_quotas_and_reservations_count_the_largest_free_space(void **state)
{
    (void)state;
    open_text("1 0 0:59 / /tank/a rw - zfs tank/a rw\n" ZFS_MOUNTS,
              "/tank/a 3000000000 2000000000 2000000000\n"
              "/tank 11000000000 10000000000 10000000000\n"
              "/tank/home 16000000000 11000000000 11000000000\n"
              "/tank/vm 13000000000 10000000000 10000000000\n");
    assert_sums(1 + 1 + 5 + 3 + 11, 10, 11);
}

static void test_each_pool_has_free_space_of_its_own(void **state)
{
    (void)state;
    open_text("1 0 0:60 / /a rw - zfs one rw\n2 0 0:61 / /b rw - zfs two rw\n"
              "3 0 0:62 / /c rw - zfs one/x rw\n",
              "/a 3000000000 2000000000 2000000000\n/b 6000000000 5000000000 5000000000\n"
              "/c 3000000000 2000000000 2000000000\n");
    assert_sums(1 + 1 + 1 + 2 + 5, 3, 7);
}

static void test_pools_go_with_their_last_dataset(void **state)
{
    (void)state;
    open_text(ZFS_MOUNTS, "");
    assert_int_equal(space.pool_count, 1);
    support_write("proc/self/mountinfo", "1 0 8:1 / / rw - ext4 /dev/1 rw\n");
    read_space(4);
    assert_int_equal(space.pool_count, 0);
    assert_int_equal(space.rows.count, 1);
}

static void test_pool_names_that_are_none(void **state)
{
    char text[512] = "1 0 0:60 / /x rw - zfs ";

    (void)state;
    memset(text + strlen(text), 'p', 256);
    strcat(text, "/d rw\n2 0 0:61 / /y rw - zfs /d rw\n");
    open_text(text, "");
    assert_int_equal(space.pool_count, 0);
    assert_int_equal(space.rows.count, 0);
}

/* --- what cannot be asked --- */

static void test_a_file_system_that_does_not_answer_is_unknown(void **state)
{
    (void)state;
    open_text("1 0 8:1 / /a rw - ext4 /dev/0 rw\n2 0 8:2 / /b rw - ext4 /dev/1 rw\n",
              "/b 2000000000 1000000000 1000000000\n");
    assert_true(counter_of_row(0, FIELD_MOUNT_TOTAL) == COUNTER_UNKNOWN);
    assert_true(counter_of_row(0, FIELD_MOUNT_AVAILABLE) == COUNTER_UNKNOWN);
    assert_true(counter_of_row(0, FIELD_MOUNT_USED) == COUNTER_UNKNOWN);
    assert_absent(rows_cell(&space.rows, 0, FIELD_MOUNT_USED_PCT)->number);
    assert_sums(2, 1, 1);
}

/* Missing is not zero. */
static void test_when_none_answers_the_sums_are_unknown(void **state)
{
    (void)state;
    open_text("1 0 8:1 / /a rw - ext4 /dev/0 rw\n", "");
    assert_true(counter_of_row(0, FIELD_MOUNT_TOTAL) == COUNTER_UNKNOWN);
    assert_sums(NAN, NAN, NAN);
}

static void test_a_host_without_a_mount_table(void **state)
{
    (void)state;
    support_open_empty();
    assert_int_equal(disk_space_open(&space, support_root()), 0);
    assert_false(disk_space_changed(&space));
    read_space(4);
    assert_int_equal(space.rows.count, 0);
    assert_sums(NAN, NAN, NAN);
}

static void test_an_empty_mount_table_sums_to_nothing(void **state)
{
    (void)state;
    open_text("", "");
    assert_sums(0, 0, 0);
}

static void test_a_file_system_of_no_size(void **state)
{
    (void)state;
    open_text("1 0 8:1 / /a rw - ext4 /dev/0 rw\n", "/a 0 0 0\n");
    assert_int_equal(counter_of_row(0, FIELD_MOUNT_USED), 0);
    assert_number(rows_cell(&space.rows, 0, FIELD_MOUNT_USED_PCT)->number, 0);
}

static void test_more_free_than_there_is_leaves_none_used(void **state)
{
    (void)state;
    open_text("1 0 8:1 / /a rw - ext4 /dev/0 rw\n", "/a 1000 2000 500\n");
    assert_int_equal(counter_of_row(0, FIELD_MOUNT_USED), 0);
    assert_number(rows_cell(&space.rows, 0, FIELD_MOUNT_USED_PCT)->number, 0);
}

/* --- requirements over all hosts --- */

static const char *const all_hosts[] = {
    "this-machine", "cores-256", "storage", "container", "network",
};

static void check_rows(const struct rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        uint64_t total = rows_cell(rows, i, FIELD_MOUNT_TOTAL)->counter;
        assert_true(rows_cell(rows, i, FIELD_MOUNT_USED)->counter +
                        rows_cell(rows, i, FIELD_MOUNT_AVAILABLE)->counter <=
                    total);
        assert_true(total != COUNTER_UNKNOWN);
    }
}

static void test_t_dsk_02_used_and_available_are_at_most_the_total(void **state)
{
    for (size_t i = 0; i < sizeof all_hosts / sizeof all_hosts[0]; i++) {
        support_open(all_hosts[i]);
        support_start(&disk_collector);
        for (unsigned moment = 1; moment < support_moments(all_hosts[i]); moment++)
            check_rows(support_step_and_read()->rows[DEVICE_MOUNT]);
        assert_int_equal(support_teardown(state), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SPACE_TEST(test_a_row_per_file_system),
        SPACE_TEST(test_rows_are_grouped_by_device_and_sorted),
        SPACE_TEST(test_sums_over_file_systems),
        SPACE_TEST(test_files_and_memory_are_listed_but_not_summed),
        SPACE_TEST(test_file_systems_on_no_listed_device_are_left_out),
        SPACE_TEST(test_a_pool_has_a_row_after_the_devices),
        SPACE_TEST(test_free_space_of_a_pool_counts_once),
        SPACE_TEST(test_quotas_and_reservations_count_the_largest_free_space),
        SPACE_TEST(test_each_pool_has_free_space_of_its_own),
        SPACE_TEST(test_pools_go_with_their_last_dataset),
        SPACE_TEST(test_pool_names_that_are_none),
        SPACE_TEST(test_a_file_system_that_does_not_answer_is_unknown),
        SPACE_TEST(test_when_none_answers_the_sums_are_unknown),
        SPACE_TEST(test_a_host_without_a_mount_table),
        SPACE_TEST(test_an_empty_mount_table_sums_to_nothing),
        SPACE_TEST(test_a_file_system_of_no_size),
        SPACE_TEST(test_more_free_than_there_is_leaves_none_used),
        TEST(test_t_dsk_02_used_and_available_are_at_most_the_total),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

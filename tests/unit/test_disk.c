#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double number(const struct sample *sample, const char *name, enum field_id field)
{
    return support_cell(sample, name, field)->number;
}

static uint64_t counter(const struct sample *sample, const char *name, enum field_id field)
{
    return support_cell(sample, name, field)->counter;
}

static bool is_listed(const struct sample *sample, const char *name)
{
    return support_row(sample->rows[DEVICE_DISK], FIELD_DISK_DEVICE, name) != ROW_NONE;
}

/* Whether `mount_point` is among the mounts of the device. */
static bool has_mount(const struct sample *sample, const char *name, const char *mount_point)
{
    struct row_range range = support_cell(sample, name, FIELD_DISK_MOUNTS)->nested;
    size_t row = support_row(sample->rows[DEVICE_MOUNT], FIELD_MOUNT_POINT, mount_point);

    return row != ROW_NONE && row >= range.first && row < range.first + range.count;
}

static size_t mount_count(const struct sample *sample, const char *name)
{
    return support_cell(sample, name, FIELD_DISK_MOUNTS)->nested.count;
}

static void assert_totals(const struct sample *sample, double read_bytes, double written_bytes)
{
    assert_number(sample->value[METRIC_TOTAL_DISK_READ], read_bytes);
    assert_number(sample->value[METRIC_TOTAL_DISK_WRITE], written_bytes);
}

static void assert_space(const struct sample *sample, double total, double used, double available)
{
    assert_number(sample->value[METRIC_TOTAL_SPACE_TOTAL], total);
    assert_number(sample->value[METRIC_TOTAL_SPACE_USED], used);
    assert_number(sample->value[METRIC_TOTAL_SPACE_FREE], available);
}

static void start_with(const char *diskstats)
{
    support_open_empty();
    support_write("proc/diskstats", diskstats);
    support_start(&disk_collector);
}

static const struct sample *read_after(const char *diskstats)
{
    support_write("proc/diskstats", diskstats);
    return support_read(SECOND);
}

static const struct sample *storage_after_a_second(void)
{
    support_open("storage");
    support_start(&disk_collector);
    return support_step_and_read();
}

/* --- what the figures are --- */

static void test_rates_and_totals_of_a_disk(void **state)
{
    (void)state;
    support_open("storage");
    support_start(&disk_collector);
    support_step();
    const struct sample *sample = support_read(2 * SECOND);

    assert_number(number(sample, "nvme0n1", FIELD_DISK_READ_RATE), 2000 * 512 / 2);
    assert_number(number(sample, "nvme0n1", FIELD_DISK_WRITE_RATE), 8000 * 512 / 2);
    assert_int_equal(counter(sample, "nvme0n1", FIELD_DISK_READ_TOTAL), UINT64_C(4002000) * 512);
    assert_int_equal(counter(sample, "nvme0n1", FIELD_DISK_WRITE_TOTAL), UINT64_C(8008000) * 512);
}

static void test_latency_queue_and_busy_time(void **state)
{
    (void)state;
    const struct sample *sample = storage_after_a_second();

    assert_number(number(sample, "nvme0n1", FIELD_DISK_READ_LATENCY), 0.5); /* 50 ms, 100 reads */
    assert_number(number(sample, "nvme0n1", FIELD_DISK_WRITE_LATENCY), 2);  /* 400 ms, 200 writes */
    assert_number(number(sample, "nvme0n1", FIELD_DISK_QUEUE_LENGTH), 0.45);
    assert_number(number(sample, "nvme0n1", FIELD_DISK_BUSY), 25);
}

static void test_no_request_has_no_latency(void **state)
{
    (void)state;
    const struct sample *sample = storage_after_a_second();

    assert_absent(number(sample, "sdaa", FIELD_DISK_READ_LATENCY));
    assert_number(number(sample, "sdaa", FIELD_DISK_WRITE_LATENCY), 15);
    assert_absent(number(sample, "loop1", FIELD_DISK_WRITE_LATENCY));
}

/* 1010 ms in a second by the kernel's rounding. */
static void test_busy_time_is_at_most_all_of_it(void **state)
{
    (void)state;
    const struct sample *sample = storage_after_a_second();
    assert_number(number(sample, "sdb", FIELD_DISK_BUSY), 100);
    assert_number(number(sample, "sdb", FIELD_DISK_QUEUE_LENGTH), 1.5);
}

/* Its queue/hw_sector_size says 4096; /proc/diskstats counts 512 bytes all the same. */
static void test_a_4kn_disk_is_counted_in_512_bytes_too(void **state)
{
    (void)state;
    const struct sample *sample = storage_after_a_second();

    assert_number(number(sample, "nvme1n1", FIELD_DISK_READ_RATE), 409600);
    assert_number(number(sample, "nvme1n1", FIELD_DISK_WRITE_RATE), 819200);
    assert_int_equal(counter(sample, "nvme1n1", FIELD_DISK_READ_TOTAL), 64800 * 512);
}

/* dm-0, dm-1, dm-2, md127, loop0 and zram0 did I/O of their own count. */
static void test_totals_count_each_byte_once(void **state)
{
    (void)state;
    const struct sample *sample = storage_after_a_second();

    assert_number(number(sample, "dm-0", FIELD_DISK_READ_RATE), 2000 * 512);
    assert_number(number(sample, "md127", FIELD_DISK_WRITE_RATE), 1024 * 512);
    assert_number(number(sample, "zram0", FIELD_DISK_WRITE_RATE), 128 * 512);
    /* nvme0n1, nvme1n1, sda, sdaa, sdb */
    assert_totals(sample, (2000 + 800 + 128 + 0 + 40) * 512,
                  (8000 + 1600 + 1024 + 1024 + 56) * 512);
}

static void test_totals_do_not_depend_on_the_elapsed_time(void **state)
{
    (void)state;
    support_open("storage");
    support_start(&disk_collector);
    support_step();
    assert_totals(support_read(SECOND / 3), 2968 * 512, 11704 * 512);
}

/* Newer kernels count on a multipath namespace and on each of its paths. */
static void test_paths_of_a_namespace_count_once(void **state)
{
    (void)state;
    start_with("   0 0 nvme0c0n1 10 0 800 5 10 0 800 5 0 9 9\n"
               "   0 0 nvme0c1n1 10 0 800 5 10 0 800 5 0 9 9\n"
               " 259 1 nvme0n1 20 0 1600 10 20 0 1600 10 0 9 9\n");
    assert_totals(read_after("   0 0 nvme0c0n1 11 0 900 5 10 0 800 5 0 9 9\n"
                             "   0 0 nvme0c1n1 11 0 900 5 11 0 810 5 0 9 9\n"
                             " 259 1 nvme0n1 22 0 1800 10 21 0 1610 10 0 9 9\n"),
                  200 * 512, 10 * 512);
}

static void test_whole_devices_are_listed_in_the_kernels_order(void **state)
{
    static const char *const names[] = {
        "loop0",   "loop1",   "sda",  "sdb",  "sdaa", "md127", "zram0",
        "nvme0n1", "nvme1n1", "dm-0", "dm-1", "dm-2", "tank",
    };

    (void)state;
    const struct rows *rows = storage_after_a_second()->rows[DEVICE_DISK];
    assert_int_equal(rows->count, sizeof names / sizeof names[0]);
    for (size_t i = 0; i < rows->count; i++)
        assert_string_equal(rows_cell(rows, i, FIELD_DISK_DEVICE)->text, names[i]);
}

static void test_identity_of_a_disk(void **state)
{
    (void)state;
    const struct sample *sample = storage_after_a_second();

    assert_string_equal(support_cell(sample, "sda", FIELD_DISK_MODEL)->text, "EXAMPLE HDD2000");
    assert_string_equal(support_cell(sample, "sda", FIELD_DISK_VENDOR)->text, "ATA");
    assert_string_equal(support_cell(sample, "sda", FIELD_DISK_SERIAL)->text,
                        "naa.5000000000000031");
    assert_string_equal(support_cell(sample, "sda", FIELD_DISK_TYPE)->text, "hdd");
    assert_int_equal(counter(sample, "sda", FIELD_DISK_CAPACITY), UINT64_C(3907029168) * 512);
    assert_null(support_cell(sample, "dm-0", FIELD_DISK_MODEL)->text);
}

/* --- file systems --- */

static void test_mounts_are_on_their_device(void **state)
{
    (void)state;
    const struct sample *sample = storage_after_a_second();

    assert_true(has_mount(sample, "nvme0n1", "/boot"));
    assert_true(has_mount(sample, "nvme0n1", "/boot/efi"));
    assert_int_equal(mount_count(sample, "nvme0n1"), 2);
    assert_true(has_mount(sample, "nvme1n1", "/scratch"));
    assert_true(has_mount(sample, "dm-1", "/"));
    assert_int_equal(mount_count(sample, "dm-1"), 1); /* its bind mounts are no others */
    assert_int_equal(mount_count(sample, "dm-0"), 0);
    assert_true(has_mount(sample, "md127", "/srv/my files"));
    assert_true(has_mount(sample, "loop0", "/snap/core/1"));
    assert_int_equal(mount_count(sample, "sda"), 0);
    assert_int_equal(mount_count(sample, "sdaa"), 0);
}

/* btrfs has no device number: its source, a name of the device mapper, tells. */
static void test_subvolumes_are_one_file_system_on_their_volume(void **state)
{
    (void)state;
    const struct sample *sample = storage_after_a_second();

    assert_true(has_mount(sample, "dm-2", "/data"));
    assert_int_equal(mount_count(sample, "dm-2"), 1);
}

static void test_a_pool_is_listed_with_its_datasets_and_without_io(void **state)
{
    (void)state;
    const struct sample *sample = storage_after_a_second();

    assert_int_equal(mount_count(sample, "tank"), 3);
    assert_true(has_mount(sample, "tank", "/tank/vm"));
    assert_null(support_cell(sample, "tank", FIELD_DISK_MODEL)->text);
    assert_true(counter(sample, "tank", FIELD_DISK_CAPACITY) == COUNTER_UNKNOWN);
    assert_true(counter(sample, "tank", FIELD_DISK_READ_TOTAL) == COUNTER_UNKNOWN);
    assert_absent(number(sample, "tank", FIELD_DISK_READ_RATE));
    assert_absent(number(sample, "tank", FIELD_DISK_BUSY));
}

/*
 * GB: / 250, /boot 1, /boot/efi 0.5, /data 500, /srv/my files 2000, /scratch 800; pool: 1 + 50 + 20
 * used and 400 free, once. The snaps are files of /.
 */
static void test_space_counts_each_byte_once(void **state)
{
    (void)state;
    support_open("storage");
    support_start(&disk_collector);
    assert_space(support_read(SECOND), 4022.5, 1036.55, 2985.95);
    assert_space(support_step_and_read(), 4022.5, 1036.554096, 2985.945904);
}

static void test_only_local_file_systems_are_asked(void **state)
{
    (void)state;
    storage_after_a_second();
    assert_true(support_was_asked("/srv/my files"));
    assert_true(support_was_asked("/tank/home"));
    assert_false(support_was_asked("/net/share"));
    assert_false(support_was_asked("/net/remote"));
    assert_false(support_was_asked("/media/windows"));
    assert_false(support_was_asked("/tmp"));
    assert_false(support_was_asked("/home"));
    assert_false(support_was_asked("/srv/www"));
}

/* "/dev/sda" must not match sdaa, nor "/dev/mapper/data" a volume named vg-data. */
static void test_a_device_is_matched_by_its_whole_name(void **state)
{
    (void)state;
    support_open_empty();
    support_write("proc/diskstats", "65 160 sdaa 1 0 8 1 1 0 8 1 0 1 1\n"
                                    "8 0 sda 1 0 8 1 1 0 8 1 0 1 1\n"
                                    "253 0 dm-0 1 0 8 1 1 0 8 1 0 1 1\n");
    support_write("sys/block/dm-0/dm/name", "vg-data\n");
    support_write("proc/self/mountinfo", "1 0 0:40 / /a rw - btrfs /dev/sda rw\n"
                                         "2 0 0:41 / /b rw - btrfs /dev/mapper/data rw\n"
                                         "3 0 0:42 / /c rw - btrfs /dev/mapper/vg-data rw\n"
                                         "4 0 0:43 / /d rw - btrfs /dev/ rw\n");
    support_start(&disk_collector);
    const struct sample *sample = support_read(SECOND);

    assert_true(has_mount(sample, "sda", "/a"));
    assert_int_equal(mount_count(sample, "sdaa"), 0);
    assert_true(has_mount(sample, "dm-0", "/c"));
    assert_int_equal(sample->rows[DEVICE_MOUNT]->count, 2);
}

static void test_a_subvolume_on_a_partition_is_on_its_disk(void **state)
{
    (void)state;
    support_open_empty();
    support_write("proc/diskstats",
                  "8 0 sda 1 0 8 1 1 0 8 1 0 1 1\n8 3 sda3 1 0 8 1 1 0 8 1 0 1 1\n");
    support_write("proc/self/mountinfo", "1 0 0:40 /@ / rw - btrfs /dev/sda3 rw\n");
    support_start(&disk_collector);
    assert_true(has_mount(support_read(SECOND), "sda", "/"));
}

static void test_a_container_without_sys_block(void **state)
{
    (void)state;
    support_open("container");
    support_start(&disk_collector);
    const struct sample *sample = support_step_and_read();

    assert_int_equal(sample->rows[DEVICE_DISK]->count, 1); /* sdb and loop0 never did anything */
    assert_true(has_mount(sample, "sda", "/etc/hosts"));
    assert_true(counter(sample, "sda", FIELD_DISK_CAPACITY) == COUNTER_UNKNOWN);
    assert_null(support_cell(sample, "sda", FIELD_DISK_TYPE)->text);
    assert_totals(sample, 100 * 512, 64 * 512);
    assert_space(sample, 40, 12, 28);
    assert_false(support_was_asked("/"));
}

/* --- requirements over all hosts --- */

static const char *const all_hosts[] = {
    "this-machine", "cores-256", "storage", "container", "network",
};

static void for_each_row(void **state, void (*check)(const struct rows *rows, size_t row))
{
    for (size_t i = 0; i < sizeof all_hosts / sizeof all_hosts[0]; i++) {
        support_open(all_hosts[i]);
        support_start(&disk_collector);
        for (unsigned moment = 1; moment < support_moments(all_hosts[i]); moment++) {
            const struct rows *rows = support_step_and_read()->rows[DEVICE_DISK];
            assert_non_null(rows);
            for (size_t row = 0; row < rows->count; row++)
                check(rows, row);
        }
        assert_int_equal(support_teardown(state), 0);
    }
}

static void check_rates(const struct rows *rows, size_t row)
{
    double in = rows_cell(rows, row, FIELD_DISK_READ_RATE)->number;
    double out = rows_cell(rows, row, FIELD_DISK_WRITE_RATE)->number;
    bool is_pool = strcmp(rows_cell(rows, row, FIELD_DISK_DEVICE)->text, "tank") == 0;

    assert_true(is_pool ? isnan(in) && isnan(out) : in >= 0 && out >= 0);
}

static void test_t_dsk_01_rates_are_not_negative(void **state)
{
    for_each_row(state, check_rates);
}

static void check_capacity(const struct rows *rows, size_t row)
{
    assert_true(rows_cell(rows, row, FIELD_DISK_CAPACITY)->counter > 0);
}

static void test_t_dsk_03_capacity_is_above_zero_or_unknown(void **state)
{
    for_each_row(state, check_capacity);
}

/* --- disks come and go, counters are reset --- */

static void test_a_new_disk_starts_from_its_first_reading(void **state)
{
    (void)state;
    storage_after_a_second();
    const struct sample *sample = support_step_and_read();

    assert_number(number(sample, "sdc", FIELD_DISK_READ_RATE), 0);
    assert_int_equal(counter(sample, "sdc", FIELD_DISK_READ_TOTAL), 320 * 512);
    assert_string_equal(support_cell(sample, "sdc", FIELD_DISK_MODEL)->text, "EXAMPLE STICK");
    assert_true(has_mount(sample, "sdc", "/media/usb stick"));
    assert_totals(sample, 8 * 512, 0); /* sda's */
}

static void test_a_departed_disk_leaves_the_list(void **state)
{
    (void)state;
    storage_after_a_second();
    const struct sample *sample = support_step_and_read();

    assert_false(is_listed(sample, "nvme1n1"));
    /* Those behind it are still themselves, and so are their file systems. */
    assert_true(has_mount(sample, "dm-1", "/"));
    assert_true(has_mount(sample, "dm-2", "/data"));
    assert_int_equal(mount_count(sample, "tank"), 3);
    assert_int_equal(counter(sample, "dm-1", FIELD_DISK_READ_TOTAL), UINT64_C(2401200) * 512);
    assert_int_equal(mount_count(sample, "loop1"), 0);
    assert_space(sample, 4022.5 - 800 + 31, 1036.554096 - 100 + 30, 2985.945904 - 700 + 1);
}

static void test_a_replaced_disk_is_described_anew(void **state)
{
    (void)state;
    support_open_empty();
    support_write("sys/block/sdb/device/model", "OLD\n");
    support_write("proc/diskstats", "8 16 sdb 100 0 800 50 100 0 800 50 0 60 100\n");
    support_start(&disk_collector);
    assert_string_equal(support_cell(support_read(SECOND), "sdb", FIELD_DISK_MODEL)->text, "OLD");

    support_write("sys/block/sdb/device/model", "NEW\n");
    const struct sample *sample = read_after("8 16 sdb 5 0 40 2 1 0 8 1 0 3 3\n");
    assert_string_equal(support_cell(sample, "sdb", FIELD_DISK_MODEL)->text, "NEW");
    assert_number(number(sample, "sdb", FIELD_DISK_READ_RATE), 0);
    assert_absent(number(sample, "sdb", FIELD_DISK_READ_LATENCY));
}

static void test_counters_that_go_backwards_count_nothing(void **state)
{
    (void)state;
    start_with("8 0 sda 100 0 800 50 100 0 800 50 0 60 100\n");
    const struct sample *sample = read_after("8 0 sda 99 0 700 40 101 0 700 40 0 50 90\n");

    assert_number(number(sample, "sda", FIELD_DISK_READ_RATE), 0);
    assert_number(number(sample, "sda", FIELD_DISK_WRITE_RATE), 0);
    assert_number(number(sample, "sda", FIELD_DISK_WRITE_LATENCY), 0);
    assert_number(number(sample, "sda", FIELD_DISK_QUEUE_LENGTH), 0);
    assert_number(number(sample, "sda", FIELD_DISK_BUSY), 0);
    assert_totals(sample, 0, 0);
}

static void test_a_loop_device_is_listed_from_its_first_request(void **state)
{
    (void)state;
    support_open_empty();
    support_write("sys/block/loop0/size", "0\n");
    support_write("proc/diskstats", "7 0 loop0 0 0 0 0 0 0 0 0 0 0 0\n");
    support_write("proc/self/mountinfo", "");
    support_start(&disk_collector);
    assert_false(is_listed(support_read(SECOND), "loop0"));

    support_write("sys/block/loop0/size", "2048\n");
    support_write("proc/self/mountinfo", "1 0 7:0 / /snap rw - squashfs /dev/loop0 ro\n");
    const struct sample *sample = read_after("7 0 loop0 3 0 24 0 0 0 0 0 0 0 0\n");
    assert_true(has_mount(sample, "loop0", "/snap"));
    assert_int_equal(counter(sample, "loop0", FIELD_DISK_CAPACITY), 1048576);
    assert_totals(sample, 0, 0);
}

static void test_an_idle_disk_is_listed_when_it_has_a_size(void **state)
{
    (void)state;
    support_open_empty();
    support_write("sys/block/sda/size", "2048\n");
    support_write("sys/block/ram0/size", "8192\n");
    support_write("proc/diskstats",
                  "8 0 sda 0 0 0 0 0 0 0 0 0 0 0\n1 0 ram0 0 0 0 0 0 0 0 0 0 0 0\n"
                  "2 0 fd0 0 0 0 0 0 0 0 0 0 0 0\n");
    support_start(&disk_collector);
    const struct sample *sample = support_read(SECOND);
    assert_true(is_listed(sample, "sda"));
    assert_false(is_listed(sample, "ram0"));
    assert_false(is_listed(sample, "fd0"));
}

static void test_the_order_may_change(void **state)
{
    (void)state;
    start_with("8 0 sda 1 0 100 0 1 0 0 0 0 0 0\n8 16 sdb 1 0 200 0 1 0 0 0 0 0 0\n");
    const struct sample *sample =
        read_after("8 16 sdb 1 0 207 0 1 0 0 0 0 0 0\n8 0 sda 1 0 105 0 1 0 0 0 0 0 0\n");
    assert_number(number(sample, "sda", FIELD_DISK_READ_RATE), 5 * 512);
    assert_number(number(sample, "sdb", FIELD_DISK_READ_RATE), 7 * 512);
}

/* The disk goes first, its partition is still there for a moment. */
static void test_a_partition_whose_disk_is_gone_stands_alone(void **state)
{
    (void)state;
    start_with("8 0 sda 5 0 40 0 5 0 40 0 0 0 0\n8 1 sda1 5 0 40 0 5 0 40 0 0 0 0\n");
    assert_false(is_listed(support_read(SECOND), "sda1"));
    const struct sample *sample = read_after("8 1 sda1 6 0 48 0 5 0 40 0 0 0 0\n");
    assert_true(is_listed(sample, "sda1"));
    assert_totals(sample, 8 * 512, 0);
}

static void test_many_disks(void **state)
{
    enum { COUNT = 1500 };
    static char before[COUNT * 64];
    static char after[COUNT * 64];
    char *end[] = {before, after};

    (void)state;
    for (int i = 0; i < COUNT; i++) {
        end[0] += sprintf(end[0], "8 %d rbd%d 1 0 %d 0 1 0 0 0 0 0 0\n", i, i, i);
        end[1] += sprintf(end[1], "8 %d rbd%d 2 0 %d 0 1 0 0 0 0 0 0\n", i, i, 2 * i);
    }
    start_with(before);
    const struct sample *sample = read_after(after);
    assert_int_equal(sample->rows[DEVICE_DISK]->count, COUNT);
    assert_totals(sample, 512.0 * COUNT * (COUNT - 1) / 2, 0);
}

/* --- ugly files --- */

static void test_without_files_nothing_is_known(void **state)
{
    (void)state;
    support_open_empty();
    support_start(&disk_collector);
    const struct sample *sample = support_read(SECOND);

    assert_null(sample->rows[DEVICE_DISK]);
    assert_totals(sample, NAN, NAN);
    assert_space(sample, NAN, NAN, NAN);
}

static void test_without_roots_nothing_is_known(void **state)
{
    (void)state;
    support_open_empty();
    sysroot_close(support_root());
    support_start(&disk_collector);
    assert_totals(support_read(SECOND), NAN, NAN);
}

static void test_an_empty_file_lists_nothing(void **state)
{
    (void)state;
    start_with("");
    const struct sample *sample = support_read(SECOND);
    assert_int_equal(sample->rows[DEVICE_DISK]->count, 0);
    assert_totals(sample, 0, 0);
}

static void test_garbage_lists_nothing(void **state)
{
    static const char garbage[] =
        "sda\n8\n8 0\n8 0 sda\n8 0 sda 1 2 3\n8 0 sda 1 2 3 4 5 6 7 8 9 10\n"
        "8 0 sda a b c d e f g h i j k\n\0\xff\xfe\nx 0 sda 1 2 3 4 5 6 7 8 9 10 "
        "11\n8 0 sda 1 0 99999999999999999999 1 1 0 1 1 0 1 1\n"
        "4294967296 0 sda 1 0 1 1 1 0 1 1 0 1 1\n";
    (void)state;
    start_with("");
    support_write_bytes("proc/diskstats", garbage, sizeof garbage - 1);
    assert_int_equal(support_read(SECOND)->rows[DEVICE_DISK]->count, 0);
}

static void test_names_that_would_leave_the_folder_are_ignored(void **state)
{
    static const char *const names[] = {
        "../../etc", "/etc", "/", ".", "..", "name-with-more-than-thirty-one-bytes",
    };
    char text[256];

    (void)state;
    start_with("");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(text, sizeof text, "8 0 %s 1 0 1 1 1 0 1 1 0 1 1\n", names[i]);
        assert_int_equal(read_after(text)->rows[DEVICE_DISK]->count, 0);
    }
}

static void test_a_slash_in_a_name_is_another_sign_in_sysfs(void **state)
{
    (void)state;
    start_with("");
    support_write("sys/block/etherd!e0.0/size", "16\n");
    const struct rows *rows =
        read_after("152 0 etherd/e0.0 1 0 1 1 1 0 1 1 0 1 1\n")->rows[DEVICE_DISK];
    assert_int_equal(rows->count, 1);
    assert_string_equal(rows_cell(rows, 0, FIELD_DISK_DEVICE)->text, "etherd/e0.0");
    assert_int_equal(rows_cell(rows, 0, FIELD_DISK_CAPACITY)->counter, 16 * 512);
}

static void test_a_file_cut_anywhere_gives_no_negative_rate(void **state)
{
    static const char after[] = "8 0 sda 150 0 1200 60 150 0 1200 60 0 70 120\n"
                                "8 1 sda1 150 0 1200 60 150 0 1200 60 0 70 120\n"
                                "8 16 sdb 1 0 8 1 1 0 8 1 0 1 1\n";
    (void)state;
    start_with("8 0 sda 100 0 800 50 100 0 800 50 0 60 100\n");
    for (size_t size = sizeof after - 1; size > 0; size--) {
        support_write_bytes("proc/diskstats", after, size);
        const struct rows *rows = support_read(SECOND)->rows[DEVICE_DISK];
        for (size_t row = 0; row < rows->count; row++)
            check_rates(rows, row);
        assert_true(rows->count <= 2);
    }
}

static void test_counters_at_their_end(void **state)
{
    (void)state;
    start_with("8 0 sda 18446744073709551610 0 18446744073709551605 0 1 0 0 0 0 0 0\n");
    const struct sample *sample = read_after(
        "8 0 sda 18446744073709551615 0 18446744073709551615 0 1 0 0 0 0 18446744073709551615 0\n");
    assert_number(number(sample, "sda", FIELD_DISK_READ_RATE), 10 * 512);
    assert_number(number(sample, "sda", FIELD_DISK_BUSY), 100);
    assert_totals(sample, 10 * 512, 0);
    /* It wraps around. */
    assert_totals(read_after("8 0 sda 3 0 5 0 1 0 0 0 0 0 0\n"), 0, 0);
}

static void test_columns_of_newer_kernels_are_passed_over(void **state)
{
    (void)state;
    start_with("8 0 sda 1 0 8 0 1 0 8 0 0 0 0 5 5 5 5 6 6\n");
    assert_totals(read_after("8 0 sda 2 0 16 0 2 0 24 0 0 0 0 9 9 9 9 9 9 9 9 9\n"), 8 * 512,
                  16 * 512);
}

static void test_a_huge_line_is_passed_over(void **state)
{
    enum { SIZE = 300000 };
    char *text = malloc(SIZE + 128);

    (void)state;
    assert_non_null(text);
    memset(text, '7', SIZE);
    stpcpy(text + SIZE, " 0 sda\n8 16 sdb 1 0 8 1 1 0 8 1 0 1 1\n");
    start_with("");
    support_write("proc/diskstats", text);
    free(text);
    const struct sample *sample = support_read(SECOND);
    assert_int_equal(sample->rows[DEVICE_DISK]->count, 1);
    assert_true(is_listed(sample, "sdb"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_rates_and_totals_of_a_disk),
        TEST(test_latency_queue_and_busy_time),
        TEST(test_no_request_has_no_latency),
        TEST(test_busy_time_is_at_most_all_of_it),
        TEST(test_a_4kn_disk_is_counted_in_512_bytes_too),
        TEST(test_totals_count_each_byte_once),
        TEST(test_totals_do_not_depend_on_the_elapsed_time),
        TEST(test_paths_of_a_namespace_count_once),
        TEST(test_whole_devices_are_listed_in_the_kernels_order),
        TEST(test_identity_of_a_disk),
        TEST(test_mounts_are_on_their_device),
        TEST(test_subvolumes_are_one_file_system_on_their_volume),
        TEST(test_a_pool_is_listed_with_its_datasets_and_without_io),
        TEST(test_space_counts_each_byte_once),
        TEST(test_only_local_file_systems_are_asked),
        TEST(test_a_device_is_matched_by_its_whole_name),
        TEST(test_a_subvolume_on_a_partition_is_on_its_disk),
        TEST(test_a_container_without_sys_block),
        TEST(test_t_dsk_01_rates_are_not_negative),
        TEST(test_t_dsk_03_capacity_is_above_zero_or_unknown),
        TEST(test_a_new_disk_starts_from_its_first_reading),
        TEST(test_a_departed_disk_leaves_the_list),
        TEST(test_a_replaced_disk_is_described_anew),
        TEST(test_counters_that_go_backwards_count_nothing),
        TEST(test_a_loop_device_is_listed_from_its_first_request),
        TEST(test_an_idle_disk_is_listed_when_it_has_a_size),
        TEST(test_the_order_may_change),
        TEST(test_a_partition_whose_disk_is_gone_stands_alone),
        TEST(test_many_disks),
        TEST(test_without_files_nothing_is_known),
        TEST(test_without_roots_nothing_is_known),
        TEST(test_an_empty_file_lists_nothing),
        TEST(test_garbage_lists_nothing),
        TEST(test_names_that_would_leave_the_folder_are_ignored),
        TEST(test_a_slash_in_a_name_is_another_sign_in_sysfs),
        TEST(test_a_file_cut_anywhere_gives_no_negative_rate),
        TEST(test_counters_at_their_end),
        TEST(test_columns_of_newer_kernels_are_passed_over),
        TEST(test_a_huge_line_is_passed_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

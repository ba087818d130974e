#include "support.h"

#include "discover/storage.h"

#include <stdio.h>
#include <string.h>

/* 1,000 MB. */
#define SECTORS_PER_GB 1953125

static void write_attribute(const char *disk, const char *attribute, const char *text)
{
    char path[256];

    snprintf(path, sizeof path, "sys/block/%s/%s", disk, attribute);
    support_write(path, text);
}

static void add_disk(const char *name, unsigned gb)
{
    char text[32];

    snprintf(text, sizeof text, "%u\n", gb * SECTORS_PER_GB);
    write_attribute(name, "size", text);
}

static double total_gb(void)
{
    return storage_total_gb(support_root()->sys_fd);
}

static void test_disks_add_up(void **state)
{
    (void)state;
    support_open_empty();
    add_disk("sda", 500);
    add_disk("nvme0n1", 1000);
    add_disk("vda", 20);
    add_disk("xvdb", 4);
    add_disk("mmcblk0", 32);
    add_disk("nbd0", 2);
    add_disk("cciss!c0d0", 1);
    assert_number(total_gb(), 1559);
}

static void test_a_fraction(void **state)
{
    (void)state;
    support_open_empty();
    write_attribute("sda", "size", "16777216\n");
    assert_number(total_gb(), 8.589934592);
}

static void test_without_a_list_it_is_unknown(void **state)
{
    (void)state;
    assert_absent(storage_total_gb(-1));
    support_open_empty();
    assert_absent(total_gb());
    support_write("sys/block", "a file");
    assert_absent(total_gb());
}

/* Sandboxes and masked trees have an empty one. */
static void test_an_empty_list_tells_nothing(void **state)
{
    (void)state;
    support_open_empty();
    add_disk("loop0", 1);
    assert_absent(total_gb());
    support_remove("sys/block/loop0");
    assert_absent(total_gb());
}

static void test_what_is_no_disk_of_its_own(void **state)
{
    static const char *const names[] = {
        "loop0",   "loop12",       "ram0",    "zram0",        "dm-0",        "md0",
        "md127",   "sr0",          "md_home", "fd0",          "zd16",        "drbd1",
        "bcache0", "mmcblk0boot0", "nullb0",  "mmcblk0boot1", "mmcblk0rpmb", "mmcblk12boot0",
    };

    (void)state;
    support_open_empty();
    add_disk("mmcblk0", 16);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        add_disk(names[i], 1);
    assert_number(total_gb(), 16);
}

static void test_sizes_that_are_none(void **state)
{
    static const char *const sizes[] = {
        "", "big\n", "-1\n", "18446744073709551615\n", "99999999999999999999999\n",
    };

    (void)state;
    support_open_empty();
    add_disk("sda", 7);
    write_attribute("nbd0", "size", "0\n");
    assert_number(total_gb(), 7);
    /* A sum without one of them would be too small. */
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        write_attribute("sdb", "size", sizes[i]);
        assert_absent(total_gb());
    }
}

static void test_a_disk_that_cannot_be_looked_at(void **state)
{
    (void)state;
    support_open_empty();
    add_disk("sda", 7);
    support_link("sys/block/sdd", "nowhere");
    assert_absent(total_gb());
}

static void test_hidden_paths_of_nvme_disks(void **state)
{
    (void)state;
    support_open_empty();
    add_disk("nvme0n1", 100);
    write_attribute("nvme0n1", "hidden", "0\n");
    add_disk("nvme0c0n1", 100);
    write_attribute("nvme0c0n1", "hidden", "1\n");
    add_disk("nvme0c1n1", 100);
    write_attribute("nvme0c1n1", "hidden", "1\n");
    assert_number(total_gb(), 100);
}

static void test_two_paths_to_one_disk(void **state)
{
    (void)state;
    support_open_empty();
    for (int i = 0; i < 4; i++) {
        char name[] = {'s', 'd', (char)('a' + i), '\0'};
        add_disk(name, 100);
        write_attribute(name, "device/wwid",
                        i % 2 == 0 ? "naa.600508b1001c1\n" : "naa.600508b1001c2\n");
        write_attribute(name, "device/model", "LOGICAL VOLUME\n");
    }
    add_disk("nvme0n1", 10);
    write_attribute("nvme0n1", "wwid", "eui.0025385b71b0a1c2\n");
    add_disk("nvme1n1", 10);
    write_attribute("nvme1n1", "wwid", "eui.0025385b71b0a1c2\n");
    assert_number(total_gb(), 210);
}

static void test_serial_and_model_tell_a_disk_too(void **state)
{
    (void)state;
    support_open_empty();
    for (int i = 0; i < 4; i++) {
        char name[] = {'s', 'd', (char)('a' + i), '\0'};
        add_disk(name, 100);
        write_attribute(name, "device/serial", "S1\n");
        write_attribute(name, "device/model", i < 3 ? "one\n" : "other\n");
    }
    assert_number(total_gb(), 200);
}

static void test_disks_that_do_not_say_who_they_are(void **state)
{
    (void)state;
    support_open_empty();
    for (int i = 0; i < 3; i++) {
        char name[] = {'v', 'd', (char)('a' + i), '\0'};
        add_disk(name, 100);
        write_attribute(name, "serial", "\n");
        write_attribute(name, "device/wwid", "  \n");
        write_attribute(name, "device/model", "Virtual disk\n");
    }
    assert_number(total_gb(), 300);
}

static void test_one_number_for_drives_of_different_size(void **state)
{
    (void)state;
    support_open_empty();
    add_disk("sda", 100);
    write_attribute("sda", "device/wwid", "t10.enclosure\n");
    add_disk("sdb", 200);
    write_attribute("sdb", "device/wwid", "t10.enclosure\n");
    assert_number(total_gb(), 300);
}

static void test_namespaces_share_the_serial_of_their_controller(void **state)
{
    (void)state;
    support_open_empty();
    for (int i = 1; i < 3; i++) {
        char name[32];
        snprintf(name, sizeof name, "nvme0n%d", i);
        add_disk(name, 50);
        write_attribute(name, "device/serial", "S1\n");
        write_attribute(name, "device/model", "one\n");
    }
    assert_number(total_gb(), 100);
}

static void test_long_names_are_told_apart_by_their_beginning(void **state)
{
    char wwid[4000];

    (void)state;
    support_open_empty();
    memset(wwid, 'w', sizeof wwid);
    wwid[sizeof wwid - 1] = '\0';
    add_disk("sda", 1);
    write_attribute("sda", "device/wwid", wwid);
    add_disk("sdb", 1);
    wwid[0] = 'x';
    write_attribute("sdb", "device/wwid", wwid);
    assert_number(total_gb(), 2);
}

static void test_many_disks(void **state)
{
    char name[32];

    (void)state;
    support_open_empty();
    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof name, "vd%d", i);
        add_disk(name, 1);
        snprintf(name, sizeof name, "disk-%d", i / 2);
        char path[64];
        snprintf(path, sizeof path, "sys/block/vd%d/serial", i);
        support_write(path, name);
    }
    assert_number(total_gb(), 150);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_disks_add_up),
        TEST(test_a_fraction),
        TEST(test_without_a_list_it_is_unknown),
        TEST(test_an_empty_list_tells_nothing),
        TEST(test_what_is_no_disk_of_its_own),
        TEST(test_sizes_that_are_none),
        TEST(test_a_disk_that_cannot_be_looked_at),
        TEST(test_hidden_paths_of_nvme_disks),
        TEST(test_two_paths_to_one_disk),
        TEST(test_serial_and_model_tell_a_disk_too),
        TEST(test_disks_that_do_not_say_who_they_are),
        TEST(test_one_number_for_drives_of_different_size),
        TEST(test_namespaces_share_the_serial_of_their_controller),
        TEST(test_long_names_are_told_apart_by_their_beginning),
        TEST(test_many_disks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

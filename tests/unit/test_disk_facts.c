#include "collect/disk_facts.h"

#include "support.h"

#include <stdio.h>
#include <string.h>

static void read_facts(const char *name, struct disk_facts *facts)
{
    /* What was there before must not shine through. */
    memset(facts, 'x', sizeof *facts);
    disk_facts_read(support_root()->sys_fd, name, facts);
}

/* --- names --- */

static void assert_whole(const char *name, const char *wanted)
{
    struct scan whole;

    if (wanted == NULL) {
        assert_false(disk_name_of_whole(name, &whole));
        return;
    }
    assert_true(disk_name_of_whole(name, &whole));
    if (!scan_equals(&whole, wanted))
        fail_msg("%s belongs to %s", name, wanted);
}

static void test_the_device_of_a_partition(void **state)
{
    (void)state;
    assert_whole("sda1", "sda");
    assert_whole("sda15", "sda");
    assert_whole("sdaa1", "sdaa");
    assert_whole("vdb2", "vdb");
    assert_whole("xvda1", "xvda");
    assert_whole("nvme0n1p2", "nvme0n1");
    assert_whole("nvme10n12p128", "nvme10n12");
    assert_whole("mmcblk0p1", "mmcblk0");
    assert_whole("md127p1", "md127");
    assert_whole("loop0p1", "loop0");
    assert_whole("nbd3p4", "nbd3");
    /* A letter p that ends the device's own name. */
    assert_whole("sdp1", "sdp");
    assert_whole("sdap7", "sdap");
}

static void test_names_without_a_number_are_whole(void **state)
{
    (void)state;
    assert_whole("sda", NULL);
    assert_whole("sdaa", NULL);
    assert_whole("", NULL);
    assert_whole("123", NULL);
    assert_whole("nvme0n1p", NULL);
}

/* Not partitions, though they have the form: the caller finds no such device. */
static void test_whole_devices_that_end_in_a_number(void **state)
{
    (void)state;
    assert_whole("nvme0n1", "nvme0n");
    assert_whole("dm-0", "dm-");
    assert_whole("md127", "md");
    assert_whole("loop7", "loop");
    assert_whole("mmcblk0boot0", "mmcblk0boot");
    assert_whole("p1", "p");
}

/* --- facts --- */

static void test_facts_of_an_nvme_disk(void **state)
{
    struct disk_facts facts;

    (void)state;
    support_open("storage");
    read_facts("nvme0n1", &facts);
    assert_string_equal(facts.model, "Example NVMe 1000");
    assert_string_equal(facts.vendor, "");
    assert_string_equal(facts.serial, "EX00000021");
    assert_string_equal(facts.mapper_name, "");
    assert_string_equal(facts.type, "nvme");
    assert_int_equal(facts.capacity_bytes, UINT64_C(1953525168) * 512);
    assert_false(facts.stacked);
    assert_false(facts.borrowed);
}

/* /sys/block/DEV/size counts in 512 bytes here too. */
static void test_the_capacity_of_a_4kn_disk(void **state)
{
    struct disk_facts facts;

    (void)state;
    support_open("storage");
    read_facts("nvme1n1", &facts);
    assert_int_equal(facts.capacity_bytes, UINT64_C(800166076416));
}

static void test_facts_of_a_hard_disk_are_trimmed(void **state)
{
    struct disk_facts facts;

    (void)state;
    support_open("storage");
    read_facts("sda", &facts);
    assert_string_equal(facts.model, "EXAMPLE HDD2000");
    assert_string_equal(facts.vendor, "ATA");
    assert_string_equal(facts.serial, "naa.5000000000000031");
    assert_string_equal(facts.type, "hdd");
}

static void test_a_disk_that_does_not_rotate_is_an_ssd(void **state)
{
    struct disk_facts facts;

    (void)state;
    support_open("storage");
    read_facts("sdb", &facts);
    assert_string_equal(facts.type, "ssd");
    assert_string_equal(facts.serial, "EX00000033");
}

static void test_a_virtual_disk_has_its_serial_beside_its_size(void **state)
{
    struct disk_facts facts;

    (void)state;
    support_open("this-machine");
    read_facts("vda", &facts);
    assert_string_equal(facts.serial, "SERIAL0000000000000001");
    assert_int_equal(facts.capacity_bytes, UINT64_C(536870912) * 512);
}

static void test_a_mapped_device_has_a_name_of_its_own(void **state)
{
    struct disk_facts facts;

    (void)state;
    support_open("storage");
    read_facts("dm-1", &facts);
    assert_string_equal(facts.mapper_name, "vg0-root");
    assert_true(facts.stacked);
    assert_false(facts.borrowed);
}

static void test_what_stands_on_other_disks(void **state)
{
    static const struct {
        const char *name;
        bool stacked;
        bool borrowed;
    } cases[] = {
        {"dm-0", true, false},     {"md127", true, false},   {"zd16", true, false},
        {"drbd0", true, false},    {"bcache0", true, false}, {"loop0", true, true},
        {"zram0", true, true},     {"ram0", true, true},     {"sda", false, false},
        {"nvme0n1", false, false}, {"vda", false, false},    {"xvda", false, false},
        {"mmcblk0", false, false}, {"nbd0", false, false},   {"rbd0", false, false},
        {"sr0", false, false},
    };
    struct disk_facts facts;

    (void)state;
    support_open_empty();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        read_facts(cases[i].name, &facts);
        assert_int_equal(facts.stacked, cases[i].stacked);
        assert_int_equal(facts.borrowed, cases[i].borrowed);
    }
}

static void assert_only_the_name_tells(const struct disk_facts *facts)
{
    assert_string_equal(facts->model, "");
    assert_string_equal(facts->vendor, "");
    assert_string_equal(facts->serial, "");
    assert_string_equal(facts->mapper_name, "");
    assert_null(facts->type);
    assert_true(facts->capacity_bytes == COUNTER_UNKNOWN);
}

static void test_without_sys_only_the_name_tells(void **state)
{
    struct disk_facts facts;

    (void)state;
    memset(&facts, 'x', sizeof facts);
    disk_facts_read(-1, "sda", &facts);
    assert_only_the_name_tells(&facts);

    support_open("container");
    read_facts("sda", &facts);
    assert_only_the_name_tells(&facts);
    read_facts("nvme0n1", &facts);
    assert_string_equal(facts.type, "nvme");
}

static void test_sizes_that_are_none(void **state)
{
    static const char *const sizes[] = {
        "0\n", "", "\n", "big\n", "-1\n", "18446744073709551615\n", "99999999999999999999\n",
    };
    struct disk_facts facts;

    (void)state;
    support_open_empty();
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        support_write("sys/block/sda/size", sizes[i]);
        read_facts("sda", &facts);
        assert_true(facts.capacity_bytes == COUNTER_UNKNOWN);
    }
}

static void test_texts_that_are_none_or_garbage(void **state)
{
    char long_text[5000];
    struct disk_facts facts;

    (void)state;
    memset(long_text, 'm', sizeof long_text);
    support_open_empty();
    support_write_bytes("sys/block/sda/device/model", long_text, sizeof long_text);
    support_write("sys/block/sda/device/vendor", "   \n");
    support_write("sys/block/sda/device/wwid", "");
    support_write("sys/block/sda/device/serial", " second \n");
    support_write("sys/block/sda/queue/rotational", "maybe\n");
    read_facts("sda", &facts);

    assert_int_equal(strlen(facts.model), sizeof facts.model - 1);
    assert_string_equal(facts.vendor, "");
    assert_string_equal(facts.serial, "second");
    assert_null(facts.type);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_device_of_a_partition),
        TEST(test_names_without_a_number_are_whole),
        TEST(test_whole_devices_that_end_in_a_number),
        TEST(test_facts_of_an_nvme_disk),
        TEST(test_the_capacity_of_a_4kn_disk),
        TEST(test_facts_of_a_hard_disk_are_trimmed),
        TEST(test_a_disk_that_does_not_rotate_is_an_ssd),
        TEST(test_a_virtual_disk_has_its_serial_beside_its_size),
        TEST(test_a_mapped_device_has_a_name_of_its_own),
        TEST(test_what_stands_on_other_disks),
        TEST(test_without_sys_only_the_name_tells),
        TEST(test_sizes_that_are_none),
        TEST(test_texts_that_are_none_or_garbage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "collect/drm_card.h"

#include "support.h"

#include "collect/drm_gauge.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DEVICE "sys/devices/pci0000:00/0000:00:01.0/0000:03:00.0"
#define NODE DEVICE "/drm/card0"

static const char *const wanted[] = {"amdgpu", "xe", NULL};

static bool parses(const char *text, struct drm_pci *ret_pci)
{
    return drm_pci_parse(scan_over(text, strlen(text)), ret_pci);
}

static void test_pci_addresses(void **state)
{
    struct drm_pci pci;

    (void)state;
    assert_true(parses("0000:03:00.0", &pci));
    assert_int_equal(pci.bus, 3);
    assert_true(parses("10000:E1:1f.7", &pci));
    assert_int_equal(pci.domain, 0x10000);
    assert_int_equal(pci.bus, 0xe1);
    assert_int_equal(pci.slot, 0x1f);
    assert_int_equal(pci.function, 7);
}

static void test_what_is_no_pci_address(void **state)
{
    static const char *const texts[] = {
        "",
        "0",
        "card0",
        "0000:03:00",
        "0000:03:00.",
        "000:03:0.0",
        "0000:3:00.0",
        "0000:03:00.00",
        " 0000:03:00.0",
        "0000:03:00.0\n",
        "simple.0",
        "0000-03-00.0",
        "0000:0g:00.0",
        "123456789:03:00.0",
        "0000:03:00.0/..",
    };
    struct drm_pci pci = {.bus = 77};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_false(parses(texts[i], &pci));
    assert_int_equal(pci.bus, 77);
}

/* --- finding --- */

static void lay_card(const char *node, const char *address, const char *driver)
{
    char path[256];
    char target[256];

    snprintf(path, sizeof path, "sys/class/drm/%s/device", node);
    snprintf(target, sizeof target, "../../../devices/%s", address);
    support_link(path, target);
    snprintf(path, sizeof path, "sys/devices/%s/driver", address);
    snprintf(target, sizeof target, "../../bus/pci/drivers/%s", driver);
    support_link(path, target);
}

static void test_only_cards_of_the_drivers_are_listed(void **state)
{
    struct drm_card_list list;

    (void)state;
    support_open_empty();
    drm_cards_list(support_root()->sys_fd, wanted, &list);
    assert_int_equal(list.count, 0);
    lay_card("card10", "0000:83:00.0", "amdgpu");
    lay_card("card2", "0000:03:00.0", "xe");
    lay_card("card3", "0000:04:00.0", "nouveau");
    lay_card("card4", "platform.0", "amdgpu");
    lay_card("card5-DP-1", "0000:05:00.0", "amdgpu");
    lay_card("card", "0000:06:00.0", "amdgpu");
    lay_card("renderD128", "0000:07:00.0", "amdgpu");
    lay_card("card99999999999999999", "0000:08:00.0", "amdgpu");
    lay_card("card6", "0000:09:00.0", "amdgpu-with-a-long-name");
    support_write("sys/class/drm/version", "drm\n");
    support_write("sys/class/drm/card7", "a file\n");
    support_link("sys/class/drm/card8", "nowhere");

    drm_cards_list(support_root()->sys_fd, wanted, &list);
    assert_int_equal(list.count, 2);
    assert_string_equal(list.ids[0].node, "card2");
    assert_string_equal(list.ids[0].driver, "xe");
    assert_string_equal(list.ids[0].pci_address, "0000:03:00.0");
    assert_string_equal(list.ids[1].node, "card10");
}

static void test_the_address_may_be_in_the_event(void **state)
{
    struct drm_card_list list;

    (void)state;
    support_open_empty();
    support_link("sys/class/drm/card0/device/driver", "../../../../bus/pci/drivers/amdgpu");
    drm_cards_list(support_root()->sys_fd, wanted, &list);
    assert_int_equal(list.count, 0);
    support_write("sys/class/drm/card0/device/uevent", "DRIVER=amdgpu\nPCI_SLOT_NAME=nonsense\n");
    drm_cards_list(support_root()->sys_fd, wanted, &list);
    assert_int_equal(list.count, 0);
    support_write("sys/class/drm/card0/device/uevent",
                  "DRIVER=amdgpu\nPCI_SLOT_NAME=0000:09:00.0\nMODALIAS=pci\n");
    drm_cards_list(support_root()->sys_fd, wanted, &list);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.ids[0].pci_address, "0000:09:00.0");
}

static void test_lists_are_compared_by_what_is_in_them(void **state)
{
    struct drm_card_list before;
    struct drm_card_list now;

    (void)state;
    support_open_empty();
    lay_card("card0", "0000:03:00.0", "amdgpu");
    drm_cards_list(support_root()->sys_fd, wanted, &before);
    memset(&now, 0xaa, sizeof now);
    drm_cards_list(support_root()->sys_fd, wanted, &now);
    assert_true(drm_cards_are_same(&before, &now));
    support_remove("sys/class/drm/card0");
    lay_card("card1", "0000:04:00.0", "amdgpu");
    drm_cards_list(support_root()->sys_fd, wanted, &now);
    assert_false(drm_cards_are_same(&before, &now));
    drm_cards_list(-1, wanted, &now);
    assert_int_equal(now.count, 0);
    assert_false(drm_cards_are_same(&before, &now));
}

/* --- one card --- */

static struct drm_card card;

static int close_card(void **state)
{
    drm_card_close(&card);
    return support_teardown(state);
}

static int no_card(void **state)
{
    (void)state;
    card = (struct drm_card){
        .card_fd = -1, .device_fd = -1, .hwmon_fd = -1, .link_fd = -1, .runtime_fd = -1};
    return 0;
}

static void lay_device(void)
{
    support_open_empty();
    support_link(NODE "/device", "../../../0000:03:00.0");
    support_link("sys/class/drm/card0", "../../../" NODE);
    support_link(DEVICE "/driver", "../../../../bus/pci/drivers/amdgpu");
}

static void open_card(void)
{
    struct drm_card_list list;

    drm_cards_list(support_root()->sys_fd, wanted, &list);
    assert_int_equal(list.count, 1);
    assert_int_equal(drm_card_open(&card, support_root()->sys_fd, &list.ids[0]), 0);
}

static void test_a_card_that_has_nothing(void **state)
{
    struct gpu_device device;

    (void)state;
    lay_device();
    open_card();
    assert_string_equal(card.render_node, "");
    assert_string_equal(card.pci_id, "");
    assert_int_equal(card.hwmon_fd, -1);
    assert_false(drm_card_is_gone(&card));
    assert_false(drm_card_is_suspended(&card));
    drm_card_read_link(&card, SECOND, &device);
    assert_absent(gpu_cell(&device, FIELD_GPU_PCIE_GENERATION)->number);
    assert_absent(gpu_cell(&device, FIELD_GPU_PCIE_WIDTH)->number);
}

static void test_a_card_that_left_cannot_be_opened(void **state)
{
    struct drm_card_id id = {.node = "card5"};

    (void)state;
    support_open_empty();
    assert_int_equal(drm_card_open(&card, support_root()->sys_fd, &id), -EBADF);
    support_write("sys/class/drm/card5/x", "");
    assert_int_equal(drm_card_open(&card, support_root()->sys_fd, &id), -ENOENT);
}

static void test_parts_of_a_card(void **state)
{
    (void)state;
    lay_device();
    support_write(DEVICE "/vendor", "0x1002\n");
    support_write(DEVICE "/device", "0x744c\n");
    support_write(DEVICE "/drm/renderD131/dev", "226:131\n");
    support_write(DEVICE "/power/runtime_status", "suspended\n");
    open_card();
    assert_string_equal(card.render_node, "renderD131");
    assert_string_equal(card.pci_id, "1002:744c");
    assert_true(drm_card_is_suspended(&card));
    support_write(DEVICE "/power/runtime_status", "suspending\n");
    assert_false(drm_card_is_suspended(&card));
    support_write(DEVICE "/power/runtime_status", "");
    assert_false(drm_card_is_suspended(&card));
    support_remove(NODE);
    assert_true(drm_card_is_gone(&card));
}

static void test_identifiers_that_are_none(void **state)
{
    static const char *const texts[] = {"",       "1002\n",   "0x\n",
                                        "0x12\n", "0xwxyz\n", "0x1002000000000000000000\n"};

    (void)state;
    lay_device();
    support_write(DEVICE "/device", "0x744c\n");
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        support_write(DEVICE "/vendor", texts[i]);
        open_card();
        assert_string_equal(card.pci_id, "");
        drm_card_close(&card);
    }
}

/* Tiles have sensors of their own. */
static void test_sensors_are_those_of_the_whole_card(void **state)
{
    char text[8];

    (void)state;
    lay_device();
    for (int i = 0; i < 6; i++) {
        char path[128];
        snprintf(path, sizeof path, DEVICE "/hwmon/hwmon%d/name", i);
        support_write(path, i == 3 ? "amdgpu\n" : "amdgpu_gt0\n");
        snprintf(path, sizeof path, DEVICE "/hwmon/hwmon%d/which", i);
        support_write(path, i == 3 ? "whole" : "part");
    }
    open_card();
    int fd = drm_attr_open(card.hwmon_fd, "which");
    assert_int_equal(drm_attr_read_text(fd, text, sizeof text), 5);
    close(fd);
    assert_string_equal(text, "whole");
}

static void test_sensors_without_a_name_are_taken(void **state)
{
    (void)state;
    lay_device();
    support_write(DEVICE "/hwmon/hwmon9/temp1_input", "1\n");
    open_card();
    assert_true(card.hwmon_fd >= 0);
}

/* --- the link --- */

static void read_link(const char *speed, const char *width, struct gpu_device *device)
{
    support_write(DEVICE "/current_link_speed", speed);
    support_write(DEVICE "/current_link_width", width);
    card.link.was_read = false;
    drm_card_read_link(&card, SECOND, device);
}

static void test_speeds_are_generations(void **state)
{
    static const char *const speeds[] = {"2.5 GT/s PCIe\n",  "5.0 GT/s PCIe\n",
                                         "8.0 GT/s PCIe\n",  "16.0 GT/s PCIe\n",
                                         "32.0 GT/s PCIe\n", "64.0 GT/s PCIe\n"};
    static const char *const odd[] = {"Unknown\n", "", "1.0 GT/s\n", "99999999999999999999\n",
                                      "-5 GT/s\n"};
    struct gpu_device device;

    (void)state;
    lay_device();
    open_card();
    for (size_t i = 0; i < sizeof speeds / sizeof speeds[0]; i++) {
        read_link(speeds[i], "16\n", &device);
        assert_number(gpu_cell(&device, FIELD_GPU_PCIE_GENERATION)->number, (double)(i + 1));
        assert_number(gpu_cell(&device, FIELD_GPU_PCIE_WIDTH)->number, 16);
    }
    read_link("8 GT/s\n", "1\n", &device);
    assert_number(gpu_cell(&device, FIELD_GPU_PCIE_GENERATION)->number, 3);
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        read_link(odd[i], i % 2 == 0 ? "0\n" : "255\n", &device);
        assert_absent(gpu_cell(&device, FIELD_GPU_PCIE_GENERATION)->number);
        assert_absent(gpu_cell(&device, FIELD_GPU_PCIE_WIDTH)->number);
    }
}

/* A root port of the card's vendor is the processor's and not a part of the card. */
static void test_a_root_port_is_not_a_part_of_the_card(void **state)
{
    struct gpu_device device;

    (void)state;
    lay_device();
    support_write(DEVICE "/vendor", "0x8086\n");
    support_write("sys/devices/pci0000:00/0000:00:01.0/vendor", "0x8086\n");
    support_write("sys/devices/pci0000:00/0000:00:01.0/class", "0x060400\n");
    support_write("sys/devices/pci0000:00/0000:00:01.0/current_link_width", "4\n");
    open_card();
    read_link("8.0 GT/s PCIe\n", "16\n", &device);
    assert_number(gpu_cell(&device, FIELD_GPU_PCIE_WIDTH)->number, 16);
}

/* --- attributes and gauges --- */

static void test_numbers_are_numbers_only(void **state)
{
    static const char *const odd[] = {"",
                                      "\n",
                                      "12 34\n",
                                      "12x\n",
                                      "-1\n",
                                      "0x1\n",
                                      "1.5\n",
                                      "18446744073709551616\n",
                                      "0000000000000000000000000000001\n"};
    uint64_t value = 77;

    (void)state;
    support_open_empty();
    support_write("sys/attribute", "18446744073709551615\n");
    int fd = drm_attr_open(support_root()->sys_fd, "attribute");
    assert_int_equal(drm_attr_read_u64(fd, &value), 0);
    assert_true(value == UINT64_MAX);
    support_write("sys/attribute", "5");
    assert_int_equal(drm_attr_read_u64(fd, &value), 0);
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        support_write("sys/attribute", odd[i]);
        assert_int_equal(drm_attr_read_u64(fd, &value), -EINVAL);
    }
    close(fd);
    assert_int_equal(value, 5);
    assert_int_equal(drm_attr_read_u64(-1, &value), -EBADF);
    fd = drm_attr_open(support_root()->sys_fd, ".");
    assert_int_equal(drm_attr_read_u64(fd, &value), -EISDIR);
    close(fd);
    assert_int_equal(drm_attr_open(support_root()->sys_fd, "missing"), -1);
}

static void test_the_first_name_that_can_be_read_counts(void **state)
{
    static const struct drm_gauge gauge = {
        FIELD_GPU_POWER, DRM_IN_DEVICE, 1e-6, 1000, {"first", "second"}};
    struct drm_gauge_fds fds;
    struct gpu_device device;
    const double *number = &gpu_cell(&device, FIELD_GPU_POWER)->number;

    (void)state;
    lay_device();
    support_write(DEVICE "/first", "1000000\n");
    support_write(DEVICE "/second", "2000000\n");
    open_card();
    drm_gauges_open(&card, &gauge, 1, &fds);
    drm_gauges_read(&gauge, &fds, 1, &device);
    assert_number(*number, 1);
    support_write(DEVICE "/first", "busy\n");
    drm_gauges_read(&gauge, &fds, 1, &device);
    assert_number(*number, 2);
    support_write(DEVICE "/second", "1000000001\n");
    drm_gauges_read(&gauge, &fds, 1, &device);
    assert_absent(*number);
    support_write(DEVICE "/second", "1000000000\n");
    drm_gauges_read(&gauge, &fds, 1, &device);
    assert_number(*number, 1000);
    drm_gauges_clear(&gauge, 1, &device);
    assert_absent(*number);
    drm_gauges_close(&fds, 1);
    drm_gauges_read(&gauge, &fds, 1, &device);
    assert_absent(*number);
}

#define CARD_TEST(function) cmocka_unit_test_setup_teardown(function, no_card, close_card)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CARD_TEST(test_pci_addresses),
        CARD_TEST(test_what_is_no_pci_address),
        CARD_TEST(test_only_cards_of_the_drivers_are_listed),
        CARD_TEST(test_the_address_may_be_in_the_event),
        CARD_TEST(test_lists_are_compared_by_what_is_in_them),
        CARD_TEST(test_a_card_that_has_nothing),
        CARD_TEST(test_a_card_that_left_cannot_be_opened),
        CARD_TEST(test_parts_of_a_card),
        CARD_TEST(test_identifiers_that_are_none),
        CARD_TEST(test_sensors_are_those_of_the_whole_card),
        CARD_TEST(test_sensors_without_a_name_are_taken),
        CARD_TEST(test_speeds_are_generations),
        CARD_TEST(test_a_root_port_is_not_a_part_of_the_card),
        CARD_TEST(test_numbers_are_numbers_only),
        CARD_TEST(test_the_first_name_that_can_be_read_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

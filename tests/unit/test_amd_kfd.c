#include "collect/amd_kfd.h"

#include "support.h"

#include <errno.h>
#include <stdio.h>

#define NODES "sys/class/kfd/kfd/topology/nodes"

static void lay_node(unsigned node, const char *id, const char *properties)
{
    char path[128];

    snprintf(path, sizeof path, NODES "/%u/gpu_id", node);
    support_write(path, id);
    snprintf(path, sizeof path, NODES "/%u/properties", node);
    support_write(path, properties);
}

static size_t find(const char *address, struct kfd_gpu *ret_gpu)
{
    kfd_find_gpu(support_root()->sys_fd, address, ret_gpu);
    return ret_gpu->count;
}

static void test_a_card_is_found_by_its_address(void **state)
{
    struct kfd_gpu gpu;

    (void)state;
    support_open_empty();
    assert_int_equal(find("0000:03:00.0", &gpu), 0);
    lay_node(0, "0\n", "cpu_cores_count 8\nlocation_id 768\n");
    lay_node(1, "111\n", "simd_count 96\nlocation_id 768\ndomain 0\n");
    lay_node(2, "222\n", "simd_count 96\nlocation_id 768\ndomain 1\n");
    lay_node(3, "333\n", "simd_count 96\nlocation_id 33536\n");
    assert_int_equal(find("0000:03:00.0", &gpu), 1);
    assert_int_equal(gpu.ids[0], 111);
    assert_int_equal(find("0001:03:00.0", &gpu), 1);
    assert_int_equal(gpu.ids[0], 222);
    assert_int_equal(find("0000:83:00.0", &gpu), 1);
    assert_int_equal(gpu.ids[0], 333);
    assert_int_equal(find("0000:03:01.0", &gpu), 0);
    assert_int_equal(find("nonsense", &gpu), 0);
}

/* Each part has its number where the function would be. */
static void test_parts_of_a_divided_card_belong_to_it(void **state)
{
    struct kfd_gpu gpu;
    char properties[64];
    char id[16];

    (void)state;
    support_open_empty();
    for (unsigned part = 0; part < 20; part++) {
        snprintf(properties, sizeof properties, "location_id %u\n", 0x300 + part % 8);
        snprintf(id, sizeof id, "%u\n", 100 + part);
        lay_node(part, id, properties);
    }
    assert_int_equal(find("0000:03:00.0", &gpu), KFD_PARTS_MAX);
    lay_node(0, "7\n", "location_id 768\n");
    support_write("sys/class/kfd/kfd/proc/5/vram_7", "1000\n");
    support_write("sys/class/kfd/kfd/proc/5/vram_8", "24\n");
    gpu = (struct kfd_gpu){.count = 3, .ids = {7, 8, 9}};
    assert_int_equal(kfd_vram_of(support_root()->sys_fd, &gpu, 5), 1024);
    assert_int_equal(kfd_vram_of(support_root()->sys_fd, &gpu, 6), 0);
    support_write("sys/class/kfd/kfd/proc/5/vram_8", "18446744073709551000\n");
    assert_int_equal(kfd_vram_of(support_root()->sys_fd, &gpu, 5), COUNTER_UNKNOWN);
}

static void test_nodes_that_are_garbage(void **state)
{
    struct kfd_gpu gpu;

    (void)state;
    support_open_empty();
    lay_node(0, "", "location_id 768\n");
    lay_node(1, "x\n", "location_id 768\n");
    lay_node(2, "5\n", "");
    lay_node(3, "5\n", "location_id\n");
    lay_node(4, "5\n", "location_id -768\n");
    lay_node(5, "5\n", "location_id 99999999999999999999\n");
    lay_node(6, "5\n", "location_idx 768\n");
    support_write(NODES "/7", "a file");
    support_write(NODES "/x/properties", "location_id 768\n");
    assert_int_equal(find("0000:03:00.0", &gpu), 0);
}

static void test_only_members_are_found(void **state)
{
    static const pid_t pids[] = {4, 5, 6};
    struct gpu_request request = {.pids = pids, .pid_count = 3};
    struct kfd_processes processes;
    int sys_fd;

    (void)state;
    support_open_empty();
    sys_fd = support_root()->sys_fd;
    assert_int_equal(kfd_find_processes(sys_fd, &request, &processes), -ENOENT);
    support_write("sys/class/kfd/kfd/proc/5/vram_7", "1000\n");
    support_write("sys/class/kfd/kfd/proc/55/vram_7", "1000\n");
    support_write("sys/class/kfd/kfd/proc/4294967301/vram_7", "1000\n");
    support_write("sys/class/kfd/kfd/proc/x/vram_7", "1000\n");
    assert_int_equal(kfd_find_processes(sys_fd, &request, &processes), 0);
    assert_int_equal(processes.count, 1);
    assert_int_equal(processes.pids[0], 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_card_is_found_by_its_address),
        TEST(test_parts_of_a_divided_card_belong_to_it),
        TEST(test_nodes_that_are_garbage),
        TEST(test_only_members_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

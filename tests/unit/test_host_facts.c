#include "support.h"

#include "discover/host_facts.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TAG "sys/class/dmi/id/board_asset_tag"
#define MACHINE_ID "proc/1/root/etc/machine-id"
#define ID "0123456789abcdef0123456789abcdef"

static struct host host;

/* A host of which the test alone says everything but the address. */
static void open_other_host(void)
{
    support_open_empty();
    support_root()->proc_is_foreign = true;
    host_reset(&host);
}

static void discover(void)
{
    host_reset(&host);
    host_discover(support_root(), &host);
}

static void test_a_whole_host(void **state)
{
    (void)state;
    open_other_host();
    support_write(TAG, "i-0abcdef1234567890\n");
    support_write("proc/sys/kernel/hostname", "worker-7\n");
    support_write("proc/cpuinfo", "processor : 0\nmodel name : Some CPU\n\n"
                                  "processor : 1\nmodel name : Some CPU\n");
    support_write("proc/meminfo", "MemTotal:       16315432 kB\nMemFree: 1 kB\n");
    support_write("sys/block/sda/size", "1953125000\n");
    discover();

    assert_string_equal(host.id, "i-0abcdef1234567890");
    assert_string_equal(host.name, "worker-7");
    assert_number(host.vcpus, 2);
    assert_string_equal(host.cpu_model, "Some CPU");
    assert_number(host.memory_mib, 15933);
    assert_number(host.storage_gb, 1000);
}

static void test_other_facts_are_left_alone(void **state)
{
    (void)state;
    open_other_host();
    snprintf(host.allocation, sizeof host.allocation, "shared");
    snprintf(host.gpu_model, sizeof host.gpu_model, "GPU");
    snprintf(host.cloud_vendor_id, sizeof host.cloud_vendor_id, "cloud");
    host.gpu_count = 3;
    host.gpu_vram_mib = 4;
    host_discover(support_root(), &host);
    assert_string_equal(host.allocation, "shared");
    assert_string_equal(host.gpu_model, "GPU");
    assert_string_equal(host.cloud_vendor_id, "cloud");
    assert_number(host.gpu_count, 3);
    assert_number(host.gpu_vram_mib, 4);
}

static void assert_nothing_but_the_address(void)
{
    assert_string_equal(host.id, "");
    assert_string_equal(host.name, "");
    assert_absent(host.vcpus);
    assert_string_equal(host.cpu_model, "");
    assert_absent(host.memory_mib);
    assert_absent(host.storage_gb);
}

static void test_an_empty_host_has_no_facts(void **state)
{
    struct sysroot nowhere = {.proc_fd = -1, .sys_fd = -1, .proc_is_foreign = true};

    (void)state;
    open_other_host();
    discover();
    assert_nothing_but_the_address();

    host_reset(&host);
    host_discover(&nowhere, &host);
    assert_nothing_but_the_address();
}

static void test_garbage_is_no_fact(void **state)
{
    static const char *const files[] = {
        "proc/cpuinfo", "proc/stat", "proc/meminfo", TAG, MACHINE_ID, "sys/block/sda/size",
    };
    char noise[3000];

    (void)state;
    open_other_host();
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (char)(i * 7919 >> 3);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        support_write_bytes(files[i], noise, sizeof noise);
    discover();
    host.storage_gb = NAN; /* 0: a list without a disk that has a size */
    assert_nothing_but_the_address();
}

static void test_what_was_known_stays_when_it_cannot_be_read(void **state)
{
    (void)state;
    open_other_host();
    snprintf(host.id, sizeof host.id, "id");
    snprintf(host.name, sizeof host.name, "name");
    snprintf(host.cpu_model, sizeof host.cpu_model, "model");
    host.vcpus = 1;
    host.memory_mib = 2;
    host.storage_gb = 3;
    host_discover(support_root(), &host);
    assert_string_equal(host.id, "id");
    assert_string_equal(host.name, "name");
    assert_string_equal(host.cpu_model, "model");
    assert_number(host.vcpus, 1);
    assert_number(host.memory_mib, 2);
    assert_number(host.storage_gb, 3);
}

/* --- id --- */

static void test_instance_ids(void **state)
{
    static const char *const good[] = {"i-01234567", "i-0123456789abcdef0", "i-ABCDEF01"};
    static const char *const bad[] = {
        "i-0123456",
        "i-0123456789abcdef01",
        "i-0123456g",
        "i-01234567 x",
        "I-01234567",
        "x-i-01234567",
        "i-",
        "Not Specified",
        "Default string",
        "",
    };

    (void)state;
    open_other_host();
    support_write(MACHINE_ID, ID "\n");
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        support_write(TAG, good[i]);
        discover();
        assert_string_equal(host.id, good[i]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        support_write(TAG, bad[i]);
        discover();
        assert_string_equal(host.id, ID);
    }
}

static void test_machine_ids_that_are_none(void **state)
{
    static const char *const bad[] = {
        "",
        "\n",
        "uninitialized\n",
        "0123456789abcdef0123456789abcde\n",
        ID "0\n",
        "0123456789abcdef0123456789abcdeg\n",
        "00000000000000000000000000000000\n",
        "01234567-89ab-cdef-0123-456789abcdef\n",
        ID " " ID "\n",
    };

    (void)state;
    open_other_host();
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        support_write(MACHINE_ID, bad[i]);
        discover();
        assert_string_equal(host.id, "");
    }
    support_write(MACHINE_ID, ID);
    discover();
    assert_string_equal(host.id, ID);
}

/* --- name --- */

static void test_the_name_of_another_host(void **state)
{
    (void)state;
    open_other_host();
    support_write("proc/sys/kernel/hostname", "in-a-container\n");
    support_write("proc/1/root/etc/hostname", "# set by the installer\n\n  the-host  \n");
    discover();
    assert_string_equal(host.name, "the-host");

    support_write("proc/1/root/etc/hostname", "# nothing\n");
    discover();
    assert_string_equal(host.name, "in-a-container");
}

static void test_names_that_are_none(void **state)
{
    char long_name[HOST_TEXT_MAX + 1];

    (void)state;
    open_other_host();
    support_write("proc/sys/kernel/hostname", "(none)\n");
    discover();
    assert_string_equal(host.name, "");

    memset(long_name, 'n', sizeof long_name);
    support_write_bytes("proc/sys/kernel/hostname", long_name, HOST_TEXT_MAX);
    discover();
    assert_string_equal(host.name, "");
    support_write_bytes("proc/sys/kernel/hostname", long_name, HOST_TEXT_MAX - 1);
    discover();
    assert_int_equal(strlen(host.name), HOST_TEXT_MAX - 1);
}

/* --- processors --- */

static void test_a_host_of_256_processors(void **state)
{
    (void)state;
    support_open("cores-256");
    support_root()->proc_is_foreign = true;
    support_write("proc/cpuinfo", "cpu : without a list\n");
    discover();
    assert_number(host.vcpus, 256);
    assert_string_equal(host.cpu_model, "without a list");
}

static void test_a_cpuinfo_of_2_mib(void **state)
{
    enum { PROCESSORS = 1024, ENTRY = 2048 };
    char *text = malloc((size_t)PROCESSORS * (ENTRY + 64));
    size_t size = 0;

    (void)state;
    assert_non_null(text);
    open_other_host();
    for (int i = 0; i < PROCESSORS; i++)
        size += (size_t)snprintf(text + size, ENTRY + 64,
                                 "processor\t: %d\nmodel name\t: M\nflags : %*d\n\n", i, ENTRY, 0);
    support_write_bytes("proc/cpuinfo", text, size);
    free(text);
    discover();
    assert_number(host.vcpus, PROCESSORS);
    assert_string_equal(host.cpu_model, "M");
}

static void test_a_cpuinfo_that_is_far_too_long(void **state)
{
    enum { SIZE = 17 * 1024 * 1024 };
    char *text = malloc(SIZE);
    static const char start[] = "processor : 0\nmodel name : M\n";

    (void)state;
    assert_non_null(text);
    open_other_host();
    memset(text, 'x', SIZE);
    memcpy(text, start, sizeof start - 1);
    support_write_bytes("proc/cpuinfo", text, SIZE);
    free(text);
    discover();
    assert_number(host.vcpus, 1);
    assert_string_equal(host.cpu_model, "M");
}

static void test_processors_counted_in_stat(void **state)
{
    (void)state;
    open_other_host();
    support_write("proc/stat", "cpu  1 2 3\ncpu0 1 2 3\ncpu1 1 2 3\ncpu10 1 2 3\nintr 1 2\ncpu");
    discover();
    assert_number(host.vcpus, 3);
    support_write("proc/stat", "cpu  1 2 3\ncpufreq 7\n");
    discover();
    assert_absent(host.vcpus);
}

/* --- memory --- */

static void test_memory_is_whole(void **state)
{
    static const struct {
        const char *text;
        double wanted;
    } cases[] = {
        {"MemTotal:  2047 kB\n", 1},
        {"MemTotal:  2048 kB\n", 2},
        {"HugeMemTotal: 4096 kB\nMemTotal:\t4096 kB\nMemTotal: 1 kB\n", 4},
        {"MemTotal: 0 kB\n", NAN},
        {"MemTotal: none\n", NAN},
        {"MemTotal: 99999999999999999999999 kB\n", NAN},
        {"MemTotal", NAN},
        {"MemFree: 4096 kB\n", NAN},
        {"", NAN},
    };

    (void)state;
    open_other_host();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        support_write("proc/meminfo", cases[i].text);
        discover();
        assert_number(host.memory_mib, cases[i].wanted);
    }
}

/* --- this machine --- */

static void test_this_machine(void **state)
{
    struct sysroot root;
    const char *culprit;
    char name[HOST_TEXT_MAX] = "";
    struct in_addr address;

    (void)state;
    host_reset(&host);
    assert_int_equal(sysroot_open(&root, NULL, NULL, &culprit), 0);
    host_discover(&root, &host);
    host_discover_address(&host);
    sysroot_close(&root);

    (void)gethostname(name, sizeof name - 1);
    assert_string_equal(host.name, name);
    assert_true(host.vcpus >= 1 && host.vcpus == (double)(uint64_t)host.vcpus);
    assert_true(host.memory_mib >= 1);
    assert_true(host.id[0] == '\0' || strlen(host.id) >= strlen("i-01234567"));
    assert_true(host.ip[0] == '\0' || inet_pton(AF_INET, host.ip, &address) == 1);
}

/* Whatever the rest of it is missing: the processors of our own machine can be asked for. */
static void test_this_machine_without_proc(void **state)
{
    struct sysroot nowhere = {.proc_fd = -1, .sys_fd = -1};

    (void)state;
    host_reset(&host);
    host_discover(&nowhere, &host);
    assert_true(host.vcpus >= 1);
    assert_absent(host.memory_mib);
    assert_absent(host.storage_gb);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_whole_host),
        TEST(test_other_facts_are_left_alone),
        TEST(test_an_empty_host_has_no_facts),
        TEST(test_garbage_is_no_fact),
        TEST(test_what_was_known_stays_when_it_cannot_be_read),
        TEST(test_instance_ids),
        TEST(test_machine_ids_that_are_none),
        TEST(test_the_name_of_another_host),
        TEST(test_names_that_are_none),
        TEST(test_a_host_of_256_processors),
        TEST(test_a_cpuinfo_of_2_mib),
        TEST(test_a_cpuinfo_that_is_far_too_long),
        TEST(test_processors_counted_in_stat),
        TEST(test_memory_is_whole),
        TEST(test_this_machine),
        TEST(test_this_machine_without_proc),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "support.h"

#include "discover/cpuinfo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Parsed from memory that ends where the text does. */
static struct cpuinfo parse_bytes(const char *text, size_t size)
{
    struct cpuinfo info;
    char *exact = malloc(size + 1);

    assert_non_null(exact);
    memcpy(exact + 1, text, size);
    memset(&info, 'x', sizeof info);
    cpuinfo_parse(scan_over(exact + 1, size), &info);
    free(exact);
    return info;
}

static void assert_cpuinfo(const char *text, uint64_t count, const char *model)
{
    struct cpuinfo info = parse_bytes(text, strlen(text));

    assert_int_equal(info.count, count);
    assert_string_equal(info.model, model);
}

/* --- architectures --- */

static void test_x86(void **state)
{
    (void)state;
    assert_cpuinfo("processor\t: 0\n"
                   "vendor_id\t: AuthenticAMD\n"
                   "cpu family\t: 25\n"
                   "model\t\t: 1\n"
                   "model name\t: AMD EPYC 7R13 Processor\n"
                   "cpu MHz\t\t: 2650.000\n"
                   "flags\t\t: fpu vme\n"
                   "power management:\n"
                   "\n"
                   "processor\t: 1\n"
                   "vendor_id\t: AuthenticAMD\n"
                   "model name\t: AMD EPYC 7R13 Processor\n"
                   "\n",
                   2, "AMD EPYC 7R13 Processor");
}

static void test_padded_names_are_tidied(void **state)
{
    (void)state;
    assert_cpuinfo("model name\t:       Intel(R) Xeon(R) CPU           E5-2670 0 @ 2.60GHz \t \n",
                   0, "Intel(R) Xeon(R) CPU E5-2670 0 @ 2.60GHz");
}

static void test_256_processors(void **state)
{
    enum { PROCESSORS = 256, LINE = 2048 };
    char *text = malloc((size_t)PROCESSORS * LINE);
    size_t size = 0;

    (void)state;
    assert_non_null(text);
    for (int i = 0; i < PROCESSORS; i++)
        size += (size_t)snprintf(text + size, LINE,
                                 "processor\t: %d\nmodel name\t: AMD EPYC 9754 128-Core Processor\n"
                                 "flags\t\t: %0900d\n\n",
                                 i, 0);
    struct cpuinfo info = parse_bytes(text, size);
    free(text);
    assert_int_equal(info.count, 256);
    assert_string_equal(info.model, "AMD EPYC 9754 128-Core Processor");
}

#define ARM_CPU(number, implementer, part)                                                         \
    "processor\t: " number "\nBogoMIPS\t: 243.75\nFeatures\t: fp asimd\n"                          \
    "CPU implementer\t: " implementer "\nCPU architecture: 8\nCPU variant\t: 0x3\n"                \
    "CPU part\t: " part "\nCPU revision\t: 1\n\n"

static void test_arm(void **state)
{
    (void)state;
    assert_cpuinfo(ARM_CPU("0", "0x41", "0xd0c") ARM_CPU("1", "0x41", "0xd0c"), 2,
                   "Arm Neoverse N1");
    assert_cpuinfo(ARM_CPU("0", "0x41", "0xD4F"), 1, "Arm Neoverse V2");
    assert_cpuinfo(ARM_CPU("0", "0x41", "0xdff"), 1, "ARM implementer 0x41 part 0xdff");
}

static void test_kinds_of_cores_are_joined_in_order(void **state)
{
    (void)state;
    assert_cpuinfo(ARM_CPU("0", "0x41", "0xd05") ARM_CPU("1", "0x41", "0xd05")
                       ARM_CPU("2", "0x41", "0xd0b") ARM_CPU("3", "0x41", "0xd44")
                           ARM_CPU("4", "0x41", "0xd05"),
                   5, "Arm Cortex-A55 + Arm Cortex-A76 + Arm Cortex-X1");
    /* Both kinds of core have the name of the chip. */
    assert_cpuinfo(ARM_CPU("0", "0x61", "0x022") ARM_CPU("1", "0x61", "0x023"), 2, "Apple M1");
    assert_cpuinfo(ARM_CPU("0", "0x51", "0x805") ARM_CPU("1", "0x41", "0xd0d"), 2,
                   "Qualcomm Kryo 4xx Silver + Arm Cortex-A77");
}

static void test_kinds_that_do_not_fit_are_left_out(void **state)
{
    (void)state;
    assert_cpuinfo(
        ARM_CPU("0", "0xffffff01", "0xfffffff1") ARM_CPU("1", "0xffffff02", "0xfffffff2")
            ARM_CPU("2", "0xffffff03", "0xfffffff3") ARM_CPU("3", "0x41", "0xd03"),
        4,
        "ARM implementer 0xffffff01 part 0xfffffff1 + ARM implementer 0xffffff02 part 0xfffffff2");
}

static void test_more_kinds_than_any_machine_has(void **state)
{
    char text[4096];
    size_t size = 0;

    (void)state;
    for (int i = 0; i < 40; i++)
        size += (size_t)snprintf(text + size, sizeof text - size,
                                 "CPU implementer : 0x1\nCPU part : 0x%03x\n", i);
    struct cpuinfo info = parse_bytes(text, size);
    assert_string_equal(info.model, "ARM implementer 0x01 part 0x000 + ARM implementer 0x01 part "
                                    "0x001 + ARM implementer 0x01 part 0x002");
}

static void test_older_arm_kernels_name_the_core_once(void **state)
{
    (void)state;
    assert_cpuinfo("Processor\t: AArch64 Processor rev 2 (aarch64)\n"
                   "processor\t: 0\nprocessor\t: 1\nprocessor\t: 2\n"
                   "CPU implementer\t: 0x51\nCPU part\t: 0x211\n\nHardware\t: Qualcomm MSM8996\n",
                   3, "Qualcomm Kryo");
}

static void test_a_board_is_not_a_cpu(void **state)
{
    (void)state;
    assert_cpuinfo("processor\t: 0\nmodel name\t: ARMv7 Processor rev 4 (v7l)\n"
                   "CPU implementer\t: 0x41\nCPU part\t: 0xd03\n\n"
                   "Hardware\t: BCM2835\nModel\t\t: Raspberry Pi 3 Model B Rev 1.2\n",
                   1, "Arm Cortex-A53");
    assert_cpuinfo("processor\t: 0\nHardware\t: BCM2835\nModel\t: Raspberry Pi 3\n", 1, "");
}

static void test_other_architectures(void **state)
{
    (void)state;
    assert_cpuinfo("processor\t: 0\ncpu\t\t: POWER9 (architected), altivec supported\n"
                   "clock\t\t: 2800MHz\n\nplatform\t: pSeries\nmodel\t\t: IBM,9009-22A\n",
                   1, "POWER9 (architected), altivec supported");
    assert_cpuinfo("vendor_id       : IBM/S390\n# processors    : 2\nbogomips per cpu: 24038.00\n"
                   "processor 0: version = 00,  identification = 0133E8,  machine = 8561\n"
                   "processor 1: version = 00,  identification = 0133E8,  machine = 8561\n\n"
                   "cpu number      : 0\ncpu MHz dynamic : 5200\n\ncpu number      : 1\n",
                   2, "IBM/S390");
    assert_cpuinfo("processor\t: 0\nhart\t\t: 1\nisa\t\t: rv64imafdc\nmmu\t\t: sv39\n"
                   "uarch\t\t: sifive,u74-mc\n",
                   1, "sifive,u74-mc");
    assert_cpuinfo("processor\t: 0\nisa\t\t: rv64imafdc\n", 1, "rv64imafdc");
    assert_cpuinfo("processor\t\t: 0\ncpu model\t\t: MIPS 74Kc V5.0\n", 1, "MIPS 74Kc V5.0");
    assert_cpuinfo("processor\t\t: 0\nModel Name\t\t: Loongson-3A5000\n", 1, "Loongson-3A5000");
    assert_cpuinfo("cpu\t\t: UltraSparc T5\nncpus active\t: 8\n", 0, "UltraSparc T5");
}

/* --- what is no cpuinfo --- */

static void test_nothing(void **state)
{
    (void)state;
    assert_cpuinfo("", 0, "");
    assert_cpuinfo("\n\n\n", 0, "");
    assert_cpuinfo(":::\n:\n", 0, "");
    assert_cpuinfo("processor", 0, "");
    assert_cpuinfo("processors : 4\nprocessor x: 1\nprocessor 1 2: 3\n", 0, "");
    assert_cpuinfo("model name\t:\n", 0, "");
    assert_cpuinfo("model name\t:   \t \nmodel name : later\n", 0, "later");
}

static void test_parts_that_are_none(void **state)
{
    static const char *const texts[] = {
        "CPU part : 0xd0c\n",
        "CPU implementer : \nCPU part : 0xd0c\n",
        "CPU implementer : 41\nCPU part : 0xd0c\n",
        "CPU implementer : 0x\nCPU part : 0xd0c\n",
        "CPU implementer : 0x41\nCPU part : 0x\n",
        "CPU implementer : 0x41\nCPU part : 0xd0g\n",
        "CPU implementer : 0x41\nCPU part : 0x123456789\n",
        "CPU implementer : 0x41 0x42\nCPU part : 0xd0c\n",
        "CPU implementer : 0x41\nCPU implementer : ?\nCPU part : 0xd0c\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_cpuinfo(texts[i], 0, "");
}

static void test_what_is_not_printable_is_a_blank(void **state)
{
    static const char text[] = "model name : \001A\0B\033[31mC\xff\xfe\r\n";
    struct cpuinfo info = parse_bytes(text, sizeof text - 1);

    (void)state;
    assert_string_equal(info.model, "A B [31mC");
    assert_cpuinfo("model name : \001\002\r\ncpu : real\n", 0, "real");
}

static void test_a_long_name_is_cut(void **state)
{
    char text[4096] = "model name : ";
    size_t start = strlen(text);

    (void)state;
    memset(text + start, 'm', sizeof text - start);
    struct cpuinfo info = parse_bytes(text, sizeof text);
    assert_int_equal(strlen(info.model), CPUINFO_MODEL_MAX - 1);
    /* The blank before the byte that does not fit goes with it. */
    text[start + CPUINFO_MODEL_MAX - 2] = ' ';
    info = parse_bytes(text, sizeof text);
    assert_int_equal(strlen(info.model), CPUINFO_MODEL_MAX - 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_x86),
        cmocka_unit_test(test_padded_names_are_tidied),
        cmocka_unit_test(test_256_processors),
        cmocka_unit_test(test_arm),
        cmocka_unit_test(test_kinds_of_cores_are_joined_in_order),
        cmocka_unit_test(test_kinds_that_do_not_fit_are_left_out),
        cmocka_unit_test(test_more_kinds_than_any_machine_has),
        cmocka_unit_test(test_older_arm_kernels_name_the_core_once),
        cmocka_unit_test(test_a_board_is_not_a_cpu),
        cmocka_unit_test(test_other_architectures),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_parts_that_are_none),
        cmocka_unit_test(test_what_is_not_printable_is_a_blank),
        cmocka_unit_test(test_a_long_name_is_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

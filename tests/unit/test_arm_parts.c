#include "support.h"

#include "discover/arm_parts.h"

#include <string.h>

static void assert_name(uint32_t implementer, uint32_t part, const char *wanted)
{
    char name[ARM_PART_NAME_MAX];

    memset(name, 'x', sizeof name);
    arm_part_name(implementer, part, name, sizeof name);
    assert_string_equal(name, wanted);
}

static void test_the_cores_of_servers(void **state)
{
    (void)state;
    assert_name(0x41, 0xd08, "Arm Cortex-A72");
    assert_name(0x41, 0xd0c, "Arm Neoverse N1");
    assert_name(0x41, 0xd40, "Arm Neoverse V1");
    assert_name(0x41, 0xd49, "Arm Neoverse N2");
    assert_name(0x41, 0xd4a, "Arm Neoverse E1");
    assert_name(0x41, 0xd4f, "Arm Neoverse V2");
    assert_name(0x41, 0xd84, "Arm Neoverse V3");
    assert_name(0x41, 0xd8e, "Arm Neoverse N3");
    assert_name(0xc0, 0xac3, "Ampere-1");
    assert_name(0xc0, 0xac4, "Ampere-1A");
    assert_name(0x43, 0x0a1, "Cavium ThunderX 88XX");
    assert_name(0x43, 0x0af, "Marvell ThunderX2");
    assert_name(0x46, 0x001, "Fujitsu A64FX");
    assert_name(0x48, 0xd01, "HiSilicon TSV110");
    assert_name(0x6d, 0xd49, "Microsoft Azure Cobalt 100");
    assert_name(0x70, 0x663, "Phytium FTC663");
    assert_name(0x51, 0xc00, "Qualcomm Falkor");
}

static void test_the_cores_of_boards_and_laptops(void **state)
{
    (void)state;
    assert_name(0x41, 0xd03, "Arm Cortex-A53");
    assert_name(0x41, 0xd07, "Arm Cortex-A57");
    assert_name(0x41, 0xd09, "Arm Cortex-A73");
    assert_name(0x41, 0xd0a, "Arm Cortex-A75");
    assert_name(0x41, 0xd0b, "Arm Cortex-A76");
    assert_name(0x41, 0xd0d, "Arm Cortex-A77");
    assert_name(0x41, 0xd41, "Arm Cortex-A78");
    assert_name(0x41, 0xd44, "Arm Cortex-X1");
    assert_name(0x41, 0xd47, "Arm Cortex-A710");
    assert_name(0x41, 0xd48, "Arm Cortex-X2");
    assert_name(0x41, 0xd4d, "Arm Cortex-A715");
    assert_name(0x41, 0xd4e, "Arm Cortex-X3");
    assert_name(0x41, 0xd81, "Arm Cortex-A720");
    assert_name(0x41, 0xd82, "Arm Cortex-X4");
    assert_name(0x61, 0x022, "Apple M1");
    assert_name(0x61, 0x023, "Apple M1");
    assert_name(0x61, 0x039, "Apple M2 Max");
    assert_name(0x4e, 0x004, "Nvidia Carmel");
    assert_name(0x51, 0x001, "Qualcomm Oryon");
    assert_name(0x51, 0x804, "Qualcomm Kryo 4xx Gold");
}

static void test_one_number_means_another_core_elsewhere(void **state)
{
    (void)state;
    assert_name(0x53, 0x001, "Samsung Exynos M1");
    assert_name(0x48, 0xd40, "HiSilicon Cortex-A76");
    assert_name(0x50, 0x000, "APM X-Gene");
    assert_name(0x4e, 0x000, "Nvidia Denver");
}

static void test_unknown_cores_show_their_numbers(void **state)
{
    (void)state;
    assert_name(0x41, 0xfff, "ARM implementer 0x41 part 0xfff");
    assert_name(0x41, 0x001, "ARM implementer 0x41 part 0x001");
    assert_name(0x00, 0x000, "ARM implementer 0x00 part 0x000");
    assert_name(UINT32_MAX, UINT32_MAX, "ARM implementer 0xffffffff part 0xffffffff");
    /* Not the same after being cut to the bits that the table has. */
    assert_name(0x10041, 0xd0c, "ARM implementer 0x10041 part 0xd0c");
    assert_name(0x41, 0x10d0c, "ARM implementer 0x41 part 0x10d0c");
}

static void test_a_name_is_cut_to_its_room(void **state)
{
    char name[8] = "xxxxxxx";

    (void)state;
    arm_part_name(0x41, 0xd0c, name, sizeof name);
    assert_string_equal(name, "Arm Neo");
    arm_part_name(0x41, 0xfff, name, sizeof name);
    assert_string_equal(name, "ARM imp");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_cores_of_servers),
        cmocka_unit_test(test_the_cores_of_boards_and_laptops),
        cmocka_unit_test(test_one_number_means_another_core_elsewhere),
        cmocka_unit_test(test_unknown_cores_show_their_numbers),
        cmocka_unit_test(test_a_name_is_cut_to_its_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

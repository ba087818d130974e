#include "discover/arm_parts.h"

#include <stdio.h>

struct arm_part {
    uint16_t implementer;
    uint16_t part;
    const char *name;
};

/*
 * From the reference manuals of the cores and the kernel's arch/arm64/include/asm/cputype.h. The
 * small and big cores of an Apple chip have one name, that of the chip. Who licenses Arm's cores as
 * they are keeps Arm's numbers: a Graviton, Grace or Axion is a Neoverse here.
 */
static const struct arm_part parts[] = {
    {0x41, 0xb76, "Arm ARM1176"},
    {0x41, 0xc05, "Arm Cortex-A5"},
    {0x41, 0xc07, "Arm Cortex-A7"},
    {0x41, 0xc08, "Arm Cortex-A8"},
    {0x41, 0xc09, "Arm Cortex-A9"},
    {0x41, 0xc0d, "Arm Cortex-A12"},
    {0x41, 0xc0e, "Arm Cortex-A17"},
    {0x41, 0xc0f, "Arm Cortex-A15"},
    {0x41, 0xd01, "Arm Cortex-A32"},
    {0x41, 0xd02, "Arm Cortex-A34"},
    {0x41, 0xd03, "Arm Cortex-A53"},
    {0x41, 0xd04, "Arm Cortex-A35"},
    {0x41, 0xd05, "Arm Cortex-A55"},
    {0x41, 0xd06, "Arm Cortex-A65"},
    {0x41, 0xd07, "Arm Cortex-A57"},
    {0x41, 0xd08, "Arm Cortex-A72"},
    {0x41, 0xd09, "Arm Cortex-A73"},
    {0x41, 0xd0a, "Arm Cortex-A75"},
    {0x41, 0xd0b, "Arm Cortex-A76"},
    {0x41, 0xd0c, "Arm Neoverse N1"},
    {0x41, 0xd0d, "Arm Cortex-A77"},
    {0x41, 0xd0e, "Arm Cortex-A76AE"},
    {0x41, 0xd40, "Arm Neoverse V1"},
    {0x41, 0xd41, "Arm Cortex-A78"},
    {0x41, 0xd42, "Arm Cortex-A78AE"},
    {0x41, 0xd43, "Arm Cortex-A65AE"},
    {0x41, 0xd44, "Arm Cortex-X1"},
    {0x41, 0xd46, "Arm Cortex-A510"},
    {0x41, 0xd47, "Arm Cortex-A710"},
    {0x41, 0xd48, "Arm Cortex-X2"},
    {0x41, 0xd49, "Arm Neoverse N2"},
    {0x41, 0xd4a, "Arm Neoverse E1"},
    {0x41, 0xd4b, "Arm Cortex-A78C"},
    {0x41, 0xd4c, "Arm Cortex-X1C"},
    {0x41, 0xd4d, "Arm Cortex-A715"},
    {0x41, 0xd4e, "Arm Cortex-X3"},
    {0x41, 0xd4f, "Arm Neoverse V2"},
    {0x41, 0xd80, "Arm Cortex-A520"},
    {0x41, 0xd81, "Arm Cortex-A720"},
    {0x41, 0xd82, "Arm Cortex-X4"},
    {0x41, 0xd83, "Arm Neoverse V3AE"},
    {0x41, 0xd84, "Arm Neoverse V3"},
    {0x41, 0xd85, "Arm Cortex-X925"},
    {0x41, 0xd87, "Arm Cortex-A725"},
    {0x41, 0xd88, "Arm Cortex-A520AE"},
    {0x41, 0xd89, "Arm Cortex-A720AE"},
    {0x41, 0xd8a, "Arm C1-Nano"},
    {0x41, 0xd8b, "Arm C1-Pro"},
    {0x41, 0xd8c, "Arm C1-Ultra"},
    {0x41, 0xd8e, "Arm Neoverse N3"},
    {0x41, 0xd8f, "Arm Cortex-A320"},
    {0x41, 0xd90, "Arm C1-Premium"},

    {0x42, 0x100, "Broadcom Brahma-B53"},
    {0x42, 0x516, "Broadcom Vulcan"}, /* later sold as ThunderX2 */

    {0x43, 0x0a0, "Cavium ThunderX"},
    {0x43, 0x0a1, "Cavium ThunderX 88XX"},
    {0x43, 0x0a2, "Cavium ThunderX 81XX"},
    {0x43, 0x0a3, "Cavium ThunderX 83XX"},
    {0x43, 0x0af, "Marvell ThunderX2"},
    {0x43, 0x0b0, "Marvell OcteonTX2"},
    {0x43, 0x0b1, "Marvell OcteonTX2 98XX"},
    {0x43, 0x0b2, "Marvell OcteonTX2 96XX"},
    {0x43, 0x0b3, "Marvell OcteonTX2 95XX"},
    {0x43, 0x0b4, "Marvell OcteonTX2 95XXN"},
    {0x43, 0x0b5, "Marvell OcteonTX2 95XXMM"},
    {0x43, 0x0b6, "Marvell OcteonTX2 95XXO"},
    {0x43, 0x0b8, "Marvell ThunderX3"},

    {0x46, 0x001, "Fujitsu A64FX"},
    {0x46, 0x003, "Fujitsu MONAKA"},

    {0x48, 0xd01, "HiSilicon TSV110"},
    {0x48, 0xd02, "HiSilicon HIP09"},
    {0x48, 0xd40, "HiSilicon Cortex-A76"},

    {0x4e, 0x000, "Nvidia Denver"},
    {0x4e, 0x003, "Nvidia Denver 2"},
    {0x4e, 0x004, "Nvidia Carmel"},
    {0x4e, 0x010, "Nvidia Olympus"},

    {0x50, 0x000, "APM X-Gene"},

    {0x51, 0x001, "Qualcomm Oryon"},
    {0x51, 0x04d, "Qualcomm Krait"},
    {0x51, 0x06f, "Qualcomm Krait"},
    {0x51, 0x201, "Qualcomm Kryo"},
    {0x51, 0x205, "Qualcomm Kryo"},
    {0x51, 0x211, "Qualcomm Kryo"},
    {0x51, 0x800, "Qualcomm Kryo 2xx Gold"}, /* and the first Falkor, which few have seen */
    {0x51, 0x801, "Qualcomm Kryo 2xx Silver"},
    {0x51, 0x802, "Qualcomm Kryo 3xx Gold"},
    {0x51, 0x803, "Qualcomm Kryo 3xx Silver"},
    {0x51, 0x804, "Qualcomm Kryo 4xx Gold"},
    {0x51, 0x805, "Qualcomm Kryo 4xx Silver"},
    {0x51, 0xc00, "Qualcomm Falkor"},
    {0x51, 0xc01, "Qualcomm Saphira"},

    {0x53, 0x001, "Samsung Exynos M1"},
    {0x53, 0x002, "Samsung Exynos M3"},
    {0x53, 0x003, "Samsung Exynos M4"},
    {0x53, 0x004, "Samsung Exynos M5"},

    {0x61, 0x022, "Apple M1"},
    {0x61, 0x023, "Apple M1"},
    {0x61, 0x024, "Apple M1 Pro"},
    {0x61, 0x025, "Apple M1 Pro"},
    {0x61, 0x028, "Apple M1 Max"},
    {0x61, 0x029, "Apple M1 Max"},
    {0x61, 0x032, "Apple M2"},
    {0x61, 0x033, "Apple M2"},
    {0x61, 0x034, "Apple M2 Pro"},
    {0x61, 0x035, "Apple M2 Pro"},
    {0x61, 0x038, "Apple M2 Max"},
    {0x61, 0x039, "Apple M2 Max"},

    {0x6d, 0xd49, "Microsoft Azure Cobalt 100"}, /* a Neoverse N2 */

    {0x70, 0x303, "Phytium FTC310"},
    {0x70, 0x660, "Phytium FTC660"},
    {0x70, 0x661, "Phytium FTC661"},
    {0x70, 0x662, "Phytium FTC662"},
    {0x70, 0x663, "Phytium FTC663"},
    {0x70, 0x664, "Phytium FTC664"},
    {0x70, 0x862, "Phytium FTC862"},

    {0xc0, 0xac3, "Ampere-1"},
    {0xc0, 0xac4, "Ampere-1A"},
    {0xc0, 0xac5, "Ampere-1B"},
};

void arm_part_name(uint32_t implementer, uint32_t part, char *out, size_t size)
{
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (parts[i].implementer == implementer && parts[i].part == part) {
            snprintf(out, size, "%s", parts[i].name);
            return;
        }
    snprintf(out, size, "ARM implementer 0x%02x part 0x%03x", implementer, part);
}

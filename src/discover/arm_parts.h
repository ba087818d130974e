/*
 * Names of ARM cores. /proc/cpuinfo of an ARM machine names no model, only two numbers from the
 * register MIDR: who designed the core and which of that designer's cores it is.
 */
#ifndef DISCOVER_ARM_PARTS_H
#define DISCOVER_ARM_PARTS_H

#include <stddef.h>
#include <stdint.h>

#define ARM_PART_NAME_MAX 64

/*
 * "Arm Neoverse N1"; of a core that is not in the table "ARM implementer 0x41 part 0xfff". Cut to
 * size - 1 bytes.
 */
void arm_part_name(uint32_t implementer, uint32_t part, char *out, size_t size);

#endif

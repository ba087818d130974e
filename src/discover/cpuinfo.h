/*
 * What /proc/cpuinfo says of the processors. Its keys differ by architecture, so those of all are
 * known here, whatever we run on. Pure.
 */
#ifndef DISCOVER_CPUINFO_H
#define DISCOVER_CPUINFO_H

#include "base/scan.h"

#define CPUINFO_MODEL_MAX 128

struct cpuinfo {
    uint64_t count;                /* logical CPUs; 0: it does not list them */
    char model[CPUINFO_MODEL_MAX]; /* "" when there is none; printable, single blanks */
};

void cpuinfo_parse(struct scan text, struct cpuinfo *ret_info);

#endif

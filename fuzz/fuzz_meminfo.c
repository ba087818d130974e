/*
 * The memory collector: /proc/meminfo at two moments.
 */
#include "support.h"

static const char *const folders[] = {"proc", NULL};
static struct fuzz_part moments[2];

static void lay(const struct sysroot *root, int moment)
{
    fuzz_write(root, "meminfo", moments[moment]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_part rest = {(const char *)data, size};

    moments[0] = fuzz_next_part(&rest);
    moments[1] = rest;
    fuzz_collector(&memory_collector, fuzz_root(folders), lay);
    return 0;
}

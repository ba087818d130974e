/*
 * The CPU collector: /proc/stat at two moments, then /proc/loadavg, separated by form feeds.
 */
#include "support.h"

static const char *const folders[] = {"proc", "proc/1", "proc/2", NULL};
static struct fuzz_part moments[2];
static struct fuzz_part loadavg;

static void lay(const struct sysroot *root, int moment)
{
    fuzz_write(root, "stat", moments[moment]);
    fuzz_write(root, "loadavg", loadavg);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_part rest = {(const char *)data, size};

    moments[0] = fuzz_next_part(&rest);
    moments[1] = fuzz_next_part(&rest);
    loadavg = rest;
    fuzz_collector(&cpu_collector, fuzz_root(folders), lay);
    return 0;
}

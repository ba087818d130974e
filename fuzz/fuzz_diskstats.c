/*
 * The disk collector: /proc/diskstats and the mount table at two moments, four parts in this order.
 */
#include "support.h"

static const char *const folders[] = {"proc", "proc/self", NULL};
static struct fuzz_part diskstats[2];
static struct fuzz_part mountinfo[2];

static void lay(const struct sysroot *root, int moment)
{
    fuzz_write(root, "diskstats", diskstats[moment]);
    fuzz_write(root, "self/mountinfo", mountinfo[moment]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_part rest = {(const char *)data, size};

    diskstats[0] = fuzz_next_part(&rest);
    mountinfo[0] = fuzz_next_part(&rest);
    diskstats[1] = fuzz_next_part(&rest);
    mountinfo[1] = rest;
    fuzz_collector(&disk_collector, fuzz_root(folders), lay);
    return 0;
}

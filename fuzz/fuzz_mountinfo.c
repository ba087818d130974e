/*
 * The mount table at two moments: texts stay inside the table, and every file system is there once.
 */
#include "collect/mounts.h"
#include "support.h"

static const char *const folders[] = {"proc", "proc/self", NULL};

static void check(const struct mounts *mounts)
{
    for (size_t i = 0; i < mounts->count; i++) {
        const struct mount *mount = &mounts->list[i];
        const size_t offsets[] = {mount->root, mount->mount_point, mount->filesystem,
                                  mount->source};
        for (size_t n = 0; n < 4; n++) {
            FUZZ_CHECK(offsets[n] < mounts->texts.size);
            FUZZ_CHECK(memchr(mounts->texts.data + offsets[n], '\0',
                              mounts->texts.size - offsets[n]) != NULL);
        }
        const char *type = mounts_text(mounts, mount->filesystem);
        FUZZ_CHECK(strcmp(type, "zfs") == 0 || strncmp(type, "fuse", 4) != 0);
        for (size_t other = i + 1; other < mounts->count; other++)
            FUZZ_CHECK(mounts->list[other].major != mount->major ||
                       mounts->list[other].minor != mount->minor);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct sysroot *root = fuzz_root(folders);
    struct fuzz_part rest = {(const char *)data, size};
    struct fuzz_part first = fuzz_next_part(&rest);
    struct mounts mounts;

    fuzz_write(root, "self/mountinfo", first);
    FUZZ_CHECK(mounts_open(&mounts, root) == 0);
    FUZZ_CHECK(mounts_read(&mounts));
    check(&mounts);
    size_t count = mounts.count;
    FUZZ_CHECK(!mounts_read(&mounts)); /* nothing has changed */
    FUZZ_CHECK(mounts.count == count);

    fuzz_write(root, "self/mountinfo", rest);
    bool same = rest.size == first.size && memcmp(rest.data, first.data, first.size) == 0;
    FUZZ_CHECK(mounts_read(&mounts) == !same);
    check(&mounts);
    mounts_close(&mounts);
    return 0;
}

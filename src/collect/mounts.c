#include "collect/mounts.h"

#include "base/array.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

/* A line has about 150 bytes; a host with thousands of containers has tens of thousands of them. */
#define MOUNTINFO_INITIAL (8 * 1024)
#define MOUNTINFO_MAX (16 * 1024 * 1024)
#define TEXTS_INITIAL (4 * 1024)
#define TEXTS_MAX (16 * 1024 * 1024)

/* The parts of a mountinfo line that we use. */
struct line_parts {
    uint64_t major;
    uint64_t minor;
    struct scan root;
    struct scan mount_point;
    struct scan filesystem;
    struct scan source;
};

int mounts_open(struct mounts *mounts, const struct sysroot *root)
{
    *mounts = (struct mounts){.mountinfo.fd = -1, .poll_tells = root->proc_is_procfs};

    int error = buf_init(&mounts->texts, TEXTS_INITIAL, TEXTS_MAX);
    if (error < 0)
        return error;
    return file_open(&mounts->mountinfo, root->proc_fd, "self/mountinfo", MOUNTINFO_INITIAL,
                     MOUNTINFO_MAX);
}

void mounts_close(struct mounts *mounts)
{
    file_close(&mounts->mountinfo);
    buf_free(&mounts->texts);
    free(mounts->list);
    mounts->list = NULL;
}

/* "36 35 98:0 /root /mount/point opts [optional…] - type source super-opts" */
static bool parse_line(struct scan line, struct line_parts *ret_parts)
{
    struct line_parts parts;
    struct scan word;

    if (!scan_skip_words(&line, 2) || !scan_u64(&line, &parts.major) || !scan_char(&line, ':') ||
        !scan_u64(&line, &parts.minor) || !scan_word(&line, &parts.root) ||
        !scan_word(&line, &parts.mount_point))
        return false;
    do {
        if (!scan_word(&line, &word))
            return false;
    } while (!scan_equals(&word, "-"));
    if (!scan_word(&line, &parts.filesystem) || !scan_word(&line, &parts.source))
        return false;
    if (parts.major > UINT32_MAX || parts.minor > UINT32_MAX)
        return false;
    *ret_parts = parts;
    return true;
}

static bool is_wanted(const struct line_parts *parts)
{
    if (scan_equals(&parts->filesystem, "zfs"))
        return true;
    return scan_starts_with(&parts->source, "/dev/") &&
           !scan_starts_with(&parts->filesystem, "fuse") &&
           !scan_equals(&parts->filesystem, "devtmpfs");
}

static bool is_octal(char c)
{
    return c >= '0' && c <= '7';
}

/* Copies a text, turning "\040" and its like back into bytes; returns where it begins. */
static size_t keep_text(struct buf *texts, const struct scan *text)
{
    size_t begin = texts->size;

    for (const char *at = text->at; at < text->end; at++) {
        if (*at == '\\' && text->end - at > 3 && is_octal(at[1]) && is_octal(at[2]) &&
            is_octal(at[3])) {
            int byte = (at[1] - '0') * 64 + (at[2] - '0') * 8 + (at[3] - '0');
            buf_char(texts, (char)byte);
            at += 3;
        } else {
            buf_char(texts, *at);
        }
    }
    buf_char(texts, '\0');
    return begin;
}

/* ZFS gives each dataset a device number of its own; for the others it names the file system. */
static bool same_filesystem(const struct mount *a, const struct mount *b)
{
    return a->major == b->major && a->minor == b->minor;
}

/* A mount of the whole file system tells more than one of a part, and a short path than a long one.
 */
static bool is_better(const struct mounts *mounts, const struct mount *a, const struct mount *b)
{
    bool a_whole = strcmp(mounts_text(mounts, a->root), "/") == 0;
    bool b_whole = strcmp(mounts_text(mounts, b->root), "/") == 0;

    if (a_whole != b_whole)
        return a_whole;
    return strlen(mounts_text(mounts, a->mount_point)) <
           strlen(mounts_text(mounts, b->mount_point));
}

static int append(struct mounts *mounts, const struct mount *mount)
{
    struct mount *list =
        array_grow(mounts->list, &mounts->capacity, mounts->count + 1, sizeof *list);
    if (list == NULL)
        return -ENOMEM;
    mounts->list = list;
    mounts->list[mounts->count++] = *mount;
    return 0;
}

static void take_line(struct mounts *mounts, const struct line_parts *parts)
{
    struct mount mount = {
        .major = (uint32_t)parts->major,
        .minor = (uint32_t)parts->minor,
        .wanted = is_wanted(parts),
        .mount_point = keep_text(&mounts->texts, &parts->mount_point),
    };
    if (mount.wanted) {
        mount.root = keep_text(&mounts->texts, &parts->root);
        mount.filesystem = keep_text(&mounts->texts, &parts->filesystem);
        mount.source = keep_text(&mounts->texts, &parts->source);
    }
    if (!mounts->texts.overflow)
        (void)append(mounts, &mount);
}

/* Texts were kept in the order of the table, so their offsets tell which line came first. */
static int by_mount_point_then_age(const void *left, const void *right, void *context)
{
    const struct mounts *mounts = context;
    const struct mount *a = left;
    const struct mount *b = right;
    int order = strcmp(mounts_text(mounts, a->mount_point), mounts_text(mounts, b->mount_point));

    return order != 0 ? order
                      : (a->mount_point > b->mount_point) - (a->mount_point < b->mount_point);
}

/* What is mounted over an older mount hides it: its path now leads elsewhere. */
static void drop_hidden_and_unwanted(struct mounts *mounts)
{
    size_t kept = 0;

    if (mounts->count == 0)
        return;
    qsort_r(mounts->list, mounts->count, sizeof mounts->list[0], by_mount_point_then_age, mounts);
    for (size_t i = 0; i < mounts->count; i++) {
        const struct mount *mount = &mounts->list[i];
        bool is_hidden = i + 1 < mounts->count &&
                         strcmp(mounts_text(mounts, mount->mount_point),
                                mounts_text(mounts, mounts->list[i + 1].mount_point)) == 0;
        if (mount->wanted && !is_hidden)
            mounts->list[kept++] = *mount;
    }
    mounts->count = kept;
}

static int by_filesystem_then_worth(const void *left, const void *right, void *context)
{
    const struct mounts *mounts = context;
    const struct mount *a = left;
    const struct mount *b = right;

    if (a->major != b->major)
        return a->major < b->major ? -1 : 1;
    if (a->minor != b->minor)
        return a->minor < b->minor ? -1 : 1;
    if (is_better(mounts, a, b))
        return -1;
    if (is_better(mounts, b, a))
        return 1;
    return (a->mount_point > b->mount_point) - (a->mount_point < b->mount_point);
}

/* Keeps the best mount of each file system. */
static void deduplicate(struct mounts *mounts)
{
    size_t kept = 0;

    if (mounts->count == 0)
        return;
    qsort_r(mounts->list, mounts->count, sizeof mounts->list[0], by_filesystem_then_worth, mounts);
    for (size_t i = 1; i < mounts->count; i++)
        if (!same_filesystem(&mounts->list[kept], &mounts->list[i]))
            mounts->list[++kept] = mounts->list[i];
    mounts->count = kept + 1;
}

static uint64_t fingerprint(const struct file *file)
{
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */

    for (size_t i = 0; i < file->size; i++)
        hash = (hash ^ (unsigned char)file->data[i]) * UINT64_C(1099511628211);
    return hash;
}

/* The kernel raises POLLPRI once per change; the first reading needs no poll. */
static bool is_unchanged(const struct mounts *mounts)
{
    if (!mounts->poll_tells || !mounts->read_before)
        return false;
    struct pollfd changed = {.fd = mounts->mountinfo.fd, .events = POLLPRI};
    return poll(&changed, 1, 0) == 0;
}

bool mounts_read(struct mounts *mounts)
{
    struct line_parts parts;
    struct scan line;

    if (mounts->mountinfo.fd < 0 || is_unchanged(mounts) || file_read(&mounts->mountinfo) < 0)
        return false;
    uint64_t print = fingerprint(&mounts->mountinfo);
    if (mounts->read_before && print == mounts->fingerprint)
        return false;
    mounts->fingerprint = print;
    mounts->read_before = true;

    buf_reset(&mounts->texts);
    mounts->count = 0;
    for (struct scan text = file_scan(&mounts->mountinfo); scan_line(&text, &line);)
        if (parse_line(line, &parts))
            take_line(mounts, &parts);
    drop_hidden_and_unwanted(mounts);
    deduplicate(mounts);
    return true;
}

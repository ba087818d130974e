/*
 * Block devices and the file systems on them. Counters come from /proc/diskstats, which lists whole
 * devices and partitions; partitions only help to find the device of a mounted file system. Its
 * sectors are units of 512 bytes on every device, 4Kn drives included (kernel documentation,
 * iostats): multiplying by the device's own sector size would report eight times too much there.
 */
#include "base/array.h"
#include "base/clock.h"
#include "base/file.h"
#include "collect/collector.h"
#include "collect/disk_facts.h"
#include "collect/disk_space.h"
#include "collect/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DISKSTATS_INITIAL (8 * 1024)
#define DISKSTATS_MAX (4 * 1024 * 1024)
#define DISKSTATS_SECTOR_BYTES 512
#define FACTS_REFRESH_NS (300 * NS_PER_SEC)
#define NO_DISK SIZE_MAX
#define NO_ROW SIZE_MAX

/* Columns after the name. */
enum {
    STAT_READS,
    STAT_READS_MERGED,
    STAT_READ_SECTORS,
    STAT_READ_MS,
    STAT_WRITES,
    STAT_WRITES_MERGED,
    STAT_WRITTEN_SECTORS,
    STAT_WRITE_MS,
    STAT_IN_FLIGHT,
    STAT_BUSY_MS,
    STAT_QUEUE_MS,
    STAT_COUNT
};

struct disk {
    struct device_name name; /* first: names_find looks here */
    uint32_t major;
    uint32_t minor;
    uint64_t stat[STAT_COUNT];
    uint64_t growth[STAT_COUNT];
    uint64_t seen_ns;
    bool active;    /* has ever done I/O */
    bool described; /* facts are known */
    struct disk_facts facts;
    size_t whole; /* index of the device this is a partition of, or NO_DISK */
    size_t row;   /* or NO_ROW */
};

struct disks {
    int sys_fd; /* borrowed */
    struct file diskstats;
    struct disk *list;
    size_t count;
    size_t capacity;
    bool changed;      /* devices came or went: lay the rows anew */
    uint64_t facts_ns; /* when the facts of all were last read */

    struct rows rows; /* listed devices, then ZFS pools */
    size_t *row_disk; /* device of each row of the former */
    size_t row_disk_count;
    size_t row_disk_capacity;
    struct disk_space space;
};

/* --- counters --- */

static struct disk *add_disk(struct disks *disks, const struct scan *name)
{
    struct disk *list = array_grow(disks->list, &disks->capacity, disks->count + 1, sizeof *list);
    if (list == NULL)
        return NULL;
    disks->list = list;
    struct disk *disk = &disks->list[disks->count++];
    *disk = (struct disk){.whole = NO_DISK, .row = NO_ROW};
    (void)scan_copy(name, disk->name.text, sizeof disk->name.text);
    disks->changed = true;
    return disk;
}

/* A device that was replaced by another of its name starts again from low counters. */
static bool was_replaced(const struct disk *disk, const uint64_t *stat)
{
    return stat[STAT_READS] < disk->stat[STAT_READS] && stat[STAT_WRITES] < disk->stat[STAT_WRITES];
}

static void take_stat(struct disks *disks, struct disk *disk, const uint64_t *stat, bool is_new)
{
    if (!is_new && was_replaced(disk, stat)) {
        disk->described = false;
        disks->changed = true;
    }
    for (size_t i = 0; i < STAT_COUNT; i++) {
        disk->growth[i] = is_new ? 0 : counter_growth(stat[i], disk->stat[i]);
        disk->stat[i] = stat[i];
    }
    bool active = stat[STAT_READS] > 0 || stat[STAT_WRITES] > 0;
    if (active && !disk->active) {
        disk->active = true;
        disk->described = false; /* a loop device has a size only from now on */
        disks->changed = true;
    }
}

static void read_line(struct disks *disks, struct scan line, size_t *hint, uint64_t now_ns)
{
    uint64_t major;
    uint64_t minor;
    struct scan name;
    uint64_t stat[STAT_COUNT];

    if (!scan_u64(&line, &major) || !scan_u64(&line, &minor) || !scan_word(&line, &name) ||
        !name_is_plausible(&name) || major > UINT32_MAX || minor > UINT32_MAX)
        return;
    for (size_t i = 0; i < STAT_COUNT; i++)
        if (!scan_u64(&line, &stat[i]))
            return;

    size_t index = names_find(disks->list, sizeof *disks->list, disks->count, *hint, &name);
    bool is_new = index == disks->count;
    struct disk *disk = is_new ? add_disk(disks, &name) : &disks->list[index];
    if (disk == NULL)
        return;
    disk->major = (uint32_t)major;
    disk->minor = (uint32_t)minor;
    disk->seen_ns = now_ns;
    take_stat(disks, disk, stat, is_new);
    *hint = index + 1;
}

static void drop_departed(struct disks *disks, uint64_t now_ns)
{
    size_t kept = 0;

    for (size_t i = 0; i < disks->count; i++)
        if (disks->list[i].seen_ns == now_ns) {
            if (kept != i)
                disks->list[kept] = disks->list[i];
            kept++;
        }
    if (kept != disks->count)
        disks->changed = true;
    disks->count = kept;
}

/* --- which devices are listed --- */

static void find_wholes(struct disks *disks)
{
    struct scan whole;
    size_t hint = 0;

    for (size_t i = 0; i < disks->count; i++) {
        struct disk *disk = &disks->list[i];
        disk->whole = NO_DISK;
        if (!disk_name_of_whole(disk->name.text, &whole))
            continue;
        /* Partitions stand behind their device, so the last answer is the likely one. */
        size_t found = names_find(disks->list, sizeof *disks->list, disks->count, hint, &whole);
        if (found != disks->count) {
            disk->whole = found;
            hint = found;
        }
    }
}

static void read_facts(struct disks *disks)
{
    for (size_t i = 0; i < disks->count; i++) {
        struct disk *disk = &disks->list[i];
        if (disk->whole == NO_DISK && !disk->described) {
            struct device_name name = name_in_sysfs(&disk->name);
            disk_facts_read(disks->sys_fd, name.text, &disk->facts);
            disk->described = true;
        }
    }
}

/*
 * An NVMe namespace with several paths is listed as "nvme0n1" and its paths as "nvme0c0n1",
 * "nvme0c1n1". Every kernel counts on the paths and newer ones on the namespace too.
 */
static void find_multipath(struct disks *disks)
{
    struct device_name head;

    for (size_t i = 0; i < disks->count; i++) {
        if (!disk_name_of_multipath(disks->list[i].name.text, head.text))
            continue;
        struct scan word = scan_over(head.text, strlen(head.text));
        size_t found = names_find(disks->list, sizeof *disks->list, disks->count, 0, &word);
        if (found != disks->count)
            disks->list[found].facts.stacked = true;
    }
}

/* Hosts have rows of loop and RAM devices that nobody ever attached anything to. */
static bool is_listed(const struct disk *disk)
{
    if (disk->whole != NO_DISK)
        return false;
    bool is_spare = disk->facts.borrowed || disk->facts.capacity_bytes == COUNTER_UNKNOWN;
    return disk->active || !is_spare;
}

static int list_disks(struct disks *disks)
{
    disks->row_disk_count = 0;
    size_t *row_disk =
        array_grow(disks->row_disk, &disks->row_disk_capacity, disks->count, sizeof *row_disk);
    if (row_disk == NULL)
        return -ENOMEM;
    disks->row_disk = row_disk;
    for (size_t i = 0; i < disks->count; i++)
        if (is_listed(&disks->list[i])) {
            disks->list[i].row = disks->row_disk_count;
            disks->row_disk[disks->row_disk_count++] = i;
        } else {
            disks->list[i].row = NO_ROW;
        }
    return 0;
}

/* --- which device a file system is on --- */

static bool is_numbered(const struct disk *disk, const struct mount *mount)
{
    return disk->major == mount->major && disk->minor == mount->minor;
}

/* btrfs and its like have no device number of their own: "/dev/sda2", "/dev/mapper/vg-root". */
static bool is_named(const struct disk *disk, const char *source)
{
    const char *slash = strrchr(source, '/');
    const char *name = slash != NULL ? slash + 1 : source;

    return strcmp(disk->name.text, name) == 0 || (disk->whole == NO_DISK && name[0] != '\0' &&
                                                  strcmp(disk->facts.mapper_name, name) == 0);
}

static bool locate(const void *context, const struct mount *mount, const char *source,
                   struct disk_place *ret_place)
{
    const struct disks *disks = context;

    for (size_t i = 0; i < disks->count; i++) {
        const struct disk *disk = &disks->list[i];
        if (mount->major != 0 ? !is_numbered(disk, mount) : !is_named(disk, source))
            continue;
        if (disk->whole != NO_DISK)
            disk = &disks->list[disk->whole];
        *ret_place = (struct disk_place){.row = disk->row, .borrowed = disk->facts.borrowed};
        return disk->row != NO_ROW;
    }
    return false;
}

/* --- rows --- */

static void lay_disk_row(struct disks *disks, size_t row)
{
    const struct disk *disk = &disks->list[disks->row_disk[row]];
    struct rows *rows = &disks->rows;

    rows_cell(rows, row, FIELD_DISK_DEVICE)->text = disk->name.text;
    rows_cell(rows, row, FIELD_DISK_MODEL)->text = text_or_null(disk->facts.model);
    rows_cell(rows, row, FIELD_DISK_VENDOR)->text = text_or_null(disk->facts.vendor);
    rows_cell(rows, row, FIELD_DISK_SERIAL)->text = text_or_null(disk->facts.serial);
    rows_cell(rows, row, FIELD_DISK_TYPE)->text = disk->facts.type;
    rows_cell(rows, row, FIELD_DISK_CAPACITY)->counter = disk->facts.capacity_bytes;
}

/* A pool has space, but its I/O is that of its disks. */
static void lay_pool_row(struct rows *rows, size_t row, const char *pool)
{
    cells_clear(rows_cell(rows, row, FIELD_DISK_FIRST), DEVICE_DISK);
    rows_cell(rows, row, FIELD_DISK_DEVICE)->text = pool;
}

static void disks_describe(void *state)
{
    struct disks *disks = state;

    (void)disk_space_changed(&disks->space);
    disks->changed = false;
    find_wholes(disks);
    read_facts(disks);
    find_multipath(disks);
    if (list_disks(disks) < 0)
        disks->row_disk_count = 0;
    disk_space_locate(&disks->space, disks->row_disk_count, locate, disks);
    if (rows_resize(&disks->rows, disks->row_disk_count + disks->space.pool_count) < 0) {
        disks->rows.count = 0;
        return;
    }
    for (size_t row = 0; row < disks->row_disk_count; row++)
        lay_disk_row(disks, row);
    for (size_t i = 0; i < disks->space.pool_count; i++)
        lay_pool_row(&disks->rows, disks->row_disk_count + i, disks->space.pools[i].name);
    for (size_t row = 0; row < disks->rows.count; row++)
        rows_cell(&disks->rows, row, FIELD_DISK_MOUNTS)->nested =
            disk_space_rows_of(&disks->space, row);
}

static double mean_ms(uint64_t total_ms, uint64_t count)
{
    return count > 0 ? (double)total_ms / (double)count : NAN;
}

static void store_row(struct rows *rows, size_t row, const struct disk *disk,
                      const struct tick *tick)
{
    const uint64_t *growth = disk->growth;
    double elapsed_ms = (double)tick->elapsed_ns / NS_PER_MS;
    double busy_pct = elapsed_ms > 0 ? 100 * (double)growth[STAT_BUSY_MS] / elapsed_ms : 0;

    rows_cell(rows, row, FIELD_DISK_READ_RATE)->number =
        per_second(growth[STAT_READ_SECTORS] * DISKSTATS_SECTOR_BYTES, tick->elapsed_ns);
    rows_cell(rows, row, FIELD_DISK_WRITE_RATE)->number =
        per_second(growth[STAT_WRITTEN_SECTORS] * DISKSTATS_SECTOR_BYTES, tick->elapsed_ns);
    rows_cell(rows, row, FIELD_DISK_READ_TOTAL)->counter =
        disk->stat[STAT_READ_SECTORS] * DISKSTATS_SECTOR_BYTES;
    rows_cell(rows, row, FIELD_DISK_WRITE_TOTAL)->counter =
        disk->stat[STAT_WRITTEN_SECTORS] * DISKSTATS_SECTOR_BYTES;
    rows_cell(rows, row, FIELD_DISK_READ_LATENCY)->number =
        mean_ms(growth[STAT_READ_MS], growth[STAT_READS]);
    rows_cell(rows, row, FIELD_DISK_WRITE_LATENCY)->number =
        mean_ms(growth[STAT_WRITE_MS], growth[STAT_WRITES]);
    rows_cell(rows, row, FIELD_DISK_QUEUE_LENGTH)->number =
        elapsed_ms > 0 ? (double)growth[STAT_QUEUE_MS] / elapsed_ms : 0;
    /* The kernel adds up whole milliseconds: a share can come out a little above all of it. */
    rows_cell(rows, row, FIELD_DISK_BUSY)->number = busy_pct < 100 ? busy_pct : 100;
}

static void store_disks(struct disks *disks, const struct tick *tick, struct sample *sample)
{
    uint64_t read_sectors = 0;
    uint64_t written_sectors = 0;

    for (size_t row = 0; row < disks->rows.count && row < disks->row_disk_count; row++) {
        const struct disk *disk = &disks->list[disks->row_disk[row]];
        store_row(&disks->rows, row, disk, tick);
        if (!disk->facts.stacked) {
            read_sectors += disk->growth[STAT_READ_SECTORS];
            written_sectors += disk->growth[STAT_WRITTEN_SECTORS];
        }
    }
    sample->value[METRIC_TOTAL_DISK_READ] = (double)(read_sectors * DISKSTATS_SECTOR_BYTES);
    sample->value[METRIC_TOTAL_DISK_WRITE] = (double)(written_sectors * DISKSTATS_SECTOR_BYTES);
    sample->rows[DEVICE_DISK] = &disks->rows;
}

/* --- the collector --- */

static bool read_diskstats(struct disks *disks, uint64_t now_ns)
{
    size_t hint = 0;
    struct scan line;

    if (file_read(&disks->diskstats) < 0)
        return false;
    for (struct scan text = file_scan(&disks->diskstats); scan_line(&text, &line);)
        read_line(disks, line, &hint, now_ns);
    drop_departed(disks, now_ns);
    return true;
}

/* Volumes are resized and loop devices used again without anything else that would tell. */
static void forget_facts(struct disks *disks, uint64_t now_ns)
{
    disks->facts_ns = now_ns;
    disks->changed = true;
    for (size_t i = 0; i < disks->count; i++)
        disks->list[i].described = false;
}

static void disks_read(void *state, const struct tick *tick, struct sample *sample)
{
    struct disks *disks = state;
    bool known = read_diskstats(disks, tick->now_ns);

    if (tick->priming) {
        disks->facts_ns = tick->now_ns;
        return;
    }
    if (tick->now_ns - disks->facts_ns > FACTS_REFRESH_NS)
        forget_facts(disks, tick->now_ns);
    if (disk_space_changed(&disks->space) || disks->changed)
        disks_describe(disks);
    if (known)
        store_disks(disks, tick, sample);
    disk_space_read(&disks->space, sample);
}

static void disks_close(void *state)
{
    struct disks *disks = state;

    file_close(&disks->diskstats);
    disk_space_close(&disks->space);
    rows_free(&disks->rows);
    free(disks->row_disk);
    free(disks->list);
    free(disks);
}

static int disks_open(const struct collect_context *context, void **ret_state)
{
    const struct sysroot *root = context->root;
    struct disks *disks = calloc(1, sizeof *disks);
    if (disks == NULL)
        return -ENOMEM;
    disks->sys_fd = root->sys_fd;
    rows_init(&disks->rows, DEVICE_DISK);
    (void)file_open(&disks->diskstats, root->proc_fd, "diskstats", DISKSTATS_INITIAL,
                    DISKSTATS_MAX);
    int error = disk_space_open(&disks->space, root);
    if (error < 0) {
        disks_close(disks);
        return error;
    }
    *ret_state = disks;
    return 0;
}

const struct collector disk_collector = {
    .name = "disk",
    .open = disks_open,
    .read = disks_read,
    .describe = disks_describe,
    .close = disks_close,
};

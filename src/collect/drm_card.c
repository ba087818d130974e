#include "collect/drm_card.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/dir.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A link changes its speed with load, but nobody plots it: rarely is often enough. */
#define LINK_EVERY_NS (10 * NS_PER_SEC)
#define LANES_MAX 32

/* --- PCI addresses --- */

static bool scan_hex(struct scan *scan, size_t digits_min, size_t digits_max, uint32_t *ret_value)
{
    uint32_t value = 0;
    size_t digits = 0;

    while (scan->at < scan->end && digits < digits_max && hex_value(*scan->at) >= 0) {
        value = value << 4 | (uint32_t)hex_value(*scan->at++);
        digits++;
    }
    *ret_value = value;
    return digits >= digits_min;
}

bool drm_pci_parse(struct scan text, struct drm_pci *ret_pci)
{
    struct drm_pci pci;

    if (!scan_hex(&text, 4, 8, &pci.domain) || !scan_char(&text, ':') ||
        !scan_hex(&text, 2, 2, &pci.bus) || !scan_char(&text, ':') ||
        !scan_hex(&text, 2, 2, &pci.slot) || !scan_char(&text, '.') ||
        !scan_hex(&text, 1, 1, &pci.function) || text.at != text.end)
        return false;
    *ret_pci = pci;
    return true;
}

/* --- finding cards --- */

/* The last part of what a link points to; false when it is no link or does not fit. */
static bool read_link_name(int dir_fd, const char *path, char *out, size_t size)
{
    char target[256];

    ssize_t length = readlinkat(dir_fd, path, target, sizeof target);
    if (length <= 0 || (size_t)length >= sizeof target)
        return false;
    const char *slash = memrchr(target, '/', (size_t)length);
    struct scan name = scan_over(target, (size_t)length);
    if (slash != NULL)
        name.at = slash + 1;
    return scan_left(&name) > 0 && scan_copy(&name, out, size);
}

/* PCI_SLOT_NAME=0000:03:00.0 in the uevent file. */
static bool read_slot_name(int device_fd, char *out, size_t size)
{
    static const char key[] = "PCI_SLOT_NAME=";
    char text[1024];
    struct scan line;

    ssize_t length = file_read_text(device_fd, "uevent", text, sizeof text);
    struct scan rest = scan_over(text, length > 0 ? (size_t)length : 0);
    while (scan_line(&rest, &line))
        if (scan_starts_with(&line, key)) {
            line.at += strlen(key);
            return scan_copy(&line, out, size);
        }
    return false;
}

static bool is_pci_address(const char *text)
{
    struct drm_pci ignored;

    return drm_pci_parse(scan_over(text, strlen(text)), &ignored);
}

static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names != NULL; names++)
        if (strcmp(name, *names) == 0)
            return true;
    return false;
}

/* "card0", but not "card0-DP-1", which is a socket of it. */
static bool is_card_name(const char *name)
{
    size_t digits = strncmp(name, "card", 4) == 0 ? strspn(name + 4, "0123456789") : 0;

    return digits > 0 && name[4 + digits] == '\0' && strlen(name) < DRM_NAME_SIZE;
}

struct listing {
    int drm_fd;
    const char *const *drivers;
    struct drm_card_list *list;
};

static bool visit_card(void *context, const struct dirent64 *entry)
{
    struct listing *listing = context;
    struct drm_card_list *list = listing->list;
    struct drm_card_id id = {0};

    if (!is_card_name(entry->d_name))
        return true;
    memcpy(id.node, entry->d_name, strlen(entry->d_name));
    cleanup_fd int card_fd =
        openat(listing->drm_fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cleanup_fd int device_fd = openat(card_fd, "device", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (device_fd < 0 || !read_link_name(device_fd, "driver", id.driver, sizeof id.driver) ||
        !is_one_of(id.driver, listing->drivers))
        return true;
    bool has_address = (read_link_name(card_fd, "device", id.pci_address, sizeof id.pci_address) &&
                        is_pci_address(id.pci_address)) ||
                       (read_slot_name(device_fd, id.pci_address, sizeof id.pci_address) &&
                        is_pci_address(id.pci_address));
    if (has_address)
        list->ids[list->count++] = id;
    return list->count < DRM_CARDS_MAX;
}

static int compare_ids(const void *one, const void *other)
{
    const struct drm_card_id *left = one;
    const struct drm_card_id *right = other;
    int order = strcmp(left->pci_address, right->pci_address);

    return order != 0 ? order : strcmp(left->node, right->node);
}

void drm_cards_list(int sys_fd, const char *const *drivers, struct drm_card_list *ret_list)
{
    ret_list->count = 0;
    cleanup_fd int drm_fd = openat(sys_fd, "class/drm", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (drm_fd < 0)
        return;
    struct listing listing = {.drm_fd = drm_fd, .drivers = drivers, .list = ret_list};
    (void)dir_each(drm_fd, visit_card, &listing);
    qsort(ret_list->ids, ret_list->count, sizeof ret_list->ids[0], compare_ids);
}

bool drm_cards_are_same(const struct drm_card_list *one, const struct drm_card_list *other)
{
    bool same = one->count == other->count;

    for (size_t i = 0; i < one->count && same; i++)
        same = compare_ids(&one->ids[i], &other->ids[i]) == 0 &&
               strcmp(one->ids[i].driver, other->ids[i].driver) == 0;
    return same;
}

/* --- one card --- */

static bool has_prefix(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

struct first_with_prefix {
    const char *prefix;
    char name[DRM_NAME_SIZE];
};

static bool visit_for_prefix(void *context, const struct dirent64 *entry)
{
    struct first_with_prefix *wanted = context;
    size_t length = strlen(entry->d_name);

    if (!has_prefix(entry->d_name, wanted->prefix) || length >= sizeof wanted->name)
        return true;
    memcpy(wanted->name, entry->d_name, length + 1);
    return false;
}

static void find_render_node(struct drm_card *card)
{
    struct first_with_prefix wanted = {.prefix = "renderD"};

    cleanup_fd int fd = openat(card->device_fd, "drm", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0)
        (void)dir_each(fd, visit_for_prefix, &wanted);
    memcpy(card->render_node, wanted.name, sizeof wanted.name);
}

struct hwmon_search {
    int folder_fd;
    const char *driver;
    int found_fd;
};

/* A card may have several, one for each of its tiles; the driver's own name is on the whole card's.
 */
static bool visit_hwmon(void *context, const struct dirent64 *entry)
{
    struct hwmon_search *search = context;
    char name[DRM_NAME_SIZE];

    if (!has_prefix(entry->d_name, "hwmon"))
        return true;
    int fd = openat(search->folder_fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return true;
    bool is_whole =
        file_read_text(fd, "name", name, sizeof name) > 0 && strcmp(name, search->driver) == 0;
    if (!is_whole && search->found_fd >= 0) {
        close(fd);
        return true;
    }
    close_fd(&search->found_fd);
    search->found_fd = fd;
    return !is_whole;
}

static void find_hwmon(struct drm_card *card)
{
    cleanup_fd int fd = openat(card->device_fd, "hwmon", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct hwmon_search search = {.folder_fd = fd, .driver = card->id.driver, .found_fd = -1};

    if (fd >= 0)
        (void)dir_each(fd, visit_hwmon, &search);
    card->hwmon_fd = search.found_fd;
}

/* "0x1002" as "1002". */
static bool read_hex_id(int fd, const char *name, char *out, size_t size)
{
    char text[16];
    uint32_t ignored;

    ssize_t length = file_read_text(fd, name, text, sizeof text);
    struct scan scan = scan_over(text, length > 0 ? (size_t)length : 0);
    if (!scan_starts_with(&scan, "0x"))
        return false;
    scan.at += 2;
    struct scan digits = scan;
    return scan_hex(&scan, 4, 6, &ignored) && scan.at == scan.end && scan_copy(&digits, out, size);
}

static void read_pci_id(struct drm_card *card)
{
    char vendor[8];
    char model[8];

    card->pci_id[0] = '\0';
    if (read_hex_id(card->device_fd, "vendor", vendor, sizeof vendor) &&
        read_hex_id(card->device_fd, "device", model, sizeof model))
        snprintf(card->pci_id, sizeof card->pci_id, "%s:%s", vendor, model);
}

/* A bridge of the card itself: of the card's vendor, and neither a device nor a root port. */
static bool is_own_bridge(int bridge_fd, const char *vendor)
{
    char text[8];

    return read_hex_id(bridge_fd, "vendor", text, sizeof text) && strcmp(text, vendor) == 0 &&
           read_hex_id(bridge_fd, "class", text, sizeof text) && has_prefix(text, "0604") &&
           read_hex_id(bridge_fd, "../vendor", text, sizeof text);
}

/*
 * Larger cards carry a PCIe switch of two bridges, and the link behind it says nothing: always 16
 * lanes on some, always 1 on others. The link of the card is that of the outer bridge.
 */
static int find_link(int device_fd)
{
    char vendor[8];

    int fd = openat(device_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (!read_hex_id(device_fd, "vendor", vendor, sizeof vendor))
        return fd;
    for (int bridges = 0; bridges < 2 && fd >= 0; bridges++) {
        int parent_fd = openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (parent_fd < 0 || !is_own_bridge(parent_fd, vendor)) {
            close_fd(&parent_fd);
            break;
        }
        close(fd);
        fd = parent_fd;
    }
    return fd;
}

int drm_card_open(struct drm_card *card, int sys_fd, const struct drm_card_id *id)
{
    char path[sizeof "class/drm/" + DRM_NAME_SIZE];

    *card = (struct drm_card){.id = *id, .hwmon_fd = -1, .link_fd = -1, .runtime_fd = -1};
    snprintf(path, sizeof path, "class/drm/%s", id->node);
    card->card_fd = openat(sys_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    card->device_fd = openat(card->card_fd, "device", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (card->device_fd < 0) {
        int error = -errno;
        drm_card_close(card);
        return error;
    }
    find_render_node(card);
    find_hwmon(card);
    read_pci_id(card);
    card->link_fd = find_link(card->device_fd);
    card->runtime_fd = drm_attr_open(card->device_fd, "power/runtime_status");
    return 0;
}

void drm_card_close(struct drm_card *card)
{
    close_fd(&card->card_fd);
    close_fd(&card->device_fd);
    close_fd(&card->hwmon_fd);
    close_fd(&card->link_fd);
    close_fd(&card->runtime_fd);
}

/* A folder that was removed has nothing in it any more, whoever still holds it open. */
bool drm_card_is_gone(const struct drm_card *card)
{
    return faccessat(card->card_fd, "device", F_OK, AT_SYMLINK_NOFOLLOW) < 0;
}

bool drm_card_is_suspended(const struct drm_card *card)
{
    char status[32];

    return drm_attr_read_text(card->runtime_fd, status, sizeof status) > 0 &&
           strcmp(status, "suspended") == 0;
}

/* --- the PCIe link --- */

/* "16.0 GT/s PCIe", by older kernels "16 GT/s": what is before the point tells generations apart.
 */
static double read_generation(int fd)
{
    static const uint64_t speeds[] = {2, 5, 8, 16, 32, 64};
    char text[32];
    uint64_t speed;

    ssize_t length = file_read_text(fd, "current_link_speed", text, sizeof text);
    struct scan scan = scan_over(text, length > 0 ? (size_t)length : 0);
    if (!scan_u64(&scan, &speed))
        return NAN;
    for (size_t i = 0; i < sizeof speeds / sizeof speeds[0]; i++)
        if (speeds[i] == speed)
            return (double)(i + 1);
    return NAN;
}

static double read_width(int fd)
{
    uint64_t lanes;

    if (file_read_u64(fd, "current_link_width", &lanes) < 0 || lanes == 0 || lanes > LANES_MAX)
        return NAN;
    return (double)lanes;
}

void drm_card_read_link(struct drm_card *card, uint64_t now_ns, struct gpu_device *device)
{
    struct drm_link *link = &card->link;

    if (!link->was_read || now_ns - link->read_ns >= LINK_EVERY_NS) {
        link->was_read = true;
        link->read_ns = now_ns;
        link->generation = read_generation(card->link_fd);
        link->width = read_width(card->link_fd);
    }
    gpu_cell(device, FIELD_GPU_PCIE_GENERATION)->number = link->generation;
    gpu_cell(device, FIELD_GPU_PCIE_WIDTH)->number = link->width;
}

/* --- attributes --- */

int drm_attr_open(int dir_fd, const char *path)
{
    return openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

/* An attribute is one page at most and comes with one read. */
ssize_t drm_attr_read_text(int fd, char *out, size_t size)
{
    ssize_t got = fd_pread(fd, out, size - 1, 0);

    if (got < 0)
        return got;
    while (got > 0 && (out[got - 1] == '\n' || out[got - 1] == ' ' || out[got - 1] == '\0'))
        got--;
    out[got] = '\0';
    return got;
}

int drm_attr_read_u64(int fd, uint64_t *ret_value)
{
    char text[32];
    uint64_t value;

    ssize_t length = drm_attr_read_text(fd, text, sizeof text);
    if (length < 0)
        return (int)length;
    struct scan scan = scan_over(text, (size_t)length);
    /* A text that fills the buffer may have been cut. */
    if (length == sizeof text - 1 || !scan_u64(&scan, &value) || scan.at != scan.end)
        return -EINVAL;
    *ret_value = value;
    return 0;
}

#include "collect/net_role.h"

#include "base/dir.h"
#include "base/file.h"

#include <fcntl.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool exists(int dir_fd, const char *path)
{
    return faccessat(dir_fd, path, F_OK, 0) == 0;
}

/* "DEVTYPE=bridge" and the like in uevent; false when it has none. */
static bool read_devtype(int interface_fd, char *out, size_t size)
{
    char text[512];
    struct scan line;

    ssize_t length = file_read_text(interface_fd, "uevent", text, sizeof text);
    if (length < 0)
        return false;
    for (struct scan scan = scan_over(text, (size_t)length); scan_line(&scan, &line);)
        if (scan_starts_with(&line, "DEVTYPE=")) {
            line.at += strlen("DEVTYPE=");
            return scan_copy(&line, out, size);
        }
    return false;
}

struct lower_search {
    int interface_fd;
    bool (*test)(int interface_fd, const char *link);
    bool found;
};

static bool look_at_lower(void *context, const struct dirent64 *entry)
{
    struct lower_search *search = context;

    if (strncmp(entry->d_name, "lower_", strlen("lower_")) == 0)
        search->found = search->test(search->interface_fd, entry->d_name);
    return !search->found;
}

/* Whether the test holds for any "lower_X" link: the interfaces this one sends through. */
static bool any_lower(int interface_fd, bool (*test)(int interface_fd, const char *link))
{
    struct lower_search search = {.interface_fd = interface_fd, .test = test};

    (void)dir_each(interface_fd, look_at_lower, &search);
    return search.found;
}

static bool is_any(int interface_fd, const char *link)
{
    (void)interface_fd;
    (void)link;
    return true;
}

/* The port of a switch sends through a card that does not know it as its master. */
static bool is_foreign_hardware(int interface_fd, const char *link)
{
    char path[300];

    snprintf(path, sizeof path, "%s/master", link);
    if (exists(interface_fd, path))
        return false;
    snprintf(path, sizeof path, "%s/device", link);
    return exists(interface_fd, path);
}

/* Hyper-V pairs a fast card with a synthetic one that is its master and counts for both. */
static enum net_role role_of_hardware(int interface_fd)
{
    bool counted_by_master = exists(interface_fd, "master/device");

    return counted_by_master || any_lower(interface_fd, is_foreign_hardware) ? NET_STACKED
                                                                             : NET_PHYSICAL;
}

/* Tunnels have hardware types of their own. */
static bool is_tunnel(int interface_fd)
{
    uint64_t hardware_type;

    return exists(interface_fd, "tun_flags") ||
           (file_read_u64(interface_fd, "type", &hardware_type) == 0 &&
            hardware_type != ARPHRD_ETHER && hardware_type != ARPHRD_INFINIBAND);
}

/* Of these one can be moved into a container while what it sends through stays outside. */
static bool leads_outside(const char *devtype)
{
    return strncmp(devtype, "macv", 4) == 0 || strcmp(devtype, "ipvlan") == 0 ||
           strcmp(devtype, "vlan") == 0;
}

static enum net_role role_of_virtual(int interface_fd)
{
    char devtype[32];

    if (exists(interface_fd, "master") || any_lower(interface_fd, is_any))
        return NET_STACKED;
    if (is_tunnel(interface_fd))
        return NET_TUNNEL;
    if (!read_devtype(interface_fd, devtype, sizeof devtype))
        return NET_UPLINK;
    return leads_outside(devtype) ? NET_UPLINK : NET_STACKED;
}

enum net_role net_role_of(int interface_fd)
{
    if (interface_fd < 0)
        return NET_UPLINK;
    return exists(interface_fd, "device") ? role_of_hardware(interface_fd)
                                          : role_of_virtual(interface_fd);
}

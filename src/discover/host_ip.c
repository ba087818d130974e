#include "discover/host_ip.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <string.h>

enum rank { ORDINARY, INSIDE, LINK_LOCAL, LINK_LOCAL_INSIDE, UNUSABLE };

/*
 * Bridges and links that virtual machines and containers hang on, and the interfaces that carry
 * Kubernetes' service addresses. A bridge made by hand (br0) often has the host's own address.
 */
static bool leads_inside(const char *name)
{
    static const char *const prefixes[] = {
        "docker",  "podman", "veth",    "br-",  "virbr",  "vnet",  "tap",   "lxc",          "lxdbr",
        "incusbr", "cni",    "flannel", "cali", "cilium", "weave", "kube-", "nodelocaldns", "dummy",
    };

    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

static bool in_network(struct in_addr address, uint32_t network, unsigned bits)
{
    return (ntohl(address.s_addr) ^ network) >> (32 - bits) == 0;
}

static enum rank rank_of(const struct ifaddrs *entry, struct in_addr *ret_address)
{
    struct sockaddr_in address;

    if (entry->ifa_addr == NULL || entry->ifa_addr->sa_family != AF_INET ||
        entry->ifa_name == NULL || (entry->ifa_flags & IFF_UP) == 0 ||
        (entry->ifa_flags & IFF_LOOPBACK) != 0)
        return UNUSABLE;
    memcpy(&address, entry->ifa_addr, sizeof address);
    *ret_address = address.sin_addr;
    if (in_network(address.sin_addr, 0x7f000000, 8) || in_network(address.sin_addr, 0, 8))
        return UNUSABLE;
    bool inside = leads_inside(entry->ifa_name);
    if (in_network(address.sin_addr, 0xa9fe0000, 16))
        return inside ? LINK_LOCAL_INSIDE : LINK_LOCAL;
    return inside ? INSIDE : ORDINARY;
}

bool host_ip_choose(const struct ifaddrs *list, char *ret_ip)
{
    enum rank best = UNUSABLE;
    struct in_addr chosen = {0};

    for (; list != NULL; list = list->ifa_next) {
        struct in_addr address = {0};
        enum rank rank = rank_of(list, &address);
        if (rank < best) {
            best = rank;
            chosen = address;
        }
    }
    return best < UNUSABLE && inet_ntop(AF_INET, &chosen, ret_ip, INET_ADDRSTRLEN) != NULL;
}

bool host_ip_find(char *ret_ip)
{
    struct ifaddrs *list = NULL;

    if (getifaddrs(&list) < 0)
        return false;
    bool found = host_ip_choose(list, ret_ip);
    freeifaddrs(list);
    return found;
}

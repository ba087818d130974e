/*
 * Which interfaces to add up so that each byte is counted once. A frame that leaves a container
 * passes a veth, a bridge, perhaps a bond, and at last a network card: only one of them may count.
 */
#ifndef COLLECT_NET_ROLE_H
#define COLLECT_NET_ROLE_H

/* In the order of preference: the totals are summed over the lowest value that is present. */
enum net_role {
    NET_PHYSICAL, /* hardware or its virtual likeness: every byte in or out passes one of these */
    NET_UPLINK,   /* no hardware in sight: the end of a veth or macvlan inside a container */
    NET_TUNNEL,   /* neither: a tap or tunnel is all there is (rootless containers) */
    NET_STACKED,  /* bridge, bond, VLAN, port of a bridge: its bytes pass another too */
};

/* `interface_fd` is its directory in /sys/class/net; -1 gives NET_UPLINK, since nothing is known.
 */
enum net_role net_role_of(int interface_fd);

#endif

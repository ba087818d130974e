/*
 * The address by which others most likely know the host: an IPv4 address of an interface that is
 * up and not loopback. Those of bridges and containers come behind others, and link-local ones
 * (169.254.0.0/16) last. Among equals the first one is taken.
 */
#ifndef DISCOVER_HOST_IP_H
#define DISCOVER_HOST_IP_H

#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>

/* `ret_ip` has at least INET_ADDRSTRLEN bytes. False when no address will do. */
bool host_ip_choose(const struct ifaddrs *list, char *ret_ip);

/* The same of the network namespace that we are in. Opens and closes a socket. */
bool host_ip_find(char *ret_ip);

#endif

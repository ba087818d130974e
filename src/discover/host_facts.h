/*
 * What the machine says of itself: name, address, processors, memory, storage. Every fact is
 * optional; what cannot be read stays unknown.
 */
#ifndef DISCOVER_HOST_FACTS_H
#define DISCOVER_HOST_FACTS_H

#include "base/sysroot.h"
#include "model/host.h"

/* The address. Opens a socket to list them, so it is only called when the user streams or asks. */
void host_discover_address(struct host *host);

/* All but the address and the cloud_…, GPU and allocation facts. */
void host_discover(const struct sysroot *root, struct host *host);

#endif

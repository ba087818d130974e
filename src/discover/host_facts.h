/*
 * What the machine says of itself: name, address, processors, memory, storage. Every fact is
 * optional; what cannot be read stays unknown. Opens a socket (to list addresses), so it is only
 * called when the user streams or asks.
 */
#ifndef DISCOVER_HOST_FACTS_H
#define DISCOVER_HOST_FACTS_H

#include "base/sysroot.h"
#include "model/host.h"

/* All but the cloud_…, GPU and allocation facts. */
void host_discover(const struct sysroot *root, struct host *host);

#endif

/*
 * Which cloud the host is in, from the metadata services of the vendors, all asked at once. Each
 * has 2 s in all; nothing goes through a proxy. An answer counts only if it could come from that
 * vendor alone: services that look like another's are common.
 */
#ifndef DISCOVER_CLOUD_H
#define DISCOVER_CLOUD_H

#include "model/host.h"
#include "net/http.h"

#define CLOUD_PROBE_MS 2000

/*
 * Sets the cloud_… facts, and host_id where the vendor knows it better. `endpoint` replaces the
 * base URL of every vendor (http://127.0.0.1:8080); NULL: the real ones.
 */
void cloud_discover(struct http *http, const char *endpoint, struct host *host);

#endif

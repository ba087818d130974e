/*
 * Finding out about the host, as --host-info and streaming both do it: the cloud, whether others
 * use it too, and what the user says instead.
 */
#ifndef APP_HOST_LOOKUP_H
#define APP_HOST_LOOKUP_H

#include "base/sysroot.h"
#include "model/host.h"

struct http;

/* Asks the metadata services; takes up to two seconds. */
void host_lookup_cloud(struct http *http, struct host *host);

/* `others_cores` are what others than the job keep busy; NaN: not known. */
void host_lookup_allocation(const struct sysroot *root, double others_cores, double cpus,
                            struct host *host);

/* What the environment says instead; complains about what makes no sense if `may_say`. */
void host_lookup_override(char *const *environment, bool may_say, struct host *host);

#endif

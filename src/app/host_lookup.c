#include "app/host_lookup.h"

#include "base/env.h"
#include "base/log.h"
#include "discover/allocation.h"

#ifdef TRACKER_NET
#include "discover/cloud.h"
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENDPOINT_VARIABLE "TRACKER_METADATA_ENDPOINT"

#ifdef TRACKER_NET
void host_lookup_cloud(struct http *http, struct host *host)
{
    cloud_discover(http, env_text(ENDPOINT_VARIABLE), host);
}
#endif

void host_lookup_allocation(const struct sysroot *root, double others_cores, double cpus,
                            struct host *host)
{
    const char *name =
        allocation_name(allocation_is_confined(root, host->memory_mib), others_cores, cpus);

    if (name != NULL)
        snprintf(host->allocation, sizeof host->allocation, "%s", name);
}

void host_lookup_override(char *const *environment, bool may_say, struct host *host)
{
    const char *wrong = host_override(host, environment);

    if (wrong != NULL && may_say)
        log_say("%.*s: not a number; it is passed over", (int)strcspn(wrong, "="), wrong);
}

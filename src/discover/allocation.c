#include "discover/allocation.h"

#include "discover/limits.h"

#include <math.h>
#include <sched.h>
#include <unistd.h>

/* The kernel refuses a set that is smaller than its own: 1024 CPUs each, and it knows 8192. */
#define CPU_SETS 8
/* A tenth of the machine: more than what a system does for itself. */
#define OTHERS_SHARE 0.1
/* Limits that are set to "all there is" are a little above or below it. */
#define WHOLE_SHARE 0.98

static enum allocation_bounds bounds_of_affinity(void)
{
    cpu_set_t set[CPU_SETS];
    long online = sysconf(_SC_NPROCESSORS_ONLN);

    if (sched_getaffinity(0, sizeof set, set) < 0 || online <= 0)
        return ALLOCATION_UNKNOWN;
    return CPU_COUNT_S(sizeof set, set) < online ? ALLOCATION_PART : ALLOCATION_WHOLE;
}

static enum allocation_bounds bounds_of_cgroups(const struct sysroot *root, double memory_mib)
{
    double cpus = (double)sysconf(_SC_NPROCESSORS_ONLN);
    struct limits limits;

    limits_of_cgroup(root, 0, &limits);
    if (limits.cpus < cpus * WHOLE_SHARE || limits.memory_mib < memory_mib * WHOLE_SHARE)
        return ALLOCATION_PART;
    return limits.is_known ? ALLOCATION_WHOLE : ALLOCATION_UNKNOWN;
}

enum allocation_bounds allocation_is_confined(const struct sysroot *root, double memory_mib)
{
    enum allocation_bounds affinity = bounds_of_affinity();

    if (affinity == ALLOCATION_PART)
        return ALLOCATION_PART;
    enum allocation_bounds cgroups = bounds_of_cgroups(root, memory_mib);
    return affinity == ALLOCATION_UNKNOWN && cgroups == ALLOCATION_WHOLE ? ALLOCATION_UNKNOWN
                                                                         : cgroups;
}

const char *allocation_name(enum allocation_bounds bounds, double others_cores, double cpus)
{
    if (bounds == ALLOCATION_PART)
        return "shared";
    if (isnan(others_cores) || isnan(cpus))
        return NULL;
    if (others_cores > cpus * OTHERS_SHARE)
        return "shared";
    return bounds == ALLOCATION_WHOLE ? "dedicated" : NULL;
}

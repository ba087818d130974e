#include "model/host.h"

#include "base/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_PER_MIB (1024.0 * 1024.0)
/* Beyond any count there is, and a double still counts by ones. */
#define NUMBER_MAX 9e15
#define AT(member) offsetof(struct host, member)

const struct host_fact host_facts[] = {
    {"host_id", "host_id", HOST_TEXT, AT(id), "the cloud's number of the instance, or machine-id"},
    {"host_name", "host_hostname", HOST_TEXT, AT(name), "hostname"},
    {"host_ip", "host_ip", HOST_TEXT, AT(ip), "first IPv4 address that is not loopback"},
    {"host_allocation", "host_server_allocation", HOST_TEXT, AT(allocation),
     "dedicated or shared with others"},
    {"host_vcpus", "host_vcpus", HOST_WHOLE, AT(vcpus), "logical CPUs"},
    {"host_cpu_model", "host_cpu_model", HOST_TEXT, AT(cpu_model), "model of the CPU"},
    {"host_memory_mib", "host_memory_mib", HOST_WHOLE, AT(memory_mib), "usable RAM"},
    {"host_gpu_model", "host_gpu_model", HOST_TEXT, AT(gpu_model), "model of the first GPU"},
    {"host_gpu_count", "host_gpu_count", HOST_WHOLE, AT(gpu_count), "number of GPUs"},
    {"host_gpu_vram_mib", "host_gpu_memory_mib", HOST_WHOLE, AT(gpu_vram_mib),
     "memory of all GPUs"},
    {"host_storage_gb", "host_storage_gb", HOST_DECIMAL, AT(storage_gb),
     "size of all disks, each once"},
    {"cloud_vendor_id", "cloud_vendor_id", HOST_TEXT, AT(cloud_vendor_id), "cloud"},
    {"cloud_account_id", "cloud_account_id", HOST_TEXT, AT(cloud_account_id), "account there"},
    {"cloud_region_id", "cloud_region_id", HOST_TEXT, AT(cloud_region_id), "region"},
    {"cloud_zone_id", "cloud_zone_id", HOST_TEXT, AT(cloud_zone_id), "zone"},
    {"cloud_instance_type", "cloud_instance_type", HOST_TEXT, AT(cloud_instance_type),
     "kind of machine"},
};
const size_t host_fact_count = sizeof host_facts / sizeof host_facts[0];

char *host_text(struct host *host, const struct host_fact *fact)
{
    return (char *)host + fact->offset;
}

double *host_number(struct host *host, const struct host_fact *fact)
{
    return (double *)(void *)((char *)host + fact->offset);
}

static void forget(struct host *host, const struct host_fact *fact)
{
    if (fact->type == HOST_TEXT)
        host_text(host, fact)[0] = '\0';
    else
        *host_number(host, fact) = NAN;
}

void host_reset(struct host *host)
{
    memset(host, 0, sizeof *host);
    for (size_t i = 0; i < host_fact_count; i++)
        forget(host, &host_facts[i]);
}

/* --- GPUs --- */

/* An instance of a device is no device of its own. */
static bool is_whole(const struct rows *list, size_t row)
{
    const char *type = rows_cell(list, row, FIELD_GPU_TYPE)->text;

    return type == NULL || strcmp(type, "MIG") != 0;
}

void host_describe_gpus(struct host *host, const struct rows *list)
{
    host->gpu_model[0] = '\0';
    host->gpu_count = 0;
    host->gpu_vram_mib = 0;
    for (size_t row = 0; list != NULL && row < list->count; row++) {
        if (!is_whole(list, row))
            continue;
        const char *name = rows_cell(list, row, FIELD_GPU_NAME)->text;
        uint64_t bytes = rows_cell(list, row, FIELD_GPU_VRAM_TOTAL)->counter;
        if (host->gpu_count == 0 && name != NULL)
            snprintf(host->gpu_model, sizeof host->gpu_model, "%s", name);
        host->gpu_count++;
        host->gpu_vram_mib += bytes != COUNTER_UNKNOWN ? (double)bytes / BYTES_PER_MIB : NAN;
    }
}

/* --- what the user says --- */

static bool set_number(double *number, enum host_fact_type type, const char *text)
{
    char *end;

    if (!is_digit(text[0]) || text[strspn(text, "0123456789.")] != '\0')
        return false;
    double value = strtod(text, &end);
    if (*end != '\0' || !(value < NUMBER_MAX) ||
        (type == HOST_WHOLE && value != (double)(uint64_t)value))
        return false;
    *number = value;
    return true;
}

static bool set_fact(struct host *host, const struct host_fact *fact, const char *text)
{
    if (text[0] == '\0' || strcmp(text, "0") == 0) {
        forget(host, fact);
        return true;
    }
    if (fact->type != HOST_TEXT)
        return set_number(host_number(host, fact), fact->type, text);
    snprintf(host_text(host, fact), HOST_TEXT_MAX, "%s", text);
    return true;
}

static char upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

/* Whether a variable is PREFIX + KEY in capitals; its value then. */
static const char *value_of(const char *variable, const char *prefix, const char *key)
{
    size_t length = strlen(prefix);

    if (strncmp(variable, prefix, length) != 0)
        return NULL;
    variable += length;
    for (; *key != '\0'; key++, variable++)
        if (*variable != upper(*key))
            return NULL;
    return *variable == '=' ? variable + 1 : NULL;
}

/* TRACKER_… goes before RESOURCE_TRACKER_…, as everywhere. */
static const char *find_variable(char *const *environment, const char *key, const char **ret_value)
{
    static const char *const prefixes[] = {"TRACKER_", "RESOURCE_TRACKER_"};

    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        for (char *const *at = environment; *at != NULL; at++)
            if ((*ret_value = value_of(*at, prefixes[i], key)) != NULL)
                return *at;
    return NULL;
}

const char *host_override(struct host *host, char *const *environment)
{
    const char *wrong = NULL;

    for (size_t i = 0; i < host_fact_count; i++) {
        const char *value;
        const char *variable = find_variable(environment, host_facts[i].key, &value);
        if (variable != NULL && !set_fact(host, &host_facts[i], value) && wrong == NULL)
            wrong = variable;
    }
    return wrong;
}

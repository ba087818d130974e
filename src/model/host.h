/*
 * What is known of the machine a run is on. Found once, in the background; plain data. A text that
 * is not known is "", a number NaN.
 */
#ifndef MODEL_HOST_H
#define MODEL_HOST_H

#include "model/sample.h"

#define HOST_TEXT_MAX 128

struct host {
    char id[HOST_TEXT_MAX];
    char name[HOST_TEXT_MAX];
    char ip[HOST_TEXT_MAX];
    char allocation[HOST_TEXT_MAX]; /* dedicated or shared */
    double vcpus;
    char cpu_model[HOST_TEXT_MAX];
    double memory_mib;
    char gpu_model[HOST_TEXT_MAX]; /* of the first */
    double gpu_count;              /* whole devices */
    double gpu_vram_mib;           /* of all together */
    double storage_gb;

    char cloud_vendor_id[HOST_TEXT_MAX];
    char cloud_account_id[HOST_TEXT_MAX];
    char cloud_region_id[HOST_TEXT_MAX];
    char cloud_zone_id[HOST_TEXT_MAX];
    char cloud_instance_type[HOST_TEXT_MAX];
};

enum host_fact_type { HOST_TEXT, HOST_WHOLE, HOST_DECIMAL };

/* Every fact, in the order in which it is told. */
struct host_fact {
    const char *key;          /* host_name, cloud_region_id … */
    const char *deployed_key; /* as the API in the field calls it */
    enum host_fact_type type;
    size_t offset; /* in struct host */
    const char *meaning;
};
extern const struct host_fact host_facts[];
extern const size_t host_fact_count;

/* Nothing known. */
void host_reset(struct host *host);

/* The members that a fact stands for. */
char *host_text(struct host *host, const struct host_fact *fact);
double *host_number(struct host *host, const struct host_fact *fact);

/* The facts about GPUs, from the GPU list of a sample; NULL is a host without. */
void host_describe_gpus(struct host *host, const struct rows *list);

/*
 * What the user says of the host: TRACKER_HOST_NAME=x (or RESOURCE_TRACKER_…) replaces that fact,
 * an empty value or "0" makes it unknown. Returns NULL, or the first variable whose value cannot be
 * one of that fact (text for a number); it is passed over.
 */
const char *host_override(struct host *host, char *const *environment);

#endif

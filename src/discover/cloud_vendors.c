#include "discover/cloud_vendors.h"

#include "base/scan.h"

#include <stdio.h>
#include <string.h>

#define LINK_LOCAL "http://169.254.169.254"
#define WORD_MAX HOST_TEXT_MAX

/* --- forms --- */

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static bool is_number(const char *text)
{
    return text[0] != '\0' && text[strspn(text, "0123456789")] == '\0';
}

/* Two lower-case words or more, the first with two letters: us-east-1, cn-hangzhou, hel1-dc2. */
static bool is_place(const char *text)
{
    size_t letters = strspn(text, "abcdefghijklmnopqrstuvwxyz");
    size_t first = letters + strspn(text + letters, "0123456789");
    size_t length = strlen(text);

    return letters >= 2 && text[first] == '-' && length >= first + 3 && text[length - 1] != '-' &&
           text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-")] == '\0';
}

static bool has_word(const struct cloud_answer *answer, const char *key)
{
    char word[WORD_MAX];

    return cloud_answer_word(answer, key, word, sizeof word);
}

static bool has_number(const struct cloud_answer *answer, const char *key)
{
    char word[WORD_MAX];

    return cloud_answer_word(answer, key, word, sizeof word) && is_number(word);
}

static bool has_place(const struct cloud_answer *answer, const char *key)
{
    char word[WORD_MAX];

    return cloud_answer_word(answer, key, word, sizeof word) && is_place(word);
}

static bool begins(const struct cloud_answer *answer, const char *key, const char *start)
{
    char word[WORD_MAX];

    return cloud_answer_word(answer, key, word, sizeof word) && starts_with(word, start);
}

static bool equals(const struct cloud_answer *answer, const char *key, const char *wanted)
{
    char word[WORD_MAX];

    return cloud_answer_word(answer, key, word, sizeof word) && strcmp(word, wanted) == 0;
}

/* --- parts of words --- */

/* projects/123/zones/europe-west4-b → europe-west4-b */
static bool last_part(char *word)
{
    const char *slash = strrchr(word, '/');

    if (slash != NULL)
        memmove(word, slash + 1, strlen(slash + 1) + 1);
    return word[0] != '\0';
}

/* "-b", or "-ai1a" of the zones for accelerators. */
static bool is_zone_ending(const char *ending)
{
    struct scan scan = scan_over(ending, strlen(ending));
    uint64_t number;

    if (!scan_char(&scan, '-'))
        return false;
    if (scan_starts_with(&scan, "ai")) {
        scan.at += strlen("ai");
        if (!scan_u64(&scan, &number))
            return false;
    }
    return scan_left(&scan) == 1 && scan.at[0] >= 'a' && scan.at[0] <= 'z';
}

/* europe-west4-b → europe-west4; what has no letter of a zone is a region already. */
static bool without_zone_letter(char *word)
{
    char *dash = strrchr(word, '-');

    if (dash != NULL && dash != word && is_zone_ending(dash))
        *dash = '\0';
    return true;
}

static bool region_of_path(char *word)
{
    return last_part(word) && without_zone_letter(word);
}

/* What OpenStack says where there is only one. */
static bool real_zone(char *word)
{
    return strcmp(word, "nova") != 0 && strcmp(word, "unknown") != 0;
}

static bool region_of_zone(char *word)
{
    return real_zone(word) && without_zone_letter(word);
}

/* --- what must hold --- */

/* Others have the word "compute", too. */
static bool fits_azure(const struct cloud_answer *answers)
{
    return has_word(&answers[0], "compute.azEnvironment") ||
           equals(&answers[0], "compute.provider", "Microsoft.Compute");
}

/* projects/NUMBER/KIND/name */
static bool is_google_path(const struct cloud_answer *answer, const char *kind)
{
    char word[WORD_MAX];

    if (!cloud_answer_word(answer, NULL, word, sizeof word) || !starts_with(word, "projects/"))
        return false;
    const char *number = word + strlen("projects/");
    size_t digits = strspn(number, "0123456789");
    const char *name = number + digits + strlen(kind);
    return digits > 0 && starts_with(number + digits, kind) && name[0] != '\0' &&
           strchr(name, '/') == NULL;
}

/* GKE's own service does not tell the machine type; one that is told must look like Google's. */
static bool fits_gcp(const struct cloud_answer *answers)
{
    return is_google_path(&answers[0], "/zones/") &&
           (!has_word(&answers[1], NULL) || is_google_path(&answers[1], "/machineTypes/"));
}

static bool fits_oci(const struct cloud_answer *answers)
{
    return begins(&answers[0], "id", "ocid1.instance.");
}

static bool fits_upcloud(const struct cloud_answer *answers)
{
    return equals(&answers[0], "cloud_name", "upcloud");
}

/*
 * amazonaws.com, amazonaws.com.cn, amazonaws.eu. OpenStack and others have most of the paths of
 * EC2, but not this one.
 */
static bool fits_aws(const struct cloud_answer *answers)
{
    return begins(&answers[0], NULL, "amazonaws.");
}

/* Nothing else tells OVH from any other OpenStack: its own resolver. */
static bool fits_ovh(const struct cloud_answer *answers)
{
    return cloud_answer_lists(&answers[0], "services", "type", "dns", "address", "213.186.33.99");
}

static bool fits_vultr(const struct cloud_answer *answers)
{
    return (has_word(&answers[0], "instance-v2-id") || has_word(&answers[0], "instanceid")) &&
           has_word(&answers[0], "region.regioncode");
}

/* UpCloud has the same path and mostly the same keys. */
static bool fits_digitalocean(const struct cloud_answer *answers)
{
    return has_number(&answers[0], "droplet_id") && has_word(&answers[0], "region") &&
           !has_word(&answers[0], "cloud_name");
}

static bool fits_hcloud(const struct cloud_answer *answers)
{
    return answers[0].json == NULL && has_word(&answers[0], "hostname") &&
           has_number(&answers[0], "instance-id") && has_place(&answers[0], "region") &&
           has_place(&answers[0], "availability-zone");
}

/* 100.64.0.0/10 belongs to carriers and private overlays: anyone may answer there. */
static bool fits_alicloud(const struct cloud_answer *answers)
{
    return begins(&answers[0], NULL, "i-") && has_place(&answers[1], NULL);
}

/* --- the table --- */

static const struct cloud_token aws_token = {
    "/latest/api/token",
    "X-aws-ec2-metadata-token-ttl-seconds: 60",
    "X-aws-ec2-metadata-token: ",
};

static const struct cloud_token alicloud_token = {
    "/latest/api/token",
    "X-aliyun-ecs-metadata-token-ttl-seconds: 60",
    "X-aliyun-ecs-metadata-token: ",
};

const struct cloud_vendor cloud_vendors[CLOUD_VENDOR_COUNT] = {
    /* First, since it may refuse what comes in a crowd (5 requests a second). */
    {
        .id = "azure",
        .base = LINK_LOCAL,
        .header = "Metadata: true",
        .paths = {"/metadata/instance?api-version=2021-02-01"},
        .fits = fits_azure,
        .takes = {{CLOUD_HOST_ID, 0, "compute.vmId", NULL},
                  {CLOUD_ACCOUNT, 0, "compute.subscriptionId", NULL},
                  {CLOUD_REGION, 0, "compute.location", NULL},
                  {CLOUD_ZONE, 0, "compute.zone", NULL},
                  {CLOUD_TYPE, 0, "compute.vmSize", NULL}},
    },
    /* Not by its name: resolving one has no limit of its own. Not recursively: that brings the
     * attributes along, which are large where Kubernetes runs, and not ours to read. */
    {
        .id = "gcp",
        .base = LINK_LOCAL,
        .header = "Metadata-Flavor: Google",
        .paths = {"/computeMetadata/v1/instance/zone", "/computeMetadata/v1/instance/machine-type",
                  "/computeMetadata/v1/instance/id", "/computeMetadata/v1/project/project-id"},
        .fits = fits_gcp,
        .takes = {{CLOUD_REGION, 0, NULL, region_of_path},
                  {CLOUD_ZONE, 0, NULL, last_part},
                  {CLOUD_TYPE, 1, NULL, last_part},
                  {CLOUD_HOST_ID, 2, NULL, NULL},
                  {CLOUD_ACCOUNT, 3, NULL, NULL}},
    },
    {
        .id = "oci",
        .base = LINK_LOCAL,
        .header = "Authorization: Bearer Oracle",
        .paths = {"/opc/v2/instance/"},
        .fits = fits_oci,
        .takes = {{CLOUD_HOST_ID, 0, "id", NULL},
                  {CLOUD_ACCOUNT, 0, "tenantId", NULL},
                  {CLOUD_REGION, 0, "canonicalRegionName", NULL},
                  {CLOUD_REGION, 0, "regionInfo.regionIdentifier", NULL},
                  {CLOUD_REGION, 0, "region", NULL}, /* in old regions an abbreviation */
                  {CLOUD_ZONE, 0, "availabilityDomain", NULL},
                  {CLOUD_TYPE, 0, "shape", NULL}},
    },
    {
        .id = "upcloud",
        .base = LINK_LOCAL,
        .paths = {"/metadata/v1.json"},
        .fits = fits_upcloud,
        .takes = {{CLOUD_HOST_ID, 0, "instance_id", NULL}, {CLOUD_REGION, 0, "region", NULL}},
    },
    {
        .id = "aws",
        .base = LINK_LOCAL,
        .token = &aws_token,
        .paths = {"/latest/meta-data/services/domain", "/latest/meta-data/placement/region",
                  "/latest/meta-data/placement/availability-zone",
                  "/latest/meta-data/instance-type", "/latest/meta-data/instance-id",
                  "/latest/dynamic/instance-identity/document",
                  "/latest/meta-data/identity-credentials/ec2/info"},
        .fits = fits_aws,
        .takes = {{CLOUD_REGION, 1, NULL, NULL},
                  {CLOUD_REGION, 5, "region", NULL},
                  {CLOUD_ZONE, 2, NULL, NULL},
                  {CLOUD_ZONE, 5, "availabilityZone", NULL},
                  {CLOUD_TYPE, 3, NULL, NULL},
                  {CLOUD_TYPE, 5, "instanceType", NULL},
                  {CLOUD_HOST_ID, 4, NULL, NULL},
                  {CLOUD_HOST_ID, 5, "instanceId", NULL},
                  {CLOUD_ACCOUNT, 5, "accountId", NULL},
                  {CLOUD_ACCOUNT, 6, "AccountId", NULL}},
    },
    {
        .id = "ovh",
        .base = LINK_LOCAL,
        .paths = {"/openstack/latest/network_data.json", "/openstack/latest/meta_data.json",
                  "/latest/meta-data/instance-type"},
        .fits = fits_ovh,
        .takes = {{CLOUD_HOST_ID, 1, "uuid", NULL},
                  {CLOUD_ACCOUNT, 1, "project_id", NULL},
                  {CLOUD_REGION, 1, "availability_zone", region_of_zone},
                  {CLOUD_ZONE, 1, "availability_zone", real_zone},
                  {CLOUD_TYPE, 2, NULL, NULL}},
    },
    {
        .id = "vultr",
        .base = LINK_LOCAL,
        .paths = {"/v1.json"},
        .fits = fits_vultr,
        .takes = {{CLOUD_HOST_ID, 0, "instance-v2-id", NULL},
                  {CLOUD_HOST_ID, 0, "instanceid", NULL},
                  {CLOUD_REGION, 0, "region.regioncode", NULL}},
    },
    {
        .id = "do",
        .base = LINK_LOCAL,
        .paths = {"/metadata/v1.json"},
        .fits = fits_digitalocean,
        .takes = {{CLOUD_HOST_ID, 0, "droplet_id", NULL}, {CLOUD_REGION, 0, "region", NULL}},
    },
    /* The instance-id is the server's number; its type is not told. */
    {
        .id = "hcloud",
        .base = LINK_LOCAL,
        .paths = {"/hetzner/v1/metadata"},
        .fits = fits_hcloud,
        .takes = {{CLOUD_HOST_ID, 0, "instance-id", NULL},
                  {CLOUD_REGION, 0, "region", NULL},
                  {CLOUD_ZONE, 0, "availability-zone", NULL}},
    },
    {
        .id = "alicloud",
        .base = "http://100.100.100.200",
        .token = &alicloud_token,
        .paths = {"/latest/meta-data/instance-id", "/latest/meta-data/region-id",
                  "/latest/meta-data/zone-id", "/latest/meta-data/instance/instance-type",
                  "/latest/meta-data/owner-account-id"},
        .fits = fits_alicloud,
        .takes = {{CLOUD_HOST_ID, 0, NULL, NULL},
                  {CLOUD_REGION, 1, NULL, NULL},
                  {CLOUD_ZONE, 2, NULL, NULL},
                  {CLOUD_TYPE, 3, NULL, NULL},
                  {CLOUD_ACCOUNT, 4, NULL, NULL}},
    },
};

/* --- taking --- */

size_t cloud_path_count(const struct cloud_vendor *vendor)
{
    size_t count = 0;

    while (vendor->paths[count] != NULL)
        count++;
    return count;
}

static char *text_of(struct host *host, enum cloud_fact fact)
{
    switch (fact) {
    case CLOUD_HOST_ID:
        return host->id;
    case CLOUD_ACCOUNT:
        return host->cloud_account_id;
    case CLOUD_REGION:
        return host->cloud_region_id;
    case CLOUD_ZONE:
        return host->cloud_zone_id;
    case CLOUD_TYPE:
        return host->cloud_instance_type;
    case CLOUD_NOTHING:
        break;
    }
    return NULL;
}

void cloud_vendor_take(const struct cloud_vendor *vendor, const struct cloud_answer *answers,
                       struct host *host)
{
    bool is_known[CLOUD_TYPE + 1] = {false};

    snprintf(host->cloud_vendor_id, HOST_TEXT_MAX, "%s", vendor->id);
    for (enum cloud_fact fact = CLOUD_ACCOUNT; fact <= CLOUD_TYPE; fact++)
        text_of(host, fact)[0] = '\0';
    for (const struct cloud_take *take = vendor->takes; take->fact != CLOUD_NOTHING; take++) {
        char word[WORD_MAX];
        if (!is_known[take->fact] &&
            cloud_answer_word(&answers[take->path], take->key, word, sizeof word) &&
            (take->part == NULL || take->part(word))) {
            memcpy(text_of(host, take->fact), word, sizeof word);
            is_known[take->fact] = true;
        }
    }
}

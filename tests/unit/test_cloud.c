#include "cloud_play.h"

static void expect_host(const struct host *host, const char *vendor, const char *id,
                        const char *account, const char *region, const char *zone, const char *type)
{
    assert_string_equal(host->cloud_vendor_id, vendor);
    assert_string_equal(host->id, id);
    assert_string_equal(host->cloud_account_id, account);
    assert_string_equal(host->cloud_region_id, region);
    assert_string_equal(host->cloud_zone_id, zone);
    assert_string_equal(host->cloud_instance_type, type);
}

static void expect_nothing(const struct play_answer *answers)
{
    struct host host = play(answers);

    expect_host(&host, "", "", "", "", "", "");
}

/* --- each vendor --- */

#define AWS_TOKEN "X-aws-ec2-metadata-token: AQAEAJ=="
#define AWS_ASKING "X-aws-ec2-metadata-token-ttl-seconds: 60"
#define AWS_DOCUMENT                                                                               \
    "{\n  \"accountId\" : \"123456789012\",\n  \"availabilityZone\" : \"us-west-2b\",\n"           \
    "  \"instanceId\" : \"i-0abc\",\n  \"instanceType\" : \"m5.large\",\n"                         \
    "  \"region\" : \"us-west-2\",\n  \"kernelId\" : null\n}"

static const struct play_answer aws[] = {
    {"/latest/api/token", "PUT", AWS_ASKING, .body = "AQAEAJ=="},
    {"/latest/meta-data/services/domain", .header = AWS_TOKEN, .body = "amazonaws.com"},
    {"/latest/meta-data/placement/region", .header = AWS_TOKEN, .body = "us-west-2"},
    {"/latest/meta-data/placement/availability-zone", .header = AWS_TOKEN, .body = "us-west-2b"},
    {"/latest/meta-data/instance-type", .header = AWS_TOKEN, .body = "m5.large"},
    {"/latest/meta-data/instance-id", .header = AWS_TOKEN, .body = "i-0abc"},
    {"/latest/dynamic/instance-identity/document", .header = AWS_TOKEN, .body = AWS_DOCUMENT},
    {0},
};

static void test_aws_with_a_token(void **state)
{
    struct host host = play(aws);

    (void)state;
    expect_host(&host, "aws", "i-0abc", "123456789012", "us-west-2", "us-west-2b", "m5.large");
}

static void test_aws_from_the_document_alone(void **state)
{
    static const struct play_answer answers[] = {
        {"/latest/api/token", "PUT", AWS_ASKING, .status = 403, .body = "no"},
        {"/latest/meta-data/services/domain", .body = "amazonaws.com.cn\n"},
        {"/latest/dynamic/instance-identity/document", .body = AWS_DOCUMENT},
        {0},
    };
    struct host host = play(answers);

    (void)state;
    expect_host(&host, "aws", "i-0abc", "123456789012", "us-west-2", "us-west-2b", "m5.large");
}

static void test_aws_account_from_the_credentials(void **state)
{
    static const struct play_answer answers[] = {
        {"/latest/meta-data/services/domain", .body = "amazonaws.eu"},
        {"/latest/meta-data/identity-credentials/ec2/info",
         .body = "{\n  \"Code\" : \"Success\",\n  \"AccountId\" : \"210987654321\"\n}"},
        {0},
    };
    struct host host = play(answers);

    (void)state;
    expect_host(&host, "aws", "", "210987654321", "", "", "");
}

/* In a container the token's packets die on the way. */
static void test_aws_without_a_token_when_it_gets_lost(void **state)
{
    static const struct play_answer answers[] = {
        {"/latest/api/token", "PUT", AWS_ASKING, .failure = HTTP_TIMED_OUT, .body = ""},
        {"/latest/meta-data/services/domain", .body = "amazonaws.com"},
        {0},
    };
    struct host host = play(answers);

    (void)state;
    assert_string_equal(host.cloud_vendor_id, "aws");
}

static const struct play_answer gcp[] = {
    {"/computeMetadata/v1/instance/zone", .header = "Metadata-Flavor: Google",
     .body = "projects/123456/zones/europe-west4-b"},
    {"/computeMetadata/v1/instance/machine-type", .header = "Metadata-Flavor: Google",
     .body = "projects/123456/machineTypes/n2-standard-8"},
    {"/computeMetadata/v1/instance/id", .header = "Metadata-Flavor: Google",
     .body = "17446744073709551615"},
    {"/computeMetadata/v1/project/project-id", .header = "Metadata-Flavor: Google",
     .body = "my-project"},
    {0},
};

/* The zones for accelerators have names of their own kind. */
static void test_regions_of_google_zones(void **state)
{
    static const struct {
        const char *zone;
        const char *region;
    } cases[] = {
        {"projects/1/zones/us-central1-ai1a", "us-central1"},
        {"projects/1/zones/us-south1-ai12b", "us-south1"},
        {"projects/1/zones/europe-west4-b", "europe-west4"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct play_answer answers[] = {
            {"/computeMetadata/v1/instance/zone", .header = "Metadata-Flavor: Google",
             .body = cases[i].zone},
            {0},
        };
        struct host host = play(answers);
        assert_string_equal(host.cloud_region_id, cases[i].region);
    }
}

static void test_gcp(void **state)
{
    struct host host = play(gcp);

    (void)state;
    expect_host(&host, "gcp", "17446744073709551615", "my-project", "europe-west4",
                "europe-west4-b", "n2-standard-8");
}

static void test_gcp_without_a_machine_type(void **state)
{
    static const struct play_answer answers[] = {
        {"/computeMetadata/v1/instance/zone", .body = "projects/1/zones/us-central1-a"},
        {0},
    };
    struct host host = play(answers);

    (void)state;
    expect_host(&host, "gcp", "", "", "us-central1", "us-central1-a", "");
}

#define AZURE_PATH "/metadata/instance?api-version=2021-02-01"
#define AZURE_BODY                                                                                 \
    "{\"compute\":{\"azEnvironment\":\"AzurePublicCloud\",\"location\":\"westeurope\","            \
    "\"provider\":\"Microsoft.Compute\",\"subscriptionId\":\"8d10da13-8125-4ba9-a717-bf7490507b3d" \
    "\",\"vmId\":\"02aab8a4-74ef-476e-8182-f6d2ba4166a6\",\"vmSize\":\"Standard_D4s_v5\","         \
    "\"zone\":\"2\",\"tags\":\"a:b;c:d\",\"userData\":\"\"},\"network\":{\"interface\":[]}}"

static const struct play_answer azure[] = {
    {AZURE_PATH, .header = "Metadata: true", .body = AZURE_BODY},
    {0},
};

static void test_azure(void **state)
{
    struct host host = play(azure);

    (void)state;
    expect_host(&host, "azure", "02aab8a4-74ef-476e-8182-f6d2ba4166a6",
                "8d10da13-8125-4ba9-a717-bf7490507b3d", "westeurope", "2", "Standard_D4s_v5");
}

static void test_azure_without_zones(void **state)
{
    static const struct play_answer answers[] = {
        {AZURE_PATH, .body = "{\"compute\":{\"provider\":\"Microsoft.Compute\",\"zone\":\"\"}}"},
        {0},
    };
    struct host host = play(answers);

    (void)state;
    expect_host(&host, "azure", "", "", "", "", "");
}

static const struct play_answer oci[] = {
    {"/opc/v2/instance/", .header = "Authorization: Bearer Oracle",
     .body =
         "{\"availabilityDomain\": \"EMIr:PHX-AD-1\", \"compartmentId\": \"ocid1.compartment.1\","
         "\"id\": \"ocid1.instance.oc1.phx.abuw\", \"region\": \"phx\","
         "\"canonicalRegionName\": \"us-phoenix-1\", \"shape\": \"VM.Standard.E4.Flex\","
         "\"timeCreated\": 1600381928581, \"tenantId\": \"ocid1.tenancy.oc1..aaaa\"}"},
    {0},
};

static void test_oracle(void **state)
{
    struct host host = play(oci);

    (void)state;
    expect_host(&host, "oci", "ocid1.instance.oc1.phx.abuw", "ocid1.tenancy.oc1..aaaa",
                "us-phoenix-1", "EMIr:PHX-AD-1", "VM.Standard.E4.Flex");
}

static void test_oracle_regions(void **state)
{
    static const struct play_answer info[] = {
        {"/opc/v2/instance/", .body = "{\"id\": \"ocid1.instance.x\", \"region\": \"phx\","
                                      "\"regionInfo\": {\"regionIdentifier\": \"us-phoenix-1\"}}"},
        {0},
    };
    static const struct play_answer plain[] = {
        {"/opc/v2/instance/",
         .body = "{\"id\": \"ocid1.instance.x\", \"region\": \"eu-frankfurt-1\"}"},
        {0},
    };

    (void)state;
    assert_string_equal(play(info).cloud_region_id, "us-phoenix-1");
    assert_string_equal(play(plain).cloud_region_id, "eu-frankfurt-1");
}

static const struct play_answer upcloud[] = {
    {"/metadata/v1.json", .body = "{\"cloud_name\": \"upcloud\", \"instance_id\": \"00a1-b2\","
                                  "\"hostname\": \"box\", \"region\": \"fi-hel2\"}"},
    {0},
};

static void test_upcloud(void **state)
{
    struct host host = play(upcloud);

    (void)state;
    expect_host(&host, "upcloud", "00a1-b2", "", "fi-hel2", "", "");
}

static const struct play_answer digitalocean[] = {
    {"/metadata/v1.json", .body = "{\"droplet_id\": 2756294, \"hostname\": \"sample\","
                                  "\"vendor_data\": \"#!/bin/sh\\n\", \"region\": \"nyc3\"}"},
    {0},
};

static void test_digitalocean(void **state)
{
    struct host host = play(digitalocean);

    (void)state;
    expect_host(&host, "do", "2756294", "", "nyc3", "", "");
}

static const struct play_answer vultr[] = {
    {"/v1.json", .body = "{\"instanceid\": \"a747\", \"instance-v2-id\": \"36e9cf60-5d93\","
                         "\"region\": {\"regioncode\": \"EWR\"}}"},
    {0},
};

static void test_vultr(void **state)
{
    static const struct play_answer older[] = {
        {"/v1.json", .body = "{\"instanceid\": \"a747\", \"region\": {\"regioncode\": \"EWR\"}}"},
        {0},
    };
    struct host host = play(vultr);

    (void)state;
    expect_host(&host, "vultr", "36e9cf60-5d93", "", "EWR", "", "");
    assert_string_equal(play(older).id, "a747");
}

static const struct play_answer hcloud[] = {
    {"/hetzner/v1/metadata", .body = "availability-zone: hel1-dc2\nhostname: my-server\n"
                                     "instance-id: 4711\nlocal-ipv4: ''\npublic-keys: []\n"
                                     "region: eu-central\nvendor_data: |\n  region: wrong\n"},
    {0},
};

static void test_hetzner(void **state)
{
    struct host host = play(hcloud);

    (void)state;
    expect_host(&host, "hcloud", "4711", "", "eu-central", "hel1-dc2", "");
}

#define OVH_NETWORK                                                                                \
    "{\"links\": [], \"services\": [{\"type\": \"dns\", \"address\": \"1.1.1.1\"},"                \
    "{\"type\": \"dns\", \"address\": \"213.186.33.99\"}]}"

static const struct play_answer ovh[] = {
    {"/openstack/latest/network_data.json", .body = OVH_NETWORK},
    {"/openstack/latest/meta_data.json",
     .body =
         "{\"uuid\": \"0a1b\", \"project_id\": \"p1\", \"availability_zone\": \"eu-west-par-a\"}"},
    {"/latest/meta-data/instance-type", .body = "b3-8"},
    {0},
};

static void test_ovh(void **state)
{
    struct host host = play(ovh);

    (void)state;
    expect_host(&host, "ovh", "0a1b", "p1", "eu-west-par", "eu-west-par-a", "b3-8");
}

static void test_ovh_without_zones(void **state)
{
    static const char *const zones[][2] = {{"nova", ""}, {"unknown", ""}, {"GRA11", "GRA11"}};

    (void)state;
    for (size_t i = 0; i < sizeof zones / sizeof zones[0]; i++) {
        char body[64];
        snprintf(body, sizeof body, "{\"availability_zone\": \"%s\"}", zones[i][0]);
        const struct play_answer answers[] = {
            {"/openstack/latest/network_data.json", .body = OVH_NETWORK},
            {"/openstack/latest/meta_data.json", .body = body},
            {0},
        };
        struct host host = play(answers);
        expect_host(&host, "ovh", "", "", zones[i][1], zones[i][1], "");
    }
}

#define ALI_TOKEN "X-aliyun-ecs-metadata-token: dG9rZW4="

static const struct play_answer alicloud[] = {
    {"/latest/api/token", "PUT", "X-aliyun-ecs-metadata-token-ttl-seconds: 60", .body = "dG9rZW4="},
    {"/latest/meta-data/instance-id", .header = ALI_TOKEN, .body = "i-bp1abc"},
    {"/latest/meta-data/region-id", .header = ALI_TOKEN, .body = "cn-hangzhou"},
    {"/latest/meta-data/zone-id", .header = ALI_TOKEN, .body = "cn-hangzhou-i"},
    {"/latest/meta-data/instance/instance-type", .header = ALI_TOKEN, .body = "ecs.g7.large"},
    {"/latest/meta-data/owner-account-id", .header = ALI_TOKEN, .body = "1609"},
    {0},
};

static void test_alibaba(void **state)
{
    struct host host = play(alicloud);

    (void)state;
    expect_host(&host, "alicloud", "i-bp1abc", "1609", "cn-hangzhou", "cn-hangzhou-i",
                "ecs.g7.large");
}

/* --- look-alikes --- */

static void test_nobody(void **state)
{
    static const struct play_answer nothing[] = {{0}};
    static const struct play_answer refused[] = {{.failure = HTTP_NO_CONNECTION, .body = ""}, {0}};
    static const struct play_answer hanging[] = {{.failure = HTTP_TIMED_OUT, .body = ""}, {0}};
    static const struct play_answer endless[] = {{.failure = HTTP_TOO_LARGE, .body = "aaaa"}, {0}};

    (void)state;
    expect_nothing(nothing);
    expect_nothing(refused);
    expect_nothing(hanging);
    expect_nothing(endless);
}

static void test_the_same_to_everything(void **state)
{
    static const char *const bodies[] = {
        "",
        "ok",
        "{}",
        "[]",
        "null",
        "<html><body>Welcome to the airport</body></html>",
        "\n<!DOCTYPE html>\n<title>region: eu-central</title>\n",
        "{\"compute\": {}}",
        "{\"error\": \"not found\"}",
        "i-0abc",
        "cn-hangzhou",
        "nova",
        "123",
        "projects/x/zones/y",
        "region: eu-central\nhostname: box\n",
        "\x01\x02\x03",
    };

    (void)state;
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        const struct play_answer answers[] = {{.body = bodies[i]}, {0}};
        expect_nothing(answers);
    }
}

/* A right body with a wrong status is not an answer. */
static void test_only_200_counts(void **state)
{
    static const int statuses[] = {201, 204, 302, 401, 404, 429, 500, 503};

    (void)state;
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        const struct play_answer answers[] = {
            {AZURE_PATH, .status = statuses[i], .body = AZURE_BODY},
            {"/metadata/v1.json", .status = statuses[i], .body = upcloud[0].body},
            {0},
        };
        expect_nothing(answers);
    }
}

static void test_ec2_compatible_is_not_aws(void **state)
{
    static const struct play_answer answers[] = {
        {"/latest/meta-data/instance-id", .body = "i-00000042"},
        {"/latest/meta-data/instance-type", .body = "m1.small"},
        {"/latest/meta-data/placement/availability-zone", .body = "nova"},
        {"/openstack/latest/meta_data.json", .body = "{\"uuid\": \"0a1b\"}"},
        {"/openstack/latest/network_data.json",
         .body = "{\"services\": [{\"type\": \"dns\", \"address\": \"8.8.8.8\"}]}"},
        {0},
    };

    (void)state;
    expect_nothing(answers);
}

static void test_near_misses(void **state)
{
    static const struct play_answer misses[][3] = {
        {{"/latest/meta-data/services/domain", .body = "example.com"}},
        {{"/latest/meta-data/services/domain", .body = "notamazonaws.com"}},
        {{"/latest/meta-data/services/domain", .body = "{\"domain\": \"amazonaws.com\"}"}},
        {{"/computeMetadata/v1/instance/zone", .body = "europe-west4-b"}},
        {{"/computeMetadata/v1/instance/zone", .body = "projects//zones/europe-west4-b"}},
        {{"/computeMetadata/v1/instance/zone", .body = "projects/a/zones/europe-west4-b"}},
        {{"/computeMetadata/v1/instance/zone", .body = "projects/1/zones/"}},
        {{"/computeMetadata/v1/instance/zone", .body = "projects/1/zones/a/b"}},
        {{"/computeMetadata/v1/instance/zone", .body = "projects/1"}},
        {{"/computeMetadata/v1/instance/zone", .body = "projects/1/zones/us-central1-a"},
         {"/computeMetadata/v1/instance/machine-type", .body = "m1.small"}},
        {{AZURE_PATH, .body = "{\"compute\": {\"vmSize\": \"Standard_D4s_v5\"}}"}},
        {{AZURE_PATH, .body = "{\"compute\": {\"provider\": \"Other.Compute\"}}"}},
        {{"/opc/v2/instance/", .body = "{\"id\": \"ocid1.image.oc1\", \"shape\": \"x\"}"}},
        {{"/metadata/v1.json", .body = "{\"cloud_name\": \"othercloud\", \"region\": \"fi\"}"}},
        {{"/metadata/v1.json",
          .body = "{\"cloud_name\": \"other\", \"droplet_id\": 5, \"region\": \"nyc3\"}"}},
        {{"/metadata/v1.json", .body = "{\"droplet_id\": \"abc\", \"region\": \"nyc3\"}"}},
        {{"/metadata/v1.json", .body = "{\"droplet_id\": 5}"}},
        {{"/v1.json", .body = "{\"instanceid\": \"1\", \"region\": \"EWR\"}"}},
        {{"/v1.json", .body = "{\"region\": {\"regioncode\": \"EWR\"}}"}},
        {{"/hetzner/v1/metadata", .body = "hostname: a\nregion: eu-central\ninstance-id: 5\n"}},
        {{"/hetzner/v1/metadata",
          .body = "hostname: a\nregion: eu-central\navailability-zone: hel1-dc2\n"
                  "instance-id: i-5\n"}},
        {{"/hetzner/v1/metadata",
          .body = "region: eu-central\navailability-zone: hel1-dc2\ninstance-id: 5\n"}},
        {{"/latest/meta-data/instance-id", .body = "i-bp1abc"}},
        {{"/latest/meta-data/instance-id", .body = "i-bp1abc"},
         {"/latest/meta-data/region-id", .body = "region"}},
        {{"/latest/meta-data/instance-id", .body = "abc"},
         {"/latest/meta-data/region-id", .body = "cn-hangzhou"}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof misses / sizeof misses[0]; i++)
        expect_nothing(misses[i]);
}

/* Every vendor's document on every other's paths. */
static void test_documents_on_foreign_paths(void **state)
{
    static const struct play_answer *const vendors[] = {aws,          gcp,   azure,  oci, upcloud,
                                                        digitalocean, vultr, hcloud, ovh, alicloud};

    (void)state;
    for (size_t owner = 0; owner < sizeof vendors / sizeof vendors[0]; owner++)
        for (const struct play_answer *row = vendors[owner]; row->body != NULL; row++) {
            const struct play_answer everywhere[] = {{.body = row->body}, {0}};
            struct host found = play(everywhere);
            struct host own = play(vendors[owner]);
            if (found.cloud_vendor_id[0] != '\0' &&
                strcmp(found.cloud_vendor_id, own.cloud_vendor_id) != 0)
                fail_msg("%s of %s is taken for %s", row->path, own.cloud_vendor_id,
                         found.cloud_vendor_id);
        }
}

static void test_a_known_id_is_replaced_only_by_a_better_one(void **state)
{
    struct cloud_answer answers[CLOUD_PATHS_MAX] = {0};
    struct host host;

    (void)state;
    host_reset(&host);
    strcpy(host.id, "machine");
    strcpy(host.name, "box");
    strcpy(host.cloud_zone_id, "stale");
    cloud_vendor_take(&cloud_vendors[0], answers, &host);
    expect_host(&host, cloud_vendors[0].id, "machine", "", "", "", "");
    assert_string_equal(host.name, "box");
}

/* --- requests --- */

static void test_first_round_is_one_request_of_each(void **state)
{
    static const struct play_answer nothing[] = {{.failure = HTTP_TIMED_OUT, .body = ""}, {0}};
    struct host host;
    struct play_log log = play_logged(nothing, &host);

    (void)state;
    assert_int_equal(log.count[0], CLOUD_VENDOR_COUNT);
    assert_int_equal(log.count[1], 0);
    assert_false(log.throttled);
    assert_non_null(strstr(log.requests[0], "PUT /latest/api/token|" AWS_ASKING "\n"));
    assert_non_null(
        strstr(log.requests[0], "GET /computeMetadata/v1/instance/zone|Metadata-Flavor: Google\n"));
    assert_non_null(strstr(log.requests[0], "GET " AZURE_PATH "|Metadata: true\n"));
    assert_non_null(strstr(log.requests[0], "GET /v1.json\n"));
}

static void test_token_goes_along(void **state)
{
    struct host host;
    struct play_log log = play_logged(aws, &host);

    (void)state;
    assert_non_null(
        strstr(log.requests[1], "GET /latest/meta-data/services/domain|" AWS_TOKEN "\n"));
    /* Alibaba's token was refused: it is asked without. */
    assert_non_null(strstr(log.requests[1], "GET /latest/meta-data/region-id\n"));
    assert_int_equal(log.count[1], 7 + 5);
}

static void test_what_is_no_token_ends_it(void **state)
{
    static const char *const bodies[] = {"", "<html>", "two words", "a\r\nX-Evil: 1", "{}"};

    (void)state;
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        const struct play_answer answers[] = {
            {"/latest/api/token", "PUT", .body = bodies[i]},
            {"/latest/meta-data/services/domain", .body = "amazonaws.com"},
            {0},
        };
        struct host host;
        struct play_log log = play_logged(answers, &host);
        assert_int_equal(log.count[1], 0);
        assert_string_equal(host.cloud_vendor_id, "");
    }
}

static void test_server_errors_for_a_token_end_it(void **state)
{
    static const struct play_answer answers[] = {
        {"/latest/api/token", "PUT", .status = 500, .body = ""}, {0}};
    struct host host;
    struct play_log log = play_logged(answers, &host);

    (void)state;
    assert_int_equal(log.count[1], 0);
}

static void test_a_throttled_vendor_is_asked_again(void **state)
{
    static const struct play_answer answers[] = {{AZURE_PATH, .status = 429, .body = "slow down"},
                                                 {0}};
    struct host host;
    struct play_log log = play_logged(answers, &host);

    (void)state;
    assert_true(log.throttled);
    assert_non_null(strstr(log.requests[1], "GET " AZURE_PATH "|Metadata: true\n"));
    assert_string_equal(host.cloud_vendor_id, "");
}

static void test_throttled_then_answered(void **state)
{
    struct cloud_rounds *rounds = cloud_rounds_open(ENDPOINT);
    static const struct play_answer busy[] = {{AZURE_PATH, .status = 429, .body = "slow down"},
                                              {0}};
    struct play_log log = {0};
    struct host host;

    (void)state;
    host_reset(&host);
    play_round(busy, cloud_rounds_first(rounds, 1500), 1500, &log, 0);
    play_round(azure, cloud_rounds_second(rounds, 500), 500, &log, 1);
    cloud_rounds_end(rounds, &host);
    assert_string_equal(host.cloud_vendor_id, "azure");
}

static void test_base_urls(void **state)
{
    struct cloud_rounds *rounds = cloud_rounds_open("");
    struct cloud_round *round = cloud_rounds_first(rounds, 1000);
    struct host host;

    (void)state;
    host_reset(&host);
    assert_int_equal(round->count, CLOUD_VENDOR_COUNT);
    for (size_t i = 0; i < round->count; i++) {
        const char *base = strcmp(cloud_vendors[i].id, "alicloud") == 0 ? "http://100.100.100.200/"
                                                                        : "http://169.254.169.254/";
        assert_memory_equal(round->requests[i].url, base, strlen(base));
    }
    cloud_rounds_end(rounds, &host);
}

/* Whoever answers at one address says nothing of another. */
static void test_a_lost_token_elsewhere_is_not_followed(void **state)
{
    struct cloud_rounds *rounds = cloud_rounds_open(NULL);
    struct cloud_round *round = cloud_rounds_first(rounds, 1000);
    struct host host;

    (void)state;
    host_reset(&host);
    for (size_t i = 0; i < round->count; i++) {
        round->responses[i].status = cloud_vendors[i].token != NULL ? 0 : 404;
        round->responses[i].failure =
            cloud_vendors[i].token != NULL ? HTTP_TIMED_OUT : HTTP_ANSWERED;
    }
    round = cloud_rounds_second(rounds, 1000);
    assert_int_equal(round->count, 7);
    assert_string_equal(cloud_vendors[round->calls[0].vendor].id, "aws");
    cloud_rounds_end(rounds, &host);
}

static void test_an_endpoint_that_is_too_long(void **state)
{
    char endpoint[2 * CLOUD_URL_MAX];
    struct host host;

    (void)state;
    memset(endpoint, 'a', sizeof endpoint);
    endpoint[sizeof endpoint - 1] = '\0';
    struct cloud_rounds *rounds = cloud_rounds_open(endpoint);
    assert_int_equal(cloud_rounds_first(rounds, 1000)->count, 0);
    assert_int_equal(cloud_rounds_second(rounds, 1000)->count, 0);
    host_reset(&host);
    cloud_rounds_end(rounds, &host);
}

static void test_the_table_is_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < CLOUD_VENDOR_COUNT; i++) {
        const struct cloud_vendor *vendor = &cloud_vendors[i];
        size_t paths = cloud_path_count(vendor);
        assert_true(paths >= 1 && paths <= CLOUD_PATHS_MAX);
        assert_non_null(vendor->fits);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(vendor->id, cloud_vendors[j].id);
        size_t takes = 0;
        for (; vendor->takes[takes].fact != CLOUD_NOTHING; takes++)
            assert_true(vendor->takes[takes].path < paths);
        assert_true(takes >= 1 && takes <= CLOUD_TAKES_MAX);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_regions_of_google_zones),
        cmocka_unit_test(test_aws_with_a_token),
        cmocka_unit_test(test_aws_from_the_document_alone),
        cmocka_unit_test(test_aws_account_from_the_credentials),
        cmocka_unit_test(test_aws_without_a_token_when_it_gets_lost),
        cmocka_unit_test(test_gcp),
        cmocka_unit_test(test_gcp_without_a_machine_type),
        cmocka_unit_test(test_azure),
        cmocka_unit_test(test_azure_without_zones),
        cmocka_unit_test(test_oracle),
        cmocka_unit_test(test_oracle_regions),
        cmocka_unit_test(test_upcloud),
        cmocka_unit_test(test_digitalocean),
        cmocka_unit_test(test_vultr),
        cmocka_unit_test(test_hetzner),
        cmocka_unit_test(test_ovh),
        cmocka_unit_test(test_ovh_without_zones),
        cmocka_unit_test(test_alibaba),
        cmocka_unit_test(test_nobody),
        cmocka_unit_test(test_the_same_to_everything),
        cmocka_unit_test(test_only_200_counts),
        cmocka_unit_test(test_ec2_compatible_is_not_aws),
        cmocka_unit_test(test_near_misses),
        cmocka_unit_test(test_documents_on_foreign_paths),
        cmocka_unit_test(test_a_known_id_is_replaced_only_by_a_better_one),
        cmocka_unit_test(test_first_round_is_one_request_of_each),
        cmocka_unit_test(test_token_goes_along),
        cmocka_unit_test(test_what_is_no_token_ends_it),
        cmocka_unit_test(test_server_errors_for_a_token_end_it),
        cmocka_unit_test(test_a_throttled_vendor_is_asked_again),
        cmocka_unit_test(test_throttled_then_answered),
        cmocka_unit_test(test_base_urls),
        cmocka_unit_test(test_a_lost_token_elsewhere_is_not_followed),
        cmocka_unit_test(test_an_endpoint_that_is_too_long),
        cmocka_unit_test(test_the_table_is_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

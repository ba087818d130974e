#include "encode/json.h"
#include "json_check.h"
#include "out.h"

#define FFFD "\xef\xbf\xbd"

static const char *text_of(const char *text)
{
    buf_reset(&out);
    json_text(text, &out);
    buf_char(&out, '\0');
    return out.data;
}

/* --- texts --- */

static void test_null_and_empty(void **state)
{
    (void)state;
    assert_string_equal(text_of(NULL), "null");
    assert_string_equal(text_of(""), "\"\"");
}

static void test_every_byte_alone(void **state)
{
    char wanted[16];

    (void)state;
    for (int c = 1; c < 256; c++) {
        const char text[] = {(char)c, '\0'};
        if (c == '"' || c == '\\')
            snprintf(wanted, sizeof wanted, "\"\\%c\"", c);
        else if (c < 0x20 || c == 0x7f)
            snprintf(wanted, sizeof wanted, "\"\\u%04x\"", c);
        else if (c < 0x80)
            snprintf(wanted, sizeof wanted, "\"%c\"", c);
        else
            snprintf(wanted, sizeof wanted, "\"" FFFD "\"");
        assert_string_equal(text_of(text), wanted);
        assert_true(is_json(out.data, out.size - 1));
    }
}

static size_t encode(uint32_t code, char *bytes)
{
    size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};

    for (size_t i = length; i-- > 1; code >>= 6)
        bytes[i] = (char)(0x80 | (code & 0x3f));
    bytes[0] = (char)(lead[length] | code);
    bytes[length] = '\0';
    return length;
}

static void test_every_code_point_passes(void **state)
{
    char bytes[8];
    char wanted[16];

    (void)state;
    for (uint32_t code = 0x80; code <= 0x10ffff; code++) {
        if (code >= 0xd800 && code <= 0xdfff)
            continue;
        encode(code, bytes);
        snprintf(wanted, sizeof wanted, "\"%s\"", bytes);
        if (strcmp(text_of(bytes), wanted) != 0)
            fail_msg("U+%04X gave %s", code, out.data);
    }
}

static void test_surrogates_are_replaced(void **state)
{
    char bytes[8];

    (void)state;
    for (uint32_t code = 0xd800; code <= 0xdfff; code++) {
        encode(code, bytes);
        assert_string_equal(text_of(bytes), "\"" FFFD FFFD FFFD "\"");
    }
}

static void test_overlong_forms_are_replaced(void **state)
{
    (void)state;
    assert_string_equal(text_of("\xc0\x80"), "\"" FFFD FFFD "\"");
    assert_string_equal(text_of("\xc0\xaf"), "\"" FFFD FFFD "\"");
    assert_string_equal(text_of("\xc1\xbf"), "\"" FFFD FFFD "\"");
    assert_string_equal(text_of("\xe0\x80\x80"), "\"" FFFD FFFD FFFD "\"");
    assert_string_equal(text_of("\xe0\x9f\xbf"), "\"" FFFD FFFD FFFD "\"");
    assert_string_equal(text_of("\xf0\x80\x80\x80"), "\"" FFFD FFFD FFFD FFFD "\"");
    assert_string_equal(text_of("\xf0\x8f\xbf\xbf"), "\"" FFFD FFFD FFFD FFFD "\"");
}

static void test_beyond_unicode_is_replaced(void **state)
{
    (void)state;
    assert_string_equal(text_of("\xf4\x8f\xbf\xbf"), "\"\xf4\x8f\xbf\xbf\"");
    assert_string_equal(text_of("\xf4\x90\x80\x80"), "\"" FFFD FFFD FFFD FFFD "\"");
    assert_string_equal(text_of("\xf5\x80\x80\x80"), "\"" FFFD FFFD FFFD FFFD "\"");
    assert_string_equal(text_of("\xf8\x88\x80\x80\x80"), "\"" FFFD FFFD FFFD FFFD FFFD "\"");
    assert_string_equal(text_of("\xfe\xff"), "\"" FFFD FFFD "\"");
}

/* A sequence that breaks off takes nothing of what follows with it. */
static void test_truncated_sequences(void **state)
{
    static const char *const whole[] = {"\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};

    (void)state;
    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++)
        for (size_t kept = 1; kept < strlen(whole[i]); kept++) {
            char text[16];
            char wanted[64] = "\"";
            snprintf(text, sizeof text, "%.*s", (int)kept, whole[i]);
            for (size_t n = 0; n < kept; n++)
                strcat(wanted, FFFD);
            strcat(wanted, "\"");
            assert_string_equal(text_of(text), wanted);

            strcat(text, "\"A");
            snprintf(wanted + strlen(wanted) - 1, 8, "\\\"A\"");
            assert_string_equal(text_of(text), wanted);
        }
}

/* Every two bytes, alone and after a lead: always JSON, and nothing well-formed is lost. */
static void test_every_pair_gives_json(void **state)
{
    (void)state;
    for (unsigned a = 1; a < 256; a++)
        for (unsigned b = 1; b < 256; b++) {
            const char text[] = {(char)a, (char)b, 'z', '\0'};
            const char *json = text_of(text);
            if (!is_json(json, out.size - 1) || json[out.size - 3] != 'z')
                fail_msg("%02x %02x gave %s", a, b, json);
        }
    for (unsigned a = 1; a < 256; a++)
        for (unsigned b = 1; b < 256; b++) {
            const char text[] = {'\xe2', (char)a, (char)b, '\0'};
            text_of(text);
            assert_true(is_json(out.data, out.size - 1));
            const char longer[] = {'\xf0', '\x9f', (char)a, (char)b, '\0'};
            text_of(longer);
            assert_true(is_json(out.data, out.size - 1));
        }
}

/* --- samples --- */

static struct sample sample;
static struct run run;

static const char *sample_text(void)
{
    buf_reset(&out);
    json_sample(&run, &sample, &out);
    assert_false(out.overflow);
    buf_char(&out, '\0');
    return out.data;
}

static void reset(void)
{
    run = (struct run){0};
    sample_reset(&sample);
}

static void assert_one_json_line(void)
{
    size_t size = out.size - 1;

    assert_true(is_json(out.data, size));
    assert_ptr_equal(memchr(out.data, '\n', size), out.data + size - 1);
}

static void assert_has(const char *text)
{
    if (strstr(out.data, text) == NULL)
        fail_msg("no %s in %s", text, out.data);
}

static void test_t_out_01_empty_sample_is_one_line_of_json(void **state)
{
    (void)state;
    reset();
    sample_text();
    assert_one_json_line();
    assert_has("\"job_name\":null,");
    assert_has("\"utilization_pct\":null,\"per_core_pct\":[],");
    assert_has("\"network\":[],\"disk\":[],\"gpu\":[],");
    assert_has("\"gpu_usage\":0.0000,\"gpu_vram_mib\":0.0000,\"gpu_utilized\":0}");
    assert_has("\"tracked_pid\":null,\"actual_interval_ms\":null,");
}

static void test_t_out_02_timestamp_comes_first_and_is_whole(void **state)
{
    static const char wanted[] = "{\"timestamp_secs\":1743300000,\"job_name\":";

    (void)state;
    reset();
    sample.value[METRIC_TIMESTAMP_SECS] = 1743300000;
    assert_memory_equal(sample_text(), wanted, strlen(wanted));
}

static void test_t_out_03_version_comes_last(void **state)
{
    (void)state;
    reset();
    const char *version = strstr(sample_text(), ",\"resource-tracker-version\":\"");
    assert_non_null(version);
    assert_string_equal(strchr(version + strlen(",\"resource-tracker-version\":\""), '"'), "\"}\n");
}

static void test_groups_in_the_order_of_the_specification(void **state)
{
    static const char *const keys[] = {"\"timestamp_secs\":",
                                       "\"job_name\":",
                                       "\"cpu\":{",
                                       "\"memory\":{",
                                       "\"network\":[",
                                       "\"disk\":[",
                                       "\"gpu\":[",
                                       "\"total\":{",
                                       "\"tracker\":{",
                                       "\"tracked_pid\":",
                                       "\"actual_interval_ms\":",
                                       "\"resource-tracker-version\":"};

    (void)state;
    reset();
    const char *at = sample_text();
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const char *found = strstr(at, keys[i]);
        if (found == NULL)
            fail_msg("%s is not where it belongs in %s", keys[i], out.data);
        at = found;
    }
}

static void test_every_metric_is_there_with_its_decimals(void **state)
{
    char wanted[128];

    (void)state;
    reset();
    for (size_t i = 0; i < METRIC_COUNT; i++)
        sample.value[i] = (double)i + 0.25;
    sample_text();
    assert_one_json_line();
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        if (metrics[i].kind == KIND_SERIES || metrics[i].kind == KIND_TEXT)
            continue;
        snprintf(wanted, sizeof wanted, "\"%s\":%.*f", metrics[i].key, (int)metrics[i].decimals,
                 metrics[i].decimals == 1 ? (double)i + 0.3 : (double)i + 0.25);
        assert_has(wanted);
    }
}

static void test_texts_are_quoted_or_null(void **state)
{
    (void)state;
    reset();
    sample_text();
    assert_has("\"cpu_source\":null");
    sample.text[METRIC_PROCESS_CPU_SOURCE] = "a\"b";
    sample_text();
    assert_has("\"cpu_source\":\"a\\\"b\"");
}

static void test_what_is_not_a_number_is_null(void **state)
{
    (void)state;
    reset();
    sample.value[METRIC_MEMORY_USED_PCT] = INFINITY;
    sample.value[METRIC_TRACKER_LATE] = -INFINITY;
    sample_text();
    assert_one_json_line();
    assert_has("\"used_pct\":null");
    assert_has("\"late_ms\":null");
}

static void test_cores(void **state)
{
    static const double cores[] = {0, 12.345, NAN, 100};

    (void)state;
    reset();
    sample.per_core = cores;
    sample.per_core_count = 4;
    sample_text();
    assert_one_json_line();
    assert_has("\"per_core_pct\":[0.00,12.35,null,100.00],");
}

static void test_devices(void **state)
{
    struct rows network;

    (void)state;
    reset();
    rows_init(&network, DEVICE_NETWORK);
    assert_int_equal(rows_resize(&network, 2), 0);
    for (size_t row = 0; row < 2; row++) {
        rows_cell(&network, row, FIELD_NET_INTERFACE)->text = row == 0 ? "eth0" : "w\"\n";
        rows_cell(&network, row, FIELD_NET_MAC)->text = NULL;
        rows_cell(&network, row, FIELD_NET_DRIVER)->text = NULL;
        rows_cell(&network, row, FIELD_NET_OPERSTATE)->text = "up";
        rows_cell(&network, row, FIELD_NET_SPEED)->number = -1;
        rows_cell(&network, row, FIELD_NET_MTU)->number = NAN;
        rows_cell(&network, row, FIELD_NET_RX_RATE)->number = 1.25;
        rows_cell(&network, row, FIELD_NET_TX_RATE)->number = 0;
        rows_cell(&network, row, FIELD_NET_RX_TOTAL)->counter = UINT64_MAX - 1;
        rows_cell(&network, row, FIELD_NET_TX_TOTAL)->counter = COUNTER_UNKNOWN;
    }
    sample.rows[DEVICE_NETWORK] = &network;
    sample_text();
    assert_one_json_line();
    assert_has("\"network\":[{\"interface\":\"eth0\",\"mac_address\":null,\"driver\":null,"
               "\"operstate\":\"up\",\"speed_mbps\":-1,\"mtu\":null,\"rx_bytes_per_sec\":1.3,"
               "\"tx_bytes_per_sec\":0.0,\"rx_bytes_total\":18446744073709551614,"
               "\"tx_bytes_total\":null},{\"interface\":\"w\\\"\\u000a\",");
    rows_free(&network);
}

static void fill_disk(struct rows *rows, size_t row, const char *name, struct row_range mounts)
{
    for (size_t i = 0; i < rows->info->field_count; i++) {
        enum field_id id = (enum field_id)((size_t)rows->info->first + i);
        union cell *cell = rows_cell(rows, row, id);
        *cell = (union cell){.text = NULL};
        if (fields[id].type == TYPE_NUMBER)
            cell->number = NAN;
    }
    rows_cell(rows, row, FIELD_DISK_DEVICE)->text = name;
    rows_cell(rows, row, FIELD_DISK_MOUNTS)->nested = mounts;
}

static void test_mounts_stand_inside_their_disk(void **state)
{
    struct rows disks;
    struct rows mounts;
    static const char *const points[] = {"/", "/home", "/srv"};

    (void)state;
    reset();
    rows_init(&disks, DEVICE_DISK);
    rows_init(&mounts, DEVICE_MOUNT);
    assert_int_equal(rows_resize(&disks, 3), 0);
    assert_int_equal(rows_resize(&mounts, 3), 0);
    for (size_t i = 0; i < 3; i++) {
        rows_cell(&mounts, i, FIELD_MOUNT_POINT)->text = points[i];
        rows_cell(&mounts, i, FIELD_MOUNT_FILESYSTEM)->text = "ext4";
        rows_cell(&mounts, i, FIELD_MOUNT_TOTAL)->counter = 1000;
        rows_cell(&mounts, i, FIELD_MOUNT_AVAILABLE)->counter = 400;
        rows_cell(&mounts, i, FIELD_MOUNT_USED)->counter = 500;
        rows_cell(&mounts, i, FIELD_MOUNT_USED_PCT)->number = 50;
    }
    fill_disk(&disks, 0, "sda", (struct row_range){0, 2});
    fill_disk(&disks, 1, "sdb", (struct row_range){2, 0});
    fill_disk(&disks, 2, "sdc", (struct row_range){2, 1});
    sample.rows[DEVICE_DISK] = &disks;
    sample.rows[DEVICE_MOUNT] = &mounts;
    sample_text();
    assert_one_json_line();
    assert_has("\"mounts\":[{\"mount_point\":\"/\",\"filesystem\":\"ext4\",\"total_bytes\":1000,"
               "\"available_bytes\":400,\"used_bytes\":500,\"used_pct\":50.00},"
               "{\"mount_point\":\"/home\",");
    assert_has("{\"device\":\"sdb\",\"model\":null,\"vendor\":null,\"serial\":null,"
               "\"device_type\":null,\"capacity_bytes\":0,\"mounts\":[],");
    assert_has("\"mounts\":[{\"mount_point\":\"/srv\",");
    assert_null(strstr(out.data, "},\"mounts\":")); /* no list of its own */
    rows_free(&disks);
    rows_free(&mounts);
}

static void test_t_out_01_foreign_names_stay_json(void **state)
{
    (void)state;
    reset();
    run.job_name = "a\"b\\c\n\x01\xff\xc3\xa4\xed\xa0\x80";
    sample_text();
    assert_one_json_line();
    assert_has("\"job_name\":\"a\\\"b\\\\c\\u000a\\u0001" FFFD "\xc3\xa4" FFFD FFFD FFFD "\",");
}

static void test_same_sample_same_bytes(void **state)
{
    (void)state;
    reset();
    sample.value[METRIC_CPU_UTILIZATION] = 1.23456789;
    char *first = strdup(sample_text());
    assert_string_equal(sample_text(), first);
    free(first);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, out_make, out_drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_null_and_empty),
        TEST(test_every_byte_alone),
        TEST(test_every_code_point_passes),
        TEST(test_surrogates_are_replaced),
        TEST(test_overlong_forms_are_replaced),
        TEST(test_beyond_unicode_is_replaced),
        TEST(test_truncated_sequences),
        TEST(test_every_pair_gives_json),
        TEST(test_t_out_01_empty_sample_is_one_line_of_json),
        TEST(test_t_out_02_timestamp_comes_first_and_is_whole),
        TEST(test_t_out_03_version_comes_last),
        TEST(test_groups_in_the_order_of_the_specification),
        TEST(test_every_metric_is_there_with_its_decimals),
        TEST(test_texts_are_quoted_or_null),
        TEST(test_what_is_not_a_number_is_null),
        TEST(test_cores),
        TEST(test_devices),
        TEST(test_mounts_stand_inside_their_disk),
        TEST(test_t_out_01_foreign_names_stay_json),
        TEST(test_same_sample_same_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

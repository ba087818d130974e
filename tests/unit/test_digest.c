#include "base/clock.h"
#include "model/digest.h"
#include "play.h"

#include <malloc.h>

static struct digest digest;

static int make(void **state)
{
    (void)state;
    play_reset(2);
    return digest_init(&digest, true);
}

static int drop(void **state)
{
    (void)state;
    digest_free(&digest);
    play_free();
    return 0;
}

static const struct statistic *of(enum metric_id id)
{
    return &digest.metrics[id];
}

static const struct series *series_of(enum metric_id id)
{
    for (size_t i = 0; i < DIGEST_SERIES_COUNT; i++)
        if (digest_series[i].metric == id)
            return &digest.series[i];
    fail();
    return NULL;
}

static void test_an_empty_run(void **state)
{
    (void)state;
    assert_int_equal(digest.sample_count, 0);
    assert_true(digest.duration_secs == 0);
    assert_true(isnan(digest.start_unix_secs) && isnan(digest_interval(&digest)));
    assert_false(digest_has_tree(&digest));
    assert_string_equal(digest_name(&digest), "");
    assert_int_equal(digest.axis.count, 0);
}

static void test_tables_are_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < DIGEST_SERIES_COUNT; i++) {
        const struct digest_series *row = &digest_series[i];
        assert_true(metrics[row->metric].kind != KIND_TEXT &&
                    metrics[row->metric].kind != KIND_SERIES);
        assert_true(row->scale > 0 && row->label[0] != '\0');
        bool is_bytes = strcmp(metrics[row->metric].unit, "MiB") == 0;
        assert_true(row->scale == (is_bytes ? 1048576.0 : 1.0));
    }
    for (int list = 0; list < DEVICE_COUNT; list++) {
        assert_true(digest_fields[list].count <= DIGEST_FIELDS_MAX);
        assert_true(digest_fields[list].series_count <= digest_fields[list].count);
        for (size_t i = 0; i < digest_fields[list].count; i++)
            assert_int_equal(fields[digest_fields[list].fields[i].field].list, list);
    }
}

static void test_cpu_mean_is_cpu_time_by_elapsed_time(void **state)
{
    (void)state;
    play_sample.value[METRIC_PROCESS_CORES_USED] = 2;
    play_sample.value[METRIC_PROCESS_UTIME] = 2;
    play_add(&digest, 1);
    play_sample.value[METRIC_PROCESS_CORES_USED] = 0.5;
    play_sample.value[METRIC_PROCESS_UTIME] = 1.5;
    play_add(&digest, 3);
    assert_true(digest.duration_secs == 4);
    assert_true(of(METRIC_PROCESS_UTIME)->sum == 3.5);
    assert_true(statistic_mean(of(METRIC_PROCESS_CORES_USED)) == 3.5 / 4);
    assert_true(statistic_mean(of(METRIC_PROCESS_UTIME)) == 3.5 / 4);
    assert_true(digest.start_unix_secs == 1699999999);
    assert_true(digest_has_tree(&digest));
}

static void test_figures_are_taken_as_published(void **state)
{
    (void)state;
    play_sample.value[METRIC_PROCESS_CORES_USED] = 0.12345678;
    play_sample.value[METRIC_MEMORY_USED] = 100.6;
    play_add(&digest, 1);
    assert_true(of(METRIC_PROCESS_CORES_USED)->max == 0.1235);
    assert_true(of(METRIC_MEMORY_USED)->max == 101);
}

/* Everything that depends on time must come out as if the interval had been known. */
static void test_the_next_interval_stands_in_for_an_unknown_one(void **state)
{
    (void)state;
    play_devices(DEVICE_DISK, 1, "sd");
    play_cell(0, FIELD_DISK_READ_RATE)->number = 40;
    play_sample.value[METRIC_TOTAL_DISK_READ] = 100;
    play_sample.value[METRIC_MEMORY_USED] = 10;
    play_sample.value[METRIC_CPU_UTILIZATION] = 2;
    digest_phase(&digest, "a");
    play_add(&digest, NAN);
    digest_phase(&digest, "b");
    play_sample.value[METRIC_TOTAL_DISK_READ] = 300;
    play_add(&digest, 4);

    assert_true(digest.duration_secs == 8);
    assert_true(digest.start_unix_secs == 1700000000 - 4);
    assert_true(of(METRIC_TOTAL_DISK_READ)->sum == 400);
    assert_true(of(METRIC_TOTAL_DISK_READ)->max == 75 && of(METRIC_TOTAL_DISK_READ)->min == 25);
    assert_true(statistic_mean(of(METRIC_MEMORY_USED)) == 10);
    assert_true(of(METRIC_MEMORY_USED)->weight_secs == 8);
    assert_true(of(METRIC_MEMORY_USED)->max_elapsed_secs == 4);
    assert_true(digest.state_secs[STATE_HOST_CPU_FULL] == 8);
    assert_true(digest.phases[0].elapsed_secs == 0 && digest.phases[1].elapsed_secs == 4);
    assert_true(digest.axis.end_secs[0] == 4 && digest.axis.end_secs[1] == 8);
    const struct series *read = series_of(METRIC_TOTAL_DISK_READ);
    assert_true(read->mean[0] == 25 && read->max[0] == 25 && read->weight_secs[0] == 4);
    assert_true(read->mean[1] == 75);
    const struct digest_device *disk = &digest.lists[DEVICE_DISK].devices[0];
    assert_true(digest_device_statistic(disk, FIELD_DISK_READ_RATE)->weighted == 320);
}

static void test_one_second_stands_in_when_no_interval_is_ever_known(void **state)
{
    (void)state;
    play_sample.value[METRIC_TOTAL_DISK_READ] = 100;
    play_add(&digest, NAN);
    assert_true(digest.duration_secs == 1);
    assert_true(of(METRIC_TOTAL_DISK_READ)->max == 100);
}

static void test_later_gaps_take_the_last_interval(void **state)
{
    (void)state;
    play_add(&digest, 2);
    play_add(&digest, NAN);
    play_add(&digest, INFINITY);
    assert_true(digest.duration_secs == 6);
    play_add(&digest, 0); /* and nothing is divided by it */
    play_add(&digest, -5);
    assert_true(digest.duration_secs > 6 && digest.duration_secs < 6.01);
}

static void test_the_short_last_sample_makes_no_peak(void **state)
{
    (void)state;
    play_sample.value[METRIC_CPU_UTILIZATION] = 0.5;
    play_sample.value[METRIC_TOTAL_DISK_READ] = 10;
    play_sample.value[METRIC_MEMORY_USED] = 100;
    play_add(&digest, 1);
    play_sample.value[METRIC_CPU_UTILIZATION] = 2;
    play_sample.value[METRIC_TOTAL_DISK_READ] = 10;
    play_sample.value[METRIC_MEMORY_USED] = 200;
    play_add(&digest, 0.01);
    assert_true(of(METRIC_CPU_UTILIZATION)->max == 0.5);
    assert_true(of(METRIC_TOTAL_DISK_READ)->max == 10);
    assert_true(of(METRIC_TOTAL_DISK_READ)->sum == 20);
    assert_true(of(METRIC_MEMORY_USED)->max == 200);
}

/* --- devices --- */

static void test_devices_come_and_go(void **state)
{
    (void)state;
    play_devices(DEVICE_NETWORK, 2, "eth");
    play_cell(0, FIELD_NET_RX_RATE)->number = 10;
    play_cell(1, FIELD_NET_RX_RATE)->number = 20;
    play_add(&digest, 1);
    play_devices(DEVICE_NETWORK, 1, "wlan"); /* both are gone */
    play_cell(0, FIELD_NET_RX_RATE)->number = 5;
    play_add(&digest, 1);
    play_devices(DEVICE_NETWORK, 2, "eth"); /* and back */
    play_cell(0, FIELD_NET_RX_RATE)->number = 30;
    play_cell(1, FIELD_NET_RX_RATE)->number = NAN;
    play_add(&digest, 1);

    const struct digest_list *list = &digest.lists[DEVICE_NETWORK];
    assert_int_equal(list->count, 3);
    assert_string_equal(list->devices[0].name, "eth0");
    assert_string_equal(list->devices[2].name, "wlan0");
    const struct statistic *first = &list->devices[0].statistics[0];
    assert_true(first->max == 30 && first->weight_secs == 2 && first->weighted == 40);
    const struct series *received = &list->devices[0].series[0];
    assert_true(received->mean[0] == 10 && isnan(received->mean[1]) && received->mean[2] == 30);
    const struct series *late = &list->devices[2].series[0];
    assert_true(isnan(late->mean[0]) && late->mean[1] == 5 && isnan(late->mean[2]));
}

static void test_devices_beyond_the_limits(void **state)
{
    (void)state;
    play_devices(DEVICE_DISK, 1500, "sd");
    for (size_t i = 0; i < 1500; i++)
        play_cell(i, FIELD_DISK_BUSY)->number = (double)i;
    play_add(&digest, 1);
    play_add(&digest, 1);
    const struct digest_list *list = &digest.lists[DEVICE_DISK];
    assert_int_equal(list->count, DIGEST_DEVICES_MAX);
    assert_int_equal(list->left_out, 2 * (1500 - DIGEST_DEVICES_MAX));
    assert_non_null(list->devices[DIGEST_CHARTED_MAX - 1].series);
    assert_null(list->devices[DIGEST_CHARTED_MAX].series);
    assert_true(list->devices[1000].statistics[2].max == 1000);
    assert_int_equal(list->devices[1000].statistics[2].count, 2);
}

static void test_mounts_of_any_length(void **state)
{
    static char names[2][5000];

    (void)state;
    memset(names[0], 'a', sizeof names[0] - 1);
    memset(names[1], 'a', sizeof names[1] - 1);
    names[1][sizeof names[1] - 2] = 'b';
    play_devices(DEVICE_MOUNT, 3, "/m");
    play_cell(0, FIELD_MOUNT_POINT)->text = names[0];
    play_cell(1, FIELD_MOUNT_POINT)->text = names[1];
    play_cell(2, FIELD_MOUNT_POINT)->text = NULL; /* nothing to know it by */
    play_cell(1, FIELD_MOUNT_USED_PCT)->number = 99;
    play_cell(1, FIELD_MOUNT_TOTAL)->counter = 1000;
    play_cell(1, FIELD_MOUNT_FILESYSTEM)->text = "ext4";
    play_add(&digest, 1);
    const struct digest_list *list = &digest.lists[DEVICE_MOUNT];
    assert_int_equal(list->count, 2);
    assert_string_equal(list->devices[1].label, "ext4");
    assert_true(digest_device_statistic(&list->devices[1], FIELD_MOUNT_TOTAL)->last == 1000);
    assert_false(statistic_is_known(digest_device_statistic(&list->devices[0], FIELD_MOUNT_TOTAL)));
    assert_null(list->devices[0].series);
    assert_null(digest_device_statistic(&list->devices[0], FIELD_MOUNT_POINT));
}

static void test_throttled_gpus(void **state)
{
    static const char *const reasons[] = {"none", "idle", "application_clocks,sync_boost",
                                          "idle,power_cap", "hw_thermal"};

    (void)state;
    play_devices(DEVICE_GPU, 2, "GPU-");
    play_cell(1, FIELD_GPU_TYPE)->text = "MIG";
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
        play_cell(0, FIELD_GPU_THROTTLE)->text = reasons[i];
        play_add(&digest, 2);
    }
    const struct digest_device *gpu = &digest.lists[DEVICE_GPU].devices[0];
    assert_true(gpu->throttled_secs == 4);
    assert_string_equal(gpu->throttle, "hw_thermal");
    assert_false(gpu->is_part);
    assert_true(gpu[1].is_part && gpu[1].throttled_secs == 0);
}

static void test_cores_may_become_more_and_fewer(void **state)
{
    (void)state;
    play_cores[0] = 50;
    play_add(&digest, 1);
    play_reset(2000);
    play_cores[0] = 100;
    play_cores[1023] = 40;
    play_add(&digest, 1);
    play_reset(1);
    play_cores[0] = 0;
    play_add(&digest, 1);
    assert_int_equal(digest.cores.count, DIGEST_CORES_MAX);
    assert_true(digest.cpu_count == 2000);
    assert_true(statistic_mean(&digest.cores.statistics[0]) == 50);
    const float *means = digest.cores.means;
    assert_true(means[0] == 50 && means[1] == 100 && means[2] == 0);
    const float *last = &means[(size_t)1023 * DIGEST_POINTS_MAX];
    assert_true(isnan(last[0]) && last[1] == 40 && isnan(last[2]));
}

/* --- about the run --- */

static void test_texts_are_copies(void **state)
{
    char name[] = "train";
    char key[] = "team";
    char value[] = "blue";
    char program[] = "python";
    char *command[] = {program, NULL};
    struct tag tags[] = {{key, value}};
    struct run run = {.job_name = name, .tags = tags, .tag_count = 1, .command = command};

    (void)state;
    assert_int_equal(digest_set_run(&digest, &run), 0);
    name[0] = key[0] = value[0] = program[0] = '#';
    assert_string_equal(digest.run.job_name, "train");
    assert_string_equal(digest.run.tags[0].key, "team");
    assert_string_equal(digest.run.tags[0].value, "blue");
    assert_string_equal(digest.run.command[0], "python");
    assert_null(digest.run.command[1]);
    assert_null(digest.run.stage_name);
    assert_string_equal(digest_name(&digest), "train");
    run = (struct run){.command = command};
    assert_int_equal(digest_set_run(&digest, &run), 0);
    assert_string_equal(digest_name(&digest), "#ython");
    assert_int_equal(digest_set_title(&digest, "a.jsonl"), 0);
    assert_string_equal(digest_name(&digest), "a.jsonl");
}

static void test_every_text_is_copied(void **state)
{
    char text[] = "said";
    const struct run run = {text, text, text, text, text, text,
                            text, text, text, text, text, .tags = NULL};

    (void)state;
    assert_int_equal(digest_set_run(&digest, &run), 0);
    text[0] = '#';
    const struct run *own = &digest.run;
    const char *const copies[] = {own->job_name,        own->project_name,   own->stage_name,
                                  own->task_name,       own->team,           own->env,
                                  own->language,        own->orchestrator,   own->executor,
                                  own->external_run_id, own->container_image};
    for (size_t i = 0; i < sizeof copies / sizeof copies[0]; i++)
        assert_string_equal(copies[i], "said");
}

static void test_phases(void **state)
{
    char text[32];

    (void)state;
    digest_phase(&digest, "load");
    play_add(&digest, 1);
    digest_phase(&digest, "load");
    digest_phase(&digest, "fit");
    assert_int_equal(digest.phase_count, 2);
    assert_true(digest.phases[1].elapsed_secs == 1);
    for (int i = 0; i < 200; i++) {
        snprintf(text, sizeof text, "phase %d", i);
        digest_phase(&digest, text);
    }
    assert_int_equal(digest.phase_count, DIGEST_PHASES_MAX);
}

/* --- bounds --- */

static void fill_sample(size_t devices_each)
{
    for (size_t i = 0; i < METRIC_COUNT; i++)
        if (i != METRIC_TIMESTAMP_SECS)
            play_sample.value[i] = 1;
    play_devices(DEVICE_NETWORK, devices_each, "eth");
    play_devices(DEVICE_DISK, devices_each, "eth");
    play_devices(DEVICE_GPU, devices_each, "eth");
}

static size_t allocated(void)
{
    return mallinfo2().uordblks;
}

/* Every point of the chart is merged many times over, and not one byte more is taken. */
static void test_a_week_takes_no_more_room_than_a_minute(void **state)
{
    const int week_secs = 7 * 24 * 3600;

    (void)state;
    fill_sample(4);
    for (int i = 0; i < 60; i++)
        play_add(&digest, 1);
    size_t before = allocated();
    for (int i = 60; i < week_secs; i++) {
        play_sample.value[METRIC_PROCESS_PSS] = i == 500000 ? 4096 : 100;
        play_add(&digest, 1);
    }
    assert_int_equal(allocated(), before);
    assert_int_equal(digest.sample_count, week_secs);
    assert_true(digest.duration_secs == week_secs);
    assert_true(of(METRIC_PROCESS_PSS)->max == 4096);
    assert_true(of(METRIC_PROCESS_PSS)->max_elapsed_secs == 500001);
    assert_true(digest.axis.count <= DIGEST_POINTS_MAX);
    const struct series *pss = series_of(METRIC_PROCESS_PSS);
    assert_true(pss->max[500000 / (int)digest.axis.samples_per_point] == 4096.0F * 1048576);
}

static void test_without_series_there_are_none(void **state)
{
    (void)state;
    digest_free(&digest);
    assert_int_equal(digest_init(&digest, false), 0);
    fill_sample(3);
    for (int i = 0; i < 2000; i++)
        play_add(&digest, 1);
    assert_null(digest.series);
    assert_null(digest.cores.means);
    assert_null(digest.lists[DEVICE_GPU].devices[0].series);
    assert_int_equal(digest.axis.count, 0);
    assert_true(statistic_mean(of(METRIC_PROCESS_PSS)) == 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_an_empty_run),
        TEST(test_tables_are_whole),
        TEST(test_cpu_mean_is_cpu_time_by_elapsed_time),
        TEST(test_figures_are_taken_as_published),
        TEST(test_the_next_interval_stands_in_for_an_unknown_one),
        TEST(test_one_second_stands_in_when_no_interval_is_ever_known),
        TEST(test_later_gaps_take_the_last_interval),
        TEST(test_the_short_last_sample_makes_no_peak),
        TEST(test_devices_come_and_go),
        TEST(test_devices_beyond_the_limits),
        TEST(test_mounts_of_any_length),
        TEST(test_throttled_gpus),
        TEST(test_cores_may_become_more_and_fewer),
        TEST(test_texts_are_copies),
        TEST(test_every_text_is_copied),
        TEST(test_phases),
        TEST(test_a_week_takes_no_more_room_than_a_minute),
        TEST(test_without_series_there_are_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "encode/summary.h"
#include "json_check.h"
#include "play.h"

#include <signal.h>

#define GIB 1024.0

static struct digest digest;
static struct buf out;
static struct summary_style style;

static int make(void **state)
{
    (void)state;
    play_reset(8);
    style = (struct summary_style){0};
    assert_int_equal(buf_init(&out, 4096, 4 * 1024 * 1024), 0);
    return digest_init(&digest, true);
}

static int drop(void **state)
{
    (void)state;
    digest_free(&digest);
    buf_free(&out);
    play_free();
    return 0;
}

static void set(enum metric_id id, double value)
{
    play_sample.value[id] = value;
}

static const char *text(void)
{
    const struct digest *digests[] = {&digest};

    buf_reset(&out);
    summary_text(digests, 1, &style, &out);
    assert_false(out.overflow);
    assert_int_equal(out.data[out.size - 1], '\n');
    buf_char(&out, '\0');
    return out.data;
}

static const char *json(void)
{
    const struct digest *digests[] = {&digest};

    buf_reset(&out);
    summary_json(digests, 1, &out);
    assert_false(out.overflow);
    assert_int_equal(out.data[out.size - 1], '\n');
    assert_true(is_json(out.data, out.size));
    buf_char(&out, '\0');
    return out.data;
}

static void expect(const char *in, const char *part)
{
    if (strstr(in, part) == NULL)
        fail_msg("'%s' is not in:\n%s", part, in);
}

static void expect_no(const char *in, const char *part)
{
    if (strstr(in, part) != NULL)
        fail_msg("'%s' is in:\n%s", part, in);
}

/* Two seconds at half load, then one at full. */
static void play_job(void)
{
    static char program[] = "python";
    static char *const command[] = {program, NULL};
    static const struct run run = {.job_name = "train", .stage_name = "fit", .command = command};

    assert_int_equal(digest_set_run(&digest, &run), 0);
    snprintf(digest.host.name, sizeof digest.host.name, "node-7");
    digest.host.vcpus = 8;
    digest.host.memory_mib = 64 * GIB;
    set(METRIC_PROCESS_CORES_USED, 2);
    set(METRIC_PROCESS_UTIME, 1.5);
    set(METRIC_PROCESS_STIME, 0.5);
    set(METRIC_PROCESS_PSS, 2048);
    set(METRIC_PROCESS_RSS, 3072);
    set(METRIC_PROCESS_DISK_READ, 1048576);
    set(METRIC_PROCESS_DISK_WRITE, 0);
    set(METRIC_CPU_UTILIZATION, 3);
    set(METRIC_MEMORY_USED, 5000);
    set(METRIC_TOTAL_NET_RECV, 100);
    play_add(&digest, 1);
    play_add(&digest, 1);
    set(METRIC_PROCESS_CORES_USED, 8);
    set(METRIC_PROCESS_UTIME, 8);
    set(METRIC_PROCESS_STIME, 0);
    set(METRIC_PROCESS_PSS, 10 * GIB);
    set(METRIC_PROCESS_PEAK_RSS, 12 * GIB);
    play_add(&digest, 1);
    digest_set_end(&digest, &(struct run_end){.has_command = true, .has_exit_code = true});
}

static void test_a_job(void **state)
{
    (void)state;
    play_job();
    assert_string_equal(text(),
                        "job       train, stage fit\n"
                        "host      node-7, 8 CPUs, 64 GiB\n"
                        "duration  3 s from 2023-11-14 22:13:19 UTC, 3 samples\n"
                        "exit      0\n"
                        "\n"
                        "                               mean         peak         at        total\n"
                        "job   CPU                   4 cores      8 cores        3 s         12 s\n"
                        "      memory (PSS)         4.67 GiB       10 GiB        3 s\n"
                        "      memory (RSS)            3 GiB        3 GiB        1 s\n"
                        "      RSS at its peak                     12 GiB        3 s\n"
                        "      disk read             1 MiB/s      1 MiB/s        1 s        3 MiB\n"
                        "      disk written            0 B/s        0 B/s                     0 B\n"
                        "host  CPU                   3 cores      3 cores        1 s\n"
                        "      memory used          4.88 GiB     4.88 GiB        1 s\n"
                        "      received              100 B/s      100 B/s        1 s        300 B\n"
                        "\n"
                        "ask for next time\n"
                        "  cpus    4         mean of 4.00 cores, rounded, at least 1\n"
                        "  memory  15 GiB    1.2 x peak of 12.0 GiB, rounded up to whole GiB\n");
}

static void test_a_job_as_json(void **state)
{
    (void)state;
    play_job();
    const char *object = json();
    expect(object, "\"job_name\":\"train\",\"project_name\":null,\"stage_name\":\"fit\"");
    expect(object, "\"tags\":{},\"command\":[\"python\"]");
    expect(object, "\"start_secs\":1699999999.0000,\"duration_secs\":3.0000,\"sample_count\":3");
    expect(object, "\"exit_code\":0,\"exit_signal\":null");
    expect(object, "\"host_name\":\"node-7\"");
    expect(object, "\"job_used\":{\"cpu\":{\"unit\":\"cores\",\"mean\":4.0000,\"peak\":8.0000,"
                   "\"peak_at_secs\":1700000002,\"peak_elapsed_secs\":3.0000,\"total\":12.0000,"
                   "\"total_unit\":\"s\"}");
    expect(object, "\"ask_for\":{\"based_on\":\"job\",\"cpus\":{\"amount\":4,");
    expect(object, "\"memory_mib\":{\"amount\":15360,");
    expect(object, "\"vram_mib\":{\"amount\":null,\"rule\":null}");
}

static void test_what_is_said_of_a_run_as_json(void **state)
{
    static char word[100000];
    static char *const command[] = {word, "last", NULL};
    struct tag tags[] = {{"k", "v"}, {"l", "\""}};
    const struct run run = {.job_name = "a",
                            .project_name = "b",
                            .stage_name = "c",
                            .task_name = "d",
                            .team = "e",
                            .env = "f",
                            .language = "g",
                            .orchestrator = "h",
                            .executor = "i",
                            .external_run_id = "",
                            .tags = tags,
                            .tag_count = 2,
                            .command = command};

    (void)state;
    memset(word, 'x', sizeof word - 1);
    assert_int_equal(digest_set_run(&digest, &run), 0);
    const char *object = json();
    expect(object,
           "{\"title\":null,\"job_name\":\"a\",\"project_name\":\"b\",\"stage_name\":\"c\","
           "\"task_name\":\"d\",\"team\":\"e\",\"env\":\"f\",\"language\":\"g\","
           "\"orchestrator\":\"h\",\"executor\":\"i\",\"external_run_id\":\"\","
           "\"container_image\":null,\"tags\":{\"k\":\"v\",\"l\":\"\\\"\"},\"command\":[\"xxx");
    /* Words are left whole, however long. */
    expect(object, word);
    expect(object, "x\",\"last\"],\"start_secs\":");
}

static void test_ends(void **state)
{
    (void)state;
    play_job();
    digest_set_end(&digest,
                   &(struct run_end){.has_command = true, .has_exit_code = true, .exit_code = 3});
    expect(text(), "\nexit      3\n");
    digest_set_end(&digest, &(struct run_end){.has_command = true, .signal = SIGKILL});
    expect(text(), "\nexit      signal 9 (SIGKILL)\n");
    expect(json(), "\"exit_code\":null,\"exit_signal\":9");
    digest_set_end(&digest, &(struct run_end){.has_command = true, .signal = 40});
    expect(text(), "\nexit      signal 40\n");
    digest_set_end(&digest, &(struct run_end){0});
    expect_no(text(), "exit ");
    expect(json(), "\"exit_code\":null,\"exit_signal\":null");
}

static void test_an_empty_run(void **state)
{
    (void)state;
    assert_string_equal(text(), "job       (no name)\n"
                                "duration  0 s, 0 samples\n"
                                "\n"
                                "no sample was taken\n");
    expect(json(), "\"sample_count\":0");
    expect(out.data, "\"start_secs\":null");
    expect(out.data, "\"job_used\":{},\"host_used\":{}");
}

static void test_one_sample_of_nothing(void **state)
{
    (void)state;
    for (int list = 0; list < DEVICE_COUNT; list++)
        play_sample.rows[list] = NULL;
    play_sample.per_core_count = 0;
    set(METRIC_TOTAL_GPU_USAGE, NAN);
    play_add(&digest, NAN);
    assert_string_equal(text(), "job       (no name)\n"
                                "duration  1 s from 2023-11-14 22:13:19 UTC, 1 sample\n");
    (void)json();
}

/* --- hostile texts --- */

static const char hostile[] = "\033]0;owned\a\033[2J\r\nfake: exit 0\x9b\x31m \xe2\x80\xae\x7f\xff";

static void test_hostile_texts_do_not_drive_the_terminal(void **state)
{
    static char word[sizeof hostile];
    static char *const command[] = {word, NULL};
    struct tag tag = {hostile, hostile};
    const struct run run = {.job_name = hostile,
                            .stage_name = hostile,
                            .task_name = hostile,
                            .project_name = hostile,
                            .tags = &tag,
                            .tag_count = 1,
                            .command = command};

    (void)state;
    memcpy(word, hostile, sizeof hostile);
    assert_int_equal(digest_set_run(&digest, &run), 0);
    assert_int_equal(digest_set_title(&digest, hostile), 0);
    snprintf(digest.host.name, sizeof digest.host.name, "%s", hostile);
    snprintf(digest.host.cpu_model, sizeof digest.host.cpu_model, "%s", hostile);
    snprintf(digest.host.gpu_model, sizeof digest.host.gpu_model, "%s", hostile);
    digest.host.gpu_count = 1;
    play_devices(DEVICE_MOUNT, 1, "/");
    play_cell(0, FIELD_MOUNT_POINT)->text = hostile;
    play_cell(0, FIELD_MOUNT_USED_PCT)->number = 99;
    set(METRIC_CPU_UTILIZATION, 1);
    play_add(&digest, 1);
    for (int columns = 0; columns < 120; columns++) {
        style.width = (size_t)columns;
        const char *table = text();
        for (const char *at = table; *at != '\0'; at++) {
            unsigned char c = (unsigned char)*at;
            assert_true(c == '\n' || (c >= 0x20 && c != 0x7f));
        }
        expect_no(table, "\nfake");
        expect_no(table, "\xe2\x80\xae");
    }
    (void)json();
}

static void test_lines_end_at_the_width(void **state)
{
    static char name[1000000];
    const struct run run = {.job_name = name};

    (void)state;
    play_job();
    memset(name, 'x', sizeof name - 1);
    assert_int_equal(digest_set_run(&digest, &run), 0);
    for (size_t width = 1; width < 100; width++) {
        style.width = width;
        for (const char *at = text(); *at != '\0';) {
            size_t length = strcspn(at, "\n");
            assert_true(length <= width);
            at += length + 1;
        }
    }
    style.width = 40;
    expect(text(), "job       xxxxxxxxxxxxxxxxxxxxxxxxxxx...\n");
}

static void test_colours_are_only_colours(void **state)
{
    char plain[8192];
    size_t size = 0;

    (void)state;
    play_job();
    digest.cpu_limit = 4;
    snprintf(plain, sizeof plain, "%s", text());
    expect_no(plain, "\033");
    style.colour = true;
    const char *coloured = text();
    assert_non_null(strstr(coloured, "\033["));
    /* without the colours it is the same, and every colour ends before its line does */
    char *stripped = malloc(strlen(coloured) + 1);
    bool is_painted = false;
    for (const char *at = coloured; *at != '\0'; at++) {
        if (*at == '\033') {
            at += strcspn(at, "m");
            is_painted = at[-1] != '0' || at[-2] != '[';
            continue;
        }
        assert_false(*at == '\n' && is_painted);
        stripped[size++] = *at;
    }
    stripped[size] = '\0';
    assert_string_equal(stripped, plain);
    free(stripped);
}

/* --- large hosts and long runs --- */

static void test_256_cores_500_mounts_16_gpus(void **state)
{
    (void)state;
    play_reset(256);
    play_devices(DEVICE_MOUNT, 500, "/mnt/");
    for (size_t i = 0; i < 500; i++)
        play_cell(i, FIELD_MOUNT_USED_PCT)->number = 97;
    play_devices(DEVICE_DISK, 500, "sd");
    play_devices(DEVICE_NETWORK, 300, "eth");
    play_devices(DEVICE_GPU, 16, "GPU-");
    for (size_t i = 0; i < 16; i++)
        play_cell(i, FIELD_GPU_UTILIZATION)->number = 95;
    set(METRIC_PROCESS_CORES_USED, 255);
    set(METRIC_PROCESS_GPU_USAGE, 15.2);
    set(METRIC_PROCESS_GPU_VRAM, 16 * 70 * GIB);
    set(METRIC_TOTAL_GPU_USAGE, 15.2);
    set(METRIC_TOTAL_GPU_VRAM, 16 * 70 * GIB);
    for (int i = 0; i < 10; i++)
        play_add(&digest, 1);
    const char *table = text();
    expect(table, "\njob   CPU                 255 cores    255 cores        1 s\n");
    expect(table, "\n      GPU                 15.2 GPUs    15.2 GPUs        1 s\n");
    expect(table, "\n      VRAM                 1.09 TiB     1.09 TiB        1 s\n");
    expect(table, "  CPU: the job used 255.00 of 256 CPUs on average");
    expect(table, "  disk: /mnt/0 was 97.0 % full, and 499 more file systems were over 95 %\n");
    expect(table, "  16 GPUs were busy, up to 95 % on average\n");
    expect(table, "\n  gpus    15        mean of 15.20 GPUs, rounded, at least 1\n");
    expect(table, "\n  vram    1344 GiB  1.2 x peak of 1120 GiB, rounded up to whole GiB\n");
    /* a person reads it in ten seconds */
    size_t lines = 0;
    for (const char *at = table; (at = strchr(at, '\n')) != NULL; at++)
        lines++;
    assert_true(lines < 30);
    (void)json();
}

static void test_a_week(void **state)
{
    (void)state;
    set(METRIC_PROCESS_CORES_USED, 1);
    set(METRIC_PROCESS_UTIME, 1);
    set(METRIC_PROCESS_STIME, 0);
    set(METRIC_PROCESS_DISK_WRITE, 1e8);
    for (int i = 0; i < 7 * 24 * 3600; i++) {
        set(METRIC_PROCESS_PSS, i == 500000 ? 4096 : 1024);
        play_add(&digest, 1);
    }
    const char *table = text();
    expect(table, "\nduration  7 d 0 h ");
    expect(table, " from 2023-11-14 22:13:19 UTC, 604800 samples\n");
    expect(table, "\njob   CPU                   1 cores      1 cores        1 s     604800 s\n");
    expect(table, "\n      memory (PSS)         1.00 GiB        4 GiB 5d 18:53:21\n");
    expect(table, "95.4 MiB/s   95.4 MiB/s        1 s     55.0 TiB\n");
}

/* --- several runs --- */

static void test_runs_side_by_side(void **state)
{
    static struct digest other;
    const struct digest *both[] = {&digest, &other};
    static const struct run run = {.job_name = "a name that is longer than its column"};

    (void)state;
    assert_int_equal(digest_init(&other, false), 0);
    assert_int_equal(digest_set_run(&other, &run), 0);
    play_job();
    play_reset(8);
    set(METRIC_PROCESS_CORES_USED, 5);
    set(METRIC_PROCESS_UTIME, 5);
    set(METRIC_PROCESS_STIME, 0);
    play_add(&other, 1);
    summary_text(both, 2, &style, &out);
    buf_char(&out, '\0');
    expect(out.data, "                                         train"
                     "  a name that is ...    change\n");
    expect(out.data, "\n      duration                             3 s"
                     "                 1 s     -67 %\n");
    expect(out.data, "\n      exit                                   0                   -\n");
    expect(out.data, "\njob   CPU, mean                        4 cores"
                     "             5 cores     +25 %\n");
    expect(out.data, "\njob   memory (PSS), peak                10 GiB                   -\n");
    expect(out.data, "\nask   memory                            15 GiB                   -\n");

    /* where only one column fits, they stand below each other */
    buf_reset(&out);
    style.width = 50;
    summary_text(both, 2, &style, &out);
    buf_char(&out, '\0');
    expect_no(out.data, "change");
    expect(out.data, "\njob   CPU, mean                        4 cores\n");
    expect(out.data, "\njob   CPU, mean                        5 cores\n");

    buf_reset(&out);
    summary_json(both, 2, &out);
    const char *second = memchr(out.data, '\n', out.size) + 1;
    assert_true(is_json(out.data, (size_t)(second - out.data)));
    assert_true(is_json(second, out.size - (size_t)(second - out.data)));
    digest_free(&other);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_job),
        TEST(test_a_job_as_json),
        TEST(test_what_is_said_of_a_run_as_json),
        TEST(test_ends),
        TEST(test_an_empty_run),
        TEST(test_one_sample_of_nothing),
        TEST(test_hostile_texts_do_not_drive_the_terminal),
        TEST(test_lines_end_at_the_width),
        TEST(test_colours_are_only_colours),
        TEST(test_256_cores_500_mounts_16_gpus),
        TEST(test_a_week),
        TEST(test_runs_side_by_side),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The page as text; how it looks is for tests/browser. */
#include "encode/report.h"
#include "encode/report_data.h"
#include "encode/report_page.h"
#include "encode/report_plan.h"
#include "encode/utf8.h"
#include "json_check.h"
#include "scratch.h"

#include <math.h>

static struct digest digest;
static struct digest other;
static struct buf page;

static int make(void **state)
{
    (void)state;
    assert_int_equal(digest_init(&digest, true), 0);
    assert_int_equal(digest_init(&other, true), 0);
    return buf_init(&page, 1 << 16, REPORT_BYTES_MAX);
}

static int drop(void **state)
{
    (void)state;
    digest_free(&digest);
    digest_free(&other);
    buf_free(&page);
    return 0;
}

/* `count` samples of a job that uses ever more. */
static void feed(struct digest *target, size_t count, double interval_secs)
{
    static double cores[3] = {100, 50, 0};
    struct sample sample;

    for (size_t i = 0; i < count; i++) {
        sample_reset(&sample);
        sample.value[METRIC_TIMESTAMP_SECS] = 1794720000 + (double)i;
        sample.value[METRIC_PROCESS_CORES_USED] = (double)i;
        sample.value[METRIC_CPU_UTILIZATION] = (double)i + 1;
        sample.value[METRIC_PROCESS_PSS] = 100;
        sample.value[METRIC_MEMORY_TOTAL] = 1024;
        sample.per_core = cores;
        sample.per_core_count = 3;
        digest_add(target, &sample, interval_secs);
    }
}

static const char *write_page(size_t runs)
{
    const struct digest *digests[] = {&digest, &other};

    buf_reset(&page);
    assert_int_equal(report_write(digests, runs, &page), 0);
    buf_char(&page, '\0');
    return page.data;
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;

    for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part))
        count++;
    return count;
}

static void test_an_empty_run_has_a_page(void **state)
{
    (void)state;
    const char *html = write_page(1);
    assert_non_null(strstr(html, "ended before its first sample"));
    assert_null(strstr(html, "<figure"));
    assert_non_null(strstr(html, "\"runs\":[{\"name\":\"\",\"start\":null,\"phases\":[],\"t\":[]"));
    assert_non_null(strstr(html, "</html>\n"));
}

static void test_a_page_is_whole_and_fetches_nothing(void **state)
{
    (void)state;
    feed(&digest, 10, 1);
    const char *html = write_page(1);
    assert_int_equal(strncmp(html, "<!DOCTYPE html>", 15), 0);
    assert_int_equal(count_of(html, "<script"), 2);
    assert_int_equal(count_of(html, "</script>"), 2);
    assert_int_equal(count_of(html, "<style>"), 1);
    assert_null(strstr(html, "<link"));
    assert_null(strstr(html, " src=\"http"));
    assert_null(strstr(html, " style=\""));
    assert_non_null(strstr(html, "default-src 'none'"));
    assert_non_null(strstr(html, report_script_hash));
}

static void test_the_style_and_script_are_unpacked(void **state)
{
    (void)state;
    buf_reset(&page);
    assert_int_equal(report_page_style(&page), 0);
    assert_int_equal(page.size, report_style_size);
    buf_reset(&page);
    assert_int_equal(report_page_script(&page), 0);
    assert_int_equal(page.size, report_script_size);
    buf_char(&page, '\0');
    assert_non_null(strstr(page.data, "\"use strict\""));
}

static void test_too_small_a_buffer_is_told(void **state)
{
    const struct digest *digests[] = {&digest};
    struct buf small;

    (void)state;
    feed(&digest, 10, 1);
    assert_int_equal(buf_init(&small, 64, 4096), 0);
    assert_true(report_write(digests, 1, &small) < 0);
    buf_free(&small);
}

static void test_foreign_text_is_neither_markup_nor_end_of_the_data(void **state)
{
    static const char hostile[] = "</script><img src=x onerror=alert(1)>";
    struct tag tag = {hostile, hostile};
    char *command[] = {(char *)hostile, NULL};
    struct run run = {
        .job_name = hostile, .team = hostile, .tags = &tag, .tag_count = 1, .command = command};

    (void)state;
    assert_int_equal(digest_set_run(&digest, &run), 0);
    digest_phase(&digest, hostile);
    feed(&digest, 5, 1);
    digest_phase(&digest, "b");
    feed(&digest, 5, 1);
    for (size_t runs = 1; runs <= 2; runs++) {
        const char *html = write_page(runs);
        assert_null(strstr(html, "<img src=x"));
        assert_int_equal(count_of(html, "</script>"), 2);
        assert_non_null(strstr(html, "\\u003c/script>\\u003cimg src=x onerror=alert(1)>"));
        assert_non_null(strstr(html, "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;"));
    }
}

static void test_what_is_said_of_a_run(void **state)
{
    static const char *const labels[] = {
        "Job",      "Project",      "Stage",           "Task", "Team", "Language", "Orchestrator",
        "Executor", "External run", "Container image", "key"};
    struct tag tag = {"key", "said"};
    struct run run = {.job_name = "said",
                      .project_name = "said",
                      .stage_name = "said",
                      .task_name = "said",
                      .team = "said",
                      .env = "",
                      .language = "said",
                      .orchestrator = "said",
                      .executor = "said",
                      .external_run_id = "said",
                      .container_image = "said",
                      .tags = &tag,
                      .tag_count = 1};

    (void)state;
    assert_int_equal(digest_set_run(&digest, &run), 0);
    feed(&digest, 2, 1);
    const char *at = strstr(write_page(1), "About the run");
    assert_non_null(at);
    assert_null(strstr(at, ">Environment<"));
    for (size_t i = 0; i < sizeof labels / sizeof labels[0]; i++) {
        char row[128];
        snprintf(row, sizeof row, ">%s</th><td class=\"text\">said</td></tr>", labels[i]);
        at = strstr(at, row);
        if (at == NULL)
            fail_msg("%s is not in its place", labels[i]);
    }
}

static void test_steps_of_a_line(void **state)
{
    (void)state;
    feed(&digest, 4, 1);
    /* 0, 1, 2, 3 cores in a scale up to 4. */
    assert_non_null(strstr(write_page(1), "d=\"M0 400h500v-100h500v-100h500v-100h500\""));
}

static void test_points_that_are_not_known_are_gaps(void **state)
{
    struct sample sample;

    (void)state;
    feed(&digest, 2, 1);
    sample_reset(&sample);
    digest_add(&digest, &sample, 1);
    feed(&digest, 1, 1);
    const char *html = write_page(1);
    assert_non_null(strstr(html, "\"mean\":[0,1,null,0]"));
    assert_non_null(strstr(html, "d=\"M0 400h500v-200h500M1500 400h500\""));
}

static void test_numbers_of_the_data_are_short(void **state)
{
    (void)state;
    feed(&digest, 3, 1.0 / 3);
    const char *html = write_page(1);
    assert_non_null(strstr(html, "\"t\":[0.333,0.667,1.000]"));
    assert_non_null(strstr(html, "\"mean\":[0,1,2]"));
    /* 100 MiB, which never changed */
    assert_non_null(strstr(html, "\"unit\":\"bytes\",\"mean\":1049e5"));
    assert_null(strstr(html, "\"min\":"));
}

static void test_merged_points_have_a_band(void **state)
{
    (void)state;
    feed(&digest, 2000, 1);
    const char *html = write_page(1);
    assert_non_null(strstr(html, "class=\"band\""));
    assert_non_null(strstr(html, "\"min\":[0,"));
    assert_non_null(strstr(html, "peak 1999 cores"));
}

static void test_a_bitmap_has_a_row_for_each_core(void **state)
{
    (void)state;
    feed(&digest, 4, 1);
    const char *html = write_page(1);
    /* "BM", size 1090, offset 1078, header 40, 4 columns, 3 rows. */
    assert_non_null(strstr(html, "data:image/bmp;base64,Qk1CBAAAAAAAADYEAAAoAAAABAAAAAMAAAABAAgA"));
    /* The end of the palette; rows from the bottom: 0, 50 and 100 percent; two bytes to fill up. */
    assert_non_null(strstr(html, "AAAAAAAyMjIyZGRkZAAA\">"));
}

/* Each point is a column: none of it is in the next one's. */
static void test_a_point_is_in_its_column_only(void **state)
{
    struct sample sample;

    (void)state;
    for (size_t i = 0; i < 8; i++) {
        double core = i % 4 == 0 ? 100 : 0;
        sample_reset(&sample);
        sample.value[METRIC_CPU_UTILIZATION] = core;
        sample.per_core = &core;
        sample.per_core_count = 1;
        digest_add(&digest, &sample, 1);
    }
    /* The end of the palette; 100, 0, 0, 0, 100, 0, 0, 0. */
    assert_non_null(strstr(write_page(1), "qLjEAGQAAABkAAAA\">"));
}

static void test_what_is_not_known_is_not_nothing(void **state)
{
    struct sample sample;

    (void)state;
    sample_reset(&sample);
    sample.value[METRIC_PROCESS_CORES_USED] = 1;
    sample.value[METRIC_PROCESS_DISK_READ] = 4096;
    digest_add(&digest, &sample, 1);
    const char *html = write_page(1);
    assert_non_null(strstr(html, "; CPU time not known<"));
    assert_non_null(strstr(html, "4 KiB <small>read</small></p><p>not known written;"));
}

static void test_advice_from_the_whole_host_says_so(void **state)
{
    struct sample sample;

    (void)state;
    feed(&other, 3, 1);
    sample_reset(&sample);
    sample.value[METRIC_CPU_UTILIZATION] = 2;
    digest_add(&digest, &sample, 1);
    assert_int_equal(
        count_of(write_page(1), "What to ask for next time (by what the whole host used)"), 1);
    assert_non_null(strstr(write_page(2),
                           "<td>2 CPU (by what the whole host used)</td><td>1 CPU, 128 MiB</td>"));
}

static void test_names_cannot_turn_the_text_around(void **state)
{
    struct run run = {.job_name = "a\u202egpj.exe"};

    (void)state;
    assert_int_equal(digest_set_run(&digest, &run), 0);
    digest_phase(&digest, "b\u2067c");
    feed(&digest, 5, 1);
    digest_phase(&digest, "d");
    feed(&digest, 5, 1);
    const char *html = write_page(1);
    assert_null(strstr(html, "\u202e"));
    assert_null(strstr(html, "\u2067"));
    assert_non_null(strstr(html, "\"name\":\"a" UTF8_REPLACEMENT "gpj.exe\""));
}

static void test_a_digest_without_series_has_figures(void **state)
{
    (void)state;
    digest_free(&digest);
    assert_int_equal(digest_init(&digest, false), 0);
    feed(&digest, 4, 1);
    const char *html = write_page(1);
    assert_null(strstr(html, "<figure"));
    assert_non_null(strstr(html, "CPU of the job"));
}

/* What a broken recording may hold. */
static void feed_nonsense(struct digest *target, bool has_nonsense_intervals)
{
    static const double values[] = {0,    -1,  1e308,    -1e308,    1e39,  1e-300,
                                    1e18, NAN, INFINITY, -INFINITY, 5e-324};
    enum { COUNT = sizeof values / sizeof values[0] };
    struct sample sample;

    for (size_t i = 0; i < (size_t)COUNT * COUNT; i++) {
        sample_reset(&sample);
        for (size_t id = 0; id < METRIC_COUNT; id++)
            sample.value[id] = values[(i + id) % COUNT];
        sample.per_core = values;
        sample.per_core_count = COUNT;
        digest_phase(target, i % 2 == 0 ? "even" : "odd");
        digest_add(target, &sample, has_nonsense_intervals ? values[i / COUNT] : 1);
    }
}

static void expect_sound_page(size_t runs)
{
    const char *html = write_page(runs);
    const char *data = strstr(html, "id=\"data\">");

    assert_non_null(data);
    data += strlen("id=\"data\">");
    assert_true(is_json(data, (size_t)(strstr(data, "</script>") - data)));
    assert_non_null(strstr(html, "</html>\n"));
}

static void test_figures_that_cannot_be_make_a_page_all_the_same(void **state)
{
    (void)state;
    feed_nonsense(&digest, false);
    expect_sound_page(1);
    assert_non_null(strstr(page.data, "<figure"));
    feed_nonsense(&other, true);
    expect_sound_page(2);
}

static void test_times_that_cannot_be_make_a_page_without_charts(void **state)
{
    (void)state;
    feed_nonsense(&digest, true);
    expect_sound_page(1);
    assert_null(strstr(page.data, "<figure"));
}

static void test_runs_are_compared_with_the_first(void **state)
{
    (void)state;
    assert_int_equal(digest_set_title(&digest, "before"), 0);
    assert_int_equal(digest_set_title(&other, "after"), 0);
    feed(&digest, 20, 1);
    feed(&other, 10, 1);
    const char *html = write_page(2);
    assert_non_null(strstr(html, "<h1>2 runs compared</h1>"));
    assert_non_null(strstr(html, "<td>20 s</td><td>10 s <span class=\"change\">−50 %</span></td>"));
    assert_non_null(strstr(html, "<span>before</span>"));
    assert_non_null(strstr(html, "<span>after</span>"));
}

static void test_an_empty_run_can_be_compared(void **state)
{
    (void)state;
    feed(&digest, 20, 1);
    assert_non_null(strstr(write_page(2), "<h1>2 runs compared</h1>"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_an_empty_run_has_a_page, make, drop),
        cmocka_unit_test_setup_teardown(test_a_page_is_whole_and_fetches_nothing, make, drop),
        cmocka_unit_test_setup_teardown(test_the_style_and_script_are_unpacked, make, drop),
        cmocka_unit_test_setup_teardown(test_too_small_a_buffer_is_told, make, drop),
        cmocka_unit_test_setup_teardown(test_what_is_said_of_a_run, make, drop),
        cmocka_unit_test_setup_teardown(test_foreign_text_is_neither_markup_nor_end_of_the_data,
                                        make, drop),
        cmocka_unit_test_setup_teardown(test_steps_of_a_line, make, drop),
        cmocka_unit_test_setup_teardown(test_points_that_are_not_known_are_gaps, make, drop),
        cmocka_unit_test_setup_teardown(test_numbers_of_the_data_are_short, make, drop),
        cmocka_unit_test_setup_teardown(test_merged_points_have_a_band, make, drop),
        cmocka_unit_test_setup_teardown(test_a_bitmap_has_a_row_for_each_core, make, drop),
        cmocka_unit_test_setup_teardown(test_a_point_is_in_its_column_only, make, drop),
        cmocka_unit_test_setup_teardown(test_what_is_not_known_is_not_nothing, make, drop),
        cmocka_unit_test_setup_teardown(test_advice_from_the_whole_host_says_so, make, drop),
        cmocka_unit_test_setup_teardown(test_names_cannot_turn_the_text_around, make, drop),
        cmocka_unit_test_setup_teardown(test_a_digest_without_series_has_figures, make, drop),
        cmocka_unit_test_setup_teardown(test_figures_that_cannot_be_make_a_page_all_the_same, make,
                                        drop),
        cmocka_unit_test_setup_teardown(test_times_that_cannot_be_make_a_page_without_charts, make,
                                        drop),
        cmocka_unit_test_setup_teardown(test_runs_are_compared_with_the_first, make, drop),
        cmocka_unit_test_setup_teardown(test_an_empty_run_can_be_compared, make, drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

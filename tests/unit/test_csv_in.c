#include "scratch.h"

#include "encode/csv.h"
#include "read/csv_in.h"

#include <math.h>

#define HEADER "timestamp,processes,utime,stime"

static struct csv_in csv;
static double values[METRIC_COUNT];

static enum csv_in_verdict feed(const char *text, bool has_end)
{
    return csv_in_read(&csv, scan_over(text, strlen(text)), has_end, values);
}

static void start(const char *header)
{
    csv_in_reset(&csv);
    assert_int_equal(feed(header, true), CSV_IN_HEADER);
}

static void test_rows_come_back_as_they_were_printed(void **state)
{
    (void)state;
    for (int kind = CSV_BASIC; kind <= CSV_FULL; kind++) {
        struct csv printer;
        struct sample sample;
        struct buf out;
        struct buf again;
        sample_reset(&sample);
        for (size_t id = 0; id < METRIC_COUNT; id++)
            sample.value[id] = id % 5 == 4 ? NAN : (double)id * 98765.4321;
        sample.value[METRIC_TIMESTAMP_SECS] = 1700000000;
        assert_int_equal(buf_init(&out, 64, 65536), 0);
        assert_int_equal(buf_init(&again, 64, 65536), 0);
        csv_init(&printer, (enum csv_columns)kind);
        csv_header(&printer, &out);
        csv_in_reset(&csv);
        assert_int_equal(csv_in_read(&csv, scan_over(out.data, out.size - 1), true, values),
                         CSV_IN_HEADER);
        buf_reset(&out);
        csv_row(&printer, &sample, &out);
        assert_int_equal(csv_in_read(&csv, scan_over(out.data, out.size - 1), true, values),
                         CSV_IN_ROW);
        assert_true(!csv.is_cut && csv.wrong_cell == 0);
        memcpy(sample.value, values, sizeof values);
        csv_row(&printer, &sample, &again);
        assert_int_equal(again.size, out.size);
        assert_memory_equal(again.data, out.data, out.size);
        buf_free(&out);
        buf_free(&again);
    }
}

static void test_cells_may_be_empty_or_wrong(void **state)
{
    (void)state;
    start(HEADER);
    assert_int_equal(feed("1700000000,,0.5,-0.0000", true), CSV_IN_ROW);
    assert_true(isnan(values[METRIC_CPU_PROCESS_COUNT]) && csv.wrong_cell == 0);
    assert_true(values[METRIC_CPU_STIME] == 0 && !signbit(values[METRIC_CPU_STIME]));
    assert_int_equal(feed("1700000000.25,x,0.5,-1", true), CSV_IN_ROW);
    assert_int_equal(csv.wrong_cell, 2);
    assert_true(values[METRIC_TIMESTAMP_SECS] == 1700000000.25);
    assert_true(isnan(values[METRIC_CPU_STIME]) && values[METRIC_CPU_UTIME] == 0.5);
    assert_int_equal(feed("\"1700000000\",\"4\", 1 ,2\r", true), CSV_IN_ROW);
    assert_true(values[METRIC_CPU_PROCESS_COUNT] == 4 && values[METRIC_CPU_STIME] == 2);
    assert_int_equal(feed(",1,2,3", true), CSV_IN_NO_TIME);
    assert_int_equal(feed("1e15,1,2,3", true), CSV_IN_NO_TIME);
}

static void test_what_may_be_cut_off_is_not_believed(void **state)
{
    (void)state;
    start(HEADER);
    assert_int_equal(feed("1700000000,4,1,2", false), CSV_IN_ROW);
    assert_true(csv.is_cut && isnan(values[METRIC_CPU_STIME]) && values[METRIC_CPU_UTIME] == 1);
    assert_int_equal(feed("1700000000,4,1", false), CSV_IN_ROW);
    assert_true(csv.is_cut && isnan(values[METRIC_CPU_UTIME]));
    assert_true(values[METRIC_CPU_PROCESS_COUNT] == 4);
    assert_int_equal(csv.cell_count, 3);
    assert_int_equal(feed("17000", false), CSV_IN_NO_TIME);
    assert_int_equal(feed("1700000000,4,1", true), CSV_IN_TOO_SHORT);
    assert_int_equal(feed("1700000000,4,1,2,3", true), CSV_IN_TOO_LONG);
}

static void test_headers_may_come_again_and_change(void **state)
{
    (void)state;
    csv_in_reset(&csv);
    assert_int_equal(feed("1700000000,4,1,2", true), CSV_IN_NO_HEADER);
    assert_int_equal(feed("what is this", true), CSV_IN_NO_HEADER);
    assert_int_equal(feed(HEADER, true), CSV_IN_HEADER);
    assert_int_equal(feed("1700000000,4,1,2", true), CSV_IN_ROW);
    assert_int_equal(feed("a message, not a row", true), CSV_IN_NO_HEADER);
    assert_int_equal(feed("1700000001,4,1,2", true), CSV_IN_ROW);
    assert_int_equal(feed("timestamp,stime", true), CSV_IN_HEADER);
    assert_int_equal(feed("1700000002,9", true), CSV_IN_ROW);
    assert_true(values[METRIC_CPU_STIME] == 9 && isnan(values[METRIC_CPU_UTIME]));
    assert_int_equal(feed("processes,utime,stime", true), CSV_IN_TIMELESS_HEADER);
    assert_int_equal(feed("1,2,3", true), CSV_IN_NO_HEADER);
}

/* Only times with a decimal point are the Python tool's. */
static void test_quotes_alone_do_not_make_kibibytes(void **state)
{
    (void)state;
    start("\"timestamp\",\"utime\",\"memory_free\"");
    assert_int_equal(feed("3,4", true), CSV_IN_TOO_SHORT); /* says nothing about them */
    assert_int_equal(feed("1700000000.5,1,2048.0", true), CSV_IN_ROW);
    assert_true(values[METRIC_MEMORY_FREE] == 2);
    start("\"timestamp\",\"utime\",\"memory_free\"");
    assert_int_equal(feed("1700000000,1,2048", true), CSV_IN_ROW);
    assert_true(values[METRIC_MEMORY_FREE] == 2048);
    assert_null(csv.columns.remark);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_come_back_as_they_were_printed),
        cmocka_unit_test(test_cells_may_be_empty_or_wrong),
        cmocka_unit_test(test_what_may_be_cut_off_is_not_believed),
        cmocka_unit_test(test_headers_may_come_again_and_change),
        cmocka_unit_test(test_quotes_alone_do_not_make_kibibytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

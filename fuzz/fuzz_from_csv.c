/*
 * A recorded CSV file, headers and rows as they come: every row is a time and figures that are
 * unavailable or not below 0, rows come out in the order in which they went in, and what they say
 * reads back as itself.
 */
#include "support.h"

#include "read/csv_in.h"
#include "read/pace.h"

static struct csv_in csv;
static struct csv_in ours;
static struct csv printer;
static struct buf out;
static struct buf again;

static void check_round_trip(const double *values)
{
    double back[METRIC_COUNT];
    struct sample sample;

    sample_reset(&sample);
    memcpy(sample.value, values, sizeof sample.value);
    buf_reset(&out);
    csv_row(&printer, &sample, &out);
    FUZZ_CHECK(csv_in_read(&ours, scan_over(out.data, out.size - 1), true, back) == CSV_IN_ROW);
    FUZZ_CHECK(ours.wrong_cell == 0 && !ours.is_cut);
    memcpy(sample.value, back, sizeof sample.value);
    buf_reset(&again);
    csv_row(&printer, &sample, &again);
    FUZZ_CHECK(again.size == out.size && memcmp(again.data, out.data, out.size) == 0);
}

static void check_row(const double *values)
{
    FUZZ_CHECK(values[METRIC_TIMESTAMP_SECS] >= 0 && values[METRIC_TIMESTAMP_SECS] < 1e11);
    for (size_t id = 0; id < METRIC_COUNT; id++)
        FUZZ_CHECK(isnan(values[id]) || (values[id] >= 0 && values[id] < 2e18));
    /* Printed figures beyond 64 bits saturate. */
    for (size_t id = 0; id < METRIC_COUNT; id++)
        if (values[id] > 1e9)
            return;
    check_round_trip(values);
}

static size_t take_ready(struct pace *pace)
{
    const struct paced_row *row;
    size_t count = 0;

    for (; (row = pace_next(pace)) != NULL; count++)
        FUZZ_CHECK(isnan(row->interval_secs) ||
                   (row->interval_secs > 0 && row->interval_secs < 1e11));
    return count;
}

static void start(void)
{
    double values[METRIC_COUNT];

    FUZZ_CHECK(buf_init(&out, 65536, 1 << 20) == 0);
    FUZZ_CHECK(buf_init(&again, 65536, 1 << 20) == 0);
    csv_init(&printer, CSV_FULL);
    csv_header(&printer, &out);
    FUZZ_CHECK(csv_in_read(&ours, scan_over(out.data, out.size - 1), true, values) ==
               CSV_IN_HEADER);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct scan rest = scan_over((const char *)data, size);
    double values[METRIC_COUNT];
    struct scan line;
    struct pace pace;
    size_t in = 0;
    size_t taken = 0;

    if (out.data == NULL)
        start();
    csv_in_reset(&csv);
    pace_init(&pace);
    while (scan_line(&rest, &line)) {
        bool has_end = line.end < (const char *)data + size;
        enum csv_in_verdict verdict = csv_in_read(&csv, line, has_end, values);
        if (verdict == CSV_IN_HEADER)
            pace_part(&pace);
        if (verdict != CSV_IN_ROW)
            continue;
        check_row(values);
        FUZZ_CHECK(pace_add(&pace, values, "", in + 1) == 0);
        in++;
        taken += take_ready(&pace);
    }
    pace_finish(&pace);
    taken += take_ready(&pace);
    FUZZ_CHECK(in == taken && pace_is_empty(&pace));
    pace_free(&pace);
    return 0;
}

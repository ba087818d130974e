/*
 * Samples that a test makes up: a sample with room for devices and cores of its own. One at a time;
 * play_free() in the teardown.
 */
#ifndef TESTS_UNIT_PLAY_H
#define TESTS_UNIT_PLAY_H

#include "model/digest.h"
#include "scratch.h"

#define PLAY_CORES_MAX 2048

static struct sample play_sample;
static struct rows play_rows[DEVICE_COUNT];
static double play_cores[PLAY_CORES_MAX];
static char play_names[DEVICE_COUNT][2048][32];

/* Nothing known, no devices, `cores` CPUs that are all idle. */
static inline void play_reset(size_t cores)
{
    sample_reset(&play_sample);
    play_sample.value[METRIC_TIMESTAMP_SECS] = 1700000000;
    for (int list = 0; list < DEVICE_COUNT; list++)
        if (play_rows[list].info == NULL)
            rows_init(&play_rows[list], (enum device_list)list);
    for (size_t i = 0; i < cores; i++)
        play_cores[i] = 0;
    play_sample.per_core = play_cores;
    play_sample.per_core_count = cores;
}

static inline void play_free(void)
{
    for (int list = 0; list < DEVICE_COUNT; list++)
        rows_free(&play_rows[list]);
}

/* `count` devices without any figure, called "PREFIX0" and so on. */
static inline void play_devices(enum device_list list, size_t count, const char *prefix)
{
    assert_int_equal(rows_resize(&play_rows[list], count), 0);
    for (size_t row = 0; row < count; row++) {
        cells_clear(rows_cell(&play_rows[list], row, devices[list].first), list);
        snprintf(play_names[list][row], sizeof play_names[list][row], "%s%zu", prefix, row);
        rows_cell(&play_rows[list], row, devices[list].first)->text = play_names[list][row];
    }
    play_sample.rows[list] = &play_rows[list];
}

static inline union cell *play_cell(size_t row, enum field_id field)
{
    return rows_cell(&play_rows[fields[field].list], row, field);
}

/* Adds the sample, and lets the time go on. */
static inline void play_add(struct digest *digest, double interval_secs)
{
    digest_add(digest, &play_sample, interval_secs);
    play_sample.value[METRIC_TIMESTAMP_SECS] += isnan(interval_secs) ? 1 : interval_secs;
}

#endif

/*
 * What a report shows: its charts and their lines, chosen once. The figures, the SVG and the data
 * for the script are all written from this plan, so they cannot differ. Texts and series belong to
 * the digests, which must outlive it. Pure but for its own memory.
 */
#ifndef ENCODE_REPORT_PLAN_H
#define ENCODE_REPORT_PLAN_H

#include "model/digest.h"

#include <stdbool.h>
#include <stddef.h>

/* Of each list these many devices have charts: the busiest. All are in tables. */
#define REPORT_DEVICES_MAX 16

struct report_line {
    size_t run; /* which digest */
    const struct series *series;
    const struct statistic *statistic;
    double scale; /* from the statistic to the unit of the chart */
    const char *label;
    const char *style; /* class of its colour and dashes in report/page.css */
};

struct report_chart {
    char id[24];
    const char *key; /* what its columns begin with in CSV: cpu, disk */
    const char *title;
    const char *note; /* beside the title; NULL: none */
    const char *unit;
    enum device_list list; /* of a device's chart */
    size_t device;
    bool is_of_device;
    size_t first_line;
    size_t line_count;
};

struct report_plan {
    const struct digest *const *digests;
    size_t run_count;
    double duration_secs; /* of the longest */
    struct report_line *lines;
    size_t line_count;
    size_t line_capacity;
    struct report_chart *charts; /* those of devices last, a device's one after the other */
    size_t chart_count;
    size_t chart_capacity;
};

/* -ENOMEM, or 0. Without a length of time there are no charts. One digest gives its job against its
 * host; several are laid over each other. */
int report_plan_init(struct report_plan *plan, const struct digest *const *digests, size_t count);
void report_plan_free(struct report_plan *plan);

/* Whether the run had a GPU to show. */
bool report_has_gpu(const struct digest *digest);

/* The class of a run's colour, where runs are compared. */
const char *report_run_style(size_t run);

#endif

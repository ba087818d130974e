/*
 * The figures that a summary is about, in one table for all of its forms. Pure.
 */
#ifndef ENCODE_SUMMARY_FIGURES_H
#define ENCODE_SUMMARY_FIGURES_H

#include "model/digest.h"

enum figure_when {
    FIGURE_ALWAYS,  /* shown when it was measured */
    FIGURE_IF_USED, /* and was ever above 0 */
    FIGURE_IF_GPU,  /* and there is a GPU */
    FIGURE_IF_SPIKE /* and is above what was sampled */
};

struct summary_figure {
    const char *key; /* in JSON */
    const char *label;
    bool is_tree;
    enum metric_id metric;
    const char *unit;
    double scale;             /* from the level of the metric to the unit */
    const char *total_unit;   /* NULL: it has no total */
    enum metric_id totals[2]; /* that make it up, METRIC_COUNT: none */
    enum figure_when when;
};

extern const struct summary_figure summary_figures[];
extern const size_t summary_figure_count;

/* What is printed of one, in its units; NaN: not known. */
struct figure_values {
    double mean;
    double peak;
    double peak_elapsed_secs;
    double peak_unix_secs;
    double total;
};

bool summary_figure_is_shown(const struct summary_figure *figure, const struct digest *digest);
struct figure_values summary_figure_values(const struct summary_figure *figure,
                                           const struct digest *digest);

#endif

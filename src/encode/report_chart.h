/*
 * A chart as a <figure>: title, legend with means and peaks, a sentence for screen readers, and the
 * drawing as SVG, which is all that readers without scripts and paper need. Time goes to the right,
 * values start at 0; a value holds for the time its point covers, so lines are steps, and a pale
 * band reaches from the smallest to the largest sample. Pure.
 */
#ifndef ENCODE_REPORT_CHART_H
#define ENCODE_REPORT_CHART_H

#include "base/buf.h"
#include "encode/report_plan.h"

void report_chart(const struct report_plan *plan, const struct report_chart *chart,
                  struct buf *out);

/*
 * One row per core, one column per moment; nothing when cores are not known. More than these many
 * take the width of the page.
 */
#define REPORT_CORES_NARROW_MAX 48
void report_heat(const struct report_plan *plan, size_t run, struct buf *out);

/* What a device is called in a heading: vda, eth0, GPU 0. Escaped. */
void report_device_name(const struct digest *digest, enum device_list list, size_t index,
                        struct buf *out);

/* The times below a chart. */
void report_time_axis(double duration_secs, struct buf *out);

/* The lines of a drawing, in a box of REPORT_DRAWING_WIDTH by _HEIGHT for the value `top`. */
#define REPORT_DRAWING_WIDTH 2000
#define REPORT_DRAWING_HEIGHT 400
void report_draw_line(const struct report_plan *plan, const struct report_line *line, double top,
                      size_t columns_max, struct buf *out);

#endif

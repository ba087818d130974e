/*
 * The figures behind a report's charts as JSON inside its page, for the script and for whoever
 * wants them: report/data.js says how it is laid out. Nothing in it can end its element. Pure.
 */
#ifndef ENCODE_REPORT_DATA_H
#define ENCODE_REPORT_DATA_H

#include "base/buf.h"
#include "encode/report_plan.h"

/* -ENOMEM, or 0. The whole <script> element. */
int report_data(const struct report_plan *plan, struct buf *out);

#endif

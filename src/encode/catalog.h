/*
 * Every metric as a text table for --list-metrics. Pure.
 */
#ifndef ENCODE_CATALOG_H
#define ENCODE_CATALOG_H

#include "base/buf.h"
#include "model/metric.h"

/* "cpu.utime_secs", "network[].mtu", "disk[].mounts[].used_pct": where JSON has it. */
void catalog_metric_name(const struct metric *metric, struct buf *out);
void catalog_field_name(const struct field *field, struct buf *out);

void catalog_print(struct buf *out);

#endif

/*
 * The parts of a report that are words and numbers: header, cards, what to ask for, tables and the
 * comparison of runs. HTML without any script or style of its own. Pure.
 */
#ifndef ENCODE_REPORT_PARTS_H
#define ENCODE_REPORT_PARTS_H

#include "base/buf.h"
#include "model/digest.h"

/* The run's name as a reader should see it; "resource-tracker" when it has none. */
const char *report_title(const struct digest *digest);

/* "exit 0" and the like, with the class of its colour. */
void report_badge(const struct digest *digest, struct buf *out);

void report_header(const struct digest *digest, struct buf *out);
void report_cards(const struct digest *digest, struct buf *out);
void report_advice(const struct digest *digest, struct buf *out);
void report_phases(const struct digest *digest, struct buf *out);

/* What devices, cores and everything else did, and what is known of the run and its host. */
void report_tables(const struct digest *digest, struct buf *out);

void report_comparison(const struct digest *const *digests, size_t count, struct buf *out);

#endif

/*
 * Numbers as people read them: three digits and a unit that fits. Pure; no locale.
 */
#ifndef ENCODE_HUMAN_H
#define ENCODE_HUMAN_H

#include "base/buf.h"

/*
 * "3.12 cores", "0 %", "1.25 GiB", "18.0 MiB/s". Units that begin with "bytes" become KiB, MiB …;
 * "count" and "" stand alone. What is not a number is "not known".
 */
void human_quantity(struct buf *out, double value, const char *unit);

/* The number alone: 2, 1.25, 12.5, 125. */
void human_number(struct buf *out, double value);

/* A length of time: "0.25 s", "12.3 s", "4 min 05 s", "3 h 04 min", "7 d 0 h 00 min". */
void human_duration(struct buf *out, double seconds);

/* A moment of a run, as on a clock: "0:04:05", "7d 0:00:05". */
void human_clock(struct buf *out, double seconds);

/* "2026-11-15 09:12:14 UTC". */
void human_date(struct buf *out, double unix_secs);

#endif

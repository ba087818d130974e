/*
 * A sample as one line of JSON. Keys, their order and their decimals come from the metric tables.
 * Foreign bytes (job names, mount points) always give valid JSON: what is not UTF-8 becomes U+FFFD.
 * Pure: the same sample gives the same bytes.
 */
#ifndef ENCODE_JSON_H
#define ENCODE_JSON_H

#include "base/buf.h"
#include "model/run.h"
#include "model/sample.h"

/* Appends one object and a line end. */
void json_sample(const struct run *run, const struct sample *sample, struct buf *out);

/* Appends a quoted, escaped text, or null for NULL. */
void json_text(const char *text, struct buf *out);

#endif

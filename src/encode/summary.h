/*
 * A run, or several side by side, as a table for people or as JSON for machines. Texts of others
 * (job names, hosts, mount points) cannot drive the terminal: control characters, escape sequences
 * and marks that turn the direction of writing are shown as '?'. Pure.
 */
#ifndef ENCODE_SUMMARY_H
#define ENCODE_SUMMARY_H

#include "base/buf.h"
#include "model/digest.h"

/* When and how it is printed; in the order of the choices of --summary. */
enum summary_mode { SUMMARY_AUTO, SUMMARY_TEXT, SUMMARY_JSON, SUMMARY_NONE };

struct summary_style {
    bool colour;
    size_t width; /* of a line; 0: any */
};

/* A table; ends with a line end. With several digests, one column each. */
void summary_text(const struct digest *const *digests, size_t count,
                  const struct summary_style *style, struct buf *out);

/* One object and a line end for each digest. */
void summary_json(const struct digest *const *digests, size_t count, struct buf *out);

#endif

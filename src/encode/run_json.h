/*
 * What a user said of a run as values in a JSON object. Pure.
 */
#ifndef ENCODE_RUN_JSON_H
#define ENCODE_RUN_JSON_H

#include "base/buf.h"
#include "model/run.h"

/* {"key":"value",…} */
void json_run_tags(const struct run *run, struct buf *out);

/*
 * ["word",…] of words that end with NULL. The word with which they exceed `size_max` bytes (each
 * with its end) becomes "…", and those behind it are left out; SIZE_MAX: all are told.
 */
void json_run_command(char *const *words, size_t size_max, struct buf *out);

#endif

/*
 * A line of our JSON back to the sample it was made from. Keys are those of the metric tables, in
 * any order; those that are not known (of a newer version) are passed over and named once, those
 * that are missing stay unavailable. The JSON of the Rust tool has the same keys, and is read too.
 *
 * The sample's texts lie in the line and its lists in here: both are valid until the next line.
 */
#ifndef READ_JSONL_H
#define READ_JSONL_H

#include "model/sample.h"
#include "read/names.h"

#include <stddef.h>

/* Lists beyond these are not of a machine; the rest of them is passed over. */
#define JSONL_ROWS_MAX 16384
#define JSONL_CORES_MAX 65536

struct jsonl {
    struct rows rows[DEVICE_COUNT];
    double *cores;
    size_t core_capacity;
    struct text_map *maps;
    size_t map_count;
    size_t map_capacity;

    /* Of the last line; NULL: it did not say. */
    const char *job_name;
    const char *version;
    struct names unknown; /* keys; the list is of those that are new in the last line */
    struct names wrong;   /* keys of values that are not of their kind, and stay unavailable */
};

void jsonl_init(struct jsonl *jsonl);
void jsonl_free(struct jsonl *jsonl);

/*
 * The line is changed. 0; -EBADMSG when it is not JSON to its end
 * (*ret_at is the place); -ENODATA when it is, but no sample (it has no time);
 * -ENOMEM.
 */
int jsonl_read(struct jsonl *jsonl, char *line, size_t size, struct sample *ret_sample,
               size_t *ret_at);

#endif

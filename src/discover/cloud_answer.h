/*
 * What a metadata service answered: plain text, lines of "key: value", or JSON. All of it is
 * foreign: what has control characters in it, is HTML (captive portals answer anything with a
 * page), nests deeply or is no valid JSON though it begins like it counts as no answer at all.
 */
#ifndef DISCOVER_CLOUD_ANSWER_H
#define DISCOVER_CLOUD_ANSWER_H

#include "base/scan.h"

#include <stdbool.h>
#include <stddef.h>

struct json_t; /* of jansson */

/* A zeroed one is no answer. */
struct cloud_answer {
    struct scan text;    /* of what is not JSON; the caller's bytes */
    struct json_t *json; /* an object; ours */
};

/* `bytes` must stay where they are as long as the answer is used. */
void cloud_answer_read(struct cloud_answer *answer, const char *bytes, size_t size);
void cloud_answer_free(struct cloud_answer *answer);

/*
 * The value of a key ("compute.vmSize" goes into objects), or with NULL the whole of a plain text.
 * Only a single word of printable ASCII that fits `size` with its NUL is taken: every name and
 * number of the vendors is one, and error messages and pages are not. False leaves "".
 */
bool cloud_answer_word(const struct cloud_answer *answer, const char *key, char *ret_word,
                       size_t size);

/* Whether the list at `key` has an object whose `name` is `value` and `other_name` other_value. */
bool cloud_answer_lists(const struct cloud_answer *answer, const char *key, const char *name,
                        const char *value, const char *other_name, const char *other_value);

#endif

/*
 * Reading JSON from memory by asking for one thing after another; nothing is built, nothing is
 * allocated. (jansson, which reads the API's answers, takes 80 to 220 µs for a line of ours: two
 * minutes for a week of them.) The text is changed: escapes in texts are undone in place, and texts
 * end with a NUL where their quote was.
 *
 * The first fault ends it: from then on `is_broken` is set and everything answers "nothing".
 * Control characters in texts are faults; bytes that are not UTF-8 are passed through.
 */
#ifndef READ_JSON_IN_H
#define READ_JSON_IN_H

#include "base/scan.h"

#define JSON_IN_DEPTH_MAX 32

struct json_in {
    char *at;
    char *end;
    char *begin;
    unsigned depth;
    bool is_fresh; /* an object or list was just entered: no comma comes first */
    bool is_broken;
};

enum json_in_kind {
    JSON_IN_NOTHING, /* broken, or the end */
    JSON_IN_OBJECT,
    JSON_IN_LIST,
    JSON_IN_TEXT,
    JSON_IN_NUMBER,
    JSON_IN_WORD /* null, true or false; NaN, Infinity and -Infinity, which are read as null */
};

static inline struct json_in json_in_over(char *text, size_t size)
{
    return (struct json_in){.at = text, .end = text + size, .begin = text};
}

/* What comes next. */
enum json_in_kind json_in_next(struct json_in *in);

/*
 * Enters the object or list that comes next. Then, until it answers false, json_in_member or
 * json_in_element goes to the next value, which must be taken or skipped. A key is as it is
 * written, escapes and all.
 */
void json_in_enter(struct json_in *in);
bool json_in_member(struct json_in *in, struct scan *ret_key);
bool json_in_element(struct json_in *in);

/* Each takes the value if it is of its kind; otherwise false, and it is still to be taken. */
bool json_in_number(struct json_in *in, double *ret_value);
bool json_in_u64(struct json_in *in, uint64_t *ret_value);
bool json_in_text(struct json_in *in, const char **ret_text);
bool json_in_null(struct json_in *in);

/* Passes the value over, whatever it is. */
void json_in_skip(struct json_in *in);

/* Whether it was JSON to the end, and the end is reached. */
bool json_in_is_done(struct json_in *in);

#endif

/*
 * The lines of a recorded file, one after another, in a buffer that grows to the longest of them
 * and never beyond LINE_MAX_SIZE. A line may be changed in place; it is valid until the next.
 *
 * NUL bytes before a line are not part of it: what was delivered of a spool file is punched out of
 * it and reads as NULs, gigabytes of them perhaps.
 */
#ifndef READ_LINES_H
#define READ_LINES_H

#include "read/bytes.h"

#define LINE_MAX_SIZE ((size_t)16 << 20)

struct line {
    char *text; /* without its end */
    size_t size;
    uint64_t number;  /* from 1 */
    bool has_end;     /* false: the file ended within it, or it is too long */
    bool is_too_long; /* text is its beginning */
};

struct lines {
    struct bytes *bytes;
    char *buffer;
    size_t capacity;
    size_t at; /* what is not yet taken, */
    size_t end;
    uint64_t number;
    bool is_skipping; /* the rest of a line that is too long */
};

/* The bytes are the caller's and must outlive the lines; -ENOMEM or 0. */
int lines_open(struct lines *lines, struct bytes *bytes);

/* The next line; false when there is none. */
bool lines_next(struct lines *lines, struct line *ret_line);

void lines_close(struct lines *lines);

#endif

/*
 * A bounded cursor over foreign text. Nothing here reads past `end`, needs a NUL, or trusts the
 * text: every function says whether it found what it wanted, and leaves the cursor where it was
 * when it did not. Blanks are spaces and tabs; lines end with '\n' or with the text.
 */
#ifndef BASE_SCAN_H
#define BASE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct scan {
    const char *at;
    const char *end;
};

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Of a hexadecimal digit; -1: it is none. */
static inline int hex_value(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static inline struct scan scan_over(const char *text, size_t size)
{
    return (struct scan){.at = text, .end = text + size};
}

static inline size_t scan_left(const struct scan *scan)
{
    return (size_t)(scan->end - scan->at);
}

/* Cuts the next line off; false when nothing is left. */
bool scan_line(struct scan *scan, struct scan *ret_line);

void scan_blanks(struct scan *scan);

/* Skips blanks, then takes the run of non-blank bytes; false when there is none. */
bool scan_word(struct scan *scan, struct scan *ret_word);

/* Skips `count` words; false when there were fewer. */
bool scan_skip_words(struct scan *scan, unsigned count);

/* Takes everything before `delimiter` and steps over it; false when it does not occur. */
bool scan_until(struct scan *scan, char delimiter, struct scan *ret_part);

/* Skips blanks, then takes decimal digits; false without a digit or beyond 64 bits. */
bool scan_u64(struct scan *scan, uint64_t *ret_value);

/* Steps over `c` if it is next. */
bool scan_char(struct scan *scan, char c);

/*
 * Here, so that the length of a literal is known where they are used: nearly every line of every
 * file is asked for its key.
 */
static inline bool scan_equals(const struct scan *scan, const char *text)
{
    size_t size = strlen(text);
    return scan_left(scan) == size && memcmp(scan->at, text, size) == 0;
}

static inline bool scan_starts_with(const struct scan *scan, const char *text)
{
    size_t size = strlen(text);
    return scan_left(scan) >= size && memcmp(scan->at, text, size) == 0;
}

/* Copies at most size - 1 bytes and a NUL; false when the text had to be cut. */
bool scan_copy(const struct scan *scan, char *out, size_t size);

#endif

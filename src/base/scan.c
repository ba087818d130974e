#include "base/scan.h"

#include <string.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

bool scan_line(struct scan *scan, struct scan *ret_line)
{
    if (scan->at == scan->end)
        return false;

    const char *newline = memchr(scan->at, '\n', scan_left(scan));
    const char *line_end = newline != NULL ? newline : scan->end;

    *ret_line = (struct scan){.at = scan->at, .end = line_end};
    scan->at = newline != NULL ? newline + 1 : scan->end;
    return true;
}

void scan_blanks(struct scan *scan)
{
    while (scan->at < scan->end && is_blank(*scan->at))
        scan->at++;
}

bool scan_word(struct scan *scan, struct scan *ret_word)
{
    const char *at = scan->at;
    const char *end = scan->end;

    while (at < end && is_blank(*at))
        at++;
    const char *start = at;
    while (at < end && !is_blank(*at))
        at++;
    if (at == start)
        return false;
    *ret_word = (struct scan){.at = start, .end = at};
    scan->at = at;
    return true;
}

bool scan_skip_words(struct scan *scan, unsigned count)
{
    struct scan ahead = *scan;
    struct scan word;

    while (count-- > 0)
        if (!scan_word(&ahead, &word))
            return false;
    *scan = ahead;
    return true;
}

bool scan_until(struct scan *scan, char delimiter, struct scan *ret_part)
{
    if (scan->at == scan->end)
        return false;
    const char *found = memchr(scan->at, delimiter, scan_left(scan));
    if (found == NULL)
        return false;
    *ret_part = (struct scan){.at = scan->at, .end = found};
    scan->at = found + 1;
    return true;
}

/* So many digits fit into 64 bits whatever they are; only one more has to be looked at. */
#define SAFE_DIGITS 19

bool scan_u64(struct scan *scan, uint64_t *ret_value)
{
    const char *at = scan->at;
    const char *end = scan->end;
    uint64_t value = 0;

    while (at < end && is_blank(*at))
        at++;
    const char *start = at;
    const char *safe_end = end - at > SAFE_DIGITS ? at + SAFE_DIGITS : end;
    for (; at < safe_end && is_digit(*at); at++)
        value = value * 10 + (uint64_t)(*at - '0');
    for (; at < end && is_digit(*at); at++) {
        uint64_t digit = (uint64_t)(*at - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    if (at == start)
        return false;
    *ret_value = value;
    scan->at = at;
    return true;
}

bool scan_char(struct scan *scan, char c)
{
    if (scan->at == scan->end || *scan->at != c)
        return false;
    scan->at++;
    return true;
}

bool scan_copy(const struct scan *scan, char *out, size_t size)
{
    size_t length = scan_left(scan);
    bool whole = length < size;

    if (!whole)
        length = size - 1;
    memcpy(out, scan->at, length);
    out[length] = '\0';
    return whole;
}

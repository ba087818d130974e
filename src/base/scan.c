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
    struct scan ahead = *scan;

    scan_blanks(&ahead);
    const char *start = ahead.at;
    while (ahead.at < ahead.end && !is_blank(*ahead.at))
        ahead.at++;
    if (ahead.at == start)
        return false;
    *ret_word = (struct scan){.at = start, .end = ahead.at};
    *scan = ahead;
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

bool scan_u64(struct scan *scan, uint64_t *ret_value)
{
    struct scan ahead = *scan;
    uint64_t value = 0;

    scan_blanks(&ahead);
    const char *start = ahead.at;
    for (; ahead.at < ahead.end && is_digit(*ahead.at); ahead.at++) {
        uint64_t digit = (uint64_t)(*ahead.at - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    if (ahead.at == start)
        return false;
    *ret_value = value;
    *scan = ahead;
    return true;
}

bool scan_char(struct scan *scan, char c)
{
    if (scan->at == scan->end || *scan->at != c)
        return false;
    scan->at++;
    return true;
}

bool scan_equals(const struct scan *scan, const char *text)
{
    size_t size = strlen(text);
    return scan_left(scan) == size && memcmp(scan->at, text, size) == 0;
}

bool scan_starts_with(const struct scan *scan, const char *text)
{
    size_t size = strlen(text);
    return scan_left(scan) >= size && memcmp(scan->at, text, size) == 0;
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

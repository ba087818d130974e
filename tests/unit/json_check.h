/*
 * Says whether bytes are JSON (RFC 8259) in well-formed UTF-8, by a reading of the standards of its
 * own: for tests and fuzzers of what we write. Strict: no bytes before or after the value but
 * blanks, depth at most 64.
 */
#ifndef TESTS_UNIT_JSON_CHECK_H
#define TESTS_UNIT_JSON_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct json_check {
    const unsigned char *at;
    const unsigned char *end;
    int depth;
};

static inline bool json_check_value(struct json_check *check);

/* One code point, decoded and then judged; 0 bytes when it is not well-formed. */
static inline size_t json_check_utf8(const unsigned char *at, const unsigned char *end)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = *at < 0x80             ? 1
                    : (*at & 0xe0) == 0xc0 ? 2
                    : (*at & 0xf0) == 0xe0 ? 3
                    : (*at & 0xf8) == 0xf0 ? 4
                                           : 0;

    if (length == 0 || (size_t)(end - at) < length)
        return 0;
    uint32_t code = length == 1 ? *at : *at & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (at[i] & 0x3f);
    }
    bool fine = code >= least[length] && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
    return fine ? length : 0;
}

static inline void json_check_blanks(struct json_check *check)
{
    while (check->at < check->end && *check->at != '\0' && strchr(" \t\r\n", *check->at) != NULL)
        check->at++;
}

static inline bool json_check_char(struct json_check *check, char c)
{
    if (check->at == check->end || *check->at != (unsigned char)c)
        return false;
    check->at++;
    return true;
}

static inline bool json_check_word(struct json_check *check, const char *word)
{
    size_t size = strlen(word);

    if ((size_t)(check->end - check->at) < size || memcmp(check->at, word, size) != 0)
        return false;
    check->at += size;
    return true;
}

static inline bool json_check_escape(struct json_check *check)
{
    if (check->at == check->end || *check->at == '\0')
        return false;
    unsigned char c = *check->at++;
    if (c != 'u')
        return strchr("\"\\/bfnrt", c) != NULL;
    for (int i = 0; i < 4; i++, check->at++)
        if (check->at == check->end || *check->at == '\0' ||
            strchr("0123456789abcdefABCDEF", *check->at) == NULL)
            return false;
    return true;
}

static inline bool json_check_string(struct json_check *check)
{
    if (!json_check_char(check, '"'))
        return false;
    while (!json_check_char(check, '"')) {
        if (check->at == check->end || *check->at < 0x20)
            return false;
        if (json_check_char(check, '\\')) {
            if (!json_check_escape(check))
                return false;
            continue;
        }
        size_t length = json_check_utf8(check->at, check->end);
        if (length == 0)
            return false;
        check->at += length;
    }
    return true;
}

static inline size_t json_check_digits(struct json_check *check)
{
    const unsigned char *start = check->at;

    while (check->at < check->end && *check->at >= '0' && *check->at <= '9')
        check->at++;
    return (size_t)(check->at - start);
}

static inline bool json_check_number(struct json_check *check)
{
    (void)json_check_char(check, '-');
    bool starts_with_zero = check->at < check->end && *check->at == '0';
    size_t digits = json_check_digits(check);
    if (digits == 0 || (starts_with_zero && digits > 1))
        return false;
    if (json_check_char(check, '.') && json_check_digits(check) == 0)
        return false;
    if (json_check_char(check, 'e') || json_check_char(check, 'E')) {
        if (!json_check_char(check, '+'))
            (void)json_check_char(check, '-');
        return json_check_digits(check) > 0;
    }
    return true;
}

static inline bool json_check_list(struct json_check *check, bool is_object)
{
    char closing = is_object ? '}' : ']';

    check->at++;
    json_check_blanks(check);
    if (json_check_char(check, closing))
        return true;
    for (;;) {
        json_check_blanks(check);
        if (is_object) {
            if (!json_check_string(check))
                return false;
            json_check_blanks(check);
            if (!json_check_char(check, ':'))
                return false;
        }
        if (!json_check_value(check))
            return false;
        json_check_blanks(check);
        if (json_check_char(check, closing))
            return true;
        if (!json_check_char(check, ','))
            return false;
    }
}

static inline bool json_check_value(struct json_check *check)
{
    json_check_blanks(check);
    if (check->at == check->end)
        return false;
    switch (*check->at) {
    case '{':
    case '[': {
        if (++check->depth > 64)
            return false;
        bool fine = json_check_list(check, *check->at == '{');
        check->depth--;
        return fine;
    }
    case '"':
        return json_check_string(check);
    case 't':
        return json_check_word(check, "true");
    case 'f':
        return json_check_word(check, "false");
    case 'n':
        return json_check_word(check, "null");
    default:
        return json_check_number(check);
    }
}

static inline bool is_json(const char *text, size_t size)
{
    const unsigned char *bytes = (const unsigned char *)text;
    struct json_check check = {.at = bytes, .end = bytes + size};

    if (!json_check_value(&check))
        return false;
    json_check_blanks(&check);
    return check.at == check.end;
}

#endif

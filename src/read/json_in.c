#include "read/json_in.h"

#include "read/number.h"

#include <string.h>

static void skip_blanks(struct json_in *in)
{
    while (in->at < in->end &&
           (*in->at == ' ' || *in->at == '\t' || *in->at == '\r' || *in->at == '\n'))
        in->at++;
}

static void break_off(struct json_in *in)
{
    in->is_broken = true;
}

static bool take_char(struct json_in *in, char c)
{
    if (in->is_broken || in->at == in->end || *in->at != c)
        return false;
    in->at++;
    return true;
}

static bool starts_with(const struct json_in *in, const char *word)
{
    size_t size = strlen(word);

    return (size_t)(in->end - in->at) >= size && memcmp(in->at, word, size) == 0;
}

enum json_in_kind json_in_next(struct json_in *in)
{
    skip_blanks(in);
    if (in->is_broken || in->at == in->end)
        return JSON_IN_NOTHING;
    switch (*in->at) {
    case '{':
        return JSON_IN_OBJECT;
    case '[':
        return JSON_IN_LIST;
    case '"':
        return JSON_IN_TEXT;
    case 'n':
    case 't':
    case 'f':
    case 'N':
    case 'I':
        return JSON_IN_WORD;
    default:
        if (starts_with(in, "-Infinity"))
            return JSON_IN_WORD;
        return *in->at == '-' || is_digit(*in->at) ? JSON_IN_NUMBER : JSON_IN_NOTHING;
    }
}

/* --- texts --- */

/* Writes a code point as UTF-8; one that cannot be in a text of C, or stands for nothing, becomes
 * U+FFFD. Never more bytes than its escape had. */
static char *put_code(char *out, unsigned code)
{
    if (code == 0 || (code >= 0xd800 && code <= 0xdfff))
        code = 0xfffd;
    if (code < 0x80) {
        *out++ = (char)code;
    } else if (code < 0x800) {
        *out++ = (char)(0xc0 | code >> 6);
        *out++ = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        *out++ = (char)(0xe0 | code >> 12);
        *out++ = (char)(0x80 | (code >> 6 & 0x3f));
        *out++ = (char)(0x80 | (code & 0x3f));
    } else {
        *out++ = (char)(0xf0 | code >> 18);
        *out++ = (char)(0x80 | (code >> 12 & 0x3f));
        *out++ = (char)(0x80 | (code >> 6 & 0x3f));
        *out++ = (char)(0x80 | (code & 0x3f));
    }
    return out;
}

/* Takes four hexadecimal digits. */
static bool take_hex(struct json_in *in, unsigned *ret_code)
{
    unsigned code = 0;

    if (in->end - in->at < 4)
        return false;
    for (int i = 0; i < 4; i++) {
        int digit = hex_value(in->at[i]);
        if (digit < 0)
            return false;
        code = code << 4 | (unsigned)digit;
    }
    in->at += 4;
    *ret_code = code;
    return true;
}

/* Behind \u: one code point, which may be two of them. */
static bool take_code(struct json_in *in, unsigned *ret_code)
{
    unsigned high;
    unsigned low;

    if (!take_hex(in, &high))
        return false;
    char *behind = in->at;
    if (high >= 0xd800 && high <= 0xdbff && take_char(in, '\\') && take_char(in, 'u') &&
        take_hex(in, &low) && low >= 0xdc00 && low <= 0xdfff) {
        *ret_code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
        return true;
    }
    in->at = behind;
    *ret_code = high;
    return true;
}

/* Behind a backslash. NULL: no escape. */
static char *undo_escape(struct json_in *in, char *out)
{
    static const char letters[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";
    unsigned code;

    if (in->at == in->end)
        return NULL;
    char letter = *in->at++;
    if (letter == 'u')
        return take_code(in, &code) ? put_code(out, code) : NULL;
    const char *found = letter != '\0' ? strchr(letters, letter) : NULL;
    if (found == NULL)
        return NULL;
    *out++ = meanings[found - letters];
    return out;
}

/* Undoes escapes up to the quote; the text only gets shorter. NULL when it has no end. */
static char *undo_escapes(struct json_in *in)
{
    char *out = in->at;

    while (in->at < in->end && *in->at != '"' && (unsigned char)*in->at >= 0x20) {
        if (*in->at != '\\') {
            *out++ = *in->at++;
            continue;
        }
        in->at++;
        out = undo_escape(in, out);
        if (out == NULL)
            return NULL;
    }
    return take_char(in, '"') ? out : NULL;
}

bool json_in_text(struct json_in *in, const char **ret_text)
{
    if (json_in_next(in) != JSON_IN_TEXT)
        return false;
    const char *text = ++in->at;
    char *end = undo_escapes(in);
    if (end == NULL) {
        break_off(in);
        return false;
    }
    *end = '\0';
    in->is_fresh = false;
    *ret_text = text;
    return true;
}

/* A text that nobody wants: up to its quote. */
static bool pass_text(struct json_in *in, struct scan *ret_text)
{
    char *start = ++in->at;

    for (; in->at < in->end && *in->at != '"' && (unsigned char)*in->at >= 0x20; in->at++)
        if (*in->at == '\\' && ++in->at == in->end)
            break;
    *ret_text = (struct scan){.at = start, .end = in->at};
    return take_char(in, '"');
}

/* --- values --- */

bool json_in_number(struct json_in *in, double *ret_value)
{
    if (json_in_next(in) != JSON_IN_NUMBER)
        return false;
    struct scan scan = {.at = in->at, .end = in->end};
    if (!number_scan(&scan, ret_value)) {
        break_off(in);
        return false;
    }
    in->at += scan.at - in->at;
    in->is_fresh = false;
    return true;
}

bool json_in_u64(struct json_in *in, uint64_t *ret_value)
{
    uint64_t value;

    if (json_in_next(in) != JSON_IN_NUMBER)
        return false;
    struct scan scan = {.at = in->at, .end = in->end};
    if (!scan_u64(&scan, &value) ||
        (scan.at < scan.end && (*scan.at == '.' || *scan.at == 'e' || *scan.at == 'E')))
        return false;
    in->at += scan.at - in->at;
    in->is_fresh = false;
    *ret_value = value;
    return true;
}

static bool take_word(struct json_in *in, const char *word)
{
    if (in->is_broken || !starts_with(in, word))
        return false;
    in->at += strlen(word);
    in->is_fresh = false;
    return true;
}

/* The rest is no JSON, but what Python's json.dumps writes for what is no number. */
bool json_in_null(struct json_in *in)
{
    return json_in_next(in) == JSON_IN_WORD &&
           (take_word(in, "null") || take_word(in, "NaN") || take_word(in, "Infinity") ||
            take_word(in, "-Infinity"));
}

/* --- objects and lists --- */

void json_in_enter(struct json_in *in)
{
    enum json_in_kind kind = json_in_next(in);

    if ((kind != JSON_IN_OBJECT && kind != JSON_IN_LIST) || in->depth == JSON_IN_DEPTH_MAX) {
        break_off(in);
        return;
    }
    in->at++;
    in->depth++;
    in->is_fresh = true;
}

/* To the next value of what was entered; false at its end. */
static bool go_on(struct json_in *in, char closing)
{
    skip_blanks(in);
    if (take_char(in, closing)) {
        in->depth--;
        in->is_fresh = false;
        return false;
    }
    if (!in->is_fresh && !take_char(in, ',')) {
        break_off(in);
        return false;
    }
    if (json_in_next(in) == JSON_IN_NOTHING)
        break_off(in);
    return !in->is_broken;
}

bool json_in_member(struct json_in *in, struct scan *ret_key)
{
    if (!go_on(in, '}'))
        return false;
    if (*in->at != '"' || !pass_text(in, ret_key)) {
        break_off(in);
        return false;
    }
    skip_blanks(in);
    if (!take_char(in, ':') || json_in_next(in) == JSON_IN_NOTHING)
        break_off(in);
    return !in->is_broken;
}

bool json_in_element(struct json_in *in)
{
    return go_on(in, ']');
}

static void skip_word(struct json_in *in)
{
    if (!json_in_null(in) && !take_word(in, "true") && !take_word(in, "false"))
        break_off(in);
}

void json_in_skip(struct json_in *in)
{
    struct scan key;
    double number;

    switch (json_in_next(in)) {
    case JSON_IN_OBJECT:
        for (json_in_enter(in); json_in_member(in, &key);)
            json_in_skip(in);
        break;
    case JSON_IN_LIST:
        for (json_in_enter(in); json_in_element(in);)
            json_in_skip(in);
        break;
    case JSON_IN_TEXT:
        if (!pass_text(in, &key))
            break_off(in);
        in->is_fresh = false;
        break;
    case JSON_IN_NUMBER:
        (void)json_in_number(in, &number);
        break;
    case JSON_IN_WORD:
        skip_word(in);
        break;
    case JSON_IN_NOTHING:
        break_off(in);
        break;
    }
}

bool json_in_is_done(struct json_in *in)
{
    skip_blanks(in);
    return !in->is_broken && in->depth == 0 && in->at == in->end;
}

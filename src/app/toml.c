#include "app/toml.h"

#include "app/toml_scalar.h"
#include "base/buf.h"
#include "base/scan.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#define DEPTH_MAX 16
#define PATH_BYTES_MAX 4096
#define VALUE_BYTES_MAX (1024 * 1024)
#define HIDDEN_DOT '\1'

struct toml {
    struct scan scan;
    long line;
    struct buf table; /* path of the current table, NUL-terminated */
    struct buf key;   /* key being read: its table part, NUL, its last part, NUL */
    struct buf value;
    unsigned depth;
    unsigned in_array;
    toml_visit *visit;
    void *context;
};

/* --- blanks, comments, line ends --- */

static char peek(const struct toml *toml)
{
    return toml->scan.at < toml->scan.end ? *toml->scan.at : '\0';
}

static bool at_end(const struct toml *toml)
{
    return toml->scan.at == toml->scan.end;
}

static bool next_is(const struct toml *toml, const char *text)
{
    return scan_starts_with(&toml->scan, text);
}

static bool skip_newline(struct toml *toml)
{
    if (next_is(toml, "\r\n"))
        toml->scan.at++;
    if (!scan_char(&toml->scan, '\n'))
        return false;
    toml->line++;
    return true;
}

/* Blanks and a comment, up to the end of the line. */
static bool skip_to_line_end(struct toml *toml)
{
    scan_blanks(&toml->scan);
    if (peek(toml) == '#')
        while (!at_end(toml) && peek(toml) != '\n' && !next_is(toml, "\r\n"))
            toml->scan.at++;
    return at_end(toml) || skip_newline(toml);
}

/* Inside arrays values may spread over lines. */
static void skip_lines(struct toml *toml)
{
    for (;;) {
        scan_blanks(&toml->scan);
        if (peek(toml) != '#' && peek(toml) != '\n' && peek(toml) != '\r')
            return;
        if (at_end(toml) || !skip_to_line_end(toml))
            return;
    }
}

/* --- strings --- */

static bool put_utf8(struct buf *out, uint32_t code)
{
    if (code == 0 || (code >= 0xd800 && code <= 0xdfff) || code > 0x10ffff)
        return false;
    if (code < 0x80) {
        buf_char(out, (char)code);
    } else if (code < 0x800) {
        buf_char(out, (char)(0xc0 | code >> 6));
        buf_char(out, (char)(0x80 | (code & 0x3f)));
    } else if (code < 0x10000) {
        buf_char(out, (char)(0xe0 | code >> 12));
        buf_char(out, (char)(0x80 | (code >> 6 & 0x3f)));
        buf_char(out, (char)(0x80 | (code & 0x3f)));
    } else {
        buf_char(out, (char)(0xf0 | code >> 18));
        buf_char(out, (char)(0x80 | (code >> 12 & 0x3f)));
        buf_char(out, (char)(0x80 | (code >> 6 & 0x3f)));
        buf_char(out, (char)(0x80 | (code & 0x3f)));
    }
    return true;
}

static bool read_hex(struct toml *toml, unsigned digits, uint32_t *ret_code)
{
    uint32_t code = 0;

    for (; digits > 0; digits--) {
        char c = peek(toml);
        if (c >= '0' && c <= '9')
            code = code * 16 + (uint32_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            code = code * 16 + (uint32_t)(c - 'a') + 10;
        else if (c >= 'A' && c <= 'F')
            code = code * 16 + (uint32_t)(c - 'A') + 10;
        else
            return false;
        toml->scan.at++;
    }
    *ret_code = code;
    return true;
}

/* After a backslash. */
static bool read_escape(struct toml *toml, struct buf *out)
{
    static const char letters[] = "btnfr\"\\e";
    static const char meanings[] = "\b\t\n\f\r\"\\\033";
    uint32_t code;

    char c = peek(toml);
    if (at_end(toml) || c == '\0')
        return false;
    toml->scan.at++;
    if (c == 'u' || c == 'U')
        return read_hex(toml, c == 'u' ? 4 : 8, &code) && put_utf8(out, code);
    const char *letter = strchr(letters, c);
    if (letter == NULL)
        return false;
    buf_char(out, meanings[letter - letters]);
    return true;
}

/* A backslash at the end of a line takes the blanks and lines after it away. */
static bool skip_folded_lines(struct toml *toml)
{
    struct scan ahead = toml->scan;

    scan_blanks(&ahead);
    if (ahead.at == ahead.end || (*ahead.at != '\n' && *ahead.at != '\r'))
        return false;
    toml->scan = ahead;
    do {
        if (!skip_newline(toml))
            return false;
        scan_blanks(&toml->scan);
    } while (peek(toml) == '\n' || next_is(toml, "\r\n"));
    return true;
}

static bool is_control(char c)
{
    return ((unsigned char)c < 0x20 && c != '\t') || c == 0x7f;
}

/* One character of a string; false when it may not stand there. */
static bool read_string_char(struct toml *toml, struct buf *out, char quote, bool many_lines)
{
    if (at_end(toml))
        return false;
    if (quote == '"' && peek(toml) == '\\') {
        toml->scan.at++;
        return (many_lines && skip_folded_lines(toml)) || read_escape(toml, out);
    }
    if (many_lines && skip_newline(toml)) {
        buf_char(out, '\n');
        return true;
    }
    if (is_control(peek(toml)))
        return false;
    buf_char(out, *toml->scan.at++);
    return true;
}

/* Three quotes end it; one or two more before them belong to the text. */
static bool read_many_lines(struct toml *toml, struct buf *out, char quote)
{
    const char closing[] = {quote, quote, quote, '\0'};

    toml->scan.at += 3;
    (void)skip_newline(toml);
    while (!next_is(toml, closing))
        if (!read_string_char(toml, out, quote, true))
            return false;
    toml->scan.at += 3;
    for (int extra = 0; extra < 2 && scan_char(&toml->scan, quote); extra++)
        buf_char(out, quote);
    return true;
}

static bool read_string(struct toml *toml, struct buf *out)
{
    char quote = peek(toml);
    const char opening[] = {quote, quote, quote, '\0'};

    if (next_is(toml, opening))
        return read_many_lines(toml, out, quote);
    toml->scan.at++;
    while (!scan_char(&toml->scan, quote))
        if (!read_string_char(toml, out, quote, false))
            return false;
    return true;
}

/* --- keys --- */

static bool is_bare(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

static bool read_key_part(struct toml *toml, struct buf *out)
{
    size_t begin = out->size;

    if (peek(toml) == '"' || peek(toml) == '\'') {
        if (next_is(toml, "\"\"\"") || next_is(toml, "'''") || !read_string(toml, out))
            return false;
        for (size_t i = begin; i < out->size; i++)
            if (out->data[i] == '.')
                out->data[i] = HIDDEN_DOT;
        return true;
    }
    while (is_bare(peek(toml)))
        buf_char(out, *toml->scan.at++);
    return out->size > begin;
}

/* Appends "a.b.c"; `*ret_last` is where its last part begins. */
static bool read_key(struct toml *toml, struct buf *out, size_t *ret_last)
{
    for (;;) {
        scan_blanks(&toml->scan);
        *ret_last = out->size;
        if (!read_key_part(toml, out) || out->overflow)
            return false;
        scan_blanks(&toml->scan);
        if (!scan_char(&toml->scan, '.'))
            return true;
        buf_char(out, '.');
    }
}

/* --- values --- */

static bool read_value(struct toml *toml);

static void hand_on(struct toml *toml, enum toml_type type)
{
    buf_char(&toml->value, '\0');
    if (toml->in_array > 0 || toml->value.overflow || toml->key.overflow)
        return;

    /* key holds "table.path.last": split it at its last dot. */
    char *path = toml->key.data;
    char *dot = memrchr(path, '.', toml->key.size);
    char *last = dot != NULL ? dot + 1 : path;
    char unquoted[PATH_BYTES_MAX];
    size_t length = toml->key.size - (size_t)(last - path);

    if (length >= sizeof unquoted)
        return;
    for (size_t i = 0; i < length; i++)
        unquoted[i] = last[i] == HIDDEN_DOT ? '.' : last[i];
    unquoted[length] = '\0';
    if (dot != NULL)
        *dot = '\0';
    toml->visit(toml->context, dot != NULL ? path : "", unquoted, type, toml->value.data);
    if (dot != NULL)
        *dot = '.';
}

static bool read_array(struct toml *toml)
{
    toml->scan.at++;
    toml->in_array++;
    for (;;) {
        skip_lines(toml);
        if (scan_char(&toml->scan, ']'))
            break;
        if (!read_value(toml))
            return false;
        skip_lines(toml);
        if (!scan_char(&toml->scan, ',') && peek(toml) != ']')
            return false;
    }
    toml->in_array--;
    return true;
}

/* The parts of `key` beyond `length` are those of the value that has just been read. */
static bool read_pair(struct toml *toml)
{
    size_t last;

    if (!read_key(toml, &toml->key, &last) || !scan_char(&toml->scan, '='))
        return false;
    scan_blanks(&toml->scan);
    return read_value(toml);
}

static bool read_inline_table(struct toml *toml)
{
    size_t length = toml->key.size;

    toml->scan.at++;
    scan_blanks(&toml->scan);
    if (scan_char(&toml->scan, '}'))
        return true;
    for (;;) {
        buf_char(&toml->key, '.');
        if (!read_pair(toml))
            return false;
        toml->key.size = length;
        scan_blanks(&toml->scan);
        if (scan_char(&toml->scan, '}'))
            return true;
        if (!scan_char(&toml->scan, ','))
            return false;
    }
}

static bool is_number_char(char c)
{
    return is_bare(c) || c == '+' || c == '.' || c == ':';
}

static bool read_number(struct toml *toml)
{
    buf_reset(&toml->value);
    while (is_number_char(peek(toml)))
        buf_char(&toml->value, *toml->scan.at++);
    /* "1979-05-27 07:32:00" */
    if (toml->value.size == strlen("1979-05-27") && scan_left(&toml->scan) > 2 &&
        toml->scan.at[0] == ' ' && is_digit(toml->scan.at[1]))
        do {
            buf_char(&toml->value, *toml->scan.at++);
        } while (is_number_char(peek(toml)));
    buf_char(&toml->value, '\0');
    if (toml->value.overflow)
        return false;

    enum toml_scalar scalar = toml_scalar_of(toml->value.data);
    if (scalar == SCALAR_NONE || scalar == SCALAR_OTHER)
        return scalar == SCALAR_OTHER; /* no setting of ours has such a value */
    size_t kept = 0;
    for (size_t i = 0; i + 1 < toml->value.size; i++)
        if (toml->value.data[i] != '_' && toml->value.data[i] != '+')
            toml->value.data[kept++] = toml->value.data[i];
    toml->value.size = kept;
    hand_on(toml, scalar == SCALAR_FLOAT ? TOML_FLOAT : TOML_INTEGER);
    return true;
}

static bool read_word(struct toml *toml, const char *word)
{
    buf_reset(&toml->value);
    buf_text(&toml->value, word);
    toml->scan.at += strlen(word);
    hand_on(toml, TOML_BOOLEAN);
    return !is_bare(peek(toml));
}

static bool read_container(struct toml *toml)
{
    if (toml->depth == DEPTH_MAX)
        return false;
    toml->depth++;
    bool fine = peek(toml) == '[' ? read_array(toml) : read_inline_table(toml);
    toml->depth--;
    return fine;
}

static bool read_value(struct toml *toml)
{
    char c = peek(toml);

    if (c == '[' || c == '{')
        return read_container(toml);
    if (next_is(toml, "true"))
        return read_word(toml, "true");
    if (next_is(toml, "false"))
        return read_word(toml, "false");
    if (c != '"' && c != '\'')
        return read_number(toml);
    buf_reset(&toml->value);
    if (!read_string(toml, &toml->value))
        return false;
    hand_on(toml, TOML_STRING);
    return true;
}

/* --- lines --- */

static bool read_header(struct toml *toml)
{
    size_t last;
    bool is_list = next_is(toml, "[[");

    toml->scan.at += is_list ? 2 : 1;
    buf_reset(&toml->table);
    if (!read_key(toml, &toml->table, &last))
        return false;
    /* Tables in a list are for other tools: a name no setting has keeps them apart. */
    if (is_list)
        buf_text(&toml->table, "[]");
    return next_is(toml, is_list ? "]]" : "]") && (toml->scan.at += is_list ? 2 : 1);
}

static bool read_line(struct toml *toml)
{
    scan_blanks(&toml->scan);
    char c = peek(toml);
    if (at_end(toml) || c == '#' || c == '\n' || c == '\r')
        return skip_to_line_end(toml);
    if (c == '[')
        return read_header(toml) && skip_to_line_end(toml);

    buf_reset(&toml->key);
    buf_bytes(&toml->key, toml->table.data, toml->table.size);
    if (toml->table.size > 0)
        buf_char(&toml->key, '.');
    return read_pair(toml) && skip_to_line_end(toml);
}

long toml_parse(const char *text, size_t size, toml_visit *visit, void *context)
{
    struct toml toml = {
        .scan = scan_over(text, size), .line = 1, .visit = visit, .context = context};
    long result = 0;

    if (buf_init(&toml.table, 64, PATH_BYTES_MAX) < 0 ||
        buf_init(&toml.key, 128, PATH_BYTES_MAX) < 0 ||
        buf_init(&toml.value, 256, VALUE_BYTES_MAX) < 0)
        result = -ENOMEM;
    if (next_is(&toml, "\xef\xbb\xbf"))
        toml.scan.at += 3;
    while (result == 0 && !at_end(&toml))
        if (!read_line(&toml) || toml.key.overflow || toml.table.overflow || toml.value.overflow)
            result = toml.line;
    buf_free(&toml.table);
    buf_free(&toml.key);
    buf_free(&toml.value);
    return result;
}

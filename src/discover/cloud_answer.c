#include "discover/cloud_answer.h"

#include "base/fmt.h"

#include <jansson.h>
#include <string.h>

/* The parser recurses, perhaps on a thread with a small stack; no vendor goes beyond 8. */
#define NESTING_MAX 32
#define KEY_MAX 64

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static struct scan trimmed(struct scan text)
{
    while (text.at < text.end && is_space(*text.at))
        text.at++;
    while (text.at < text.end && is_space(text.end[-1]))
        text.end--;
    return text;
}

static bool has_control_characters(const struct scan *text)
{
    for (const char *at = text->at; at < text->end; at++) {
        unsigned char c = (unsigned char)*at;
        if ((c < 0x20 && !is_space(*at)) || c == 0x7f)
            return true;
    }
    return false;
}

/* Brackets in strings do not count. Whether the text is JSON at all is for the parser to say. */
static bool is_shallow(const struct scan *text)
{
    size_t depth = 0;
    bool quoted = false;

    for (const char *at = text->at; at < text->end; at++) {
        if (quoted && *at == '\\' && at + 1 < text->end)
            at++;
        else if (*at == '"')
            quoted = !quoted;
        else if (!quoted && (*at == '{' || *at == '[') && ++depth > NESTING_MAX)
            return false;
        else if (!quoted && (*at == '}' || *at == ']') && depth > 0)
            depth--;
    }
    return true;
}

void cloud_answer_read(struct cloud_answer *answer, const char *bytes, size_t size)
{
    cloud_answer_free(answer);
    if (size == 0)
        return;
    struct scan text = trimmed(scan_over(bytes, size));
    if (text.at == text.end || *text.at == '<' || has_control_characters(&text))
        return;
    if (*text.at != '{')
        answer->text = text;
    else if (is_shallow(&text)) /* a NUL may be in a user's script; in a word it is refused */
        answer->json = json_loadb(text.at, scan_left(&text), JSON_ALLOW_NUL, NULL);
}

void cloud_answer_free(struct cloud_answer *answer)
{
    json_decref(answer->json);
    *answer = (struct cloud_answer){0};
}

/* --- words --- */

static bool take_word(struct scan text, char *ret_word, size_t size)
{
    text = trimmed(text);
    if (text.at == text.end || scan_left(&text) >= size)
        return false;
    for (const char *at = text.at; at < text.end; at++)
        if (*at <= ' ' || *at > '~' || *at == '<' || *at == '>')
            return false;
    return scan_copy(&text, ret_word, size);
}

static bool take_value(const json_t *value, char *ret_word, size_t size)
{
    char digits[FMT_U64_MAX];

    if (json_is_string(value))
        return take_word(scan_over(json_string_value(value), json_string_length(value)), ret_word,
                         size);
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return false;
    size_t length = fmt_u64(digits, (uint64_t)json_integer_value(value));
    return take_word(scan_over(digits, length), ret_word, size);
}

static json_t *find_value(json_t *json, const char *key)
{
    char name[KEY_MAX];
    struct scan rest = scan_over(key, strlen(key));
    struct scan part;

    while (json != NULL && scan_until(&rest, '.', &part))
        json = scan_copy(&part, name, sizeof name) ? json_object_get(json, name) : NULL;
    return json != NULL && scan_copy(&rest, name, sizeof name) ? json_object_get(json, name) : NULL;
}

/* YAML gives texts that look like something else in quotes. */
static struct scan unquoted(struct scan text)
{
    text = trimmed(text);
    if (scan_left(&text) >= 2 && (*text.at == '"' || *text.at == '\'') && text.end[-1] == *text.at)
        return (struct scan){text.at + 1, text.end - 1};
    return text;
}

/* Keys stand at the beginning of a line: what is indented belongs to something else. */
static bool take_line(struct scan text, const char *key, char *ret_word, size_t size)
{
    struct scan line;
    struct scan name;

    while (scan_line(&text, &line))
        if (scan_until(&line, ':', &name) && scan_equals(&name, key))
            return take_word(unquoted(line), ret_word, size);
    return false;
}

bool cloud_answer_word(const struct cloud_answer *answer, const char *key, char *ret_word,
                       size_t size)
{
    ret_word[0] = '\0';
    if (answer->json != NULL)
        return key != NULL && take_value(find_value(answer->json, key), ret_word, size);
    if (answer->text.at == answer->text.end)
        return false;
    return key == NULL ? take_word(answer->text, ret_word, size)
                       : take_line(answer->text, key, ret_word, size);
}

static bool is_text(const json_t *object, const char *name, const char *wanted)
{
    const json_t *value = json_object_get(object, name);

    return json_is_string(value) && json_string_length(value) == strlen(wanted) &&
           memcmp(json_string_value(value), wanted, strlen(wanted)) == 0;
}

bool cloud_answer_lists(const struct cloud_answer *answer, const char *key, const char *name,
                        const char *value, const char *other_name, const char *other_value)
{
    json_t *list = answer->json != NULL ? find_value(answer->json, key) : NULL;

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        if (is_text(item, name, value) && is_text(item, other_name, other_value))
            return true;
    }
    return false;
}

#include "app/toml_scalar.h"

#include "base/scan.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Takes digits of the set, single underscores between them allowed; false when there are none. */
static bool take_digits(const char **at, const char *digits)
{
    const char *start = *at;

    for (; **at != '\0'; ++*at) {
        bool is_separator = **at == '_' && *at > start && (*at)[-1] != '_';
        if (!is_separator && strchr(digits, **at) == NULL)
            break;
    }
    return *at > start && (*at)[-1] != '_';
}

static bool take(const char **at, char c)
{
    if (**at != c)
        return false;
    ++*at;
    return true;
}

/* --- numbers --- */

static bool take_sign(const char **at)
{
    return take(at, '+') || take(at, '-');
}

static enum toml_scalar decimal(const char *text)
{
    static const char digits[] = "0123456789";
    enum toml_scalar kind = SCALAR_INTEGER;

    (void)take_sign(&text);
    if (text[0] == '0' && (is_digit(text[1]) || text[1] == '_'))
        return SCALAR_NONE; /* no leading zeros */
    if (!take_digits(&text, digits))
        return SCALAR_NONE;
    if (take(&text, '.')) {
        kind = SCALAR_FLOAT;
        if (!take_digits(&text, digits))
            return SCALAR_NONE;
    }
    if (take(&text, 'e') || take(&text, 'E')) {
        kind = SCALAR_FLOAT;
        (void)take_sign(&text);
        if (!take_digits(&text, digits))
            return SCALAR_NONE;
    }
    return *text == '\0' ? kind : SCALAR_NONE;
}

static bool is_based(const char *text)
{
    static const struct {
        const char *prefix;
        const char *digits;
    } bases[] = {{"0x", "0123456789abcdefABCDEF"}, {"0o", "01234567"}, {"0b", "01"}};

    for (size_t i = 0; i < sizeof bases / sizeof bases[0]; i++)
        if (strncmp(text, bases[i].prefix, 2) == 0) {
            text += 2;
            return *text != '_' && take_digits(&text, bases[i].digits) && *text == '\0';
        }
    return false;
}

static bool is_special(const char *text)
{
    (void)take_sign(&text);
    return strcmp(text, "inf") == 0 || strcmp(text, "nan") == 0;
}

/* --- dates and times --- */

/* Exactly `count` digits with a value from `low` to `high`. */
static bool take_field(const char **at, int count, int low, int high)
{
    int value = 0;

    for (int i = 0; i < count; i++, ++*at) {
        if (!is_digit(**at))
            return false;
        value = value * 10 + (**at - '0');
    }
    return value >= low && value <= high;
}

static bool take_date(const char **at)
{
    return take_field(at, 4, 0, 9999) && take(at, '-') && take_field(at, 2, 1, 12) &&
           take(at, '-') && take_field(at, 2, 1, 31);
}

static bool take_time(const char **at)
{
    if (!take_field(at, 2, 0, 23) || !take(at, ':') || !take_field(at, 2, 0, 59))
        return false;
    if (!take(at, ':'))
        return true;
    if (!take_field(at, 2, 0, 60))
        return false;
    return !take(at, '.') || (*at += strspn(*at, "0123456789"), is_digit((*at)[-1]));
}

static bool take_zone(const char **at)
{
    if (take(at, 'Z') || take(at, 'z'))
        return true;
    return take_sign(at) && take_field(at, 2, 0, 23) && take(at, ':') && take_field(at, 2, 0, 59);
}

static bool is_date_or_time(const char *text)
{
    const char *at = text;

    if (take_time(&at) && *at == '\0')
        return true;
    at = text;
    if (!take_date(&at))
        return false;
    if (*at == '\0')
        return true;
    if (!take(&at, 'T') && !take(&at, 't') && !take(&at, ' '))
        return false;
    return take_time(&at) && (*at == '\0' || (take_zone(&at) && *at == '\0'));
}

enum toml_scalar toml_scalar_of(const char *text)
{
    enum toml_scalar number = decimal(text);

    if (number != SCALAR_NONE)
        return number;
    return is_based(text) || is_special(text) || is_date_or_time(text) ? SCALAR_OTHER : SCALAR_NONE;
}

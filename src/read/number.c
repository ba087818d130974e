#include "read/number.h"

#include <math.h>
#include <stdlib.h>

/* More digits than a double can tell apart (767) are nobody's figure. */
#define NUMBER_TEXT_MAX 800
/* Both are exact as doubles, so one multiplication or division of them rounds correctly. */
#define EXACT_MANTISSA_MAX ((uint64_t)1 << 53)
#define EXACT_POWER_MAX 22

static const double powers_of_ten[EXACT_POWER_MAX + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* What the digits say, so far as it fits. */
struct parts {
    uint64_t mantissa;
    int decimals;
    bool is_negative;
    bool is_plain; /* the mantissa is exact, and there is no exponent */
};

/* Takes digits; false when there is none. */
static bool take_digits(struct scan *scan, struct parts *parts, bool are_decimals)
{
    const char *start = scan->at;

    for (; scan->at < scan->end && is_digit(*scan->at); scan->at++) {
        if (parts->mantissa >= EXACT_MANTISSA_MAX / 10)
            parts->is_plain = false;
        else
            parts->mantissa = parts->mantissa * 10 + (uint64_t)(*scan->at - '0');
        parts->decimals += are_decimals && parts->is_plain;
    }
    return scan->at > start;
}

static bool take_exponent(struct scan *scan, struct parts *parts)
{
    if (!scan_char(scan, 'e') && !scan_char(scan, 'E'))
        return true;
    if (!scan_char(scan, '+'))
        (void)scan_char(scan, '-');
    struct parts exponent = {.is_plain = true};
    parts->is_plain = false;
    return take_digits(scan, &exponent, false);
}

/* The rare one: many digits, or an exponent. */
static bool convert_slowly(const char *start, const char *end, double *ret_value)
{
    char text[NUMBER_TEXT_MAX];
    struct scan whole = {.at = start, .end = end};

    if (!scan_copy(&whole, text, sizeof text))
        return false;
    double value = strtod(text, NULL);
    if (!isfinite(value))
        return false;
    *ret_value = value;
    return true;
}

bool number_scan(struct scan *scan, double *ret_value)
{
    struct scan ahead = *scan;
    struct parts parts = {.is_plain = true};

    parts.is_negative = scan_char(&ahead, '-');
    if (!take_digits(&ahead, &parts, false))
        return false;
    if (scan_char(&ahead, '.') && !take_digits(&ahead, &parts, true))
        return false;
    if (!take_exponent(&ahead, &parts))
        return false;
    if (parts.is_plain && parts.decimals <= EXACT_POWER_MAX) {
        double value = (double)parts.mantissa / powers_of_ten[parts.decimals];
        *ret_value = parts.is_negative ? -value : value;
    } else if (!convert_slowly(scan->at, ahead.at, ret_value)) {
        return false;
    }
    *scan = ahead;
    return true;
}

bool number_parse(const struct scan *text, double *ret_value)
{
    struct scan ahead = *text;
    double value;

    if (!number_scan(&ahead, &value) || ahead.at != ahead.end)
        return false;
    *ret_value = value;
    return true;
}

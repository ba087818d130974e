#include "base/fmt.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const uint64_t power_of_ten[FMT_DECIMALS_MAX + 1] = {
    1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000,
};

/* 2^64: the first double that no uint64_t holds. */
static const double beyond_u64 = 18446744073709551616.0;
/* 2^53: up to here a double counts by ones. */
static const double exact_max = 9007199254740992.0;

size_t fmt_u64(char *out, uint64_t value)
{
    char digits[FMT_U64_MAX];
    size_t count = 0;

    do {
        digits[count++] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    for (size_t i = 0; i < count; i++)
        out[i] = digits[count - 1 - i];
    return count;
}

static size_t put_decimals(char *out, uint64_t fraction, unsigned decimals)
{
    out[0] = '.';
    for (unsigned i = decimals; i > 0; i--) {
        out[i] = (char)('0' + fraction % 10);
        fraction /= 10;
    }
    return decimals + 1;
}

struct fixed {
    uint64_t whole;
    uint64_t fraction;
};

/* In two parts: the whole is exact up to 64 bits, and the rest has all of its precision. */
static struct fixed split(double magnitude, unsigned decimals)
{
    struct fixed parts;

    parts.whole = magnitude < beyond_u64 ? (uint64_t)magnitude : UINT64_MAX;
    double rest = parts.whole < UINT64_MAX ? magnitude - (double)parts.whole : 0;
    parts.fraction = (uint64_t)(rest * (double)power_of_ten[decimals] + 0.5);
    if (parts.fraction == power_of_ten[decimals]) {
        parts.fraction = 0;
        parts.whole++;
    }
    return parts;
}

size_t fmt_fixed(char *out, double value, unsigned decimals)
{
    assert(isfinite(value) && decimals <= FMT_DECIMALS_MAX);

    struct fixed parts = split(fabs(value), decimals);
    size_t size = 0;
    if (value < 0 && (parts.whole != 0 || parts.fraction != 0))
        out[size++] = '-';
    size += fmt_u64(out + size, parts.whole);
    if (decimals > 0)
        size += put_decimals(out + size, parts.fraction, decimals);
    return size;
}

double fmt_rounded(double value, unsigned decimals)
{
    assert(decimals <= FMT_DECIMALS_MAX);
    if (!isfinite(value))
        return value;

    struct fixed parts = split(fabs(value), decimals);
    double unit = (double)power_of_ten[decimals];
    double units = (double)parts.whole * unit + (double)parts.fraction;
    /* Both exact, so that the division rounds once, as reading the text does. */
    double rounded = units < exact_max ? units / unit : fabs(value);
    return value < 0 ? -rounded : rounded;
}

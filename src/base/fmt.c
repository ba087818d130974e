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

/* Two digits at once: half the divisions. */
static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233"
                            "34353637383940414243444546474849505152535455565758596061626364656667"
                            "6869707172737475767778798081828384858687888990919293949596979899";

/* Writes `value` so that it ends before `end`; returns where it begins. */
static char *put_backwards(char *end, uint64_t value)
{
    for (; value >= 100; value /= 100) {
        end -= 2;
        memcpy(end, pairs + 2 * (value % 100), 2);
    }
    if (value >= 10) {
        end -= 2;
        memcpy(end, pairs + 2 * value, 2);
    } else {
        *--end = (char)('0' + value);
    }
    return end;
}

size_t fmt_u64(char *out, uint64_t value)
{
    char digits[FMT_U64_MAX];

    /* Most figures of a sample are zeros and ones. */
    if (value < 10) {
        out[0] = (char)('0' + value);
        return 1;
    }
    char *begin = put_backwards(digits + sizeof digits, value);
    size_t count = (size_t)(digits + sizeof digits - begin);
    memcpy(out, begin, count);
    return count;
}

static size_t put_decimals(char *out, uint64_t fraction, unsigned decimals)
{
    unsigned left = decimals;

    out[0] = '.';
    for (; left >= 2; left -= 2) {
        memcpy(out + left - 1, pairs + 2 * (fraction % 100), 2);
        fraction /= 100;
    }
    if (left > 0)
        out[1] = (char)('0' + fraction);
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

#include "base/fmt.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const uint64_t power_of_ten[FMT_DECIMALS_MAX + 1] = {
    1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000,
};

/* 2^64: the first double that no uint64_t holds. */
static const double beyond_u64 = 18446744073709551616.0;

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

size_t fmt_fixed(char *out, double value, unsigned decimals)
{
    assert(isfinite(value) && decimals <= FMT_DECIMALS_MAX);

    /* In two parts: the whole is exact up to 64 bits, and the rest has all of its precision. */
    double magnitude = fabs(value);
    uint64_t whole = magnitude < beyond_u64 ? (uint64_t)magnitude : UINT64_MAX;
    double rest = whole < UINT64_MAX ? magnitude - (double)whole : 0;
    uint64_t fraction = (uint64_t)(rest * (double)power_of_ten[decimals] + 0.5);

    if (fraction == power_of_ten[decimals]) {
        fraction = 0;
        whole++;
    }

    size_t size = 0;
    if (value < 0 && (whole != 0 || fraction != 0))
        out[size++] = '-';
    size += fmt_u64(out + size, whole);
    if (decimals > 0)
        size += put_decimals(out + size, fraction, decimals);
    return size;
}

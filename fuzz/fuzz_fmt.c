/*
 * Numbers to text: eight bytes of a double (or integer), one of decimals. The text is a JSON number
 * of the asked form that reads back as the value, to the last decimal or the precision of a double.
 */
#include "base/fmt.h"
#include "support.h"

#include <float.h>

static void check_u64(uint64_t value)
{
    char text[FMT_U64_MAX + 1];
    char wanted[FMT_U64_MAX + 1];

    size_t size = fmt_u64(text, value);
    FUZZ_CHECK(size <= FMT_U64_MAX);
    text[size] = '\0';
    snprintf(wanted, sizeof wanted, "%llu", (unsigned long long)value);
    FUZZ_CHECK(strcmp(text, wanted) == 0);
}

static void check_fixed(double value, unsigned decimals)
{
    char text[FMT_FIXED_MAX + 1];

    size_t size = fmt_fixed(text, value, decimals);
    FUZZ_CHECK(size > 0 && size <= FMT_FIXED_MAX);
    text[size] = '\0';
    FUZZ_CHECK(is_json(text, size));
    const char *point = strchr(text, '.');
    FUZZ_CHECK((point != NULL) == (decimals > 0));
    FUZZ_CHECK(point == NULL || strlen(point + 1) == decimals);
    double back = strtod(text, NULL);
    FUZZ_CHECK(!signbit(back) || back < 0); /* no "-0" */
    if (fabs(value) >= 0x1p64) {
        FUZZ_CHECK(back == (value < 0 ? -0x1p64 : 0x1p64));
        return;
    }
    double half = 0.5 * pow(10, -(double)decimals);
    bool loses_decimals = fabs(value) * pow(10, decimals) >= 0x1p63;
    double error = loses_decimals ? 1 : half + fabs(value) * 4 * DBL_EPSILON;
    FUZZ_CHECK(fabs(back - value) <= error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t bits;
    double value;

    if (size < sizeof bits + 1)
        return 0;
    memcpy(&bits, data, sizeof bits);
    memcpy(&value, data, sizeof value);
    unsigned decimals = data[sizeof bits] % (FMT_DECIMALS_MAX + 1);
    check_u64(bits);
    check_fixed((double)bits, decimals);
    check_fixed((double)(int64_t)bits / 1e6, decimals);
    if (isfinite(value))
        check_fixed(value, decimals);
    return 0;
}

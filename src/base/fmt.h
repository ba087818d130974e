/*
 * Numbers to text without printf: no locale, no allocation, and about eight times faster, which
 * matters because a sample is mostly numbers. Output is not NUL-terminated.
 */
#ifndef BASE_FMT_H
#define BASE_FMT_H

#include <stddef.h>
#include <stdint.h>

#define FMT_U64_MAX 20
/* sign, 20 digits, point, 9 decimals, rounded up */
#define FMT_FIXED_MAX 32
#define FMT_DECIMALS_MAX 9

/* Both return the number of bytes written. */
size_t fmt_u64(char *out, uint64_t value);

/*
 * Rounds half away from zero to `decimals` (at most FMT_DECIMALS_MAX). The value must be finite.
 * What does not fit 64 bits saturates. Never writes "-0".
 */
size_t fmt_fixed(char *out, double value, unsigned decimals);

/* The number that a reader of that text gets, to the last bit; what is not finite stays as it is.
 */
double fmt_rounded(double value, unsigned decimals);

#endif

/*
 * Text to numbers: decimal, as JSON and CSV have them. What is printed with up to 15 digits comes
 * back as the nearest double, and without the C library for all figures we ever write.
 */
#ifndef READ_NUMBER_H
#define READ_NUMBER_H

#include "base/scan.h"

/*
 * Takes [-]digits[.digits][e[+-]digits] at the cursor. False, and the cursor where it was, when
 * there is none or no finite double is near it.
 */
bool number_scan(struct scan *scan, double *ret_value);

/* The same for a text that must be nothing but a number. */
bool number_parse(const struct scan *text, double *ret_value);

/*
 * No figure of a sample is below 0 or near this, and no sample is from before 1970 or after the
 * year 5000: what says otherwise is damaged. ("-0.0000", which the Rust tool writes, is 0.)
 */
#define NUMBER_FIGURE_MAX 1e18
#define NUMBER_TIME_MAX 1e11

static inline bool number_is_figure(double value)
{
    return value >= 0 && value < NUMBER_FIGURE_MAX;
}

static inline bool number_is_time(double unix_secs)
{
    return unix_secs >= 0 && unix_secs < NUMBER_TIME_MAX;
}

#endif

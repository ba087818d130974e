/*
 * Well-formed UTF-8, for whatever writes text that others gave. Pure.
 */
#ifndef ENCODE_UTF8_H
#define ENCODE_UTF8_H

#include <stddef.h>

#define UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/*
 * Length of the well-formed sequence at `text`, or 0. The table of the Unicode standard: no
 * overlong forms, no surrogates, nothing above U+10FFFF. A NUL ends every comparison.
 */
size_t utf8_length(const unsigned char *text);

#endif

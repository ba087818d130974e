/*
 * What the tool says to a person: one line on stderr, "resource-tracker: …", in one write. Only
 * app/ and main.c call this. Bytes that could drive a terminal (control characters in foreign
 * names) are shown as '?'. A line that nobody takes within a tenth of a second is dropped.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>

void log_set_verbose(bool verbose);

/* At most 1,000 bytes reach the reader; longer lines are cut. */
__attribute__((format(printf, 1, 2))) void log_say(const char *format, ...);

/* Said only with --verbose. */
__attribute__((format(printf, 1, 2))) void log_detail(const char *format, ...);

#endif

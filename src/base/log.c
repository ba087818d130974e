#include "base/log.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PREFIX "resource-tracker: "
#define LINE_MAX_BYTES 1000
#define PATIENCE_MS 100

static bool be_verbose;

void log_set_verbose(bool verbose)
{
    be_verbose = verbose;
}

/* Below blank, DEL, and the second set of controls, which UTF-8 writes as C2 80 to C2 9F. */
static bool is_control(const unsigned char *at)
{
    return at[0] < 0x20 || at[0] == 0x7f || (at[0] == 0xc2 && at[1] >= 0x80 && at[1] <= 0x9f);
}

static void say(const char *format, va_list arguments)
{
    char line[LINE_MAX_BYTES + 1] = PREFIX;
    size_t start = strlen(PREFIX);

    int wanted = vsnprintf(line + start, sizeof line - start - 1, format, arguments);
    if (wanted < 0)
        return;
    size_t size = strlen(line);
    for (size_t i = start; i < size; i++)
        if (is_control((const unsigned char *)line + i))
            line[i] = '?';
    line[size++] = '\n';

    /*
     * Nothing is left to be done when stderr itself fails; and a pipe that is full because nobody
     * reads it must not hold us up. A line fits into one that is writable at all.
     */
    struct pollfd reader = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (poll(&reader, 1, PATIENCE_MS) <= 0)
        return;
    ssize_t ignored = write(STDERR_FILENO, line, size);
    (void)ignored;
}

void log_say(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
}

void log_detail(const char *format, ...)
{
    if (!be_verbose)
        return;

    va_list arguments;

    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
}

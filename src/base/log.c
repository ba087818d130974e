#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PREFIX "resource-tracker: "
#define LINE_MAX_BYTES 1000

static bool be_verbose;

void log_set_verbose(bool verbose)
{
    be_verbose = verbose;
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
        if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
            line[i] = '?';
    line[size++] = '\n';

    /* Nothing is left to be done when stderr itself fails. */
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

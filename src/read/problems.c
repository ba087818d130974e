#include "read/problems.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Whether it is the last problem once more, in a later line. */
static bool continues(const struct problem *last, const struct problem *next)
{
    return last->file == next->file && next->first_line > 0 && strcmp(last->text, next->text) == 0;
}

void problems_part(struct problems *problems)
{
    problems->last.file = NULL;
}

void problems_add(struct problems *problems, const char *file, uint64_t line, const char *format,
                  ...)
{
    struct problem next = {.file = file, .first_line = line, .last_line = line};
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(next.text, sizeof next.text, format, arguments);
    va_end(arguments);
    if (continues(&problems->last, &next)) {
        if (problems->dropped == 0)
            problems->list[problems->kept - 1].last_line = line;
        return;
    }
    problems->last = next;
    if (problems->kept < PROBLEMS_KEPT)
        problems->list[problems->kept++] = next;
    else
        problems->dropped++;
}

#include "read/problems.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Whether it is that problem once more, in this line or the next. */
static bool continues(const struct problem *last, const struct problem *next)
{
    return last->file == next->file && next->first_line > 0 && last->first_line > 0 &&
           next->turn - last->turn <= 1 && strcmp(last->text, next->text) == 0;
}

void problems_turn(struct problems *problems)
{
    problems->turn++;
}

/* True: it was one that went on. */
static bool prolong(struct problem *last, const struct problem *next)
{
    if (!continues(last, next))
        return false;
    if (next->last_line > last->last_line)
        last->last_line = next->last_line;
    last->turn = next->turn;
    return true;
}

void problems_add(struct problems *problems, const char *file, uint64_t line, const char *format,
                  ...)
{
    struct problem next = {
        .file = file, .first_line = line, .last_line = line, .turn = problems->turn};
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(next.text, sizeof next.text, format, arguments);
    va_end(arguments);
    for (size_t i = 0; i < problems->kept; i++)
        if (prolong(&problems->list[i], &next))
            return;
    if (problems->kept < PROBLEMS_KEPT) {
        problems->list[problems->kept++] = next;
    } else if (!prolong(&problems->last, &next)) {
        problems->last = next;
        problems->dropped++;
    }
}

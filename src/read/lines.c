#include "read/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER_INITIAL ((size_t)256 << 10)

int lines_open(struct lines *lines, struct bytes *bytes)
{
    *lines = (struct lines){.bytes = bytes, .capacity = BUFFER_INITIAL};
    lines->buffer = malloc(lines->capacity);
    return lines->buffer != NULL ? 0 : -ENOMEM;
}

void lines_close(struct lines *lines)
{
    free(lines->buffer);
    *lines = (struct lines){0};
}

/* Room for more behind what is there; false when a line of the greatest length fills it. */
static bool make_room(struct lines *lines)
{
    memmove(lines->buffer, lines->buffer + lines->at, lines->end - lines->at);
    lines->end -= lines->at;
    lines->at = 0;
    if (lines->end < lines->capacity)
        return true;
    if (lines->capacity >= LINE_MAX_SIZE)
        return false;
    char *buffer = realloc(lines->buffer, lines->capacity * 2);
    if (buffer == NULL)
        return false;
    lines->buffer = buffer;
    lines->capacity *= 2;
    return true;
}

static size_t read_more(struct lines *lines)
{
    size_t got = bytes_read(lines->bytes, lines->buffer + lines->end, lines->capacity - lines->end);

    lines->end += got;
    return got;
}

static void skip_nuls(struct lines *lines)
{
    while (lines->at < lines->end && lines->buffer[lines->at] == '\0')
        lines->at++;
}

/* Goes on until a line begins at `at`; false at the end of the file. */
static bool find_begin(struct lines *lines)
{
    for (;;) {
        if (lines->is_skipping) {
            char *newline = memchr(lines->buffer + lines->at, '\n', lines->end - lines->at);
            lines->at = newline != NULL ? (size_t)(newline - lines->buffer) + 1 : lines->end;
            lines->is_skipping = newline == NULL;
        }
        if (!lines->is_skipping)
            skip_nuls(lines);
        if (lines->at < lines->end)
            return true;
        lines->at = lines->end = 0;
        if (read_more(lines) == 0)
            return false;
    }
}

/* Where the line that begins at `at` ends: at a newline, or where the text does. */
static char *find_end(struct lines *lines, struct line *line)
{
    size_t searched = 0;

    for (;;) {
        char *from = lines->buffer + lines->at + searched;
        char *newline = memchr(from, '\n', lines->end - lines->at - searched);
        if (newline != NULL) {
            line->has_end = true;
            return newline;
        }
        searched = lines->end - lines->at;
        if (lines->end == lines->capacity && !make_room(lines)) {
            line->is_too_long = true;
            return lines->buffer + lines->end;
        }
        if (read_more(lines) == 0)
            return lines->buffer + lines->end;
    }
}

bool lines_next(struct lines *lines, struct line *ret_line)
{
    struct line line = {0};

    if (!find_begin(lines))
        return false;
    const char *end = find_end(lines, &line);
    line.text = lines->buffer + lines->at;
    line.size = (size_t)(end - line.text);
    line.number = ++lines->number;
    lines->at += line.size + line.has_end;
    lines->is_skipping = line.is_too_long;
    *ret_line = line;
    return true;
}

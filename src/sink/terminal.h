/*
 * What a descriptor that may be a terminal can do.
 */
#ifndef SINK_TERMINAL_H
#define SINK_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

/* A terminal that understands escape sequences (TERM is not "dumb"). */
bool terminal_is_capable(int fd);

/* And whose user did not ask for none (NO_COLOR, see no-color.org). */
bool terminal_has_colour(int fd);

/* Columns; 0 when it is no terminal or does not tell. */
size_t terminal_width(int fd);

/*
 * Whether a status line may be drawn now: we are in the foreground, and nobody has put the terminal
 * into a mode of his own, as editors and pagers do.
 */
bool terminal_is_ours(int fd);

#endif

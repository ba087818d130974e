#include "sink/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

bool terminal_is_capable(int fd)
{
    const char *type = getenv("TERM");

    return isatty(fd) == 1 && type != NULL && type[0] != '\0' && strcmp(type, "dumb") != 0;
}

bool terminal_has_colour(int fd)
{
    const char *refusal = getenv("NO_COLOR");

    return terminal_is_capable(fd) && (refusal == NULL || refusal[0] == '\0');
}

size_t terminal_width(int fd)
{
    struct winsize size;

    return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

bool terminal_is_ours(int fd)
{
    struct termios mode;

    /* Full-screen programs take keys one by one. */
    return tcgetpgrp(fd) == getpgrp() && tcgetattr(fd, &mode) == 0 && (mode.c_lflag & ICANON) != 0;
}

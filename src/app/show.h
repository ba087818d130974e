/*
 * The actions that print something on standard output and end: --help, --version, --list-metrics.
 */
#ifndef APP_SHOW_H
#define APP_SHOW_H

#include "app/config.h"
#include "base/buf.h"

/* The exit status for main. */
int show(enum config_action action);

/* Writes a text to standard output, and says so when it cannot; the exit status. */
int show_text(const struct buf *text);

#endif

/*
 * The actions that print something on standard output and end: --help, --version, --list-metrics.
 */
#ifndef APP_SHOW_H
#define APP_SHOW_H

#include "app/config.h"

/* The exit status for main. */
int show(enum config_action action);

#endif

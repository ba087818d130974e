/*
 * One run from start to end: start the command, sample on an absolute schedule, take a last sample
 * when the command has ended.
 */
#ifndef APP_TRACKER_H
#define APP_TRACKER_H

#include "app/config.h"

#define STATUS_CANNOT_START 125

/* The exit status for main. */
int tracker_run(const struct config *config, char *const *environment);

#endif

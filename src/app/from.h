/*
 * --from: a summary and a report of recorded samples, instead of a run.
 */
#ifndef APP_FROM_H
#define APP_FROM_H

#include "app/config.h"

/* The exit status for main. */
int from_run(const struct config *config);

#endif

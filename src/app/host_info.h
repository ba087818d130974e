/*
 * --host-info: what would be told of this host, and by whom the job seems to be run, as one JSON
 * object on standard output.
 */
#ifndef APP_HOST_INFO_H
#define APP_HOST_INFO_H

#include "app/config.h"

/* The exit status for main. */
int host_info(const struct config *config, char *const *environment);

#endif

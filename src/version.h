/*
 * The one place that says which version this is.
 */
#ifndef VERSION_H
#define VERSION_H

#define TRACKER_VERSION "0.1.0"

#endif

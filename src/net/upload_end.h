/*
 * The end of a run: what is left is delivered within the deadline, the API is told, and what could
 * not be delivered is saved.
 */
#ifndef NET_UPLOAD_END_H
#define NET_UPLOAD_END_H

#include "base/clock.h"
#include "net/upload.h"

/* Of the time there is at the end, this much is kept for telling the API. */
#define UPLOAD_FINISH_RESERVE_NS (4 * NS_PER_SEC)

/* Delivers what is left, on the uploader's thread. */
void upload_wind_up(struct upload *upload);

/* Saves what is left over, on the sampling thread. */
void upload_save_leftovers(struct upload *upload);

#endif

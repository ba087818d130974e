/*
 * Sends rows to the API and S3 on a thread of its own. Rows come from the sampling thread, which
 * never waits for the network: they go into a spool (a file), and leave it when they were
 * confirmed. Where no thread can be started, all is sent at the end.
 *
 * Every row is delivered once, or saved in a file at the end; see docs/reliability.md.
 */
#ifndef NET_UPLOADER_H
#define NET_UPLOADER_H

#include "net/upload.h" /* struct uploader_options, struct uploader_end */

struct uploader;

/* 0 or -ENOMEM; what else goes wrong is told by messages. */
int uploader_start(const struct uploader_options *options, struct uploader **ret_uploader);

/* One row with its line end. */
void uploader_row(struct uploader *uploader, const void *row, size_t size);

/* What `describe` tells is known. Without this the run is registered after a minute, or at its end.
 */
void uploader_may_register(struct uploader *uploader);

/* No more rows: the rest is delivered until the deadline. Returns at once. */
void uploader_announce_end(struct uploader *uploader, const struct uploader_end *how);

/* Waits for that, and saves what is left over. */
void uploader_end(struct uploader *uploader);

/* Something to tell the user, each once; NULL when there is nothing. Valid until the next call. */
const char *uploader_message(struct uploader *uploader);

/* False: its thread is stuck. Nothing was freed, and the process must end with _exit. */
bool uploader_close(struct uploader *uploader);

#endif

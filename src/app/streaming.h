/*
 * Whether and how a run is streamed: the environment says so (SENTINEL_API_TOKEN and others, see
 * docs/streaming.md). What is wrong there is said, and the run goes on without streaming.
 */
#ifndef APP_STREAMING_H
#define APP_STREAMING_H

#include "app/config.h"
#include "base/sysroot.h"

struct stream_options;
struct streaming;

/*
 * Everything is borrowed for as long as it lives. `*ret_streaming` is NULL when nothing is to be
 * streamed.
 */
void streaming_open(const struct config *config, const struct sysroot *root,
                    char *const *environment, struct streaming **ret_streaming);

/* The tracked process is known now; before the sinks begin. NULL is fine. */
void streaming_set_pid(struct streaming *streaming, pid_t pid);

/* NULL for NULL. */
const struct stream_options *streaming_options(const struct streaming *streaming);

void streaming_close(struct streaming *streaming);

#endif

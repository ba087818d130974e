/*
 * The digest of the run that is being tracked: whether one is needed, and what is put into it
 * besides samples.
 */
#ifndef APP_RUN_DIGEST_H
#define APP_RUN_DIGEST_H

#include "app/config.h"
#include "base/sysroot.h"
#include "encode/summary.h"

/* Where samples go, as far as it matters for a terminal. */
enum sample_place { SAMPLES_NOWHERE, SAMPLES_TO_STDOUT, SAMPLES_TO_STDERR, SAMPLES_TO_PATH };
enum sample_place sample_place(const struct config *config);

/*
 * Whether standard error is a terminal on which no samples appear: then a person sits there who
 * wants to be told.
 */
bool has_idle_terminal(const struct config *config);

/* What --summary comes to: never SUMMARY_AUTO. */
enum summary_mode summary_mode_of(const struct config *config);

/* NULL in `*ret_digest` when none is needed. A negative errno, or 0. */
int run_digest_open(const struct config *config, struct digest **ret_digest);
void run_digest_close(struct digest *digest);

/* What the job may use. `pid` is the tracked process, 0: this one. */
void run_digest_limits(struct digest *digest, const struct sysroot *root, pid_t pid);

/* What is known of the host; takes a millisecond, and is asked when the run has ended. */
void run_digest_describe(struct digest *digest, const struct sysroot *root);

#endif

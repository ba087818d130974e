#include "app/run_digest.h"

#include "base/clock.h"
#include "base/log.h"
#include "discover/host_facts.h"
#include "discover/limits.h"
#include "discover/orchestrator.h"
#include "sink/terminal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* A limit that is set to "all there is" is a little above or below it. */
#define WHOLE_SHARE 0.98

/* --- what is wanted --- */

enum sample_place sample_place(const struct config *config)
{
    if (config->quiet)
        return SAMPLES_NOWHERE;
    if (config->output == NULL)
        return config->command == NULL ? SAMPLES_TO_STDOUT : SAMPLES_TO_STDERR;
    return strcmp(config->output, "-") == 0 ? SAMPLES_TO_STDOUT : SAMPLES_TO_PATH;
}

/*
 * Whether what is written there may appear on the terminal: `-o /dev/tty` does, and whoever reads a
 * pipe mostly prints. Devices of major number 1 are /dev/null and its like.
 */
static bool is_in_sight(const struct stat *status)
{
    return S_ISFIFO(status->st_mode) || S_ISSOCK(status->st_mode) ||
           (S_ISCHR(status->st_mode) && major(status->st_rdev) != 1);
}

bool has_idle_terminal(const struct config *config)
{
    struct stat status;

    if (isatty(STDERR_FILENO) != 1)
        return false;
    switch (sample_place(config)) {
    case SAMPLES_NOWHERE:
        return true;
    case SAMPLES_TO_STDOUT:
        return fstat(STDOUT_FILENO, &status) < 0 || !is_in_sight(&status);
    case SAMPLES_TO_PATH: /* one that is not there yet will be a file */
        return stat(config->output, &status) < 0 || !is_in_sight(&status);
    case SAMPLES_TO_STDERR:
        break;
    }
    return false;
}

enum summary_mode summary_mode_of(const struct config *config)
{
    enum summary_mode mode = (enum summary_mode)config->summary;

    if (mode != SUMMARY_AUTO)
        return mode;
    return has_idle_terminal(config) ? SUMMARY_TEXT : SUMMARY_NONE;
}

/* --- the digest --- */

static int set_run(struct digest *digest, const struct config *config)
{
    struct run run = config->run;

    if (!config->no_detect)
        orchestrator_detect(&run, environ);
    digest->interval_secs = (double)config->interval_ns / (double)NS_PER_SEC;
    return digest_set_run(digest, &run);
}

int run_digest_open(const struct config *config, struct digest **ret_digest)
{
    *ret_digest = NULL;
    if (summary_mode_of(config) == SUMMARY_NONE && config->report == NULL)
        return 0;

    struct digest *digest = calloc(1, sizeof *digest);
    if (digest == NULL)
        return -ENOMEM;
    int error = digest_init(digest, config->report != NULL);
    if (error == 0)
        error = set_run(digest, config);
    if (error < 0) {
        run_digest_close(digest);
        return error;
    }
    *ret_digest = digest;
    return 0;
}

void run_digest_close(struct digest *digest)
{
    if (digest == NULL)
        return;
    digest_free(digest);
    free(digest);
}

void run_digest_limits(struct digest *digest, const struct sysroot *root, pid_t pid)
{
    struct limits limits;

    if (digest == NULL)
        return;
    limits_of_process(root, pid, &limits);
    if (limits.cpus < WHOLE_SHARE * (double)sysconf(_SC_NPROCESSORS_ONLN))
        digest->cpu_limit = limits.cpus;
    if (limits.memory_mib < INFINITY)
        digest->memory_limit_mib = limits.memory_mib;
}

void run_digest_describe(struct digest *digest, const struct sysroot *root)
{
    if (digest == NULL)
        return;
    host_discover(root, &digest->host);
    const char *wrong = host_override(&digest->host, environ);
    if (wrong != NULL)
        log_detail("%.*s: not a number; it is passed over", (int)strcspn(wrong, "="), wrong);
    /* Version 1 of cgroups says "no limit" with a number above all there is. */
    if (!(digest->memory_limit_mib < WHOLE_SHARE * digest->host.memory_mib))
        digest->memory_limit_mib = NAN;
}

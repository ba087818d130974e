/*
 * The contract of a collector: one source of figures. It reads kernel files, subtracts, and stores
 * into the sample; it never formats, never logs and never fails a sample: what it cannot read stays
 * unavailable.
 *
 *   open      allocates and opens. -ENODEV: not on this host (silent). Other errors likewise leave
 *             the collector's figures unavailable.
 *   read      takes one reading. With tick->priming it only sets baselines: this stands between the
 *             user and the start of the command, so no facts are looked up. It allocates only when
 *             devices were added.
 *   describe  may be NULL: looks up the facts about devices that are new (names, models, speeds).
 *             Called once after the command was started; later reads do so by themselves.
 *   child_ended  may be NULL: the tracker has waited for a child of its own.
 *   close     takes a half-built state.
 *
 * All on the sampling thread.
 */
#ifndef COLLECT_COLLECTOR_H
#define COLLECT_COLLECTOR_H

#include "base/sysroot.h"
#include "model/sample.h"

#include <sys/resource.h>
#include <sys/types.h>

/* What there is to watch. Borrowed for the life of the collectors. */
struct collect_context {
    const struct sysroot *root;
    pid_t tracked_pid;    /* 0: no process tree */
    bool tracked_is_ours; /* a command of ours, held before its exec */
    bool had_children;    /* before that was started */
    int pss_mode;         /* enum pss_mode */
    struct job_cgroup *cgroup;
};

struct collector {
    const char *name;
    int (*open)(const struct collect_context *context, void **ret_state);
    void (*read)(void *state, const struct tick *tick, struct sample *sample);
    void (*describe)(void *state);
    void (*child_ended)(void *state, pid_t pid, const struct rusage *rusage);
    void (*close)(void *state);
};

extern const struct collector cpu_collector;
extern const struct collector memory_collector;
extern const struct collector network_collector;
extern const struct collector disk_collector;
extern const struct collector process_collector;
extern const struct collector self_collector;

/* Every collector of this host, opened. */
struct collectors;

int collectors_open(const struct collect_context *context, struct collectors **ret_collectors);

/* Reads all into `sample`, which is reset first; also stores how long that took. */
void collectors_read(struct collectors *collectors, const struct tick *tick, struct sample *sample);

void collectors_describe(struct collectors *collectors);
void collectors_child_ended(struct collectors *collectors, pid_t pid, const struct rusage *rusage);
void collectors_close(struct collectors *collectors);

#endif

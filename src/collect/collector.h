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
 *   remark    may be NULL: what a person who asks for more may want to know, a sentence, once; NULL
 *             when there is nothing (more).
 *   stop      may be NULL: ends threads of its own. False: one of them waits for a driver that does
 *             not answer; the process must then end without closing or unloading anything.
 *   close     takes a half-built state.
 *
 * All on the sampling thread; a collector with threads of its own keeps that to itself.
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
    uint64_t interval_ns;
    bool no_gpu;
    bool gpu_detail;
    uint64_t gpu_patience_ns; /* how long the last sample waits for a driver; 0: the usual */
    const char *nvml;         /* libraries to load instead of the usual ones; NULL: those */
    const char *drm_amdgpu;
};

struct collector {
    const char *name;
    int (*open)(const struct collect_context *context, void **ret_state);
    void (*read)(void *state, const struct tick *tick, struct sample *sample);
    void (*describe)(void *state);
    void (*child_ended)(void *state, pid_t pid, const struct rusage *rusage);
    const char *(*remark)(void *state);
    bool (*stop)(void *state);
    void (*close)(void *state);
};

extern const struct collector cpu_collector;
extern const struct collector memory_collector;
extern const struct collector network_collector;
extern const struct collector disk_collector;
extern const struct collector process_collector;
extern const struct collector gpu_collector;
extern const struct collector self_collector;

/* Every collector of this host, opened. */
struct collectors;

int collectors_open(const struct collect_context *context, struct collectors **ret_collectors);

/* Reads all into `sample`, which is reset first; also stores how long that took. */
void collectors_read(struct collectors *collectors, const struct tick *tick, struct sample *sample);

void collectors_describe(struct collectors *collectors);
void collectors_child_ended(struct collectors *collectors, pid_t pid, const struct rusage *rusage);

/* A remark of any of them, valid until the next call; NULL when there is none. */
const char *collectors_remark(struct collectors *collectors);

/* False: the process must end without collectors_close(). */
bool collectors_stop(struct collectors *collectors);
void collectors_close(struct collectors *collectors);

#endif

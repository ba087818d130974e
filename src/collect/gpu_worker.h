/*
 * The thread that talks to one vendor's driver, so that a driver that is slow, or never answers,
 * does not hold up a sample. It starts a reading a little before each tick of the schedule, so that
 * the sample finds one a few milliseconds old; the sampling thread never waits, except (briefly) at
 * the last sample.
 *
 * Readings go through three buffers: the thread fills one, the newest finished one lies ready, the
 * sampling thread holds the third. The lock is held only to swap pointers and to copy PIDs, never
 * while the driver is asked.
 */
#ifndef COLLECT_GPU_WORKER_H
#define COLLECT_GPU_WORKER_H

#include "collect/gpu.h"

struct gpu_reading {
    struct gpu_table table;
    uint64_t taken_ns; /* when it was finished, on the monotonic clock; 0: never */
    uint64_t took_ns;
    bool is_whole; /* false: it could not even be told which devices there are */
};

struct gpu_worker;

/* The worker opens the backend itself. `tick_ns` is any tick of the schedule. */
int gpu_worker_start(const struct gpu_backend *backend, const struct gpu_places *places,
                     uint64_t tick_ns, uint64_t interval_ns, struct gpu_worker **ret_worker);

/* A second worker beside one that has taken a reading, for what blocks. */
int gpu_worker_start_detail(struct gpu_worker *beside, struct gpu_worker **ret_worker);

/* Tells the worker which processes to look for; `known` false: none are wanted. */
void gpu_worker_tell(struct gpu_worker *worker, const struct tree_pids *tree);

/* Has a reading made as of `now_ns` and waits for it, but not longer than `patience_ns`; whether it
 * came. */
bool gpu_worker_ask(struct gpu_worker *worker, uint64_t now_ns, uint64_t patience_ns);

/* The newest finished reading, or NULL; valid until the next call. */
const struct gpu_reading *gpu_worker_take(struct gpu_worker *worker);

/* Since when the driver has owed an answer; 0: it does not. */
uint64_t gpu_worker_busy_since_ns(const struct gpu_worker *worker);

/* Whether the backend could not be opened; there is nothing left to do then but to stop. */
bool gpu_worker_has_failed(struct gpu_worker *worker);

/* What there is to say to a person, once; NULL: nothing. */
const char *gpu_worker_remark(struct gpu_worker *worker);

/*
 * Ends the thread and frees all. One that waits for the driver longer than `patience_ns` is left
 * behind with what it uses: then false, and the process must end without running anything of the
 * driver's libraries.
 */
bool gpu_worker_stop(struct gpu_worker *worker, uint64_t patience_ns);

#endif

#include "collect/gpu_worker.h"

#include "base/array.h"
#include "base/clock.h"
#include "collect/gpu_unit.h"
#include "collect/own_io.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define DETAIL_PERIOD_NS NS_PER_SEC
#define LEAD_MIN_NS NS_PER_MS

struct pid_array {
    pid_t *list;
    size_t count;
    size_t capacity;
};

struct gpu_worker {
    struct gpu_unit *unit;
    bool is_detail;
    uint64_t tick_ns;
    uint64_t interval_ns;
    pthread_t thread;
    _Atomic uint64_t busy_since_ns;

    pthread_mutex_t lock; /* for what follows, up to the next remark */
    pthread_cond_t wake;
    pthread_cond_t done;
    bool must_stop;
    bool has_ended;
    struct pid_io io; /* the thread's own, when it has ended */
    bool has_failed;
    uint64_t asked;
    uint64_t answered;
    uint64_t asked_now_ns;
    bool tree_is_known;
    struct pid_array told;
    struct gpu_reading *ready;
    bool ready_is_new;
    char remark[GPU_REMARK_MAX];
    bool has_remark;

    /* Only the thread's. */
    struct gpu_reading *back;
    struct pid_array current; /* as told for this reading */
    struct pid_array before;  /* for the one before */
    struct pid_array pids;    /* current, and who has left since then */
    bool wants_tree;
    uint64_t due_ns;    /* tick of the next reading */
    uint64_t served_ns; /* of the last one */
    uint64_t last_ns;   /* as of which that was made */
    uint64_t took_ns;

    /* Only the sampling thread's. */
    struct gpu_reading *front;
    char said[GPU_REMARK_MAX];
    struct gpu_reading readings[3];
};

/* --- the tree --- */

static bool pids_reserve(struct pid_array *array, size_t count)
{
    pid_t *list = array_grow(array->list, &array->capacity, count, sizeof *list);

    if (list == NULL)
        return false;
    array->list = list;
    return true;
}

static void pids_set(struct pid_array *array, const pid_t *list, size_t count)
{
    array->count = pids_reserve(array, count) ? count : 0;
    if (array->count > 0)
        memcpy(array->list, list, count * sizeof *list);
}

static bool pids_have(const struct pid_array *array, pid_t pid)
{
    for (size_t i = 0; i < array->count; i++)
        if (array->list[i] == pid)
            return true;
    return false;
}

/* Members keep their order, so one step through both lists finds nearly all. */
static void find_departed(struct gpu_worker *worker)
{
    const struct pid_array *current = &worker->current;
    const struct pid_array *before = &worker->before;
    struct pid_array *pids = &worker->pids;
    size_t at = 0;

    pids->count = 0;
    if (!pids_reserve(pids, current->count + before->count))
        return;
    pids_set(pids, current->list, current->count);
    for (size_t i = 0; i < before->count; i++) {
        if (at < current->count && current->list[at] == before->list[i])
            at++;
        else if (!pids_have(current, before->list[i]))
            pids->list[pids->count++] = before->list[i];
    }
}

/* --- one reading --- */

static bool read_unit(struct gpu_worker *worker, uint64_t now_ns, struct gpu_table *table)
{
    struct gpu_request request = {now_ns, worker->pids.list, worker->pids.count, NULL};

    return worker->is_detail ? gpu_unit_read_details(worker->unit, now_ns, table)
                             : gpu_unit_read(worker->unit, &request, worker->wants_tree, table);
}

/* Whoever asks may have looked at the clock before our last reading: time does not run backwards.
 */
static void take_reading(struct gpu_worker *worker, uint64_t wanted_ns)
{
    uint64_t begin_ns = clock_monotonic_ns();
    uint64_t now_ns = wanted_ns > worker->last_ns ? wanted_ns : worker->last_ns;

    worker->last_ns = now_ns;
    atomic_store(&worker->busy_since_ns, begin_ns);
    worker->back->is_whole = read_unit(worker, now_ns, &worker->back->table);
    worker->back->taken_ns = clock_monotonic_ns();
    worker->took_ns = worker->back->taken_ns - begin_ns;
    worker->back->took_ns = worker->took_ns;
    atomic_store(&worker->busy_since_ns, 0);
}

/* --- the thread --- */

/* When the next reading is to begin, so that it is done at a tick. */
static uint64_t next_begin_ns(struct gpu_worker *worker, uint64_t now_ns)
{
    uint64_t interval_ns = worker->interval_ns;
    uint64_t lead_ns = 2 * worker->took_ns + LEAD_MIN_NS;

    if (lead_ns > interval_ns / 2)
        lead_ns = interval_ns / 2;
    uint64_t passed = now_ns > worker->tick_ns ? (now_ns - worker->tick_ns) / interval_ns : 0;
    uint64_t due_ns = worker->tick_ns + (passed + 1) * interval_ns;
    if (due_ns <= worker->served_ns)
        due_ns += interval_ns;
    worker->due_ns = due_ns;
    return due_ns - lead_ns;
}

/* Under the lock. Waits for the next reading to be due or asked for; its time, or 0 to stop. */
static uint64_t wait_for_work(struct gpu_worker *worker)
{
    for (;;) {
        uint64_t now_ns = clock_monotonic_ns();
        uint64_t begin_ns = next_begin_ns(worker, now_ns);
        if (worker->must_stop)
            return 0;
        if (worker->asked != worker->answered)
            return worker->asked_now_ns;
        if (now_ns >= begin_ns) {
            worker->served_ns = worker->due_ns;
            return now_ns;
        }
        struct timespec until = clock_timespec(begin_ns);
        (void)pthread_cond_timedwait(&worker->wake, &worker->lock, &until);
    }
}

/* Under the lock. */
static void take_orders(struct gpu_worker *worker)
{
    struct pid_array spare = worker->before;

    worker->before = worker->current;
    worker->current = spare;
    worker->wants_tree = worker->tree_is_known;
    pids_set(&worker->current, worker->told.list, worker->told.count);
}

/* Under the lock. */
static void publish(struct gpu_worker *worker, uint64_t answered)
{
    struct gpu_reading *spare = worker->ready;

    worker->ready = worker->back;
    worker->back = spare;
    worker->ready_is_new = true;
    worker->answered = answered;
    pthread_cond_signal(&worker->done);
}

static void work(struct gpu_worker *worker)
{
    pthread_mutex_lock(&worker->lock);
    uint64_t now_ns =
        worker->asked != worker->answered ? worker->asked_now_ns : clock_monotonic_ns();
    do {
        uint64_t asked = worker->asked;
        take_orders(worker);
        pthread_mutex_unlock(&worker->lock);
        find_departed(worker);
        take_reading(worker, now_ns);
        pthread_mutex_lock(&worker->lock);
        publish(worker, asked);
    } while ((now_ns = wait_for_work(worker)) != 0);
    pthread_mutex_unlock(&worker->lock);
}

static bool open_backend(struct gpu_worker *worker)
{
    char remark[GPU_REMARK_MAX] = "";

    if (worker->is_detail)
        return true;
    atomic_store(&worker->busy_since_ns, clock_monotonic_ns());
    int error = gpu_unit_open(worker->unit, remark);
    atomic_store(&worker->busy_since_ns, 0);
    if (error >= 0)
        return true;
    pthread_mutex_lock(&worker->lock);
    memcpy(worker->remark, remark, sizeof remark);
    worker->has_remark = remark[0] != '\0';
    worker->has_failed = true;
    pthread_cond_signal(&worker->done);
    /* It ends when it is joined: its I/O is then known to be no child's. */
    while (!worker->must_stop)
        pthread_cond_wait(&worker->wake, &worker->lock);
    pthread_mutex_unlock(&worker->lock);
    return false;
}

static void *worker_main(void *argument)
{
    struct gpu_worker *worker = argument;

    if (open_backend(worker))
        work(worker);
    own_io_of_this_thread(&worker->io);
    pthread_mutex_lock(&worker->lock);
    worker->has_ended = true;
    pthread_cond_signal(&worker->done);
    pthread_mutex_unlock(&worker->lock);
    return NULL;
}

/* --- starting and stopping --- */

static void worker_free(struct gpu_worker *worker)
{
    pthread_cond_destroy(&worker->wake);
    pthread_cond_destroy(&worker->done);
    pthread_mutex_destroy(&worker->lock);
    for (size_t i = 0; i < sizeof worker->readings / sizeof worker->readings[0]; i++)
        gpu_table_free(&worker->readings[i].table);
    free(worker->told.list);
    free(worker->current.list);
    free(worker->before.list);
    free(worker->pids.list);
    gpu_unit_release(worker->unit);
    free(worker);
}

/* Signals are for the sampling thread, which has them blocked to read them from a descriptor. */
static int start_thread(struct gpu_worker *worker)
{
    sigset_t all;
    sigset_t before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&worker->thread, NULL, worker_main, worker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error == 0)
        (void)pthread_setname_np(worker->thread, worker->is_detail ? "gpu-detail" : "gpu");
    return -error;
}

static int worker_start(struct gpu_worker *worker, struct gpu_worker **ret_worker)
{
    pthread_condattr_t monotonic;

    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&worker->lock, NULL);
    pthread_cond_init(&worker->wake, &monotonic);
    pthread_cond_init(&worker->done, &monotonic);
    pthread_condattr_destroy(&monotonic);
    worker->back = &worker->readings[0];
    worker->ready = &worker->readings[1];
    worker->front = &worker->readings[2];
    int error = start_thread(worker);
    if (error < 0) {
        worker_free(worker);
        return error;
    }
    *ret_worker = worker;
    return 0;
}

int gpu_worker_start(const struct gpu_backend *backend, const struct gpu_places *places,
                     uint64_t tick_ns, uint64_t interval_ns, struct gpu_worker **ret_worker)
{
    struct gpu_worker *worker = calloc(1, sizeof *worker);

    if (worker == NULL)
        return -ENOMEM;
    worker->unit = gpu_unit_new(backend, places);
    if (worker->unit == NULL) {
        free(worker);
        return -ENOMEM;
    }
    worker->tick_ns = tick_ns;
    worker->interval_ns = interval_ns;
    return worker_start(worker, ret_worker);
}

int gpu_worker_start_detail(struct gpu_worker *beside, struct gpu_worker **ret_worker)
{
    struct gpu_worker *worker = calloc(1, sizeof *worker);

    if (worker == NULL)
        return -ENOMEM;
    worker->unit = beside->unit;
    worker->tick_ns = beside->tick_ns;
    worker->interval_ns =
        beside->interval_ns > DETAIL_PERIOD_NS ? beside->interval_ns : DETAIL_PERIOD_NS;
    worker->is_detail = true;
    gpu_unit_share(worker->unit);
    return worker_start(worker, ret_worker);
}

bool gpu_worker_stop(struct gpu_worker *worker, uint64_t patience_ns)
{
    struct timespec until = clock_timespec(clock_monotonic_ns() + patience_ns);
    int error = 0;

    if (worker == NULL)
        return true;
    pthread_mutex_lock(&worker->lock);
    worker->must_stop = true;
    pthread_cond_signal(&worker->wake);
    while (!worker->has_ended && error == 0)
        error = pthread_cond_timedwait(&worker->done, &worker->lock, &until);
    bool ended = worker->has_ended;
    pthread_mutex_unlock(&worker->lock);
    if (!ended) {
        pthread_detach(worker->thread);
        return false;
    }
    pthread_join(worker->thread, NULL);
    own_io_thread_ended(&worker->io);
    worker_free(worker);
    return true;
}

/* --- the sampling thread's side --- */

void gpu_worker_tell(struct gpu_worker *worker, const struct tree_pids *tree)
{
    pthread_mutex_lock(&worker->lock);
    worker->tree_is_known = tree->known;
    pids_set(&worker->told, tree->list, tree->count);
    pthread_mutex_unlock(&worker->lock);
}

bool gpu_worker_ask(struct gpu_worker *worker, uint64_t now_ns, uint64_t patience_ns)
{
    struct timespec until = clock_timespec(clock_monotonic_ns() + patience_ns);
    int error = 0;

    pthread_mutex_lock(&worker->lock);
    uint64_t mine = ++worker->asked;
    worker->asked_now_ns = now_ns;
    pthread_cond_signal(&worker->wake);
    while (worker->answered != mine && !worker->has_failed && error == 0)
        error = pthread_cond_timedwait(&worker->done, &worker->lock, &until);
    bool answered = worker->answered == mine;
    pthread_mutex_unlock(&worker->lock);
    return answered;
}

const struct gpu_reading *gpu_worker_take(struct gpu_worker *worker)
{
    pthread_mutex_lock(&worker->lock);
    if (worker->ready_is_new) {
        struct gpu_reading *spare = worker->front;
        worker->front = worker->ready;
        worker->ready = spare;
        worker->ready_is_new = false;
    }
    pthread_mutex_unlock(&worker->lock);
    return worker->front->taken_ns != 0 ? worker->front : NULL;
}

uint64_t gpu_worker_busy_since_ns(const struct gpu_worker *worker)
{
    return atomic_load(&worker->busy_since_ns);
}

bool gpu_worker_has_failed(struct gpu_worker *worker)
{
    pthread_mutex_lock(&worker->lock);
    bool failed = worker->has_failed;
    pthread_mutex_unlock(&worker->lock);
    return failed;
}

const char *gpu_worker_remark(struct gpu_worker *worker)
{
    bool has_remark;

    pthread_mutex_lock(&worker->lock);
    has_remark = worker->has_remark;
    if (has_remark)
        memcpy(worker->said, worker->remark, sizeof worker->said);
    worker->has_remark = false;
    pthread_mutex_unlock(&worker->lock);
    return has_remark ? worker->said : NULL;
}

/*
 * The thread does what is due, then waits until the next thing is, or until it is woken:
 *
 *   look around ─► register ─► every interval: cut a batch ─► store it, again and again ─► …
 *        └────────────┴──────────── the end ────────────────────┴─► the rest ─► finish
 *
 * One batch at a time: rows that come while it cannot be stored stay uncut and go with the next.
 * `upload.lock` guards what both threads use: the spool, messages, and what the one tells the
 * other.
 */
#include "net/uploader.h"

#include "base/clock.h"
#include "base/resident.h"
#include "net/upload_end.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#define LOOK_PATIENCE_NS (60 * NS_PER_SEC)
#define CLOSE_NS NS_PER_SEC
/* What is given back for a shorter one is soon needed again. */
#define LONG_WAIT_NS NS_PER_SEC
/* Of the time there is at the end, this much is kept for noticing that the thread is stuck. */
#define GRACE_NS (NS_PER_SEC / 4)

struct uploader {
    struct upload upload;
    pthread_t thread;
    bool has_thread;
    char taken[UPLOADER_MESSAGE_MAX]; /* the sampling thread's */

    /* What the threads tell each other, under upload.lock. */
    pthread_cond_t wake;
    bool may_register;
    unsigned events; /* things that were told to the thread */
    bool is_ending;
    bool is_done;
};

/* --- between the threads --- */

const char *uploader_message(struct uploader *uploader)
{
    return upload_take_message(&uploader->upload, uploader->taken) ? uploader->taken : NULL;
}

void uploader_row(struct uploader *uploader, const void *row, size_t size)
{
    pthread_mutex_lock(&uploader->upload.lock);
    (void)spool_append(&uploader->upload.spool, row, size);
    pthread_mutex_unlock(&uploader->upload.lock);
}

void uploader_may_register(struct uploader *uploader)
{
    pthread_mutex_lock(&uploader->upload.lock);
    uploader->may_register = true;
    uploader->events++;
    pthread_cond_broadcast(&uploader->wake);
    pthread_mutex_unlock(&uploader->upload.lock);
}

static bool is_ending(struct uploader *uploader, unsigned *ret_events)
{
    pthread_mutex_lock(&uploader->upload.lock);
    bool is_ending = uploader->is_ending;
    *ret_events = uploader->events;
    pthread_mutex_unlock(&uploader->upload.lock);
    return is_ending;
}

/* Until a moment, or until something was told that had not been when `events` were counted. */
static void wait_until(struct uploader *uploader, uint64_t due_ns, unsigned events)
{
    struct timespec due = clock_timespec(due_ns);
    int error = 0;

    pthread_mutex_lock(&uploader->upload.lock);
    while (error == 0 && uploader->events == events)
        error = pthread_cond_timedwait(&uploader->wake, &uploader->upload.lock, &due);
    pthread_mutex_unlock(&uploader->upload.lock);
}

/* --- trouble --- */

/* Once, until it works again; and not of what works the second time. */
static void tell_trouble(struct upload *upload, const char *what)
{
    if (upload->told_trouble || (upload->retry.failures == 0 && !upload->delivery.is_refused))
        return;
    upload_say(upload, "%s: %s; samples are kept, and it is tried again", what,
               upload->delivery.problem);
    upload->told_trouble = true;
}

static void plan_retry(struct upload *upload)
{
    const struct delivery *delivery = &upload->delivery;
    unsigned wait_secs = delivery->wait_secs;

    if (delivery->is_refused && wait_secs < RETRY_REFUSED_SECS)
        wait_secs = RETRY_REFUSED_SECS;
    retry_later(&upload->retry, clock_monotonic_ns(), wait_secs);
}

/* --- the run --- */

/* Whether it was opened; without libcurl nothing can be sent, and all is saved at the end. */
static bool open_http(struct uploader *uploader)
{
    struct upload *upload = &uploader->upload;
    const struct uploader_options *options = &upload->options;
    char problem[HTTP_PROBLEM_MAX] = "out of memory";
    struct http *http = NULL;

    if (http_open(&http, problem) < 0) {
        upload_say(upload, "streaming is off: %s; samples are saved at the end of the run",
                   problem);
        return false;
    }
    pthread_mutex_lock(&upload->lock);
    upload->http = http;
    if (uploader->is_ending)
        http_hurry(http, upload->end.deadline_ns);
    pthread_mutex_unlock(&upload->lock);
    delivery_init(&upload->delivery, http, options->url, options->token, options->s3_endpoint);
    return true;
}

static bool may_register(struct uploader *uploader)
{
    pthread_mutex_lock(&uploader->upload.lock);
    bool may = uploader->may_register;
    pthread_mutex_unlock(&uploader->upload.lock);
    return may || clock_monotonic_ns() - uploader->upload.started_ns >= LOOK_PATIENCE_NS;
}

/* Registering: what is due is done, and when to look again returned. */
static uint64_t register_when_due(struct uploader *uploader)
{
    struct upload *upload = &uploader->upload;
    uint64_t now_ns = clock_monotonic_ns();

    if (!may_register(uploader))
        return upload->started_ns + LOOK_PATIENCE_NS;
    if (now_ns < upload->retry.due_ns)
        return upload->retry.due_ns;
    if (upload_try_register(upload))
        return now_ns;
    tell_trouble(upload, "cannot register the run");
    plan_retry(upload);
    return upload->retry.due_ns;
}

static uint64_t store_when_due(struct upload *upload)
{
    uint64_t now_ns = clock_monotonic_ns();

    /* Nothing to do before the end. */
    if (!upload->delivery.has_place)
        return now_ns + LOOK_PATIENCE_NS;
    if (!upload->has_batch && (now_ns < upload->cut_ns || !upload_take_batch(upload)))
        return upload->cut_ns;
    if (now_ns < upload->retry.due_ns)
        return upload->retry.due_ns;
    if (upload_try_store(upload))
        return upload->cut_ns;
    tell_trouble(upload, "cannot store samples in S3");
    plan_retry(upload);
    return upload->retry.due_ns;
}

/* Sending takes libraries of megabytes and as much memory for moments, which are far between. */
static void give_memory_back(void)
{
    (void)malloc_trim(0);
    resident_give_back();
}

static void work_until_the_end(struct uploader *uploader)
{
    struct upload *upload = &uploader->upload;

    if (upload->options.look_around != NULL)
        upload->options.look_around(upload->options.context, upload->http);
    for (unsigned events; !is_ending(uploader, &events);) {
        uint64_t due_ns =
            upload->delivery.is_registered ? store_when_due(upload) : register_when_due(uploader);
        if (due_ns > clock_monotonic_ns() + LONG_WAIT_NS)
            give_memory_back();
        if (due_ns > clock_monotonic_ns())
            wait_until(uploader, due_ns, events);
    }
}

static void *work(void *context)
{
    struct uploader *uploader = context;

    if (open_http(uploader)) {
        work_until_the_end(uploader);
        upload_wind_up(&uploader->upload);
    }
    pthread_mutex_lock(&uploader->upload.lock);
    uploader->is_done = true;
    pthread_cond_broadcast(&uploader->wake);
    pthread_mutex_unlock(&uploader->upload.lock);
    return NULL;
}

/* --- start and close --- */

/* Signals are for the sampling thread. */
static bool start_thread(struct uploader *uploader)
{
    sigset_t all;
    sigset_t before;

    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
        return false;
    int error = pthread_create(&uploader->thread, NULL, work, uploader);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0;
}

void uploader_announce_end(struct uploader *uploader, const struct uploader_end *how)
{
    struct upload *upload = &uploader->upload;

    pthread_mutex_lock(&upload->lock);
    uploader->is_ending = true;
    uploader->may_register = true;
    uploader->events++;
    upload->end = *how;
    upload->end.deadline_ns -= GRACE_NS;
    if (upload->http != NULL)
        http_hurry(upload->http, upload->end.deadline_ns - UPLOAD_FINISH_RESERVE_NS);
    pthread_cond_broadcast(&uploader->wake);
    pthread_mutex_unlock(&upload->lock);
    /* Where there was no room for one, the job's own may have ended by now. */
    if (!uploader->has_thread)
        uploader->has_thread = start_thread(uploader);
}

static void wait_for_thread(struct uploader *uploader)
{
    struct timespec limit = clock_timespec(uploader->upload.end.deadline_ns + GRACE_NS);
    int error = 0;

    pthread_mutex_lock(&uploader->upload.lock);
    while (error == 0 && !uploader->is_done)
        error = pthread_cond_timedwait(&uploader->wake, &uploader->upload.lock, &limit);
    uploader->upload.is_abandoned = !uploader->is_done;
    pthread_mutex_unlock(&uploader->upload.lock);
}

void uploader_end(struct uploader *uploader)
{
    if (uploader->has_thread)
        wait_for_thread(uploader);
    else
        (void)work(uploader);
    upload_save_leftovers(&uploader->upload);
}

static int init_wake(struct uploader *uploader)
{
    pthread_condattr_t monotonic;

    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    int error = pthread_cond_init(&uploader->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return -error;
}

static void free_all(struct uploader *uploader)
{
    upload_close(&uploader->upload);
    pthread_cond_destroy(&uploader->wake);
    free(uploader);
}

int uploader_start(const struct uploader_options *options, struct uploader **ret_uploader)
{
    struct uploader *uploader = calloc(1, sizeof *uploader);

    if (uploader == NULL)
        return -ENOMEM;
    if (init_wake(uploader) < 0) {
        free(uploader);
        return -ENOMEM;
    }
    if (upload_open(&uploader->upload, options) < 0) {
        free_all(uploader);
        return -ENOMEM;
    }
    uploader->has_thread = start_thread(uploader);
    *ret_uploader = uploader;
    return 0;
}

bool uploader_close(struct uploader *uploader)
{
    if (!uploader->is_ending) {
        struct uploader_end now = {.deadline_ns = clock_monotonic_ns() + CLOSE_NS};
        uploader_announce_end(uploader, &now);
        uploader_end(uploader);
    }
    if (uploader->upload.is_abandoned)
        return false;
    if (uploader->has_thread)
        pthread_join(uploader->thread, NULL);
    free_all(uploader);
    return true;
}

/*
 * The thread does what is due, then waits until the next thing is, or until it is woken:
 *
 *   look around ─► register ─► every interval: cut a batch ─► store it, again and again ─► …
 *        └────────────┴──────────── the end ────────────────────┴─► the rest ─► finish
 *
 * One batch at a time: rows that come while it cannot be stored stay uncut and go with the next.
 * `lock` guards what both threads use: the spool, messages, and what the one tells the other.
 */
#include "net/uploader.h"

#include "base/clock.h"
#include "net/gzip.h"
#include "net/uploader_parts.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* When the disk is full, this much is held in memory. */
#define HELD_MAX (4 * 1024 * 1024)
#define BATCH_MAX (1024 * 1024)
#define BUF_INITIAL (16 * 1024)
#define BUF_MAX (32 * 1024 * 1024)
#define LOOK_PATIENCE_NS (60 * NS_PER_SEC)
#define STRETCH_COUNT 2000
#define CLOSE_NS NS_PER_SEC

/* --- between the threads --- */

void uploader_say(struct uploader *uploader, const char *format, ...)
{
    va_list arguments;

    pthread_mutex_lock(&uploader->lock);
    if (uploader->message_count < MESSAGE_COUNT) {
        va_start(arguments, format);
        vsnprintf(uploader->messages[uploader->message_count++], UPLOADER_MESSAGE_MAX, format,
                  arguments);
        va_end(arguments);
    }
    pthread_mutex_unlock(&uploader->lock);
}

const char *uploader_message(struct uploader *uploader)
{
    const char *message = NULL;

    pthread_mutex_lock(&uploader->lock);
    if (uploader->message_count > 0) {
        message = memcpy(uploader->taken, uploader->messages[0], UPLOADER_MESSAGE_MAX);
        uploader->message_count--;
        memmove(uploader->messages[0], uploader->messages[1],
                uploader->message_count * UPLOADER_MESSAGE_MAX);
    }
    pthread_mutex_unlock(&uploader->lock);
    return message;
}

void uploader_row(struct uploader *uploader, const void *row, size_t size)
{
    pthread_mutex_lock(&uploader->lock);
    (void)spool_append(&uploader->spool, row, size);
    pthread_mutex_unlock(&uploader->lock);
}

void uploader_may_register(struct uploader *uploader)
{
    pthread_mutex_lock(&uploader->lock);
    uploader->may_register = true;
    uploader->events++;
    pthread_cond_broadcast(&uploader->wake);
    pthread_mutex_unlock(&uploader->lock);
}

static bool is_ending(struct uploader *uploader, unsigned *ret_events)
{
    pthread_mutex_lock(&uploader->lock);
    bool is_ending = uploader->is_ending;
    *ret_events = uploader->events;
    pthread_mutex_unlock(&uploader->lock);
    return is_ending;
}

/* Until a moment, or until something was told that had not been when `events` were counted. */
static void wait_until(struct uploader *uploader, uint64_t due_ns, unsigned events)
{
    struct timespec due = clock_timespec(due_ns);
    int error = 0;

    pthread_mutex_lock(&uploader->lock);
    while (error == 0 && uploader->events == events)
        error = pthread_cond_timedwait(&uploader->wake, &uploader->lock, &due);
    pthread_mutex_unlock(&uploader->lock);
}

/* --- trouble --- */

/* Once, until it works again; and not of what works the second time. */
static void tell_trouble(struct uploader *uploader, const char *what)
{
    if (uploader->told_trouble || (uploader->retry.failures == 0 && !uploader->delivery.is_refused))
        return;
    uploader_say(uploader, "%s: %s; samples are kept, and it is tried again", what,
                 uploader->delivery.problem);
    uploader->told_trouble = true;
}

static void plan_retry(struct uploader *uploader)
{
    const struct delivery *delivery = &uploader->delivery;
    unsigned wait_secs = delivery->wait_secs;

    if (delivery->is_refused && wait_secs < RETRY_REFUSED_SECS)
        wait_secs = RETRY_REFUSED_SECS;
    retry_later(&uploader->retry, clock_monotonic_ns(), wait_secs);
}

static void note_success(struct uploader *uploader)
{
    retry_reset(&uploader->retry);
    uploader->told_trouble = false;
}

/* --- the steps --- */

bool uploader_try_register(struct uploader *uploader)
{
    struct delivery *delivery = &uploader->delivery;
    const struct uploader_options *options = &uploader->options;

    if (!delivery_register(delivery, options->describe, options->context))
        return false;
    pthread_mutex_lock(&uploader->lock);
    memcpy(uploader->run_id, delivery->run.id, sizeof uploader->run_id);
    pthread_mutex_unlock(&uploader->lock);
    if (!delivery->has_place)
        uploader_say(uploader,
                     "the API gave no usable S3 address or credentials (upload_uri_prefix, "
                     "upload_credentials); samples are sent at the end of the run");
    note_success(uploader);
    uploader->cut_ns = uploader->started_ns + options->interval_ns;
    return true;
}

/* Rows of the file do not move: they are read without keeping the sampling thread waiting. */
static int read_batch(struct uploader *uploader, const struct spool_batch *batch, struct buf *out)
{
    if (!batch->is_held)
        return spool_read(&uploader->spool, batch, out);
    pthread_mutex_lock(&uploader->lock);
    int error = spool_read(&uploader->spool, batch, out);
    pthread_mutex_unlock(&uploader->lock);
    return error;
}

/* The header and the rows are compressed apart: together they are one gzip file. */
static bool pack_batch(struct uploader *uploader)
{
    const char *header = uploader->options.header;

    buf_reset(&uploader->rows);
    buf_reset(&uploader->object);
    return read_batch(uploader, &uploader->batch, &uploader->rows) == 0 &&
           gzip_compress(header, strlen(header), &uploader->object) == 0 &&
           gzip_compress(uploader->rows.data, uploader->rows.size, &uploader->object) == 0;
}

/* Long runs get fewer and larger ones: the end has to name them all. */
static uint64_t batch_interval_ns(const struct uploader *uploader)
{
    return uploader->options.interval_ns * (1 + uploader->delivery.stored_count / STRETCH_COUNT);
}

bool uploader_take_batch(struct uploader *uploader)
{
    pthread_mutex_lock(&uploader->lock);
    bool has_rows = spool_cut(&uploader->spool, &uploader->batch);
    bool is_whole = uploader->spool.file.cut == uploader->spool.file.end &&
                    uploader->spool.held.cut == uploader->spool.held.end;
    pthread_mutex_unlock(&uploader->lock);
    uint64_t now_ns = clock_monotonic_ns();
    uploader->cut_ns = is_whole ? now_ns + batch_interval_ns(uploader) : now_ns;
    if (!has_rows)
        return false;
    uploader->has_batch = pack_batch(uploader);
    if (!uploader->has_batch) {
        pthread_mutex_lock(&uploader->lock);
        spool_uncut(&uploader->spool);
        pthread_mutex_unlock(&uploader->lock);
        uploader->cut_ns = now_ns + uploader->options.interval_ns;
    }
    return uploader->has_batch;
}

bool uploader_try_store(struct uploader *uploader)
{
    if (!delivery_store(&uploader->delivery, &uploader->object))
        return false;
    pthread_mutex_lock(&uploader->lock);
    if (!uploader->is_abandoned)
        spool_release(&uploader->spool, &uploader->batch);
    pthread_mutex_unlock(&uploader->lock);
    uploader->has_batch = false;
    note_success(uploader);
    return true;
}

/* --- the run --- */

/* Whether it was opened; without libcurl nothing can be sent, and all is saved at the end. */
static bool open_http(struct uploader *uploader)
{
    const struct uploader_options *options = &uploader->options;
    char problem[HTTP_PROBLEM_MAX] = "out of memory";
    struct http *http = NULL;

    if (http_open(&http, problem) < 0) {
        uploader_say(uploader, "streaming is off: %s; samples are saved at the end of the run",
                     problem);
        return false;
    }
    pthread_mutex_lock(&uploader->lock);
    uploader->http = http;
    if (uploader->is_ending)
        http_hurry(http, uploader->end.deadline_ns);
    pthread_mutex_unlock(&uploader->lock);
    delivery_init(&uploader->delivery, http, options->url, options->token, options->s3_endpoint);
    return true;
}

static bool may_register(struct uploader *uploader)
{
    pthread_mutex_lock(&uploader->lock);
    bool may = uploader->may_register;
    pthread_mutex_unlock(&uploader->lock);
    return may || clock_monotonic_ns() - uploader->started_ns >= LOOK_PATIENCE_NS;
}

/* Registering: what is due is done, and when to look again returned. */
static uint64_t register_when_due(struct uploader *uploader)
{
    uint64_t now_ns = clock_monotonic_ns();

    if (!may_register(uploader))
        return uploader->started_ns + LOOK_PATIENCE_NS;
    if (now_ns < uploader->retry.due_ns)
        return uploader->retry.due_ns;
    if (uploader_try_register(uploader))
        return now_ns;
    tell_trouble(uploader, "cannot register the run");
    plan_retry(uploader);
    return uploader->retry.due_ns;
}

static uint64_t store_when_due(struct uploader *uploader)
{
    uint64_t now_ns = clock_monotonic_ns();

    /* Nothing to do before the end. */
    if (!uploader->delivery.has_place)
        return now_ns + LOOK_PATIENCE_NS;
    if (!uploader->has_batch && (now_ns < uploader->cut_ns || !uploader_take_batch(uploader)))
        return uploader->cut_ns;
    if (now_ns < uploader->retry.due_ns)
        return uploader->retry.due_ns;
    if (uploader_try_store(uploader))
        return uploader->cut_ns;
    tell_trouble(uploader, "cannot store samples in S3");
    plan_retry(uploader);
    return uploader->retry.due_ns;
}

static void work_until_the_end(struct uploader *uploader)
{
    if (uploader->options.look_around != NULL)
        uploader->options.look_around(uploader->options.context, uploader->http);
    for (unsigned events; !is_ending(uploader, &events);) {
        uint64_t due_ns = uploader->delivery.is_registered ? store_when_due(uploader)
                                                           : register_when_due(uploader);
        if (due_ns > clock_monotonic_ns())
            wait_until(uploader, due_ns, events);
    }
}

static void *work(void *context)
{
    struct uploader *uploader = context;

    if (open_http(uploader)) {
        work_until_the_end(uploader);
        uploader_wind_up(uploader);
    }
    pthread_mutex_lock(&uploader->lock);
    uploader->is_done = true;
    pthread_cond_broadcast(&uploader->wake);
    pthread_mutex_unlock(&uploader->lock);
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
    pthread_mutex_lock(&uploader->lock);
    uploader->is_ending = true;
    uploader->may_register = true;
    uploader->events++;
    uploader->end = *how;
    uploader->end.deadline_ns -= UPLOADER_GRACE_NS;
    if (uploader->http != NULL)
        http_hurry(uploader->http, uploader->end.deadline_ns - UPLOADER_FINISH_RESERVE_NS);
    pthread_cond_broadcast(&uploader->wake);
    pthread_mutex_unlock(&uploader->lock);
    /* Where there was no room for one, the job's own may have ended by now. */
    if (!uploader->has_thread)
        uploader->has_thread = start_thread(uploader);
}

static void wait_for_thread(struct uploader *uploader)
{
    struct timespec limit = clock_timespec(uploader->end.deadline_ns + UPLOADER_GRACE_NS);
    int error = 0;

    pthread_mutex_lock(&uploader->lock);
    while (error == 0 && !uploader->is_done)
        error = pthread_cond_timedwait(&uploader->wake, &uploader->lock, &limit);
    uploader->is_abandoned = !uploader->is_done;
    pthread_mutex_unlock(&uploader->lock);
}

void uploader_end(struct uploader *uploader)
{
    if (uploader->has_thread)
        wait_for_thread(uploader);
    else
        (void)work(uploader);
    uploader_save_leftovers(uploader);
}

static int init_lock(struct uploader *uploader)
{
    pthread_condattr_t monotonic;

    pthread_mutex_init(&uploader->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    int error = pthread_cond_init(&uploader->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return -error;
}

static void free_all(struct uploader *uploader)
{
    delivery_wipe(&uploader->delivery);
    http_close(uploader->http);
    spool_close(&uploader->spool);
    buf_free(&uploader->rows);
    buf_free(&uploader->object);
    pthread_cond_destroy(&uploader->wake);
    pthread_mutex_destroy(&uploader->lock);
    free(uploader);
}

static int open_spool(struct uploader *uploader)
{
    const char *const *folders = uploader->options.folders;
    int error = -ENOENT;

    for (size_t i = 0; i < UPLOADER_FOLDERS && folders[i] != NULL && error < 0; i++) {
        if (i > 0)
            spool_close(&uploader->spool);
        error = spool_open(&uploader->spool, folders[i], uploader->options.header, HELD_MAX);
        if (error == -ENOMEM)
            return error;
    }
    uploader->spool.batch_max = BATCH_MAX;
    if (error < 0)
        uploader_say(uploader,
                     "cannot make a file in %s for samples that wait to be sent: %s; they are held "
                     "in memory",
                     folders[0], strerror(-error));
    return 0;
}

int uploader_start(const struct uploader_options *options, struct uploader **ret_uploader)
{
    struct uploader *uploader = calloc(1, sizeof *uploader);

    if (uploader == NULL)
        return -ENOMEM;
    uploader->options = *options;
    uploader->started_ns = clock_monotonic_ns();
    if (init_lock(uploader) < 0) {
        free(uploader);
        return -ENOMEM;
    }
    if (open_spool(uploader) < 0 || buf_init(&uploader->rows, BUF_INITIAL, BUF_MAX) < 0 ||
        buf_init(&uploader->object, BUF_INITIAL, BUF_MAX) < 0) {
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
    if (uploader->is_abandoned)
        return false;
    if (uploader->has_thread)
        pthread_join(uploader->thread, NULL);
    free_all(uploader);
    return true;
}

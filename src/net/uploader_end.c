/*
 * The end of a run: what is left is delivered within the deadline, the API is told, and what could
 * not be delivered is saved.
 */
#include "base/clock.h"
#include "net/gzip.h"
#include "net/leftover.h"
#include "net/uploader_parts.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A run that is not larger goes with its end if nothing was stored before. */
#define INLINE_WANTED_MAX (1024 * 1024)
/* And if nothing can be stored. */
#define INLINE_MAX (4 * 1024 * 1024)
/* Compressing more would take seconds: it stays in the spool as it is. */
#define LEFTOVER_MAX (64 * 1024 * 1024)
#define TRIES 5
/* When it had failed for a minute and more before the end. */
#define TRIES_OLD_TROUBLE 2
#define OLD_TROUBLE_FAILURES 7

/* Another try, a little later? Not beyond a limit, nor when it was refused twice. */
static bool may_try_again(struct uploader *uploader, unsigned tries, uint64_t limit_ns)
{
    struct retry *retry = &uploader->retry;
    uint64_t now_ns = clock_monotonic_ns();

    if (uploader->delivery.is_refused && retry->failures > 0)
        return false;
    retry_later(retry, now_ns, uploader->delivery.wait_secs);
    /* What is asked for may be longer than there is time: then a last try is made near its end. */
    uint64_t last_ns = limit_ns - NS_PER_SEC;
    if (retry->due_ns > last_ns && now_ns < last_ns)
        retry->due_ns = last_ns;
    if (retry->failures >= tries || retry->due_ns >= limit_ns)
        return false;
    struct timespec pause = clock_timespec(retry->due_ns - now_ns);
    (void)nanosleep(&pause, NULL);
    return true;
}

/* What was not delivered. */
struct leftover {
    uint64_t rows;
    uint64_t lost_rows;
    bool is_saved; /* as gzip; else it is in the spool */
    char path[SPOOL_PATH_MAX];
};

typedef bool try_once(struct uploader *uploader);

static bool insist(struct uploader *uploader, try_once *step, uint64_t limit_ns)
{
    bool is_old_trouble = uploader->retry.failures >= OLD_TROUBLE_FAILURES;
    unsigned tries = is_old_trouble ? TRIES_OLD_TROUBLE : TRIES;

    retry_reset(&uploader->retry);
    do {
        if (step(uploader))
            return true;
    } while (may_try_again(uploader, tries, limit_ns));
    return false;
}

static bool store_rest(struct uploader *uploader, uint64_t limit_ns)
{
    while (uploader->has_batch || uploader_take_batch(uploader))
        if (!insist(uploader, uploader_try_store, limit_ns))
            return false;
    return true;
}

/* All rows as one text, behind the header. */
static bool gather_all(struct uploader *uploader)
{
    struct spool_batch batch;
    bool is_fine = true;

    pthread_mutex_lock(&uploader->lock);
    buf_reset(&uploader->rows);
    buf_text(&uploader->rows, uploader->options.header);
    spool_uncut(&uploader->spool);
    while (is_fine && spool_cut(&uploader->spool, &batch))
        is_fine = spool_read(&uploader->spool, &batch, &uploader->rows) == 0;
    pthread_mutex_unlock(&uploader->lock);
    buf_reset(&uploader->object);
    return is_fine &&
           gzip_compress(uploader->rows.data, uploader->rows.size, &uploader->object) == 0;
}

static void release_all(struct uploader *uploader)
{
    struct spool_batch batch;

    pthread_mutex_lock(&uploader->lock);
    if (!uploader->is_abandoned) {
        spool_uncut(&uploader->spool);
        while (spool_cut(&uploader->spool, &batch))
            spool_release(&uploader->spool, &batch);
    }
    pthread_mutex_unlock(&uploader->lock);
}

static bool try_finish(struct uploader *uploader)
{
    struct sentinel_end end = {
        .has_failed = uploader->end.has_failed,
        .has_exit_code = uploader->end.has_exit_code,
        .exit_code = uploader->end.exit_code,
        .csv = uploader->rows.data,
        .csv_size = uploader->rows.size,
        .csv_gzip = uploader->object.data,
        .csv_gzip_size = uploader->object.size,
    };

    return delivery_finish(&uploader->delivery, &end);
}

static uint64_t unsent_size(struct uploader *uploader)
{
    pthread_mutex_lock(&uploader->lock);
    uint64_t size = spool_size(&uploader->spool);
    pthread_mutex_unlock(&uploader->lock);
    return size;
}

/* The header alone, where there are too many rows. */
static bool gather_none(struct uploader *uploader)
{
    buf_reset(&uploader->rows);
    buf_reset(&uploader->object);
    buf_text(&uploader->rows, uploader->options.header);
    return gzip_compress(uploader->rows.data, uploader->rows.size, &uploader->object) == 0;
}

/* With what was stored, or with all rows where nothing was. */
static void finish(struct uploader *uploader, uint64_t deadline_ns)
{
    bool is_inline = uploader->delivery.stored_count == 0 && unsent_size(uploader) <= INLINE_MAX &&
                     gather_all(uploader);

    if (!is_inline && !gather_none(uploader))
        return;
    if (!insist(uploader, try_finish, deadline_ns))
        uploader_say(uploader, "cannot tell the API that the run has ended: %s%s",
                     uploader->delivery.problem,
                     uploader->delivery.is_open ? "; it may have heard of it all the same" : "");
    else if (is_inline)
        release_all(uploader);
}

static void tell_failure(struct uploader *uploader, const char *what)
{
    uploader_say(uploader, "%s: %s", what, uploader->delivery.problem);
}

void uploader_wind_up(struct uploader *uploader)
{
    struct delivery *delivery = &uploader->delivery;
    uint64_t deadline_ns = uploader->end.deadline_ns;
    uint64_t store_by_ns = deadline_ns - UPLOADER_FINISH_RESERVE_NS;

    http_hurry(uploader->http, deadline_ns);
    if (!delivery->is_registered && !insist(uploader, uploader_try_register, deadline_ns)) {
        tell_failure(uploader, "cannot register the run");
        return;
    }
    if (delivery->has_place &&
        (delivery->stored_count > 0 || unsent_size(uploader) > INLINE_WANTED_MAX)) {
        http_hurry(uploader->http, store_by_ns);
        if (!store_rest(uploader, store_by_ns))
            tell_failure(uploader, "cannot store samples in S3");
        http_hurry(uploader->http, deadline_ns);
    }
    finish(uploader, deadline_ns);
}

static bool save(struct uploader *uploader, char *ret_path)
{
    const struct uploader_options *options = &uploader->options;
    char name[SENTINEL_ID_MAX];
    bool is_saved = false;

    memcpy(name, uploader->run_id, sizeof name);
    if (name[0] == '\0')
        snprintf(name, sizeof name, "%d", (int)getpid());
    for (size_t i = 0; i < UPLOADER_FOLDERS && options->folders[i] != NULL && !is_saved; i++)
        is_saved = leftover_save(&uploader->spool, options->header, options->folders[i], name,
                                 ret_path) == 0;
    return is_saved;
}

/* Under the lock, so that a thread that is stuck and comes back finds nothing to do. */
static void save_under_lock(struct uploader *uploader, struct leftover *ret_left)
{
    struct spool *spool = &uploader->spool;

    pthread_mutex_lock(&uploader->lock);
    *ret_left = (struct leftover){.rows = spool_rows(spool), .lost_rows = spool->lost_rows};
    bool is_findable = spool_is_findable(spool);
    bool is_too_large = is_findable && spool_size(spool) > LEFTOVER_MAX;
    if (ret_left->rows > 0 && !is_too_large)
        ret_left->is_saved = save(uploader, ret_left->path);
    if (!ret_left->is_saved) {
        spool_settle(spool);
        memcpy(ret_left->path, spool->path, sizeof ret_left->path);
        ret_left->rows = is_findable ? spool->file.rows : 0;
        ret_left->lost_rows += spool_rows(spool) - ret_left->rows;
    }
    spool_tidy(spool);
    pthread_mutex_unlock(&uploader->lock);
}

void uploader_save_leftovers(struct uploader *uploader)
{
    struct leftover left;

    save_under_lock(uploader, &left);
    if (left.rows > 0)
        uploader_say(uploader, "%llu rows of samples could not be delivered; they are %s %s",
                     (unsigned long long)left.rows, left.is_saved ? "saved in" : "in", left.path);
    if (left.lost_rows > 0)
        uploader_say(uploader, "%llu rows of samples are lost: no disk had room for them",
                     (unsigned long long)left.lost_rows);
}

#include "net/upload_end.h"

#include "net/gzip.h"
#include "net/leftover.h"

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
static bool may_try_again(struct upload *upload, unsigned tries, uint64_t limit_ns)
{
    struct retry *retry = &upload->retry;
    uint64_t now_ns = clock_monotonic_ns();

    if (upload->delivery.is_refused && retry->failures > 0)
        return false;
    retry_later(retry, now_ns, upload->delivery.wait_secs);
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

typedef bool try_once(struct upload *upload);

static bool insist(struct upload *upload, try_once *step, uint64_t limit_ns)
{
    bool is_old_trouble = upload->retry.failures >= OLD_TROUBLE_FAILURES;
    unsigned tries = is_old_trouble ? TRIES_OLD_TROUBLE : TRIES;

    retry_reset(&upload->retry);
    do {
        if (step(upload))
            return true;
    } while (may_try_again(upload, tries, limit_ns));
    return false;
}

static bool store_rest(struct upload *upload, uint64_t limit_ns)
{
    while (upload->has_batch || upload_take_batch(upload))
        if (!insist(upload, upload_try_store, limit_ns))
            return false;
    return true;
}

/* All rows as one text, behind the header. */
static bool gather_all(struct upload *upload)
{
    struct spool_batch batch;
    bool is_fine = true;

    pthread_mutex_lock(&upload->lock);
    buf_reset(&upload->rows);
    buf_text(&upload->rows, upload->options.header);
    spool_uncut(&upload->spool);
    while (is_fine && spool_cut(&upload->spool, &batch))
        is_fine = spool_read(&upload->spool, &batch, &upload->rows) == 0;
    pthread_mutex_unlock(&upload->lock);
    buf_reset(&upload->object);
    return is_fine && gzip_compress(upload->rows.data, upload->rows.size, &upload->object) == 0;
}

static void release_all(struct upload *upload)
{
    pthread_mutex_lock(&upload->lock);
    if (!upload->is_abandoned)
        spool_release_all(&upload->spool);
    pthread_mutex_unlock(&upload->lock);
}

static bool try_finish(struct upload *upload)
{
    struct sentinel_end end = {
        .has_failed = upload->end.has_failed,
        .has_exit_code = upload->end.has_exit_code,
        .exit_code = upload->end.exit_code,
        .csv = upload->rows.data,
        .csv_size = upload->rows.size,
        .csv_gzip = upload->object.data,
        .csv_gzip_size = upload->object.size,
    };

    return delivery_finish(&upload->delivery, &end);
}

static uint64_t unsent_size(struct upload *upload)
{
    pthread_mutex_lock(&upload->lock);
    uint64_t size = spool_size(&upload->spool);
    pthread_mutex_unlock(&upload->lock);
    return size;
}

/* The header alone, where there are too many rows. */
static bool gather_none(struct upload *upload)
{
    buf_reset(&upload->rows);
    buf_reset(&upload->object);
    buf_text(&upload->rows, upload->options.header);
    return gzip_compress(upload->rows.data, upload->rows.size, &upload->object) == 0;
}

/* With what was stored, or with all rows where nothing was. */
static void finish(struct upload *upload, uint64_t deadline_ns)
{
    bool is_inline = upload->delivery.stored_count == 0 && unsent_size(upload) <= INLINE_MAX &&
                     gather_all(upload);

    if (!is_inline && !gather_none(upload))
        return;
    if (!insist(upload, try_finish, deadline_ns))
        upload_say(upload, "cannot tell the API that the run has ended: %s%s",
                   upload->delivery.problem,
                   upload->delivery.is_open ? "; it may have heard of it all the same" : "");
    else if (is_inline)
        release_all(upload);
}

static void tell_failure(struct upload *upload, const char *what)
{
    upload_say(upload, "%s: %s", what, upload->delivery.problem);
}

void upload_wind_up(struct upload *upload)
{
    struct delivery *delivery = &upload->delivery;
    uint64_t deadline_ns = upload->end.deadline_ns;
    uint64_t store_by_ns = deadline_ns - UPLOAD_FINISH_RESERVE_NS;

    http_hurry(upload->http, deadline_ns);
    if (!delivery->is_registered && !insist(upload, upload_try_register, deadline_ns)) {
        tell_failure(upload, "cannot register the run");
        return;
    }
    if (delivery->has_place &&
        (delivery->stored_count > 0 || unsent_size(upload) > INLINE_WANTED_MAX)) {
        http_hurry(upload->http, store_by_ns);
        if (!store_rest(upload, store_by_ns))
            tell_failure(upload, "cannot store samples in S3");
        http_hurry(upload->http, deadline_ns);
    }
    finish(upload, deadline_ns);
}

static bool save(struct upload *upload, char *ret_path)
{
    const struct uploader_options *options = &upload->options;
    char name[SENTINEL_ID_MAX];
    bool is_saved = false;

    memcpy(name, upload->run_id, sizeof name);
    if (name[0] == '\0')
        snprintf(name, sizeof name, "%d", (int)getpid());
    for (size_t i = 0; i < UPLOADER_FOLDERS && options->folders[i] != NULL && !is_saved; i++)
        is_saved = leftover_save(&upload->spool, options->header, options->folders[i], name,
                                 ret_path) == 0;
    return is_saved;
}

/* Under the lock, so that a thread that is stuck and comes back finds nothing to do. */
static void save_under_lock(struct upload *upload, struct leftover *ret_left)
{
    struct spool *spool = &upload->spool;

    pthread_mutex_lock(&upload->lock);
    *ret_left = (struct leftover){.rows = spool_rows(spool), .lost_rows = spool->lost_rows};
    bool is_findable = spool_is_findable(spool);
    bool is_too_large = is_findable && spool_size(spool) > LEFTOVER_MAX;
    if (ret_left->rows > 0 && !is_too_large)
        ret_left->is_saved = save(upload, ret_left->path);
    if (!ret_left->is_saved) {
        spool_settle(spool);
        memcpy(ret_left->path, spool->path, sizeof ret_left->path);
        ret_left->rows = is_findable ? spool->file.rows : 0;
        ret_left->lost_rows += spool_rows(spool) - ret_left->rows;
    }
    spool_tidy(spool);
    pthread_mutex_unlock(&upload->lock);
}

void upload_save_leftovers(struct upload *upload)
{
    struct leftover left;

    save_under_lock(upload, &left);
    if (left.rows > 0)
        upload_say(upload, "%llu rows of samples could not be delivered; they are %s %s",
                   (unsigned long long)left.rows, left.is_saved ? "saved in" : "in", left.path);
    if (left.lost_rows > 0)
        upload_say(upload, "%llu rows of samples are lost: no disk had room for them",
                   (unsigned long long)left.lost_rows);
}

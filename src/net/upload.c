#include "net/upload.h"

#include "base/clock.h"
#include "net/gzip.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* When the disk is full, this much is held in memory. */
#define HELD_MAX (4 * 1024 * 1024)
#define BATCH_MAX (1024 * 1024)
#define BUF_INITIAL (16 * 1024)
#define BUF_MAX (32 * 1024 * 1024)
#define STRETCH_COUNT 2000

/* --- messages --- */

void upload_say(struct upload *upload, const char *format, ...)
{
    va_list arguments;

    pthread_mutex_lock(&upload->lock);
    if (upload->message_count < UPLOAD_MESSAGE_COUNT) {
        va_start(arguments, format);
        vsnprintf(upload->messages[upload->message_count++], UPLOADER_MESSAGE_MAX, format,
                  arguments);
        va_end(arguments);
    }
    pthread_mutex_unlock(&upload->lock);
}

bool upload_take_message(struct upload *upload, char *ret_message)
{
    pthread_mutex_lock(&upload->lock);
    bool has_message = upload->message_count > 0;
    if (has_message) {
        memcpy(ret_message, upload->messages[0], UPLOADER_MESSAGE_MAX);
        upload->message_count--;
        memmove(upload->messages[0], upload->messages[1],
                upload->message_count * UPLOADER_MESSAGE_MAX);
    }
    pthread_mutex_unlock(&upload->lock);
    return has_message;
}

/* --- open and close --- */

static int open_spool(struct upload *upload)
{
    const char *const *folders = upload->options.folders;
    int error = -ENOENT;

    for (size_t i = 0; i < UPLOADER_FOLDERS && folders[i] != NULL && error < 0; i++) {
        if (i > 0)
            spool_close(&upload->spool);
        error = spool_open(&upload->spool, folders[i], upload->options.header, HELD_MAX);
        if (error == -ENOMEM)
            return error;
    }
    upload->spool.batch_max = BATCH_MAX;
    if (error < 0)
        upload_say(upload,
                   "cannot make a file in %s for samples that wait to be sent: %s; they are held "
                   "in memory",
                   folders[0], strerror(-error));
    return 0;
}

int upload_open(struct upload *upload, const struct uploader_options *options)
{
    upload->options = *options;
    upload->started_ns = clock_monotonic_ns();
    pthread_mutex_init(&upload->lock, NULL);
    if (open_spool(upload) < 0 || buf_init(&upload->rows, BUF_INITIAL, BUF_MAX) < 0 ||
        buf_init(&upload->object, BUF_INITIAL, BUF_MAX) < 0)
        return -ENOMEM;
    return 0;
}

void upload_close(struct upload *upload)
{
    delivery_wipe(&upload->delivery);
    http_close(upload->http);
    spool_close(&upload->spool);
    buf_free(&upload->rows);
    buf_free(&upload->object);
    pthread_mutex_destroy(&upload->lock);
}

/* --- the steps --- */

static void note_success(struct upload *upload)
{
    retry_reset(&upload->retry);
    upload->told_trouble = false;
}

bool upload_try_register(struct upload *upload)
{
    struct delivery *delivery = &upload->delivery;
    const struct uploader_options *options = &upload->options;

    if (!delivery_register(delivery, options->describe, options->context))
        return false;
    pthread_mutex_lock(&upload->lock);
    memcpy(upload->run_id, delivery->run.id, sizeof upload->run_id);
    pthread_mutex_unlock(&upload->lock);
    if (!delivery->has_place)
        upload_say(upload, "the API gave no usable S3 address or credentials (upload_uri_prefix, "
                           "upload_credentials); samples are sent at the end of the run");
    note_success(upload);
    upload->cut_ns = upload->started_ns + options->interval_ns;
    return true;
}

/* Rows of the file do not move: they are read without keeping the sampling thread waiting. */
static int read_batch(struct upload *upload, const struct spool_batch *batch, struct buf *out)
{
    if (!batch->is_held)
        return spool_read(&upload->spool, batch, out);
    pthread_mutex_lock(&upload->lock);
    int error = spool_read(&upload->spool, batch, out);
    pthread_mutex_unlock(&upload->lock);
    return error;
}

/* The header and the rows are compressed apart: together they are one gzip file. */
static bool pack_batch(struct upload *upload)
{
    const char *header = upload->options.header;

    buf_reset(&upload->rows);
    buf_reset(&upload->object);
    return read_batch(upload, &upload->batch, &upload->rows) == 0 &&
           gzip_compress(header, strlen(header), &upload->object) == 0 &&
           gzip_compress(upload->rows.data, upload->rows.size, &upload->object) == 0;
}

/* Long runs get fewer and larger ones: the end has to name them all. */
static uint64_t batch_interval_ns(const struct upload *upload)
{
    return upload->options.interval_ns * (1 + upload->delivery.stored_count / STRETCH_COUNT);
}

bool upload_take_batch(struct upload *upload)
{
    pthread_mutex_lock(&upload->lock);
    bool has_rows = spool_cut(&upload->spool, &upload->batch);
    bool is_whole = upload->spool.file.cut == upload->spool.file.end &&
                    upload->spool.held.cut == upload->spool.held.end;
    pthread_mutex_unlock(&upload->lock);
    uint64_t now_ns = clock_monotonic_ns();
    upload->cut_ns = is_whole ? now_ns + batch_interval_ns(upload) : now_ns;
    if (!has_rows)
        return false;
    upload->has_batch = pack_batch(upload);
    if (!upload->has_batch) {
        pthread_mutex_lock(&upload->lock);
        spool_uncut(&upload->spool);
        pthread_mutex_unlock(&upload->lock);
        upload->cut_ns = now_ns + upload->options.interval_ns;
    }
    return upload->has_batch;
}

bool upload_try_store(struct upload *upload)
{
    if (!delivery_store(&upload->delivery, &upload->object))
        return false;
    pthread_mutex_lock(&upload->lock);
    if (!upload->is_abandoned)
        spool_release(&upload->spool, &upload->batch);
    pthread_mutex_unlock(&upload->lock);
    upload->has_batch = false;
    note_success(upload);
    return true;
}

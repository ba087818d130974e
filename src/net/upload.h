/*
 * One run's way to the API and S3: what is known of it, and its steps, each tried once. When a step
 * is due, and what follows when it fails, is decided above: by upload_end for the end of the run,
 * by the uploader before that.
 *
 * The steps are for one thread, the uploader's; the sampling thread appends rows and reads messages
 * meanwhile. What both use is guarded by `lock`.
 */
#ifndef NET_UPLOAD_H
#define NET_UPLOAD_H

#include "net/delivery.h"
#include "net/retry.h"
#include "net/spool.h"

#include <pthread.h>

#define UPLOAD_MESSAGE_COUNT 8

/* --- what the uploader is told, and hands on: named after it --- */

#define UPLOADER_MESSAGE_MAX 1024
#define UPLOADER_FOLDERS 3

/* Texts are borrowed for as long as the uploader lives. */
struct uploader_options {
    const char *url;
    const char *token;
    const char *s3_endpoint;               /* NULL: Amazon's */
    uint64_t interval_ns;                  /* between batches */
    const char *header;                    /* first line of every object, with its end */
    const char *folders[UPLOADER_FOLDERS]; /* for the spool and what is left over: the first that
                                              takes it; NULL: no more */
    /* Before the run is registered, on the uploader's thread; may take seconds. May be NULL. */
    void (*look_around)(void *context, struct http *http);
    delivery_describe *describe; /* after that, and after uploader_may_register() */
    void *context;
};

/* How the run ended. */
struct uploader_end {
    bool has_failed;
    bool has_exit_code;
    int exit_code;
    uint64_t deadline_ns; /* monotonic */
};

/* --- the upload --- */

struct upload {
    struct uploader_options options;

    pthread_mutex_t lock; /* guards what follows, down to what is the thread's own */
    struct spool spool;
    struct uploader_end end; /* as announced; the thread reads it from then on */
    bool is_abandoned;       /* the thread must touch nothing any more */
    struct http *http;       /* NULL: not yet, or there is no libcurl */
    char run_id[SENTINEL_ID_MAX];
    char messages[UPLOAD_MESSAGE_COUNT][UPLOADER_MESSAGE_MAX];
    size_t message_count;

    /* The thread's own. */
    struct delivery delivery;
    struct retry retry;
    bool told_trouble;
    uint64_t started_ns;
    uint64_t cut_ns; /* when the next batch is due */
    bool has_batch;
    struct spool_batch batch;
    struct buf rows;
    struct buf object;
};

/* `upload` is zeroed. 0 or -ENOMEM, after which it must be closed all the same. */
int upload_open(struct upload *upload, const struct uploader_options *options);
void upload_close(struct upload *upload);

/* From either thread. What is said too fast for anybody to read is dropped. */
__attribute__((format(printf, 2, 3))) void upload_say(struct upload *upload, const char *format,
                                                      ...);

/* The oldest message, into UPLOADER_MESSAGE_MAX bytes; false when there is none. */
bool upload_take_message(struct upload *upload, char *ret_message);

/* One try each. */
bool upload_try_register(struct upload *upload);
bool upload_try_store(struct upload *upload);

/* Makes a batch ready to be stored; false: there is nothing, or it cannot be read now. */
bool upload_take_batch(struct upload *upload);

#endif

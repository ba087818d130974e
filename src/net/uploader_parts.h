/*
 * What the parts of the uploader share: uploader.c (the threads, the run) and uploader_end.c (its
 * end). Not for others.
 */
#ifndef NET_UPLOADER_PARTS_H
#define NET_UPLOADER_PARTS_H

#include "net/retry.h"
#include "net/spool.h"
#include "net/uploader.h"

#include <pthread.h>

/* Of the time there is at the end, this much is kept for telling the API. */
#define UPLOADER_FINISH_RESERVE_NS (4 * NS_PER_SEC)
/* Of which this much is kept for noticing that the thread is stuck. */
#define UPLOADER_GRACE_NS (NS_PER_SEC / 4)
#define MESSAGE_COUNT 8

struct uploader {
    struct uploader_options options;
    pthread_t thread;
    bool has_thread;

    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct spool spool;
    bool may_register;
    unsigned events; /* things that were told to the thread */
    bool is_ending;
    struct uploader_end end;
    bool is_done;
    bool is_abandoned; /* the thread must touch nothing any more */
    struct http *http; /* NULL: not yet, or there is no libcurl */
    char run_id[SENTINEL_ID_MAX];
    char messages[MESSAGE_COUNT][UPLOADER_MESSAGE_MAX];
    size_t message_count;
    char taken[UPLOADER_MESSAGE_MAX]; /* the sampling thread's */

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

/* From either thread. What is said too fast for anybody to read is dropped. */
__attribute__((format(printf, 2, 3))) void uploader_say(struct uploader *uploader,
                                                        const char *format, ...);

/* One try each, on the uploader's thread. */
bool uploader_try_register(struct uploader *uploader);
bool uploader_try_store(struct uploader *uploader);

/* Makes a batch ready to be stored; false: there is nothing, or it cannot be read now. */
bool uploader_take_batch(struct uploader *uploader);

/* Delivers what is left, on the uploader's thread. */
void uploader_wind_up(struct uploader *uploader);

/* Saves what is left over, on the sampling thread. */
void uploader_save_leftovers(struct uploader *uploader);

#endif

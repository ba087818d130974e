/*
 * When to try again: after half a second, then twice as long each time up to a minute, with chance
 * in it, so that a thousand runs that lost a server together do not all come back together. Never
 * sooner than the server asked for. Plain data.
 */
#ifndef NET_RETRY_H
#define NET_RETRY_H

#include <stdint.h>

#define RETRY_REFUSED_SECS 30

struct retry {
    unsigned failures; /* in a row */
    uint64_t due_ns;   /* monotonic; 0: now */
};

/* It failed; `wait_secs` is what the server asked for, or 0. */
void retry_later(struct retry *retry, uint64_t now_ns, unsigned wait_secs);

static inline void retry_reset(struct retry *retry)
{
    *retry = (struct retry){0};
}

/* The value of a Retry-After header in seconds, also when it is a date; 0 when it says nothing. */
unsigned retry_after_secs(const char *text, uint64_t now_secs);

#endif

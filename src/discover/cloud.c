#include "discover/cloud.h"

#include "base/clock.h"
#include "discover/cloud_rounds.h"

/* A vendor that does not answer by then is given up; those that did have the rest of the time. */
#define FIRST_MS 1500
/* Azure counts requests by the second. */
#define PAUSE_MS 1000

static uint64_t elapsed_ms(uint64_t start_ns)
{
    return (clock_monotonic_ns() - start_ns) / NS_PER_MS;
}

static void pause_until(uint64_t until_ns)
{
    struct timespec until = clock_timespec(until_ns);

    (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

/* A round with no time left is not made. */
static void perform(struct http *http, struct cloud_round *round)
{
    if (round->count > 0 && round->requests[0].total_ms > 0)
        http_perform_all(http, round->requests, round->responses, round->count);
}

void cloud_discover(struct http *http, const char *endpoint, struct host *host)
{
    uint64_t start_ns = clock_monotonic_ns();
    struct cloud_rounds *rounds = cloud_rounds_open(endpoint);

    if (rounds == NULL)
        return;
    perform(http, cloud_rounds_first(rounds, FIRST_MS));
    if (cloud_rounds_is_throttled(rounds))
        pause_until(start_ns + PAUSE_MS * NS_PER_MS);
    uint64_t gone_ms = elapsed_ms(start_ns);
    unsigned left_ms = gone_ms < CLOUD_PROBE_MS ? (unsigned)(CLOUD_PROBE_MS - gone_ms) : 0;
    perform(http, cloud_rounds_second(rounds, left_ms));
    cloud_rounds_end(rounds, host);
}

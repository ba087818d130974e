#include "net/retry.h"

#include "base/clock.h"
#include "base/scan.h"

#include <string.h>
#include <sys/random.h>

#define FIRST_NS (NS_PER_SEC / 2)
#define LAST_NS (60 * NS_PER_SEC)
#define DOUBLINGS_MAX 7
#define ASKED_MAX_SECS 300

/* libsodium's own brings half of that library along. */
static uint64_t chance(void)
{
    uint64_t number;

    if (getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number)
        number = clock_monotonic_ns();
    return number;
}

void retry_later(struct retry *retry, uint64_t now_ns, unsigned wait_secs)
{
    unsigned doublings = retry->failures < DOUBLINGS_MAX ? retry->failures : DOUBLINGS_MAX;
    uint64_t pause_ns = FIRST_NS << doublings;
    uint64_t asked_ns = wait_secs * NS_PER_SEC;

    if (pause_ns > LAST_NS)
        pause_ns = LAST_NS;
    if (pause_ns < asked_ns)
        pause_ns = asked_ns;
    pause_ns += chance() % (pause_ns / 4); /* up to a quarter more */
    retry->failures++;
    retry->due_ns = now_ns + pause_ns;
}

static unsigned capped(uint64_t secs)
{
    return secs < ASKED_MAX_SECS ? (unsigned)secs : ASKED_MAX_SECS;
}

unsigned retry_after_secs(const char *text, uint64_t now_secs)
{
    struct scan scan = scan_over(text, strlen(text));
    struct tm parts = {0};
    uint64_t secs;

    if (scan_u64(&scan, &secs) && scan.at == scan.end)
        return capped(secs);
    if (strptime(text, "%a, %d %b %Y %H:%M:%S GMT", &parts) == NULL)
        return 0;
    int64_t when = timegm(&parts);
    return when > (int64_t)now_secs ? capped((uint64_t)when - now_secs) : 0;
}

#include "encode/human.h"

#include <math.h>
#include <time.h>

/* Beyond this a number of seconds is no time of day any more (the year 9999). */
#define UNIX_SECS_MAX 253402300799.0

void human_number(struct buf *out, double value)
{
    double size = fabs(value);
    bool is_whole = size < 1e15 && size == (double)(uint64_t)size;

    buf_fixed(out, value, size >= 99.95 || is_whole ? 0 : size >= 9.995 ? 1 : 2);
}

static void put_bytes(struct buf *out, double value, const char *per)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    size_t step = 0;

    while (fabs(value) >= 1023.5 && step < sizeof units / sizeof units[0] - 1) {
        value /= 1024;
        step++;
    }
    if (step == 0)
        buf_fixed(out, value, 0);
    else
        human_number(out, value);
    buf_char(out, ' ');
    buf_text(out, units[step]);
    buf_text(out, per);
}

void human_quantity(struct buf *out, double value, const char *unit)
{
    if (!isfinite(value)) {
        buf_text(out, "not known");
    } else if (strncmp(unit, "bytes", 5) == 0) {
        put_bytes(out, value, unit + 5);
    } else {
        human_number(out, value);
        if (unit[0] != '\0' && strcmp(unit, "count") != 0) {
            buf_char(out, ' ');
            buf_text(out, unit);
        }
    }
}

static void put_two_digits(struct buf *out, uint64_t value)
{
    if (value < 10)
        buf_char(out, '0');
    buf_u64(out, value);
}

/* Seconds, rounded; what cannot be a length of time is none. */
static uint64_t whole_seconds(double seconds)
{
    return seconds > 0 && seconds < UNIX_SECS_MAX ? (uint64_t)(seconds + 0.5) : 0;
}

void human_duration(struct buf *out, double seconds)
{
    if (!(seconds >= 59.95)) {
        human_number(out, seconds > 0 ? seconds : 0);
        buf_text(out, " s");
        return;
    }
    uint64_t whole = whole_seconds(seconds);
    if (whole >= 86400) {
        buf_u64(out, whole / 86400);
        buf_text(out, " d ");
    }
    if (whole >= 3600) {
        buf_u64(out, whole / 3600 % 24);
        buf_text(out, " h ");
        put_two_digits(out, whole / 60 % 60);
        buf_text(out, " min");
    } else {
        buf_u64(out, whole / 60);
        buf_text(out, " min ");
        put_two_digits(out, whole % 60);
        buf_text(out, " s");
    }
}

void human_clock(struct buf *out, double seconds)
{
    uint64_t whole = whole_seconds(seconds);

    if (whole >= 86400) {
        buf_u64(out, whole / 86400);
        buf_text(out, "d ");
    }
    buf_u64(out, whole / 3600 % 24);
    buf_char(out, ':');
    put_two_digits(out, whole / 60 % 60);
    buf_char(out, ':');
    put_two_digits(out, whole % 60);
}

void human_date(struct buf *out, double unix_secs)
{
    struct tm tm;
    time_t secs = (time_t)whole_seconds(unix_secs);
    char text[32];

    if (!(unix_secs >= 0 && unix_secs < UNIX_SECS_MAX) || gmtime_r(&secs, &tm) == NULL ||
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &tm) == 0)
        buf_text(out, "not known");
    else
        buf_text(out, text);
}

#include "app/value.h"

#include "base/clock.h"
#include "base/scan.h"

#include <limits.h>
#include <string.h>

#define INTERVAL_MIN_NS NS_PER_MS
#define INTERVAL_MAX_SECS UINT64_C(1000000000)

const char *value_seconds(const char *text, uint64_t *ret_ns)
{
    static const char problem[] = "is not a number of seconds from 0.001 to 1000000000";
    struct scan scan = scan_over(text, strlen(text));
    uint64_t secs = 0;
    uint64_t ns = 0;
    uint64_t unit = NS_PER_SEC / 10;

    /* The scanner would skip blanks before a number. */
    bool has_whole = is_digit(*text) && scan_u64(&scan, &secs);
    if (secs > INTERVAL_MAX_SECS)
        return problem;
    if (scan_char(&scan, '.')) {
        const char *start = scan.at;
        for (; scan.at < scan.end && is_digit(*scan.at); scan.at++, unit /= 10)
            ns += (uint64_t)(*scan.at - '0') * unit;
        if (scan.at == start)
            return problem;
    } else if (!has_whole) {
        return problem;
    }
    ns += secs * NS_PER_SEC;
    if (scan.at != scan.end || ns < INTERVAL_MIN_NS || ns > INTERVAL_MAX_SECS * NS_PER_SEC)
        return problem;
    *ret_ns = ns;
    return NULL;
}

const char *value_pid(const char *text, pid_t *ret_pid)
{
    struct scan scan = scan_over(text, strlen(text));
    uint64_t pid;

    if (!is_digit(*text) || !scan_u64(&scan, &pid) || scan.at != scan.end || pid == 0 ||
        pid > INT_MAX)
        return "is not a process ID (a whole number above 0)";
    *ret_pid = (pid_t)pid;
    return NULL;
}

const char *value_choice(const char *choices, const char *text, int *ret_choice)
{
    size_t length = strlen(text);
    int index = 0;

    for (const char *at = choices; *at != '\0'; index++) {
        size_t choice = strcspn(at, "|");
        if (choice == length && memcmp(at, text, length) == 0) {
            *ret_choice = index;
            return NULL;
        }
        at += choice + (at[choice] == '|');
    }
    return "is not one of ";
}

const char *value_flag(const char *text, bool *ret_flag)
{
    static const char *const yes[] = {"1", "true", "yes", "on"};
    static const char *const no[] = {"0", "false", "no", "off"};

    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++) {
        if (strcmp(text, yes[i]) == 0 || strcmp(text, no[i]) == 0) {
            *ret_flag = strcmp(text, yes[i]) == 0;
            return NULL;
        }
    }
    return "is neither true nor false";
}

const char *value_switch(const char *choices, const char *text, int *ret_choice)
{
    bool is_on;

    if (value_flag(text, &is_on) != NULL)
        return value_choice(choices, text, ret_choice);
    *ret_choice = 1;
    for (const char *at = strchr(choices, '|') + 1; !is_on && (at = strchr(at, '|')) != NULL; at++)
        ++*ret_choice;
    return NULL;
}

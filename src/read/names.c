#include "read/names.h"

#include <stdio.h>
#include <string.h>

#define NAME_SHOWN_MAX 48
/* For ", and 128 more" and its end. */
#define COUNT_ROOM sizeof ", and 1234 more"

/* FNV-1a; a name that is taken for another one is not told, that is all. */
static uint64_t hash(const char *group, const struct scan *name)
{
    uint64_t value = 1469598103934665603u;

    for (; *group != '\0'; group++)
        value = (value ^ (unsigned char)*group) * 1099511628211u;
    for (const char *at = name->at; at < name->end; at++)
        value = (value ^ (unsigned char)*at) * 1099511628211u;
    return value;
}

/* False when it is known already, or cannot be remembered. */
static bool remember(struct names *names, uint64_t value)
{
    for (size_t i = 0; i < names->count; i++)
        if (names->seen[i] == value)
            return false;
    if (names->count == NAMES_MAX)
        return false;
    names->seen[names->count++] = value;
    return true;
}

void names_start(struct names *names)
{
    names->left_out = 0;
    names->list[0] = '\0';
}

/* The end of a full list: each call writes it anew, in the room that is kept for it. */
static void count_left_out(struct names *names)
{
    if (names->left_out++ == 0)
        names->listed_size = strlen(names->list);
    snprintf(names->list + names->listed_size, sizeof names->list - names->listed_size,
             ", and %zu more", names->left_out);
}

void names_add(struct names *names, const char *group, const struct scan *name)
{
    size_t used = strlen(names->list);
    size_t size = scan_left(name) < NAME_SHOWN_MAX ? scan_left(name) : NAME_SHOWN_MAX;
    char text[2 * NAME_SHOWN_MAX];

    if (!remember(names, hash(group, name)))
        return;
    int length =
        snprintf(text, sizeof text, "%s%.*s%s%.*s", used > 0 ? ", " : "", NAME_SHOWN_MAX - 4, group,
                 group[0] != '\0' ? "." : "", (int)size, name->at);
    if (names->left_out > 0 || used + (size_t)length + COUNT_ROOM > sizeof names->list)
        count_left_out(names);
    else
        memcpy(names->list + used, text, (size_t)length + 1);
}

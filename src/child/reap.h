/*
 * Collecting ended children: the command itself, and descendants that were orphaned and adopted by
 * the tracker, which is their subreaper (or PID 1).
 */
#ifndef CHILD_REAP_H
#define CHILD_REAP_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

struct reaper {
    pid_t command;
    bool command_ended;
    int wait_status; /* of the command */
};

/* Makes orphaned descendants of this process its children. */
void reaper_adopt_orphans(void);

/* Whether this process has children, ended or not. */
bool reaper_has_children(void);

/* Told of every child that was reaped, with what it and those it waited for have used. */
typedef void reaper_listener(void *context, pid_t pid, const struct rusage *rusage);

/* Reaps whatever has ended; never waits. */
void reaper_collect(struct reaper *reaper, reaper_listener *listener, void *context);

/* The exit status a shell would show: the command's own, or 128 + signal. */
int reaper_exit_status(const struct reaper *reaper);

#endif

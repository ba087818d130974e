/*
 * Starting the command. It is forked first and held just before exec, so that the tracker can take
 * its baselines and then let it go without anything in between.
 */
#ifndef CHILD_SPAWN_H
#define CHILD_SPAWN_H

#include "child/signals.h"

#include <sys/types.h>

struct child {
    pid_t pid;
    int hold_fd;   /* closing it without a word tells the child to give up */
    int result_fd; /* the child's exec reports its failure here */
};

/* Forks; the child has the descriptors, signal mask and environment that we were given. */
int child_hold(struct child *child, char *const *command, const struct signals *signals);

int child_release(struct child *child);

/* Waits for exec: 0 when the command runs, else the negative errno of exec. */
int child_exec_result(struct child *child);

/* 127 for a command that is not there, 126 for one that cannot be executed. */
int child_exec_status(int exec_error);

void child_close(struct child *child);

#endif

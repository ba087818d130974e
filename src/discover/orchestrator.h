/*
 * What runs the job, from the variables that orchestrators and executors are known to set. Only
 * what the user has not said is filled in. Pure.
 */
#ifndef DISCOVER_ORCHESTRATOR_H
#define DISCOVER_ORCHESTRATOR_H

#include "model/run.h"

/* Texts then point into the environment. */
void orchestrator_detect(struct run *run, char *const *environment);

#endif

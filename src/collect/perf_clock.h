/*
 * CPU time of the command and all its descendants by a perf counter that they inherit. It sees
 * children nobody waits for, which /proc forgets; it misses a little of each process's end. Needs
 * perf_event_paranoid of 2 or less. Only for a command of ours that is still held before exec.
 */
#ifndef COLLECT_PERF_CLOCK_H
#define COLLECT_PERF_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A descriptor or a negative errno. */
int perf_clock_open(pid_t pid);
bool perf_clock_read(int fd, uint64_t *ret_ns);

#endif

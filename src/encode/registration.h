/*
 * What the API is told when a run begins: the run, its command and the host, as one JSON object, in
 * either of the two dialects that exist in the field. Pure.
 */
#ifndef ENCODE_REGISTRATION_H
#define ENCODE_REGISTRATION_H

#include "encode/host_json.h"
#include "model/run.h"

#include <sys/types.h>

/* `pid` of the tracked process; 0: none. 0 or -ENOMEM. */
int json_registration(const struct run *run, pid_t pid, struct host *host, enum host_names names,
                      struct buf *out);

#endif

/*
 * Facts about the host as members of a JSON object. Pure.
 */
#ifndef ENCODE_HOST_JSON_H
#define ENCODE_HOST_JSON_H

#include "base/buf.h"
#include "model/host.h"

enum host_names { HOST_NAMES_SPECIFIED, HOST_NAMES_DEPLOYED };

/* "host_id":"…","host_name":null,… without braces; every fact, unknown ones as null. */
void json_host_members(struct host *host, enum host_names names, struct buf *out);

#endif

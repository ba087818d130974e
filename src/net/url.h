/*
 * Addresses of servers as users give them, "https://host:port/base", and what may stand in a URL.
 * Pure. Hosts are written the way HTTP libraries send them (lower case, the shortest IPv6, no usual
 * port), since the Host header is signed for S3.
 */
#ifndef NET_URL_H
#define NET_URL_H

#include "base/buf.h"
#include "base/scan.h"

#include <stdbool.h>
#include <stdint.h>

#define URL_HOST_MAX 512

struct url {
    bool is_https;
    char host[URL_HOST_MAX]; /* IPv6 in brackets */
    uint64_t port;           /* 0: the scheme's */
    struct scan base;        /* of the text; "" or "/path", without a slash at its end */
};

/*
 * As strict as what is signed has to be: a host that every HTTP library sends alike, and a base
 * that nobody encodes. -EINVAL for anything else; also with a user, a query or a fragment.
 */
int url_parse(const char *text, struct url *ret_url);

/*
 * NULL, or why it is no address of a server, as the end of a sentence that begins with its name.
 * Accepts more than url_parse: any path, zones, names with a dot at their end.
 */
const char *url_problem(const char *text);

/* Whether nobody else can listen on the way there. */
bool url_is_this_machine(const struct url *url);

/* What RFC 3986 calls unreserved: letters, digits, '-', '.', '_', '~'. */
bool url_is_unreserved(char c);

/* Percent-encodes all but unreserved bytes and those in `kept`. */
void url_encode(const char *text, const char *kept, struct buf *out);

#endif

#include "net/url.h"

#include "net/fixed.h"

#include <arpa/inet.h>
#include <errno.h>
#include <strings.h>

#define DNS_LABEL_MAX 63
#define PORT_DIGITS_MAX 5
#define PORT_MAX 65535
#define HTTP_PORT 80
#define HTTPS_PORT 443

static char to_lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

bool url_is_unreserved(char c)
{
    char lower = to_lower(c);

    return (lower >= 'a' && lower <= 'z') || is_digit(c) || c == '-' || c == '.' || c == '_' ||
           c == '~';
}

void url_encode(const char *text, const char *kept, struct buf *out)
{
    static const char digits[] = "0123456789ABCDEF";

    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;

        if (url_is_unreserved(*text) || strchr(kept, *text) != NULL) {
            buf_char(out, *text);
            continue;
        }
        buf_char(out, '%');
        buf_char(out, digits[byte >> 4]);
        buf_char(out, digits[byte & 15]);
    }
}

/* --- parsing --- */

/* Takes "[…]" off; IPv6 addresses without a zone, in their shortest form. */
static bool take_ipv6(struct scan *rest, struct buf *host)
{
    char text[INET6_ADDRSTRLEN];
    struct in6_addr address;
    struct scan inside;

    if (!scan_char(rest, '[') || !scan_until(rest, ']', &inside) ||
        !scan_copy(&inside, text, sizeof text) || inet_pton(AF_INET6, text, &address) != 1 ||
        inet_ntop(AF_INET6, &address, text, sizeof text) == NULL)
        return false;
    buf_char(host, '[');
    buf_text(host, text);
    buf_char(host, ']');
    return true;
}

/* Digits, or hexadecimal ones behind "0x". */
static bool is_number(const char *label)
{
    if (label[0] == '0' && label[1] == 'x')
        return label[2 + strspn(label + 2, "0123456789abcdef")] == '\0';
    return label[strspn(label, "0123456789")] == '\0';
}

/* "127.1" and "0x7f000001" are addresses to an HTTP library, which sends another Host then. */
static bool is_odd_ipv4(const char *host, const char *last_label)
{
    struct in_addr address;

    return is_number(last_label) && inet_pton(AF_INET, host, &address) != 1;
}

static bool take_name(struct scan *rest, struct buf *host)
{
    size_t label = 0;

    for (; rest->at < rest->end && *rest->at != ':'; rest->at++) {
        char c = to_lower(*rest->at);

        if (!url_is_unreserved(c) || c == '~' || host->overflow)
            return false;
        if (c == '.' && host->size == label)
            return false;
        buf_char(host, c);
        if (c == '.')
            label = host->size;
        else if (host->size - label > DNS_LABEL_MAX)
            return false;
    }
    if (host->size == label)
        return false;
    /* For a look at the whole; the next byte is written over the NUL. */
    buf_char(host, '\0');
    if (host->overflow || is_odd_ipv4(host->data, host->data + label))
        return false;
    host->size--;
    return true;
}

/* ":9000" or nothing, up to the end. */
static bool take_port(struct scan *rest, uint64_t *ret_port)
{
    *ret_port = 0;
    if (!scan_char(rest, ':'))
        return scan_left(rest) == 0;
    return scan_left(rest) <= PORT_DIGITS_MAX && scan_left(rest) > 0 && is_digit(*rest->at) &&
           scan_u64(rest, ret_port) && scan_left(rest) == 0 && *ret_port > 0 &&
           *ret_port <= PORT_MAX;
}

static bool take_base(struct scan *rest)
{
    for (const char *at = rest->at; at < rest->end; at++)
        if (!url_is_unreserved(*at) && *at != '/')
            return false;
    while (scan_left(rest) > 0 && rest->end[-1] == '/')
        rest->end--;
    return true;
}

/* Steps over "http://" or "https://". */
static const char *skip_scheme(const char *text, bool *ret_is_https)
{
    *ret_is_https = strncasecmp(text, "https://", 8) == 0;
    if (*ret_is_https)
        return text + 8;
    return strncasecmp(text, "http://", 7) == 0 ? text + 7 : NULL;
}

int url_parse(const char *text, struct url *ret_url)
{
    struct buf host = fixed_over(ret_url->host, sizeof ret_url->host);

    text = skip_scheme(text, &ret_url->is_https);
    if (text == NULL)
        return -EINVAL;
    size_t authority_length = strcspn(text, "/");
    struct scan authority = scan_over(text, authority_length);
    struct scan base = scan_over(text + authority_length, strlen(text + authority_length));
    bool is_ipv6 = text[0] == '[';

    if (!(is_ipv6 ? take_ipv6(&authority, &host) : take_name(&authority, &host)) ||
        !take_port(&authority, &ret_url->port) || !take_base(&base))
        return -EINVAL;
    if (ret_url->port == (ret_url->is_https ? HTTPS_PORT : HTTP_PORT))
        ret_url->port = 0;
    ret_url->base = base;
    return fixed_end(&host) ? 0 : -EINVAL;
}

/* "example.com:8080" or "[::1]:8080": a name, and a number of a port that may be missing. */
static bool is_server(struct scan text)
{
    bool is_bracketed = scan_char(&text, '[');
    const char *name = text.at;
    uint64_t port;

    while (scan_left(&text) > 0 && ((url_is_unreserved(*text.at) && *text.at != '~') ||
                                    (is_bracketed && (*text.at == ':' || *text.at == '%'))))
        text.at++;
    if (text.at == name || (is_bracketed && !scan_char(&text, ']')))
        return false;
    return scan_left(&text) == 0 ||
           (scan_char(&text, ':') && scan_left(&text) > 0 && is_digit(*text.at) &&
            scan_u64(&text, &port) && scan_left(&text) == 0 && port > 0 && port <= PORT_MAX);
}

const char *url_problem(const char *text)
{
    bool is_https;

    const char *rest = skip_scheme(text, &is_https);
    if (rest == NULL)
        return "does not begin with https:// or http://";
    for (const char *at = rest; *at != '\0'; at++)
        if (*at <= ' ' || *at > '~')
            return "holds a blank or another byte that cannot be in an address";
    size_t server_length = strcspn(rest, "/?#");
    if (memchr(rest, '@', server_length) != NULL)
        return "holds a user name or password, which has no place there";
    if (!is_server(scan_over(rest, server_length)))
        return "names no host, or a port that is none";
    return strpbrk(rest, "?#") != NULL ? "holds a '?' or '#'" : NULL;
}

bool url_is_this_machine(const struct url *url)
{
    return strcmp(url->host, "localhost") == 0 || strcmp(url->host, "[::1]") == 0 ||
           (strncmp(url->host, "127.", 4) == 0 &&
            url->host[strspn(url->host, "0123456789.")] == '\0');
}

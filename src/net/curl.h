/*
 * The part of libcurl that we use, in declarations of our own: its interface has been stable since
 * version 7.28 (2012), and building needs no headers of it.
 */
#ifndef NET_CURL_H
#define NET_CURL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum curl_option {
    CURL_WRITE_DATA = 10001,
    CURL_URL = 10002,
    CURL_POST_FIELDS = 10015,
    CURL_USER_AGENT = 10018,
    CURL_HTTP_HEADER = 10023,
    CURL_HEADER_DATA = 10029,
    CURL_CUSTOM_REQUEST = 10036,
    CURL_CA_FILE = 10065,
    CURL_CA_PATH = 10097,
    CURL_PRIVATE = 10103,
    CURL_NO_PROXY = 10177,
    CURL_WRITE_FUNCTION = 20011,
    CURL_HEADER_FUNCTION = 20079,
    CURL_POST_FIELD_SIZE = 30120,
    CURL_NO_BODY = 44,
    CURL_FOLLOW_LOCATION = 52,
    CURL_VERIFY_PEER = 64,
    CURL_VERIFY_HOST = 81,
    CURL_NO_SIGNAL = 99,
    CURL_TIMEOUT_MS = 155,
    CURL_CONNECT_TIMEOUT_MS = 156,
    CURL_PROTOCOLS = 181,
    CURL_SUPPRESS_CONNECT_HEADERS = 265, /* since 7.54 */
    CURL_PATH_AS_IS = 234,               /* since 7.42; older ones refuse it, and tidy paths up */
    CURL_QUICK_EXIT = 322,               /* since 7.87 */
};

enum curl_multi_option { CURL_MULTI_QUICK_EXIT = 21 /* since 8.20 */ };

enum { CURL_PROTOCOL_HTTP = 1, CURL_PROTOCOL_HTTPS = 2 };
enum {
    CURL_INFO_STATUS = 0x200002,
    CURL_INFO_REQUEST_SIZE = 0x20000c,
    CURL_INFO_PRIVATE = 0x100015,
    CURL_INFO_NAME_LOOKUP_TIME = 0x300004, /* a double, in seconds; 0: not done yet */
};
enum { CURL_GLOBAL_ALL = 3 };
enum { CURL_MESSAGE_DONE = 1 };

enum curl_result {
    CURL_OK = 0,
    CURL_BAD_PROTOCOL = 1,
    CURL_BAD_URL = 3,
    CURL_NO_PROXY_HOST = 5,
    CURL_NO_HOST = 6,
    CURL_NO_CONNECTION = 7,
    CURL_PARTIAL = 18,
    CURL_WRITE_ERROR = 23,
    CURL_TIMED_OUT = 28,
    CURL_TLS_ERROR = 35,
    CURL_BAD_PEER_OLD = 51, /* before 7.62 */
    CURL_GOT_NOTHING = 52,
    CURL_SEND_ERROR = 55,
    CURL_RECEIVE_ERROR = 56,
    CURL_BAD_PEER = 60,
    CURL_BAD_CA_FILE = 77,
};

struct curl_list;

struct curl_message {
    int kind;
    void *easy;
    union {
        void *any;
        int result;
    } data;
};

struct curl {
    void *lib;
    int (*global_init_mem)(long flags, void *(*malloc)(size_t), void (*free)(void *),
                           void *(*realloc)(void *, size_t), char *(*strdup)(const char *),
                           void *(*calloc)(size_t, size_t));
    void (*global_cleanup)(void);
    void *(*easy_init)(void);
    int (*easy_setopt)(void *easy, int option, ...);
    int (*easy_getinfo)(void *easy, int info, ...);
    void (*easy_cleanup)(void *easy);
    const char *(*easy_strerror)(int result);
    struct curl_list *(*list_append)(struct curl_list *list, const char *text);
    void (*list_free)(struct curl_list *list);
    void *(*multi_init)(void);
    int (*multi_add)(void *multi, void *easy);
    int (*multi_remove)(void *multi, void *easy);
    int (*multi_perform)(void *multi, int *ret_running);
    int (*multi_wait)(void *multi, void *extra, unsigned count, int timeout_ms, int *ret_ready);
    struct curl_message *(*multi_info_read)(void *multi, int *ret_left);
    int (*multi_setopt)(void *multi, int option, ...);
    int (*multi_cleanup)(void *multi);
};

/*
 * 0 or a negative errno as lib_open; also -ENOEXEC when a function is missing. All memory that
 * libcurl takes is wiped before it is given back. Any thread.
 */
int curl_open(struct curl *curl, char *problem, size_t size);

/* `was_used`: a thread of libcurl's may still be running in it, so it stays in memory. */
void curl_close(struct curl *curl, bool was_used);

#endif

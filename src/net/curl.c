#include "net/curl.h"

#include "base/lib.h"
#include "net/secret.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define SYMBOL(member, name)                                                                       \
    {                                                                                              \
        name, offsetof(struct curl, member)                                                        \
    }
static const struct lib_symbol symbols[] = {
    SYMBOL(global_init_mem, "curl_global_init_mem"),
    SYMBOL(global_cleanup, "curl_global_cleanup"),
    SYMBOL(easy_init, "curl_easy_init"),
    SYMBOL(easy_setopt, "curl_easy_setopt"),
    SYMBOL(easy_getinfo, "curl_easy_getinfo"),
    SYMBOL(easy_cleanup, "curl_easy_cleanup"),
    SYMBOL(easy_strerror, "curl_easy_strerror"),
    SYMBOL(list_append, "curl_slist_append"),
    SYMBOL(list_free, "curl_slist_free_all"),
    SYMBOL(multi_init, "curl_multi_init"),
    SYMBOL(multi_add, "curl_multi_add_handle"),
    SYMBOL(multi_remove, "curl_multi_remove_handle"),
    SYMBOL(multi_perform, "curl_multi_perform"),
    SYMBOL(multi_wait, "curl_multi_wait"),
    SYMBOL(multi_info_read, "curl_multi_info_read"),
    SYMBOL(multi_setopt, "curl_multi_setopt"),
    SYMBOL(multi_cleanup, "curl_multi_cleanup"),
};
enum { SYMBOL_COUNT = sizeof symbols / sizeof symbols[0] };

/* Before 7.84, two threads must not set libcurl up, or take it down, at the same time. */
static pthread_mutex_t set_up_lock = PTHREAD_MUTEX_INITIALIZER;

static bool has_all(const struct curl *curl)
{
    for (size_t i = 0; i < SYMBOL_COUNT; i++) {
        void *symbol;
        memcpy(&symbol, (const char *)curl + symbols[i].offset, sizeof symbol);
        if (symbol == NULL)
            return false;
    }
    return true;
}

/* Passwords and tokens are in its buffers as well as in ours. */
static bool set_up(const struct curl *curl)
{
    pthread_mutex_lock(&set_up_lock);
    int result = curl->global_init_mem(CURL_GLOBAL_ALL, secret_malloc, secret_free, secret_realloc,
                                       secret_strdup, secret_calloc);
    pthread_mutex_unlock(&set_up_lock);
    return result == CURL_OK;
}

/* One of the names it goes by; what is wrong with a file that is there is kept in `problem`. */
static int open_one(struct curl *curl, const char *name, char *problem, size_t size)
{
    char bad[LIB_PROBLEM_MAX] = "";

    *curl = (struct curl){0};
    int error = lib_open(name, NULL, &curl->lib, bad);
    if (error < 0) {
        if (bad[0] != '\0')
            snprintf(problem, size, "%s", bad);
        return error;
    }
    lib_load(curl->lib, symbols, SYMBOL_COUNT, curl);
    if (has_all(curl) && set_up(curl))
        return 0;
    snprintf(problem, size, "%s is too old", name);
    lib_close(curl->lib);
    *curl = (struct curl){0};
    return -ENOEXEC;
}

int curl_open(struct curl *curl, char *problem, size_t size)
{
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
    int error = -ENOENT;

    snprintf(problem, size, "libcurl.so.4 is not installed");
    for (size_t i = 0; i < sizeof names / sizeof names[0] && error < 0; i++)
        error = open_one(curl, names[i], problem, size);
    return error;
}

void curl_close(struct curl *curl, bool was_used)
{
    if (curl->lib == NULL)
        return;
    if (!was_used) {
        pthread_mutex_lock(&set_up_lock);
        curl->global_cleanup();
        pthread_mutex_unlock(&set_up_lock);
        lib_close(curl->lib);
    }
    *curl = (struct curl){0};
}

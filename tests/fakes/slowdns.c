/*
 * LD_PRELOAD library: the name server never answers. To look a name up takes SLOWDNS_SECS, a minute
 * if that is not set, and comes to nothing. With SLOWDNS_OLD_CURL set, libcurl is as it was before
 * 7.87: it knows no quick exit.
 */
#include <dlfcn.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define QUICK_EXIT 322
#define UNKNOWN_OPTION 48

typedef void *find_function(void *lib, const char *name);
typedef int set_function(void *easy, int option, ...);

static set_function *real_set;

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                struct addrinfo **ret_list)
{
    const char *secs = getenv("SLOWDNS_SECS");
    struct timespec left = {.tv_sec = secs != NULL ? strtol(secs, NULL, 10) : 60};

    (void)name;
    (void)service;
    (void)hints;
    (void)ret_list;
    while (nanosleep(&left, &left) < 0)
        continue;
    return EAI_AGAIN;
}

/* All that libcurl is given are pointers and integers of their size. */
static int set_as_of_old(void *easy, int option, ...)
{
    va_list arguments;

    if (option == QUICK_EXIT)
        return UNKNOWN_OPTION;
    va_start(arguments, option);
    void *value = va_arg(arguments, void *);
    va_end(arguments);
    return real_set(easy, option, value);
}

void *dlsym(void *lib, const char *name)
{
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"};
    find_function *find = NULL;

    for (size_t i = 0; find == NULL && i < sizeof versions / sizeof versions[0]; i++)
        find = (find_function *)dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    void *found = find(lib, name);
    if (strcmp(name, "curl_easy_setopt") != 0 || getenv("SLOWDNS_OLD_CURL") == NULL)
        return found;
    real_set = (set_function *)found;
    return (void *)set_as_of_old;
}

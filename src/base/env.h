/*
 * Environment variables, for which being empty is as being absent.
 */
#ifndef BASE_ENV_H
#define BASE_ENV_H

#include <stdlib.h>

/* NULL when it is not set or empty. */
static inline const char *env_text(const char *name)
{
    const char *value = getenv(name);

    return value != NULL && value[0] != '\0' ? value : NULL;
}

#endif

/*
 * The values of options as a person writes them. Each function returns NULL, or what is wrong with
 * the text, as the end of a sentence that begins with it; `ret_` is then untouched. Pure.
 */
#ifndef APP_VALUE_H
#define APP_VALUE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* "5", "0.05", ".5" seconds, as nanoseconds. */
const char *value_seconds(const char *text, uint64_t *ret_ns);

const char *value_pid(const char *text, pid_t *ret_pid);

/* Index of `text` in "json|csv". The problem ends in "one of": the choices go behind it. */
const char *value_choice(const char *choices, const char *text, int *ret_choice);

/*
 * A choice that can also be said with yes and no. Of "auto|text|json|none" the first is the
 * default, the second is meant by yes or by leaving the value out, and the last by no.
 */
const char *value_switch(const char *choices, const char *text, int *ret_choice);

const char *value_flag(const char *text, bool *ret_flag);

#endif

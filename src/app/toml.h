/*
 * A TOML reader for configuration files. It understands every kind of value, so that files may hold
 * what other tools need, but hands on only plain ones: strings, numbers and booleans outside
 * arrays. It does not look for keys defined twice. Untrusted input: bounded depth, no recursion
 * beyond it.
 */
#ifndef APP_TOML_H
#define APP_TOML_H

#include <stddef.h>

enum toml_type { TOML_STRING, TOML_INTEGER, TOML_FLOAT, TOML_BOOLEAN };

/*
 * `table` is the dotted path ("job.tags", "" at the top), `key` the last part of the key, `text`
 * the value: a string's content, a number without underscores, "true" or "false". A dot inside a
 * quoted part of the path is passed as the byte 1, so that it is not taken for a separator.
 */
typedef void toml_visit(void *context, const char *table, const char *key, enum toml_type type,
                        const char *text);

/* 0; the number of the first line that is not TOML; or a negative errno. */
long toml_parse(const char *text, size_t size, toml_visit *visit, void *context);

#endif

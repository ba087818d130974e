/*
 * What the fake NVML is to say: the file named by FAKE_NVML, read anew at every call, so a test may
 * change it while the program runs (by renaming a new one over it, lest half of one is read).
 * Without the variable or the file everything is at its default: one sane GPU.
 *
 * Lines `key=value`; the last one of a key counts; `#` begins a comment line. All of it is read
 * under one lock, which a call holds from call_begin() on; not while it sleeps.
 */
#ifndef FAKES_NVML_SCRIPT_H
#define FAKES_NVML_SCRIPT_H

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "nvml_abi.h"

#define SCRIPT_MAX (4u << 20)

static pthread_mutex_t script_lock = PTHREAD_MUTEX_INITIALIZER;

/* The lines, each ended by a NUL; behind the last one stand two. */
static char script_text[SCRIPT_MAX + 2];

static inline void script_load(void)
{
    const char *path = getenv("FAKE_NVML");
    size_t size = 0;

    int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        ssize_t got;
        while (size < SCRIPT_MAX && (got = read(fd, script_text + size, SCRIPT_MAX - size)) > 0)
            size += (size_t)got;
        close(fd);
    }
    script_text[size] = '\n';
    script_text[size + 1] = '\0';
    for (char *end = script_text; (end = strchr(end, '\n')) != NULL; end++)
        *end = '\0';
    script_text[size + 1] = '\n'; /* ends the walk below: no key begins with it */
}

/* The value of a key; NULL when it is not set. */
static inline const char *script_get(const char *key)
{
    const size_t length = strlen(key);
    const char *found = NULL;

    for (const char *line = script_text; *line != '\n'; line += strlen(line) + 1)
        if (strncmp(line, key, length) == 0 && line[length] == '=')
            found = line + length + 1;
    return found;
}

static inline u64 number_of(const char *text)
{
    return strncmp(text, "na", 2) == 0 ? ULLONG_MAX : strtoull(text, NULL, 0);
}

static inline u64 script_number(const char *key, u64 fallback)
{
    const char *value = script_get(key);

    return value != NULL ? number_of(value) : fallback;
}

/* The next of the words between blanks and commas; its length, 0 at the end. */
static inline size_t next_word(const char **text)
{
    *text += strspn(*text, " ,\t");
    return strcspn(*text, " ,\t");
}

/* Whether a function, or NAME* that it begins with, is in a key's list; with what is behind `:`. */
static inline bool script_lists(const char *key, const char *function, u64 *ret_number)
{
    const char *word = script_get(key);
    size_t length;

    if (word == NULL)
        return false;
    for (; (length = next_word(&word)) > 0; word += length) {
        size_t name = strcspn(word, ": ,\t");
        bool is_prefix = word[name - 1] == '*';
        if (strncmp(word, function, is_prefix ? name - 1 : name) == 0 &&
            (is_prefix || function[name] == '\0')) {
            *ret_number = word[name] == ':' ? number_of(word + name + 1) : 0;
            return true;
        }
    }
    return false;
}

static inline int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Copies a text, \xNN being a byte. One that does not fit fills the room and is not terminated. */
static inline void script_copy(const char *text, char *out, size_t size)
{
    size_t used = 0;

    while (*text != '\0' && used < size) {
        if (text[0] == '\\' && text[1] == 'x' && hex_digit(text[2]) >= 0 &&
            hex_digit(text[3]) >= 0) {
            out[used++] = (char)(hex_digit(text[2]) * 16 + hex_digit(text[3]));
            text += 4;
        } else {
            out[used++] = *text++;
        }
    }
    if (used < size)
        out[used] = '\0';
}

/* Appends a line to the file named by FAKE_NVML_LOG. */
static inline void log_call(const char *function)
{
    const char *path = getenv("FAKE_NVML_LOG");
    char line[80];

    int fd = path != NULL ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
    if (fd < 0)
        return;
    int length = snprintf(line, sizeof line, "%s\n", function);
    ssize_t ignored = write(fd, line, (size_t)length);
    (void)ignored;
    close(fd);
}

#endif

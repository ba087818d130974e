/*
 * The one table of options: the parser, --help, the man page, the shell completions, the
 * documentation and the tests all come from it. Constant data.
 */
#ifndef APP_OPTIONS_H
#define APP_OPTIONS_H

#include <stddef.h>

enum option_type {
    OPTION_FLAG,    /* bool */
    OPTION_TEXT,    /* const char * */
    OPTION_SECONDS, /* uint64_t nanoseconds */
    OPTION_PID,     /* pid_t */
    OPTION_CHOICE,  /* int: index into `choices` */
    OPTION_SWITCH,  /* int, likewise; the value may be left out, see value_switch() */
    OPTION_TAG,     /* KEY=VALUE, repeatable */
    OPTION_FILES,   /* const char **, repeatable; has neither variable nor TOML key */
    OPTION_ACTION,  /* prints something and ends; has neither variable nor TOML key */
};

struct option_row {
    const char *name;
    char letter; /* 0: none */
    enum option_type type;
    const char *argument; /* placeholder in help; NULL for flags and actions */
    const char *table;    /* TOML table; NULL: not in TOML */
    const char *key;
    const char *fallback; /* default, as shown */
    const char *choices;  /* "json|csv" */
    size_t offset;        /* in struct config */
    const char *help;
};

extern const struct option_row options[];
extern const size_t option_count;

/* Headings in the help: index of the first option of each section. */
struct option_section {
    const char *title;
    const char *first;
};
extern const struct option_section option_sections[];
extern const size_t option_section_count;

#endif

/*
 * What was wrong with a recorded file, and where. The first ones are kept, all are counted: a file
 * of a million lines of garbage takes no more room than one of twenty. The same fault in one
 * line after another is one problem. Plain data.
 */
#ifndef READ_PROBLEMS_H
#define READ_PROBLEMS_H

#include <stddef.h>
#include <stdint.h>

#define PROBLEMS_KEPT 20
#define PROBLEM_TEXT_MAX 280

struct problem {
    const char *file;    /* must outlive the list */
    uint64_t first_line; /* from 1; 0: the file as such */
    uint64_t last_line;
    uint64_t turn; /* of its last line */
    char text[PROBLEM_TEXT_MAX];
};

struct problems {
    struct problem list[PROBLEMS_KEPT];
    size_t kept;
    uint64_t dropped;    /* those that were not kept */
    uint64_t turn;       /* how many lines were looked at */
    struct problem last; /* of those that were not kept */
};

/* The text says what is wrong and what we do about it; one that is too long is cut. */
__attribute__((format(printf, 4, 5))) void problems_add(struct problems *problems, const char *file,
                                                        uint64_t line, const char *format, ...);

/* Another line is looked at. What was not wrong with this one is over. */
void problems_turn(struct problems *problems);

#endif

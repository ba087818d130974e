/*
 * What is known of a run besides its samples: the metadata its user gave, and how it ended. Texts
 * belong to the configuration, which outlives the run.
 */
#ifndef MODEL_RUN_H
#define MODEL_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tag {
    const char *key;
    const char *value;
};

struct run {
    /* Texts first: each is a row of run_facts. NULL: nobody said. */
    const char *job_name;
    const char *project_name;
    const char *stage_name;
    const char *task_name;
    const char *team;
    const char *env;
    const char *language;
    const char *orchestrator;
    const char *executor;
    const char *external_run_id;
    const char *container_image;
    struct tag *tags;
    size_t tag_count;
    char *const *command; /* ends with NULL; NULL: the run watches */
};

/* Every text of a run, in the order in which it is told. */
struct run_fact {
    const char *key;    /* in JSON */
    const char *label;  /* for people */
    size_t offset;      /* in struct run */
    bool is_detectable; /* the environment may tell it where the user did not */
};
extern const struct run_fact run_facts[];
extern const size_t run_fact_count;

/* The member that a fact stands for. */
const char *run_text(const struct run *run, const struct run_fact *fact);
void run_set_text(struct run *run, const struct run_fact *fact, const char *text);

/* How a run ended. */
struct run_end {
    bool has_command;
    bool has_exit_code; /* the command ended by itself */
    int exit_code;
    int signal;           /* that ended the command; 0: none did */
    uint64_t deadline_ns; /* monotonic: how long whoever takes samples may still be waited for */
};

#endif

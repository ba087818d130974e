/*
 * What is known of a run besides its samples: the metadata its user gave. Texts belong to the
 * configuration, which outlives the run.
 */
#ifndef MODEL_RUN_H
#define MODEL_RUN_H

#include <stddef.h>

struct tag {
    const char *key;
    const char *value;
};

struct run {
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
};

#endif

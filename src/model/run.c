#include "model/run.h"

#define AT(member) offsetof(struct run, member)

const struct run_fact run_facts[] = {
    {"job_name", "Job", AT(job_name), false},
    {"project_name", "Project", AT(project_name), false},
    {"stage_name", "Stage", AT(stage_name), false},
    {"task_name", "Task", AT(task_name), false},
    {"team", "Team", AT(team), false},
    {"env", "Environment", AT(env), false},
    {"language", "Language", AT(language), false},
    {"orchestrator", "Orchestrator", AT(orchestrator), true},
    {"executor", "Executor", AT(executor), true},
    {"external_run_id", "External run", AT(external_run_id), true},
    {"container_image", "Container image", AT(container_image), true},
};
const size_t run_fact_count = sizeof run_facts / sizeof run_facts[0];

/* A text without a row would be told nowhere, and a digest would keep a pointer it does not own. */
_Static_assert(sizeof run_facts / sizeof run_facts[0] == AT(tags) / sizeof(const char *),
               "every text of a run is a fact");

const char *run_text(const struct run *run, const struct run_fact *fact)
{
    return *(const char *const *)(const void *)((const char *)run + fact->offset);
}

void run_set_text(struct run *run, const struct run_fact *fact, const char *text)
{
    *(const char **)(void *)((char *)run + fact->offset) = text;
}

#include "discover/orchestrator.h"

#include <string.h>

/* Who decides what runs, and who runs it: a job may have one of each. */
enum role { ORCHESTRATES, EXECUTES };

#define IDS_MAX 2

struct sign {
    const char *variable; /* that it is set gives it away */
    enum role role;
    const char *name;
    const char *ids[IDS_MAX]; /* variables with the number of the run, the better one first */
    const char *image;        /* with the container's image */
};

/* Within a role the first that is found counts: what runs on top of others comes before them. */
static const struct sign signs[] = {
    {"METAFLOW_RUN_ID", ORCHESTRATES, "metaflow", {"METAFLOW_RUN_ID"}, NULL},
    {"FLYTE_INTERNAL_EXECUTION_ID",
     ORCHESTRATES,
     "flyte",
     {"FLYTE_INTERNAL_EXECUTION_ID"},
     "FLYTE_INTERNAL_IMAGE"},
    {"AIRFLOW_CTX_DAG_ID",
     ORCHESTRATES,
     "airflow",
     {"AIRFLOW_CTX_DAG_RUN_ID", "AIRFLOW_CTX_EXECUTION_DATE"},
     NULL},
    {"GITHUB_ACTIONS", ORCHESTRATES, "github-actions", {"GITHUB_RUN_ID"}, NULL},
    {"GITLAB_CI", ORCHESTRATES, "gitlab-ci", {"CI_JOB_ID", "CI_PIPELINE_ID"}, "CI_JOB_IMAGE"},
    {"JENKINS_URL", ORCHESTRATES, "jenkins", {"BUILD_NUMBER", "BUILD_TAG"}, NULL},
    {"RAY_JOB_ID", EXECUTES, "ray", {"RAY_JOB_ID"}, NULL},
    {"AWS_BATCH_JOB_ID", EXECUTES, "aws-batch", {"AWS_BATCH_JOB_ID"}, NULL},
    {"SLURM_JOB_ID", EXECUTES, "slurm", {"SLURM_JOB_ID"}, "SLURM_CONTAINER"},
    {"KUBERNETES_SERVICE_HOST", EXECUTES, "k8s", {NULL}, NULL},
};
enum { SIGN_COUNT = sizeof signs / sizeof signs[0] };

/* The value of a variable; NULL when it is not set, or empty. */
static const char *value_of(char *const *environment, const char *name)
{
    size_t length = strlen(name);

    for (; *environment != NULL; environment++)
        if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
            return (*environment)[length + 1] != '\0' ? *environment + length + 1 : NULL;
    return NULL;
}

static const char *id_of(char *const *environment, const struct sign *sign)
{
    const char *id = NULL;

    for (size_t i = 0; i < IDS_MAX && sign->ids[i] != NULL && id == NULL; i++)
        id = value_of(environment, sign->ids[i]);
    return id;
}

static const struct sign *find(char *const *environment, enum role role)
{
    for (size_t i = 0; i < SIGN_COUNT; i++)
        if (signs[i].role == role && value_of(environment, signs[i].variable) != NULL)
            return &signs[i];
    return NULL;
}

static void set_if_unsaid(const char **text, const char *value)
{
    if (*text == NULL)
        *text = value;
}

static void take(struct run *run, const struct sign *sign, char *const *environment)
{
    if (sign == NULL)
        return;
    set_if_unsaid(&run->external_run_id, id_of(environment, sign));
    if (sign->image != NULL)
        set_if_unsaid(&run->container_image, value_of(environment, sign->image));
}

/* The orchestrator's number of the run goes before the executor's. */
void orchestrator_detect(struct run *run, char *const *environment)
{
    const struct sign *orchestrator = find(environment, ORCHESTRATES);
    const struct sign *executor = find(environment, EXECUTES);

    take(run, orchestrator, environment);
    take(run, executor, environment);
    if (orchestrator != NULL)
        set_if_unsaid(&run->orchestrator, orchestrator->name);
    if (executor != NULL)
        set_if_unsaid(&run->executor, executor->name);
}

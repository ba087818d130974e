#include "scratch.h"

#include "discover/orchestrator.h"

static struct run detect(char *const *environment)
{
    struct run run = {0};

    orchestrator_detect(&run, environment);
    return run;
}

#define DETECT(...) detect((char *[]){__VA_ARGS__, NULL})

static void assert_run(struct run run, const char *orchestrator, const char *executor,
                       const char *id, const char *image)
{
    const char *const got[] = {run.orchestrator, run.executor, run.external_run_id,
                               run.container_image};
    const char *const wanted[] = {orchestrator, executor, id, image};

    for (size_t i = 0; i < 4; i++) {
        if (wanted[i] == NULL)
            assert_null(got[i]);
        else
            assert_string_equal(got[i], wanted[i]);
    }
}

static void test_nothing_is_found_where_nothing_is(void **state)
{
    (void)state;
    assert_run(detect((char *[]){NULL}), NULL, NULL, NULL, NULL);
    assert_run(DETECT("HOME=/", "SLURM_JOB_IDS=1", "XSLURM_JOB_ID=1",
                      "GITHUB_ACTIONS=", "KUBERNETES_SERVICE_HOST"),
               NULL, NULL, NULL, NULL);
}

static void test_each_gives_itself_away(void **state)
{
    (void)state;
    assert_run(DETECT("SLURM_JOB_ID=77"), NULL, "slurm", "77", NULL);
    assert_run(DETECT("KUBERNETES_SERVICE_HOST=10.0.0.1"), NULL, "k8s", NULL, NULL);
    assert_run(DETECT("AWS_BATCH_JOB_ID=b-1"), NULL, "aws-batch", "b-1", NULL);
    assert_run(DETECT("RAY_JOB_ID=0100"), NULL, "ray", "0100", NULL);
    assert_run(DETECT("AIRFLOW_CTX_DAG_ID=etl", "AIRFLOW_CTX_DAG_RUN_ID=manual__1"), "airflow",
               NULL, "manual__1", NULL);
    assert_run(DETECT("METAFLOW_RUN_ID=5"), "metaflow", NULL, "5", NULL);
    assert_run(DETECT("FLYTE_INTERNAL_EXECUTION_ID=f1", "FLYTE_INTERNAL_IMAGE=img:2"), "flyte",
               NULL, "f1", "img:2");
    assert_run(DETECT("GITHUB_ACTIONS=true", "GITHUB_RUN_ID=9"), "github-actions", NULL, "9", NULL);
    assert_run(DETECT("GITLAB_CI=true", "CI_PIPELINE_ID=3", "CI_JOB_ID=4", "CI_JOB_IMAGE=alpine"),
               "gitlab-ci", NULL, "4", "alpine");
    assert_run(DETECT("JENKINS_URL=http://j", "BUILD_NUMBER=12"), "jenkins", NULL, "12", NULL);
}

static void test_an_orchestrator_and_its_executor(void **state)
{
    (void)state;
    assert_run(DETECT("AWS_BATCH_JOB_ID=b-1", "METAFLOW_RUN_ID=5"), "metaflow", "aws-batch", "5",
               NULL);
    assert_run(DETECT("KUBERNETES_SERVICE_HOST=1", "SLURM_JOB_ID=8"), NULL, "slurm", "8", NULL);
    assert_run(DETECT("AIRFLOW_CTX_DAG_ID=x", "SLURM_JOB_ID=8"), "airflow", "slurm", "8", NULL);
}

static void test_what_the_user_said_stands(void **state)
{
    struct run run = {.executor = "mine", .external_run_id = "x"};

    (void)state;
    orchestrator_detect(&run, (char *[]){"SLURM_JOB_ID=8", "GITLAB_CI=1", "CI_JOB_IMAGE=i", NULL});
    assert_run(run, "gitlab-ci", "mine", "x", "i");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_found_where_nothing_is),
        cmocka_unit_test(test_each_gives_itself_away),
        cmocka_unit_test(test_an_orchestrator_and_its_executor),
        cmocka_unit_test(test_what_the_user_said_stands),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

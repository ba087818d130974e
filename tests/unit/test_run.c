#include "scratch.h"

#include "model/run.h"

static void test_a_fact_is_the_member_of_its_name(void **state)
{
    const struct run run = {.job_name = "job_name",
                            .project_name = "project_name",
                            .stage_name = "stage_name",
                            .task_name = "task_name",
                            .team = "team",
                            .env = "env",
                            .language = "language",
                            .orchestrator = "orchestrator",
                            .executor = "executor",
                            .external_run_id = "external_run_id",
                            .container_image = "container_image"};

    (void)state;
    assert_int_equal(run_fact_count, 11);
    for (size_t i = 0; i < run_fact_count; i++) {
        assert_string_equal(run_text(&run, &run_facts[i]), run_facts[i].key);
        assert_true(run_facts[i].label[0] != '\0');
    }
}

static void test_setting_one_leaves_the_others(void **state)
{
    (void)state;
    for (size_t set = 0; set < run_fact_count; set++) {
        struct run run = {.tag_count = 7};
        run_set_text(&run, &run_facts[set], "said");
        for (size_t i = 0; i < run_fact_count; i++)
            if (i == set)
                assert_string_equal(run_text(&run, &run_facts[i]), "said");
            else
                assert_null(run_text(&run, &run_facts[i]));
        assert_null(run.tags);
        assert_int_equal(run.tag_count, 7);
        assert_null(run.command);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_fact_is_the_member_of_its_name),
        cmocka_unit_test(test_setting_one_leaves_the_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

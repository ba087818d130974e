#include "app/config.h"
#include "app/options.h"
#include "scratch.h"

static bool is_only(const char *text, const char *allowed)
{
    return text[0] != '\0' && strspn(text, allowed) == strlen(text);
}

static const struct option_row *find(const char *name)
{
    for (size_t i = 0; i < option_count; i++)
        if (strcmp(options[i].name, name) == 0)
            return &options[i];
    return NULL;
}

static void test_every_row_has_name_and_help(void **state)
{
    (void)state;
    assert_true(option_count > 0);
    for (size_t i = 0; i < option_count; i++) {
        const struct option_row *row = &options[i];
        /* so that TRACKER_NAME is a variable a shell can set, and fits the parser's buffer */
        assert_true(is_only(row->name, "abcdefghijklmnopqrstuvwxyz-"));
        assert_int_not_equal(row->name[0], '-');
        assert_true(strlen("RESOURCE_TRACKER_") + strlen(row->name) < 64);
        assert_true(row->help != NULL && row->help[0] != '\0');
        assert_int_not_equal(row->help[strlen(row->help) - 1], '.');
    }
}

static void test_names_and_letters_are_unique(void **state)
{
    (void)state;
    for (size_t a = 0; a < option_count; a++)
        for (size_t b = a + 1; b < option_count; b++) {
            assert_string_not_equal(options[a].name, options[b].name);
            assert_false(options[a].letter != 0 && options[a].letter == options[b].letter);
        }
}

static void test_letters_are_letters(void **state)
{
    (void)state;
    for (size_t i = 0; i < option_count; i++) {
        char c = options[i].letter;
        assert_true(c == 0 || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'));
    }
}

static void test_arguments_fit_the_types(void **state)
{
    (void)state;
    for (size_t i = 0; i < option_count; i++) {
        const struct option_row *row = &options[i];
        bool takes_none = row->type == OPTION_FLAG || row->type == OPTION_ACTION;
        assert_int_equal(row->argument == NULL, takes_none);
        assert_true(row->argument == NULL || row->argument[0] != '\0');
        assert_int_equal(row->choices != NULL,
                         row->type == OPTION_CHOICE || row->type == OPTION_SWITCH);
    }
}

static void test_toml_places(void **state)
{
    (void)state;
    for (size_t i = 0; i < option_count; i++) {
        const struct option_row *row = &options[i];
        if (row->table == NULL) {
            /* these take the place of a run, and the file cannot name itself */
            assert_true(row->type == OPTION_ACTION || row->type == OPTION_FILES ||
                        strcmp(row->name, "config") == 0);
            assert_null(row->key);
            continue;
        }
        assert_true(strcmp(row->table, "job") == 0 || strcmp(row->table, "tracker") == 0 ||
                    strcmp(row->table, "job.tags") == 0);
        assert_int_equal(row->key == NULL, row->type == OPTION_TAG);
        assert_true(row->key == NULL || is_only(row->key, "abcdefghijklmnopqrstuvwxyz_"));
        for (size_t b = i + 1; b < option_count; b++)
            assert_false(options[b].table != NULL && strcmp(options[b].table, row->table) == 0 &&
                         row->key != NULL && strcmp(options[b].key, row->key) == 0);
    }
}

static void test_defaults_of_choices_are_choices(void **state)
{
    (void)state;
    for (size_t i = 0; i < option_count; i++) {
        const struct option_row *row = &options[i];
        if (row->choices == NULL)
            continue;
        assert_non_null(row->fallback);
        size_t length = strlen(row->fallback);
        assert_memory_equal(row->choices, row->fallback, length); /* a zeroed config has it */
        assert_int_equal(row->choices[length], '|');
    }
}

static size_t size_of(enum option_type type)
{
    switch (type) {
    case OPTION_FLAG:
        return sizeof(bool);
    case OPTION_TEXT:
        return sizeof(const char *);
    case OPTION_SECONDS:
        return sizeof(uint64_t);
    case OPTION_PID:
        return sizeof(pid_t);
    case OPTION_CHOICE:
    case OPTION_SWITCH:
        return sizeof(int);
    case OPTION_FILES:
        return sizeof(const char **);
    case OPTION_TAG:
        return sizeof(struct tag *);
    case OPTION_ACTION:
        break;
    }
    return 0;
}

static void test_members_lie_in_the_config_and_apart(void **state)
{
    (void)state;
    for (size_t a = 0; a < option_count; a++) {
        if (options[a].type == OPTION_ACTION)
            continue;
        size_t end = options[a].offset + size_of(options[a].type);
        assert_true(end <= sizeof(struct config));
        for (size_t b = 0; b < option_count; b++)
            assert_true(a == b || options[b].type == OPTION_ACTION || options[b].offset >= end ||
                        options[b].offset + size_of(options[b].type) <= options[a].offset);
    }
}

static void test_actions_are_apart(void **state)
{
    (void)state;
    for (size_t a = 0; a < option_count; a++) {
        if (options[a].type != OPTION_ACTION)
            continue;
        assert_int_not_equal(options[a].offset, ACTION_RUN);
        for (size_t b = a + 1; b < option_count; b++)
            assert_false(options[b].type == OPTION_ACTION &&
                         options[b].offset == options[a].offset);
    }
}

static void test_sections_begin_at_options_in_order(void **state)
{
    const struct option_row *previous = NULL;

    (void)state;
    assert_true(option_section_count > 0);
    for (size_t i = 0; i < option_section_count; i++) {
        const struct option_row *first = find(option_sections[i].first);
        assert_non_null(first);
        assert_true(option_sections[i].title[0] != '\0');
        assert_true(previous == NULL ? first == options : first > previous);
        previous = first;
    }
}

static void test_options_of_the_specification(void **state)
{
    static const char *const names[] = {
        "pid",          "interval",        "config",          "format",
        "csv-columns",  "output",          "quiet",           "job-name",
        "project-name", "stage-name",      "task-name",       "team",
        "env",          "language",        "orchestrator",    "executor",
        "tag",          "external-run-id", "container-image", "list-metrics",
        "procfs",       "sysfs",           "verbose",         "help",
        "version",      "summary",         "report",          "from"};
    static const char letters[][2] = {{'p', 0}, {'i', 1}, {'c', 2},  {'f', 3},
                                      {'o', 5}, {'n', 7}, {'h', 23}, {'V', 24}};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (find(names[i]) == NULL)
            fail_msg("no option --%s", names[i]);
    for (size_t i = 0; i < sizeof letters / sizeof letters[0]; i++)
        assert_int_equal(find(names[(size_t)letters[i][1]])->letter, letters[i][0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_row_has_name_and_help),
        cmocka_unit_test(test_names_and_letters_are_unique),
        cmocka_unit_test(test_letters_are_letters),
        cmocka_unit_test(test_arguments_fit_the_types),
        cmocka_unit_test(test_toml_places),
        cmocka_unit_test(test_defaults_of_choices_are_choices),
        cmocka_unit_test(test_members_lie_in_the_config_and_apart),
        cmocka_unit_test(test_actions_are_apart),
        cmocka_unit_test(test_sections_begin_at_options_in_order),
        cmocka_unit_test(test_options_of_the_specification),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

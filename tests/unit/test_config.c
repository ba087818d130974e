#include "app/config.h"
#include "app/options.h"
#include "base/log.h"
#include "in_child.h"
#include "sink/sink.h"

static struct scratch dir;
static struct scratch_path toml_path;
static struct config config;
static struct capture captured;

/* One invocation: words, variables and the content of the file. */
static char *words[64];
static int word_count;
static char *variables[64];
static size_t variable_count;

static int make(void **state)
{
    (void)state;
    scratch_make(&dir);
    toml_path = scratch_path(&dir, "settings.toml");
    words[0] = "resource-tracker";
    word_count = 1;
    variable_count = 0;
    config = (struct config){0};
    return chdir(dir.path); /* no resource-tracker.toml here */
}

static int drop(void **state)
{
    (void)state;
    config_free(&config);
    for (size_t i = 0; i < variable_count; i++)
        free(variables[i]);
    log_set_verbose(false);
    assert_int_equal(chdir("/"), 0);
    scratch_remove(&dir);
    return 0;
}

static void word(const char *text)
{
    words[word_count++] = (char *)(uintptr_t)text;
}

static void variable(const char *name, const char *value)
{
    assert_true(asprintf(&variables[variable_count++], "%s=%s", name, value) > 0);
}

static void forget(void)
{
    config_free(&config);
    word_count = 1;
    while (variable_count > 0)
        free(variables[--variable_count]);
}

/* Returns config_load's result; what it said is in captured.text. */
static int load(void)
{
    config_free(&config);
    words[word_count] = NULL;
    variables[variable_count] = NULL;
    capture_begin(&captured, STDERR_FILENO);
    int result = config_load(&config, word_count, words, variables);
    capture_end(&captured);
    return result;
}

static void load_well(void)
{
    int result = load();

    if (result != 0)
        fail_msg("refused: %s", captured.text);
    assert_string_equal(captured.text, "");
}

static void load_toml(const char *text)
{
    scratch_text(&dir, "settings.toml", text);
    forget();
    word("--config");
    word(toml_path.text);
    load_well();
}

static void assert_said(const char *text)
{
    if (strstr(captured.text, text) == NULL)
        fail_msg("said '%s' instead of '%s'", captured.text, text);
}

/* The invocation with `text` as the only further words is refused, and `culprit` is named. */
static void refuse(const char *option, const char *value, const char *culprit)
{
    forget();
    word(option);
    if (value != NULL)
        word(value);
    assert_int_equal(load(), -EINVAL);
    assert_memory_equal(captured.text, "resource-tracker: ", strlen("resource-tracker: "));
    assert_said(culprit);
    assert_ptr_equal(strchr(captured.text, '\n'), captured.text + strlen(captured.text) - 1);
}

/* --- every option by every source, from the table --- */

enum source { SOURCE_FLAG, SOURCE_LONG_VARIABLE, SOURCE_VARIABLE, SOURCE_TOML, SOURCE_COUNT };

static void show(const struct option_row *row, char *out, size_t size)
{
    const char *member = (const char *)&config + row->offset;
    const char *const *text = (const void *)member;

    switch (row->type) {
    case OPTION_FLAG:
        snprintf(out, size, "%s", *(const bool *)member ? "true" : "false");
        break;
    case OPTION_TEXT:
        snprintf(out, size, "%s", *text != NULL ? *text : "");
        break;
    case OPTION_SECONDS:
        snprintf(out, size, "%g", (double)*(const uint64_t *)(const void *)member / 1e9);
        break;
    case OPTION_PID:
        snprintf(out, size, "%d", (int)*(const pid_t *)(const void *)member);
        break;
    case OPTION_CHOICE:
    case OPTION_SWITCH: {
        const char *choice = row->choices;
        for (int skip = *(const int *)(const void *)member; skip > 0; skip--)
            choice = strchr(choice, '|') + 1;
        snprintf(out, size, "%.*s", (int)strcspn(choice, "|"), choice);
        break;
    }
    case OPTION_TAG:
    case OPTION_FILES:
    case OPTION_ACTION:
        fail_msg("--%s has no plain value", row->name);
    }
}

/* Two values of an option that differ from each other. */
static const char *value_of(const struct option_row *row, int which)
{
    static char choice[2][32];

    switch (row->type) {
    case OPTION_FLAG:
        return which == 0 ? "true" : "false";
    case OPTION_TEXT:
        return which == 0 ? "first text" : "second";
    case OPTION_SECONDS:
        return which == 0 ? "2.5" : "70";
    case OPTION_PID:
        return which == 0 ? "41" : "42";
    case OPTION_CHOICE:
    case OPTION_SWITCH: {
        const char *second = strchr(row->choices, '|') + 1;
        snprintf(choice[0], sizeof choice[0], "%.*s", (int)(second - 1 - row->choices),
                 row->choices);
        snprintf(choice[1], sizeof choice[1], "%.*s", (int)strcspn(second, "|"), second);
        return choice[which];
    }
    case OPTION_TAG:
    case OPTION_FILES:
    case OPTION_ACTION:
        break;
    }
    fail_msg("--%s has no plain value", row->name);
    return NULL;
}

static bool is_plain(const struct option_row *row)
{
    return row->type != OPTION_TAG && row->type != OPTION_FILES && row->type != OPTION_ACTION;
}

static bool can_give(const struct option_row *row, enum source source, const char *value)
{
    if (source == SOURCE_TOML)
        return row->table != NULL;
    return !(source == SOURCE_FLAG && row->type == OPTION_FLAG && strcmp(value, "false") == 0);
}

static void give(const struct option_row *row, enum source source, const char *value)
{
    static char text[SOURCE_COUNT][256];
    char *out = text[source];
    const char *prefix = source == SOURCE_VARIABLE ? "TRACKER_" : "RESOURCE_TRACKER_";
    const char *quote = row->type == OPTION_TEXT || row->choices != NULL ? "\"" : "";

    switch (source) {
    case SOURCE_FLAG:
        if (row->type == OPTION_FLAG)
            snprintf(out, sizeof text[0], "--%s", row->name);
        else
            snprintf(out, sizeof text[0], "--%s=%s", row->name, value);
        word(out);
        break;
    case SOURCE_LONG_VARIABLE:
    case SOURCE_VARIABLE:
        snprintf(out, sizeof text[0], "%s%s", prefix, row->name);
        for (char *at = out; *at != '\0'; at++)
            *at = *at == '-' ? '_' : *at >= 'a' && *at <= 'z' ? (char)(*at - 'a' + 'A') : *at;
        variable(out, value);
        break;
    case SOURCE_TOML:
        snprintf(out, sizeof text[0], "[%s]\n%s = %s%s%s\n", row->table, row->key, quote, value,
                 quote);
        scratch_text(&dir, "settings.toml", out);
        break;
    case SOURCE_COUNT:
        break;
    }
}

/* Everything but the option that names the file needs to be told where it is. */
static void point_to_toml(const struct option_row *row)
{
    if (strcmp(row->name, "config") != 0) {
        word("--config");
        word(toml_path.text);
    }
}

static void expect_option(const struct option_row *row, const char *value)
{
    char got[256];

    show(row, got, sizeof got);
    if (strcmp(got, value) != 0)
        fail_msg("--%s is '%s' instead of '%s'", row->name, got, value);
}

static void test_every_option_by_every_source(void **state)
{
    (void)state;
    for (size_t i = 0; i < option_count; i++) {
        const struct option_row *row = &options[i];
        for (int source = 0; source < SOURCE_COUNT && is_plain(row); source++)
            for (int which = 0; which < 2; which++) {
                const char *value = value_of(row, which);
                if (!can_give(row, (enum source)source, value))
                    continue;
                forget();
                scratch_text(&dir, "settings.toml", "");
                point_to_toml(row);
                give(row, (enum source)source, value);
                (void)load();
                expect_option(row, value);
            }
    }
}

static void test_precedence_of_every_pair_of_sources(void **state)
{
    size_t pairs = 0;

    (void)state;
    for (size_t i = 0; i < option_count; i++) {
        const struct option_row *row = &options[i];
        if (!is_plain(row))
            continue;
        for (int high = 0; high < SOURCE_COUNT; high++)
            for (int low = high + 1; low < SOURCE_COUNT; low++)
                for (int which = 0; which < 2; which++) {
                    const char *wins = value_of(row, which);
                    const char *loses = value_of(row, 1 - which);
                    if (!can_give(row, (enum source)high, wins) ||
                        !can_give(row, (enum source)low, loses))
                        continue;
                    forget();
                    scratch_text(&dir, "settings.toml", "");
                    point_to_toml(row);
                    give(row, (enum source)low, loses);
                    give(row, (enum source)high, wins);
                    (void)load();
                    expect_option(row, wins);
                    pairs++;
                }
    }
    assert_true(pairs > 150);
}

static void test_defaults(void **state)
{
    (void)state;
    load_well();
    for (size_t i = 0; i < option_count; i++) {
        const struct option_row *row = &options[i];
        if (!is_plain(row))
            continue;
        expect_option(row, row->fallback != NULL      ? row->fallback
                           : row->type == OPTION_FLAG ? "false"
                           : row->type == OPTION_PID  ? "0"
                                                      : "");
    }
    assert_int_equal(config.action, ACTION_RUN);
    assert_null(config.command);
    assert_int_equal(config.run.tag_count, 0);
    assert_int_equal(config.format, FORMAT_JSON);
    assert_int_equal(config.csv_columns, CSV_BASIC);
    assert_int_equal(config.interval_ns, 1000000000);
}

static void test_letters_do_what_the_names_do(void **state)
{
    (void)state;
    for (size_t i = 0; i < option_count; i++) {
        const struct option_row *row = &options[i];
        char joined[64];
        char apart[] = {'-', row->letter, '\0'};
        if (row->letter == 0 || !is_plain(row))
            continue;
        forget();
        snprintf(joined, sizeof joined, "-%c%s", row->letter, value_of(row, 1));
        word(joined);
        (void)load();
        expect_option(row, value_of(row, 1));
        forget();
        word(apart);
        word(value_of(row, 1));
        (void)load();
        expect_option(row, value_of(row, 1));
    }
}

static void test_long_names_take_both_forms(void **state)
{
    (void)state;
    word("--interval");
    word("0.05");
    word("--format=csv");
    word("--job-name=");
    load_well();
    assert_int_equal(config.interval_ns, 50000000);
    assert_int_equal(config.format, FORMAT_CSV);
    assert_string_equal(config.run.job_name, "");
}

static void test_last_flag_wins(void **state)
{
    (void)state;
    word("-i5");
    word("--interval=7");
    load_well();
    assert_int_equal(config.interval_ns, UINT64_C(7000000000));
}

/* --- the requirements by number --- */

static void test_t_cfg_05_flag_overrules_the_file(void **state)
{
    (void)state;
    scratch_text(&dir, "settings.toml", "[tracker]\ninterval_secs = 5\n");
    word("--config");
    word(toml_path.text);
    word("--interval");
    word("2");
    load_well();
    assert_int_equal(config.interval_ns, UINT64_C(2000000000));
}

static void test_t_cfg_04_interval_from_the_file(void **state)
{
    (void)state;
    load_toml("[tracker]\ninterval_secs = 3\n");
    assert_int_equal(config.interval_ns, UINT64_C(3000000000));
}

static void test_t_cfg_06_missing_file_is_silent(void **state)
{
    (void)state;
    word("--config");
    word("no/such/file.toml");
    load_well();
    assert_int_equal(config.interval_ns, 1000000000);
}

static void test_t_cfg_03_interval_zero_is_refused(void **state)
{
    (void)state;
    refuse("--interval", "0", "--interval");
}

/* --- values --- */

static void test_seconds(void **state)
{
    static const struct {
        const char *text;
        uint64_t ns;
    } good[] = {
        {"1", 1000000000},
        {"0.001", 1000000},
        {"0.05", 50000000},
        {".5", 500000000},
        {"2.0", 2000000000},
        {"1.123456789", 1123456789},
        {"1.1234567899", 1123456789},
        {"007", UINT64_C(7000000000)},
        {"1000000000", UINT64_C(1000000000000000000)},
        {"1000000000.0", UINT64_C(1000000000000000000)},
    };

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        forget();
        word("-i");
        word(good[i].text);
        load_well();
        assert_int_equal(config.interval_ns, good[i].ns);
    }
}

static void test_bad_seconds_are_refused_by_name(void **state)
{
    static const char *const bad[] = {"0",
                                      "0.0",
                                      "-1",
                                      "-0.5",
                                      "abc",
                                      "",
                                      "1s",
                                      "1e3",
                                      " 5",
                                      "5 ",
                                      "+5",
                                      "1.",
                                      ".",
                                      "1,5",
                                      "1.5.5",
                                      "0x10",
                                      "nan",
                                      "inf",
                                      "1 2",
                                      "0.0009",
                                      "1000000001",
                                      "1000000000.5",
                                      "99999999999999999999999",
                                      "18446744074"};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char quoted[64];
        refuse("-i", bad[i], "option --interval: ");
        snprintf(quoted, sizeof quoted, "'%s'", bad[i]);
        assert_said(quoted);
    }
}

static void test_bad_pids_are_refused_by_name(void **state)
{
    static const char *const bad[] = {
        "0",  "-1", "abc", "",   "1.5", "2147483648", "99999999999999999999",
        " 5", "5 ", "+5",  "1,", "0x1"};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        refuse("--pid", bad[i], "option --pid: ");
    forget();
    word("--pid=2147483647");
    load_well();
    assert_int_equal(config.pid, INT32_MAX);
}

/* A tab is no more a part of a number than a space is. */
static void test_numbers_after_a_tab_are_refused(void **state)
{
    (void)state;
    refuse("--interval", "\t5", "option --interval: ");
    refuse("--pid", "\t5", "option --pid: ");
}

static void test_bad_choices_are_refused_with_the_good_ones(void **state)
{
    static const char *const bad[] = {"xml",      "JSON",  "",      "js",
                                      "json|csv", "json|", "jsonl", " json"};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        refuse("--format", bad[i], "option --format: ");
        assert_said("json|csv");
    }
    refuse("--csv-columns", "all", "basic|full");
}

static void test_bad_variables_are_refused_by_name(void **state)
{
    static const struct {
        const char *name;
        const char *value;
    } bad[] = {
        {"TRACKER_INTERVAL", "soon"},
        {"RESOURCE_TRACKER_INTERVAL", "0"},
        {"TRACKER_PID", "me"},
        {"RESOURCE_TRACKER_FORMAT", "xml"},
        {"TRACKER_CSV_COLUMNS", "all"},
        {"RESOURCE_TRACKER_QUIET", "perhaps"},
        {"TRACKER_VERBOSE", "2"},
        {"TRACKER_TAG", "no-equals-sign"},
        {"RESOURCE_TRACKER_TAG", "a=b,c"},
        {"TRACKER_TAG", "=x"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char wanted[128];
        forget();
        variable(bad[i].name, bad[i].value);
        assert_int_equal(load(), -EINVAL);
        snprintf(wanted, sizeof wanted, "environment variable %s: '%s' ", bad[i].name,
                 bad[i].value);
        assert_said(wanted);
    }
}

static void test_flags_in_variables(void **state)
{
    static const char *const yes[] = {"1", "true", "yes", "on"};
    static const char *const no[] = {"0", "false", "no", "off", ""};

    (void)state;
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++) {
        forget();
        variable("TRACKER_QUIET", yes[i]);
        load_well();
        assert_true(config.quiet);
    }
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++) {
        forget();
        variable("TRACKER_QUIET", no[i]);
        load_well();
        assert_false(config.quiet);
    }
}

static void test_empty_variables_are_none(void **state)
{
    (void)state;
    for (size_t i = 0; i < option_count; i++)
        if (options[i].type != OPTION_ACTION) {
            give(&options[i], SOURCE_VARIABLE, "");
            give(&options[i], SOURCE_LONG_VARIABLE, "");
        }
    load_well();
    assert_int_equal(config.interval_ns, 1000000000);
    assert_null(config.run.job_name);
    assert_null(config.output);
}

static void test_other_variables_are_not_ours(void **state)
{
    (void)state;
    variable("TRACKER_INTERVALS", "5");
    variable("tracker_interval", "5");
    variable("XTRACKER_INTERVAL", "5");
    variable("INTERVAL", "5");
    variable("TRACKER_HELP", "1");
    variable("TRACKER_VERSION", "1");
    load_well();
    assert_int_equal(config.interval_ns, 1000000000);
    assert_int_equal(config.action, ACTION_RUN);
}

/* What a higher source has set is not even looked at in a lower one. */
static void test_overruled_garbage_does_no_harm(void **state)
{
    (void)state;
    word("--interval=2");
    variable("TRACKER_INTERVAL", "garbage");
    load_well();
    assert_int_equal(config.interval_ns, 2000000000);
}

/* --- the command --- */

static void test_parsing_stops_at_the_command(void **state)
{
    (void)state;
    word("-i2");
    word("sleep");
    word("--interval=9");
    word("-h");
    word("--");
    load_well();
    assert_int_equal(config.interval_ns, 2000000000);
    assert_int_equal(config.action, ACTION_RUN);
    assert_ptr_equal(config.command, words + 2);
    assert_string_equal(config.command[0], "sleep");
    assert_string_equal(config.command[3], "--");
    assert_null(config.command[4]);
}

static void test_two_dashes_begin_the_command(void **state)
{
    (void)state;
    word("--quiet");
    word("--");
    word("--weird");
    word("x");
    load_well();
    assert_string_equal(config.command[0], "--weird");
    assert_string_equal(config.command[1], "x");
}

static void test_two_dashes_want_a_command(void **state)
{
    (void)state;
    refuse("--", NULL, "no command after --");
    refuse("--quiet", "--", "no command after --");
}

/* Here they are the value of an option, not the beginning of a command. */
static void test_two_dashes_as_a_value(void **state)
{
    (void)state;
    word("--job-name");
    word("--");
    load_well();
    assert_string_equal(config.run.job_name, "--");
    assert_null(config.command);
}

static void test_pid_and_command_exclude_each_other(void **state)
{
    (void)state;
    word("--pid=1");
    word("true");
    assert_int_equal(load(), -EINVAL);
    assert_said("--pid");
    assert_said("true");
}

static void test_command_overrules_a_configured_pid(void **state)
{
    (void)state;
    variable("TRACKER_PID", "1");
    word("true");
    load_well();
    assert_int_equal(config.pid, 0);
    assert_string_equal(config.command[0], "true");

    forget();
    scratch_text(&dir, "settings.toml", "[job]\npid = 77\n");
    word("-c");
    word(toml_path.text);
    word("true");
    load_well();
    assert_int_equal(config.pid, 0);
}

static void test_unknown_words_are_named(void **state)
{
    (void)state;
    refuse("--bogus", NULL, "--bogus");
    refuse("--bogus=1", NULL, "--bogus=1");
    refuse("-x", NULL, "-x");
    refuse("--quiet=1", NULL, "--quiet takes no value");
    refuse("--help=1", NULL, "--help takes no value");
    refuse("--interval", NULL, "--interval needs a value");
    refuse("-i", NULL, "--interval needs a value");
    refuse("--tag", NULL, "--tag needs a value");
}

static void test_actions(void **state)
{
    static const struct {
        const char *text;
        enum config_action action;
    } cases[] = {{"-h", ACTION_HELP},
                 {"--help", ACTION_HELP},
                 {"-V", ACTION_VERSION},
                 {"--version", ACTION_VERSION},
                 {"--list-metrics", ACTION_LIST_METRICS}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        forget();
        word(cases[i].text);
        variable("TRACKER_INTERVAL", "garbage"); /* help must work all the more */
        load_well();
        assert_int_equal(config.action, cases[i].action);
    }
    forget();
    word("--version");
    word("--help");
    load_well();
    assert_int_equal(config.action, ACTION_VERSION);
}

/* --- tags --- */

static const char *tag(const char *key)
{
    const char *value = NULL;

    for (size_t i = 0; i < config.run.tag_count; i++)
        if (strcmp(config.run.tags[i].key, key) == 0) {
            assert_null(value); /* once only */
            value = config.run.tags[i].value;
        }
    return value;
}

static void test_tags_merge_key_by_key(void **state)
{
    (void)state;
    scratch_text(&dir, "settings.toml",
                 "[job.tags]\na = 'file'\nb = 'file'\nc = 'file'\nd = 'file'\n");
    word("--config");
    word(toml_path.text);
    word("--tag");
    word("a=flag");
    variable("RESOURCE_TRACKER_TAG", "a=long,b=long");
    variable("TRACKER_TAG", "a=short,b=short,c=short");
    load_well();
    assert_int_equal(config.run.tag_count, 4);
    assert_string_equal(tag("a"), "flag");
    assert_string_equal(tag("b"), "long");
    assert_string_equal(tag("c"), "short");
    assert_string_equal(tag("d"), "file");
}

static void test_tag_texts(void **state)
{
    (void)state;
    word("--tag=k=v=w");
    word("--tag=empty=");
    word("--tag= spaced = x ");
    word("--tag=again=1");
    word("--tag=again=2");
    word("--tag=key=1");
    word("--tag=keys=2");
    load_well();
    assert_string_equal(tag("k"), "v=w");
    assert_string_equal(tag("empty"), "");
    assert_string_equal(tag(" spaced "), " x ");
    assert_string_equal(tag("again"), "2");
    assert_string_equal(tag("key"), "1");
    assert_string_equal(tag("keys"), "2");
    assert_int_equal(config.run.tag_count, 6);
}

static void test_many_tags(void **state)
{
    char texts[50][32];

    (void)state;
    for (int i = 0; i < 50; i++) {
        snprintf(texts[i], sizeof texts[i], "--tag=key%d=%d", i, i * i);
        word(texts[i]);
    }
    load_well();
    assert_int_equal(config.run.tag_count, 50);
    assert_string_equal(tag("key49"), "2401");
    assert_string_equal(config.run.tags[0].key, "key0"); /* in the order given */
}

static void test_bad_tags_are_refused(void **state)
{
    (void)state;
    refuse("--tag", "novalue", "option --tag: 'novalue'");
    refuse("--tag", "=value", "option --tag: '=value'");
    refuse("--tag", "", "option --tag: ''");
}

static void test_tags_in_toml_may_be_of_any_plain_type(void **state)
{
    (void)state;
    load_toml("[job]\ntags = {n = 1_0, f = 0.5, b = true, \"x.y\" = 's'}\n");
    assert_string_equal(tag("n"), "10");
    assert_string_equal(tag("f"), "0.5");
    assert_string_equal(tag("b"), "true");
    assert_string_equal(tag("x.y"), "s");
}

/* --- the TOML file --- */

static void test_toml_of_the_usual_name_is_found(void **state)
{
    (void)state;
    scratch_text(&dir, "resource-tracker.toml", "[job]\nname = 'found'\n");
    load_well();
    assert_string_equal(config.run.job_name, "found");
}

static void test_toml_named_by_a_variable(void **state)
{
    (void)state;
    scratch_text(&dir, "settings.toml", "[job]\nname = 'found'\n");
    variable("TRACKER_CONFIG", toml_path.text);
    load_well();
    assert_string_equal(config.run.job_name, "found");
}

static void test_unknown_keys_are_ignored(void **state)
{
    (void)state;
    load_toml("top = 1\ninterval_secs = 9\n[other]\nx = [1, 2]\ninterval_secs = 9\n"
              "[tracker]\nunknown = 'x'\ninterval = 9\n[tracker.sub]\ninterval_secs = 9\n"
              "[job]\npid = 5\n[[tracker]]\ninterval_secs = 9\n");
    assert_int_equal(config.interval_ns, 1000000000);
    assert_int_equal(config.pid, 5);
}

static void test_broken_file_is_passed_over_as_a_whole(void **state)
{
    (void)state;
    load_toml("[tracker]\ninterval_secs = 5\nquiet = true\nthis is not TOML\n");
    assert_int_equal(config.interval_ns, 1000000000);
    assert_false(config.quiet);

    forget();
    word("--verbose");
    word("-c");
    word(toml_path.text);
    assert_int_equal(load(), 0);
    assert_said(toml_path.text);
    assert_said("line 4");
}

static void test_wrong_types_and_values_are_passed_over(void **state)
{
    static const char text[] = "[tracker]\ninterval_secs = '5'\nquiet = 1\nformat = true\n"
                               "output = 7\ncsv_columns = 'all'\n"
                               "[job]\npid = 1.5\nname = false\nteam = 'kept'\n";

    (void)state;
    load_toml(text);
    assert_int_equal(config.interval_ns, 1000000000);
    assert_false(config.quiet);
    assert_int_equal(config.format, FORMAT_JSON);
    assert_int_equal(config.csv_columns, CSV_BASIC);
    assert_null(config.output);
    assert_int_equal(config.pid, 0);
    assert_null(config.run.job_name);
    assert_string_equal(config.run.team, "kept");

    forget();
    word("--verbose");
    word("-c");
    word(toml_path.text);
    assert_int_equal(load(), 0);
    assert_said("tracker.interval_secs");
    assert_said("tracker.quiet");
    assert_said("tracker.format");
    assert_said("tracker.output");
    assert_said("tracker.csv_columns: 'all' is not one of basic|full");
    assert_said("job.pid");
    assert_said("job.name");
    assert_null(strstr(captured.text, "job.team"));
}

static void test_missing_file_is_said_when_verbose(void **state)
{
    (void)state;
    word("--verbose");
    word("--config=missing.toml");
    assert_int_equal(load(), 0);
    assert_said("resource-tracker: missing.toml: No such file");
}

static void test_directory_as_file_is_passed_over(void **state)
{
    (void)state;
    word("--config");
    word(dir.path);
    load_well();
    assert_int_equal(config.interval_ns, 1000000000);
}

static void load_a_fifo(void)
{
    struct scratch_path fifo = scratch_path(&dir, "fifo");
    char *const given[] = {"resource-tracker", "--config", fifo.text, NULL};
    char *const none[] = {NULL};

    CHECK(mkfifo(fifo.text, 0600) == 0);
    CHECK(config_load(&config, 3, (char **)(uintptr_t)given, none) == 0);
}

static void test_pipe_without_writer_does_not_hold_up_the_job(void **state)
{
    (void)state;
    in_child_within(20, load_a_fifo);
}

/* --- memory --- */

static void test_free_takes_what_a_failure_left(void **state)
{
    (void)state;
    word("--tag=a=b");
    word("--job-name=x");
    word("--interval=0");
    assert_int_equal(load(), -EINVAL);
    config_free(&config);
    config_free(&config);
    assert_null(config.run.tags);
    assert_null(config.owned);
}

static void test_texts_outlive_their_sources(void **state)
{
    char value[] = "--job-name=kept";

    (void)state;
    word(value);
    variable("TRACKER_TEAM", "team");
    load_well();
    memset(value, '#', strlen(value));
    memset(variables[0], '#', strlen(variables[0]));
    assert_string_equal(config.run.job_name, "kept");
    assert_string_equal(config.run.team, "team");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, drop)

/* --- summary, report and recorded samples --- */

static void test_summary_may_have_a_format(void **state)
{
    static const struct {
        const char *word;
        enum summary_mode mode;
    } cases[] = {{"--summary", SUMMARY_TEXT},      {"--summary=text", SUMMARY_TEXT},
                 {"--summary=json", SUMMARY_JSON}, {"--summary=none", SUMMARY_NONE},
                 {"--summary=auto", SUMMARY_AUTO}, {"--summary=no", SUMMARY_NONE}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        forget();
        word(cases[i].word);
        word("true");
        load_well();
        assert_int_equal(config.summary, cases[i].mode);
        assert_string_equal(config.command[0], "true"); /* the next word is not its value */
    }
    refuse("--summary=html", NULL, "'html' is not one of auto|text|json|none");
}

static void test_summary_by_variable_and_file(void **state)
{
    (void)state;
    variable("TRACKER_SUMMARY", "1");
    load_well();
    assert_int_equal(config.summary, SUMMARY_TEXT);
    forget();
    variable("TRACKER_SUMMARY", "json");
    load_well();
    assert_int_equal(config.summary, SUMMARY_JSON);
    load_toml("[tracker]\nsummary = true\nreport = \"page.html\"\n");
    assert_int_equal(config.summary, SUMMARY_TEXT);
    assert_string_equal(config.report, "page.html");
    load_toml("[tracker]\nsummary = false\n");
    assert_int_equal(config.summary, SUMMARY_NONE);
}

static void test_from_takes_several_files(void **state)
{
    (void)state;
    load_well();
    assert_int_equal(config.from_count, 0);
    forget();
    for (int i = 0; i < 20; i++) {
        word("--from");
        word(i == 19 ? "last.csv" : "a.jsonl");
    }
    load_well();
    assert_int_equal(config.from_count, 20);
    assert_string_equal(config.from[0], "a.jsonl");
    assert_string_equal(config.from[19], "last.csv");
}

/* As a shell gives them for a pattern; options go on behind them, and a value is not their end. */
static void test_further_words_are_further_files(void **state)
{
    static const char *const given[] = {"--from", "a", "b", "-o", "--", "c", "--quiet", "d"};

    (void)state;
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++)
        word(given[i]);
    load_well();
    assert_int_equal(config.from_count, 4);
    assert_string_equal(config.from[1], "b");
    assert_string_equal(config.from[3], "d");
    assert_string_equal(config.output, "--");
    assert_true(config.quiet);
    assert_null(config.command);
}

static void test_from_stands_alone(void **state)
{
    (void)state;
    variable("TRACKER_FROM", "a.jsonl"); /* no variable: it would take the place of every run */
    load_well();
    assert_int_equal(config.from_count, 0);
    forget();
    word("--from=a");
    word("--");
    word("true");
    assert_int_equal(load(), -EINVAL);
    assert_said("option --from: recorded samples are read, and a command is given too");
    refuse("--from=a", "--pid=1", "--pid");
    forget();
    word("--from=a");
    variable("TRACKER_PID", "1");
    load_well();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_every_option_by_every_source),
        TEST(test_precedence_of_every_pair_of_sources),
        TEST(test_defaults),
        TEST(test_letters_do_what_the_names_do),
        TEST(test_long_names_take_both_forms),
        TEST(test_last_flag_wins),
        TEST(test_t_cfg_03_interval_zero_is_refused),
        TEST(test_t_cfg_04_interval_from_the_file),
        TEST(test_t_cfg_05_flag_overrules_the_file),
        TEST(test_t_cfg_06_missing_file_is_silent),
        TEST(test_seconds),
        TEST(test_bad_seconds_are_refused_by_name),
        TEST(test_bad_pids_are_refused_by_name),
        TEST(test_numbers_after_a_tab_are_refused),
        TEST(test_bad_choices_are_refused_with_the_good_ones),
        TEST(test_bad_variables_are_refused_by_name),
        TEST(test_flags_in_variables),
        TEST(test_empty_variables_are_none),
        TEST(test_other_variables_are_not_ours),
        TEST(test_overruled_garbage_does_no_harm),
        TEST(test_parsing_stops_at_the_command),
        TEST(test_two_dashes_begin_the_command),
        TEST(test_two_dashes_want_a_command),
        TEST(test_two_dashes_as_a_value),
        TEST(test_pid_and_command_exclude_each_other),
        TEST(test_command_overrules_a_configured_pid),
        TEST(test_unknown_words_are_named),
        TEST(test_actions),
        TEST(test_tags_merge_key_by_key),
        TEST(test_tag_texts),
        TEST(test_many_tags),
        TEST(test_bad_tags_are_refused),
        TEST(test_tags_in_toml_may_be_of_any_plain_type),
        TEST(test_toml_of_the_usual_name_is_found),
        TEST(test_toml_named_by_a_variable),
        TEST(test_unknown_keys_are_ignored),
        TEST(test_broken_file_is_passed_over_as_a_whole),
        TEST(test_wrong_types_and_values_are_passed_over),
        TEST(test_missing_file_is_said_when_verbose),
        TEST(test_directory_as_file_is_passed_over),
        TEST(test_pipe_without_writer_does_not_hold_up_the_job),
        TEST(test_free_takes_what_a_failure_left),
        TEST(test_texts_outlive_their_sources),
        TEST(test_summary_may_have_a_format),
        TEST(test_summary_by_variable_and_file),
        TEST(test_from_takes_several_files),
        TEST(test_further_words_are_further_files),
        TEST(test_from_stands_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

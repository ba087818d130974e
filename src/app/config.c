#include "app/config.h"

#include "app/options.h"
#include "app/toml.h"
#include "app/value.h"
#include "base/array.h"
#include "base/file.h"
#include "base/log.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONFIG_BYTES_MAX (1024 * 1024)
#define OPTION_NAME_MAX 64

/* Who set an option; a higher one is not overruled by a lower. */
enum rank { RANK_DEFAULT, RANK_TOML, RANK_ENVIRONMENT, RANK_FLAG };

static const char *const variable_prefixes[] = {"RESOURCE_TRACKER_", "TRACKER_"};

/* --- storing values --- */

/* Keeps a copy for as long as the configuration lives. */
static char *own(struct config *config, const char *text, size_t length)
{
    char **owned =
        array_grow(config->owned, &config->owned_capacity, config->owned_count + 1, sizeof *owned);
    if (owned == NULL)
        return NULL;
    config->owned = owned;
    char *copy = strndup(text, length);
    if (copy != NULL)
        config->owned[config->owned_count++] = copy;
    return copy;
}

/* A key given again replaces its value, unless a higher source gave it. */
static const char *set_tag(struct config *config, const char *key, size_t key_length,
                           const char *value, enum rank rank)
{
    static const char no_memory[] = "does not fit into memory";
    struct run *run = &config->run;
    size_t index = 0;

    while (index < run->tag_count && (strlen(run->tags[index].key) != key_length ||
                                      memcmp(run->tags[index].key, key, key_length) != 0))
        index++;
    if (index < run->tag_count && config->tag_ranks[index] > rank)
        return NULL;
    if (index == run->tag_count) {
        size_t capacity = config->tag_capacity;
        struct tag *tags = array_grow(run->tags, &capacity, index + 1, sizeof *tags);
        if (tags == NULL)
            return no_memory;
        run->tags = tags;
        unsigned char *ranks = realloc(config->tag_ranks, capacity);
        if (ranks == NULL)
            return no_memory;
        config->tag_ranks = ranks;
        config->tag_capacity = capacity;
    }
    const char *own_key = own(config, key, key_length);
    const char *own_value = own(config, value, strlen(value));
    if (own_key == NULL || own_value == NULL)
        return no_memory;
    run->tags[index] = (struct tag){own_key, own_value};
    config->tag_ranks[index] = (unsigned char)rank;
    if (index == run->tag_count)
        run->tag_count++;
    return NULL;
}

static const char *set_tag_text(struct config *config, const char *text, enum rank rank)
{
    const char *equals = strchr(text, '=');

    if (equals == NULL || equals == text)
        return "is not of the form KEY=VALUE";
    return set_tag(config, text, (size_t)(equals - text), equals + 1, rank);
}

static const char *set_text(struct config *config, const char *text, const char **ret_text)
{
    *ret_text = own(config, text, strlen(text));
    return *ret_text == NULL ? "does not fit into memory" : NULL;
}

static const char *add_file(struct config *config, const char *text)
{
    const char **from =
        array_grow(config->from, &config->from_capacity, config->from_count + 1, sizeof *from);
    if (from == NULL)
        return "does not fit into memory";
    config->from = from;
    const char *problem = set_text(config, text, &from[config->from_count]);
    if (problem == NULL)
        config->from_count++;
    return problem;
}

static const char *set_option(struct config *config, const struct option_row *row, const char *text,
                              enum rank rank)
{
    char *member = (char *)config + row->offset;
    unsigned char *set_by = &config->ranks[row - options];
    const char *problem = NULL;

    if (row->type == OPTION_TAG)
        return set_tag_text(config, text, rank);
    if (*set_by > rank)
        return NULL;
    switch (row->type) {
    case OPTION_FLAG:
        problem = value_flag(text, (bool *)member);
        break;
    case OPTION_TEXT:
        problem = set_text(config, text, (const char **)(void *)member);
        break;
    case OPTION_SECONDS:
        problem = value_seconds(text, (uint64_t *)(void *)member);
        break;
    case OPTION_PID:
        problem = value_pid(text, (pid_t *)(void *)member);
        break;
    case OPTION_CHOICE:
        problem = value_choice(row->choices, text, (int *)(void *)member);
        break;
    case OPTION_SWITCH:
        problem = value_switch(row->choices, text, (int *)(void *)member);
        break;
    case OPTION_FILES:
        problem = add_file(config, text);
        break;
    case OPTION_TAG:
    case OPTION_ACTION:
        break;
    }
    if (problem == NULL)
        *set_by = (unsigned char)rank;
    return problem;
}

static const struct option_row *find_option(const char *name)
{
    for (size_t i = 0; i < option_count; i++)
        if (strcmp(options[i].name, name) == 0)
            return &options[i];
    return NULL;
}

static enum rank rank_of(const struct config *config, const char *name)
{
    return (enum rank)config->ranks[find_option(name) - options];
}

/* What goes behind a problem: the choices, after "is not one of ". */
static const char *choices_of(const struct option_row *row)
{
    return row->choices != NULL ? row->choices : "";
}

/* --- the command line --- */

/* getopt's own tables, made from ours. Values below 256 would be letters. */
struct getopt_tables {
    struct option longs[64];
    char letters[128];
};

#define LONG_BASE 256

static void fill_getopt(struct getopt_tables *tables)
{
    size_t letters = 0;

    assert(option_count < sizeof tables->longs / sizeof tables->longs[0]);

    tables->letters[letters++] = '+'; /* stop at the first word that is no option */
    tables->letters[letters++] = ':'; /* tell a missing argument from an unknown option */
    for (size_t i = 0; i < option_count; i++) {
        bool has_argument = options[i].argument != NULL;
        tables->longs[i] = (struct option){
            .name = options[i].name,
            .has_arg = !has_argument                      ? no_argument
                       : options[i].type == OPTION_SWITCH ? optional_argument
                                                          : required_argument,
            .val = LONG_BASE + (int)i,
        };
        if (options[i].letter == 0)
            continue;
        tables->letters[letters++] = options[i].letter;
        if (has_argument)
            tables->letters[letters++] = ':';
    }
    tables->longs[option_count] = (struct option){0};
    tables->letters[letters] = '\0';
}

static const struct option_row *row_of(int code)
{
    if (code >= LONG_BASE)
        return &options[code - LONG_BASE];
    for (size_t i = 0; i < option_count; i++)
        if (options[i].letter != 0 && options[i].letter == code)
            return &options[i];
    return NULL;
}

static int say_bad_word(int code, char **argv)
{
    const struct option_row *row = row_of(optopt);

    if (code == ':' && row != NULL)
        log_say("option --%s needs a value: --%s %s", row->name, row->name, row->argument);
    else if (row != NULL)
        log_say("option --%s takes no value", row->name);
    else if (optopt != 0)
        log_say("unknown option -%c; see resource-tracker --help", optopt);
    else
        log_say("unknown option %s; see resource-tracker --help (words for a command go after --)",
                argv[optind - 1]);
    return -EINVAL;
}

static int take_flag(struct config *config, const struct option_row *row, const char *text)
{
    if (row->type == OPTION_ACTION) {
        if (config->action == ACTION_RUN)
            config->action = (enum config_action)row->offset;
        return 0;
    }
    const char *value = row->type == OPTION_FLAG || text == NULL ? "true" : text;
    const char *problem = set_option(config, row, value, RANK_FLAG);
    if (problem == NULL)
        return 0;
    log_say("option --%s: '%s' %s%s", row->name, value, problem, choices_of(row));
    return -EINVAL;
}

/* A shell makes several words of "--from *.jsonl". */
static bool is_further_file(const struct config *config, int argc, char **argv, const char *value)
{
    return config->from_count > 0 && optind < argc &&
           (strcmp(argv[optind - 1], "--") != 0 || argv[optind - 1] == value);
}

static int load_flags(struct config *config, int argc, char **argv)
{
    struct getopt_tables tables;
    const char *last_value = NULL;
    int code;

    fill_getopt(&tables);
    optind = 0; /* start anew, tests call this more than once */
    opterr = 0;
    while ((code = getopt_long(argc, argv, tables.letters, tables.longs, NULL)) != -1 ||
           is_further_file(config, argc, argv, last_value)) {
        if (code == '?' || code == ':')
            return say_bad_word(code, argv);
        if (code == -1)
            optarg = argv[optind++];
        int error = take_flag(config, code == -1 ? find_option("from") : row_of(code), optarg);
        if (error < 0)
            return error;
        last_value = optarg;
    }
    if (optind < argc) {
        config->command = config->run.command = argv + optind;
    } else if (argc > 1 && strcmp(argv[argc - 1], "--") == 0 && last_value != argv[argc - 1] &&
               config->action == ACTION_RUN) {
        log_say("no command after --; leave -- out to watch the whole host");
        return -EINVAL;
    }
    return 0;
}

/* --- the environment --- */

static void variable_name(const char *prefix, const char *option, char *out, size_t size)
{
    snprintf(out, size, "%s%s", prefix, option);
    for (char *at = out + strlen(prefix); *at != '\0'; at++)
        *at = *at == '-' ? '_' : (char)(*at >= 'a' && *at <= 'z' ? *at - 'a' + 'A' : *at);
}

static const char *lookup(char *const *environment, const char *name)
{
    size_t length = strlen(name);

    for (; *environment != NULL; environment++)
        if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
            return *environment + length + 1;
    return NULL;
}

/* Several tags in one variable are separated by commas. */
static const char *set_tags(struct config *config, const char *text)
{
    const char *problem = NULL;

    while (problem == NULL && *text != '\0') {
        size_t length = strcspn(text, ",");
        const char *tag = own(config, text, length);
        problem =
            tag != NULL ? set_tag_text(config, tag, RANK_ENVIRONMENT) : "does not fit into memory";
        text += length + (text[length] == ',');
    }
    return problem;
}

/* An empty variable is the same as none. */
static int load_variable(struct config *config, const struct option_row *row, const char *name,
                         const char *text)
{
    if (text == NULL || *text == '\0')
        return 0;
    const char *problem = row->type == OPTION_TAG ? set_tags(config, text)
                                                  : set_option(config, row, text, RANK_ENVIRONMENT);
    if (problem == NULL)
        return 0;
    log_say("environment variable %s: '%s' %s%s", name, text, problem, choices_of(row));
    return -EINVAL;
}

static int load_environment(struct config *config, char *const *environment)
{
    char name[OPTION_NAME_MAX];

    for (size_t i = 0; i < option_count; i++) {
        if (options[i].type == OPTION_ACTION || options[i].type == OPTION_FILES)
            continue;
        /* The longer prefix is the more exact one: where both are set it comes last and wins. */
        for (size_t p = sizeof variable_prefixes / sizeof variable_prefixes[0]; p-- > 0;) {
            variable_name(variable_prefixes[p], options[i].name, name, sizeof name);
            int error = load_variable(config, &options[i], name, lookup(environment, name));
            if (error < 0)
                return error;
        }
    }
    return 0;
}

/* --- the TOML file --- */

static void ignore_value(void *context, const char *table, const char *key, enum toml_type type,
                         const char *text)
{
    (void)context;
    (void)table;
    (void)key;
    (void)type;
    (void)text;
}

static bool type_fits(const struct option_row *row, enum toml_type type)
{
    switch (row->type) {
    case OPTION_FLAG:
        return type == TOML_BOOLEAN;
    case OPTION_SECONDS:
        return type == TOML_INTEGER || type == TOML_FLOAT;
    case OPTION_PID:
        return type == TOML_INTEGER;
    case OPTION_TEXT:
    case OPTION_CHOICE:
        return type == TOML_STRING;
    case OPTION_SWITCH:
        return type == TOML_STRING || type == TOML_BOOLEAN;
    case OPTION_TAG:
        return true;
    case OPTION_FILES:
    case OPTION_ACTION:
        break;
    }
    return false;
}

static void take_value(void *context, const char *table, const char *key, enum toml_type type,
                       const char *text)
{
    struct config *config = context;

    for (size_t i = 0; i < option_count; i++) {
        const struct option_row *row = &options[i];
        if (row->table == NULL || strcmp(row->table, table) != 0 ||
            (row->key != NULL && strcmp(row->key, key) != 0))
            continue;
        const char *problem = !type_fits(row, type) ? "has the wrong type"
                              : row->type == OPTION_TAG
                                  ? set_tag(config, key, strlen(key), text, RANK_TOML)
                                  : set_option(config, row, text, RANK_TOML);
        if (problem != NULL)
            log_detail("%s: %s.%s: '%s' %s%s; passed over", config->config_path, table, key, text,
                       problem, choices_of(row));
        return;
    }
}

/* Silent unless --verbose: a stray or broken file must not keep a job from running. */
static void load_toml(struct config *config)
{
    struct file file = {0};

    int error = file_open(&file, AT_FDCWD, config->config_path, 4096, CONFIG_BYTES_MAX);
    if (error == 0)
        error = file_read(&file);
    if (error < 0) {
        log_detail("%s: %s; defaults are used", config->config_path, strerror(-error));
        file_close(&file);
        return;
    }
    long line = toml_parse(file.data, file.size, ignore_value, NULL);
    if (line > 0)
        log_detail("%s: line %ld is not TOML; the file is passed over", config->config_path, line);
    else if (line == 0)
        (void)toml_parse(file.data, file.size, take_value, config);
    file_close(&file);
}

/* --- all of it --- */

static int check_from(const struct config *config)
{
    const char *other = config->command != NULL                                   ? "a command"
                        : config->pid != 0 && rank_of(config, "pid") == RANK_FLAG ? "--pid"
                                                                                  : NULL;

    if (other == NULL)
        return 0;
    log_say("option --from: recorded samples are read, and %s is given too; give one of them",
            other);
    return -EINVAL;
}

static int check_together(struct config *config)
{
    if (config->from_count > 0)
        return check_from(config);
    if (config->cgroup && config->command == NULL && rank_of(config, "cgroup") == RANK_FLAG) {
        log_say("option --cgroup: there is no command to run in a cgroup of its own");
        return -EINVAL;
    }
    if (config->command == NULL || config->pid == 0)
        return 0;
    if (rank_of(config, "pid") == RANK_FLAG) {
        log_say("option --pid: a command (%s) is given too; give one of them", config->command[0]);
        return -EINVAL;
    }
    config->pid = 0; /* a command asked for here and now overrules a configured process */
    return 0;
}

static int set_defaults(struct config *config)
{
    config->ranks = calloc(option_count, sizeof *config->ranks);
    if (config->ranks == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < option_count; i++)
        if (options[i].fallback != NULL)
            (void)set_option(config, &options[i], options[i].fallback, RANK_DEFAULT);
    return 0;
}

int config_load(struct config *config, int argc, char **argv, char *const *environment)
{
    *config = (struct config){0};

    int error = set_defaults(config);
    if (error == 0)
        error = load_flags(config, argc, argv);
    /* Help must work whatever else is wrong; the other actions depend on the settings. */
    if (error < 0 || (config->action != ACTION_RUN && config->action != ACTION_HOST_INFO))
        return error;
    error = load_environment(config, environment);
    if (error < 0)
        return error;
    log_set_verbose(config->verbose);
    load_toml(config);
    log_set_verbose(config->verbose);
    return check_together(config);
}

void config_free(struct config *config)
{
    for (size_t i = 0; i < config->owned_count; i++)
        free(config->owned[i]);
    free(config->owned);
    free(config->ranks);
    free(config->tag_ranks);
    free(config->run.tags);
    free(config->from);
    *config = (struct config){0};
}

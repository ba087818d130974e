/*
 * The whole configuration: words of the command line, variables and the TOML file, separated by
 * form feeds; words and variables are lines.
 */
#include "app/config.h"
#include "base/log.h"
#include "support.h"

#include <sanitizer/common_interface_defs.h>
#include <sys/mman.h>

enum { LIST_MAX = 40 };

struct list {
    char *text; /* all lines, each ended by a NUL */
    char *item[LIST_MAX + 1];
    int count;
};

static void fill(struct list *list, struct fuzz_part part, const char *first)
{
    list->count = 0;
    list->text = malloc(part.size + 1);
    FUZZ_CHECK(list->text != NULL);
    memcpy(list->text, part.data, part.size);
    list->text[part.size] = '\0';
    if (first != NULL)
        list->item[list->count++] = (char *)(uintptr_t)first;
    char *rest = part.size > 0 ? list->text : NULL;
    for (char *line; list->count < LIST_MAX && (line = strsep(&rest, "\n")) != NULL;)
        list->item[list->count++] = line;
    list->item[list->count] = NULL;
}

static void check(const struct config *config)
{
    FUZZ_CHECK(config->pid >= 0);
    FUZZ_CHECK(config->action != ACTION_RUN || config->pid == 0 || config->command == NULL);
    FUZZ_CHECK(config->command == NULL || config->command[0] != NULL);
    FUZZ_CHECK(config->interval_ns >= 1000000);
    FUZZ_CHECK(config->interval_ns <= UINT64_C(1000000000) * 1000000000);
    FUZZ_CHECK(config->format == 0 || config->format == 1);
    FUZZ_CHECK(config->csv_columns == 0 || config->csv_columns == 1);
    FUZZ_CHECK(config->config_path != NULL);
    for (size_t a = 0; a < config->run.tag_count; a++) {
        FUZZ_CHECK(config->run.tags[a].value != NULL);
        for (size_t b = a + 1; b < config->run.tag_count; b++)
            FUZZ_CHECK(strcmp(config->run.tags[a].key, config->run.tags[b].key) != 0);
    }
}

/* What the program says would drown what the fuzzer says. */
static int load_silently(struct config *config, const struct list *words,
                         const struct list *variables)
{
    static int null_fd = -1;
    static int stderr_fd = -1;

    if (null_fd < 0) {
        null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
        stderr_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 100);
        __sanitizer_set_report_fd((void *)(intptr_t)stderr_fd);
    }
    dup2(null_fd, STDERR_FILENO);
    int result =
        config_load(config, words->count, (char **)(uintptr_t)words->item, variables->item);
    dup2(stderr_fd, STDERR_FILENO);
    return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int toml_fd = -1;
    static char toml_variable[64];
    struct fuzz_part rest = {(const char *)data, size};
    struct list words;
    struct list variables;
    struct config config;

    if (toml_fd < 0) {
        toml_fd = memfd_create("toml", MFD_CLOEXEC);
        snprintf(toml_variable, sizeof toml_variable, "RESOURCE_TRACKER_CONFIG=/proc/self/fd/%d",
                 toml_fd);
    }
    fill(&words, fuzz_next_part(&rest), "resource-tracker");
    fill(&variables, fuzz_next_part(&rest), toml_variable);
    FUZZ_CHECK(ftruncate(toml_fd, 0) == 0);
    FUZZ_CHECK(pwrite(toml_fd, rest.data, rest.size, 0) == (ssize_t)rest.size);

    int result = load_silently(&config, &words, &variables);
    FUZZ_CHECK(result == 0 || result == -EINVAL);
    if (result == 0)
        check(&config);
    config_free(&config);
    free(words.text);
    free(variables.text);
    return 0;
}

/*
 * Writes the man page, shell completions and reference tables from the option and metric tables:
 * `gendocs docs/options.md` prints that file. `make docs` writes all of them.
 */
#include "app/help.h"
#include "app/options.h"
#include "encode/catalog.h"
#include "version.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define TEXT_BYTES_MAX (1024 * 1024)

/* --- shared pieces --- */

static void put_upper(struct buf *out, const char *name)
{
    for (; *name != '\0'; name++)
        buf_char(out, *name == '-' ? '_' : (char)toupper((unsigned char)*name));
}

static const char *section_title(const struct option_row *row)
{
    for (size_t i = 0; i < option_section_count; i++)
        if (strcmp(option_sections[i].first, row->name) == 0)
            return option_sections[i].title;
    return NULL;
}

static bool takes_file(const struct option_row *row)
{
    return row->argument != NULL && strcmp(row->argument, "FILE") == 0;
}

static bool takes_directory(const struct option_row *row)
{
    return row->argument != NULL && strcmp(row->argument, "DIR") == 0;
}

/* Whether the word behind it belongs to it. */
static bool takes_word(const struct option_row *row)
{
    return row->argument != NULL && row->type != OPTION_SWITCH;
}

static bool is_repeatable(const struct option_row *row)
{
    return row->type == OPTION_TAG || row->type == OPTION_FILES;
}

/* " FILE" or "[=FORMAT]", the name between two marks. */
static void put_argument(struct buf *out, const struct option_row *row, const char *before,
                         const char *after)
{
    if (row->argument == NULL)
        return;
    buf_text(out, takes_word(row) ? " " : "[=");
    buf_text(out, before);
    buf_text(out, row->argument);
    buf_text(out, after);
    buf_text(out, takes_word(row) ? "" : "]");
}

/* "json|csv" as "json csv". */
static void put_choices(struct buf *out, const char *choices)
{
    for (; *choices != '\0'; choices++)
        buf_char(out, *choices == '|' ? ' ' : *choices);
}

/* --- man page --- */

/* A hyphen that is not to become a dash, and a line that does not begin with a dot. */
static void put_roff(struct buf *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '-' || *text == '\\')
            buf_char(out, '\\');
        buf_char(out, *text);
    }
}

static void put_man_option(struct buf *out, const struct option_row *row)
{
    char letter[] = {'-', row->letter, '\0'};

    buf_text(out, ".TP\n.B ");
    if (row->letter != 0) {
        put_roff(out, letter);
        buf_text(out, ", ");
    }
    put_roff(out, "--");
    put_roff(out, row->name);
    put_argument(out, row, "\\fI", "\\fR");
    buf_char(out, '\n');
    put_roff(out, row->help);
    if (row->fallback != NULL) {
        buf_text(out, " (default ");
        put_roff(out, row->fallback);
        buf_char(out, ')');
    }
    buf_text(out, ".\n");
}

static void man_page(struct buf *out)
{
    buf_text(out,
             ".\\\" Made from the option table by make docs; do not edit.\n"
             ".TH RESOURCE-TRACKER 1 \"\" \"resource-tracker " TRACKER_VERSION "\"\n"
             ".SH NAME\n"
             "resource-tracker \\- tell what a job really uses\n"
             ".SH SYNOPSIS\n"
             ".B resource-tracker\n[\\fIOPTIONS\\fR] [\\-\\-] \\fICOMMAND\\fR [\\fIARG\\fR...]\n"
             ".br\n.B resource-tracker\n[\\fIOPTIONS\\fR] \\-\\-pid \\fIPID\\fR\n"
             ".br\n.B resource-tracker\n[\\fIOPTIONS\\fR]\n"
             ".br\n.B resource-tracker\n[\\fIOPTIONS\\fR] \\-\\-from \\fIFILE\\fR\n"
             ".SH DESCRIPTION\n"
             "Runs a command, attaches to a process or watches the host, and writes one sample\n"
             "of CPU, memory, disk and network figures every interval, as JSON Lines or CSV.\n"
             "At the end it can say what was used, where the run was bound and what to ask for\n"
             "next time (\\-\\-summary), and write a page with charts (\\-\\-report), also from\n"
             "recorded samples (\\-\\-from).\n"
             "The command starts at once, keeps its standard input and output, and gets every\n"
             "signal; a last sample is taken the moment it ends. Option parsing stops at the\n"
             "first word that is no option.\n"
             ".SH OPTIONS\n");
    for (size_t i = 0; i < option_count; i++) {
        const char *title = section_title(&options[i]);
        if (title != NULL) {
            buf_text(out, ".SS ");
            buf_text(out, title);
            buf_char(out, '\n');
        }
        put_man_option(out, &options[i]);
    }
    buf_text(out,
             ".SH ENVIRONMENT\n"
             "Every option but \\-\\-from and those that only print something is also read from\n"
             ".BI RESOURCE_TRACKER_ NAME\nand\n.BI TRACKER_ NAME\n"
             "(dashes become underscores), and from the TOML file. A flag overrules the\n"
             "environment, and that the file. Tags in a variable are separated by commas.\n"
             ".SH EXIT STATUS\n"
             "The command's own; 128+\\fIN\\fR if signal \\fIN\\fR ended it; 127 if it was not\n"
             "found and 126 if it could not be executed; 2 for a usage error; 125 if the tracker\n"
             "could not start. Without a command, 0 after TERM, INT or HUP.\n");
}

/* --- Markdown --- */

static void put_code(struct buf *out, const char *before, const char *text)
{
    buf_char(out, '`');
    buf_text(out, before);
    buf_text(out, text);
    buf_char(out, '`');
}

/* A pipe would end the table's cell. */
static void put_cell(struct buf *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '|')
            buf_char(out, '\\');
        buf_char(out, *text);
    }
}

static void put_option_line(struct buf *out, const struct option_row *row)
{
    char letter[] = {'-', row->letter, '\0'};

    buf_text(out, "| ");
    if (row->letter != 0) {
        put_code(out, "", letter);
        buf_text(out, ", ");
    }
    put_code(out, "--", row->name);
    put_argument(out, row, "", "");
    buf_text(out, " | ");
    if (row->type != OPTION_ACTION && row->type != OPTION_FILES) {
        buf_text(out, "`TRACKER_");
        put_upper(out, row->name);
        buf_char(out, '`');
    }
    buf_text(out, " | ");
    if (row->table != NULL) {
        buf_text(out, "`[");
        buf_text(out, row->table);
        buf_text(out, "] ");
        buf_text(out, row->key != NULL ? row->key : "KEY");
        buf_char(out, '`');
    }
    buf_text(out, " | ");
    if (row->fallback != NULL)
        put_code(out, "", row->fallback);
    buf_text(out, " | ");
    put_cell(out, row->help);
    buf_text(out, " |\n");
}

static void options_page(struct buf *out)
{
    buf_text(out,
             "# Options\n\n"
             "Made from the option table by `make docs`; do not edit.\n\n"
             "A flag overrules the environment, the environment the TOML file, and that the\n"
             "default. `RESOURCE_TRACKER_` works as a prefix too, and wins where both are set. An\n"
             "empty variable is the same as none. Flags are true as 1, true, yes or on, and false\n"
             "as 0, false, no or off. Several tags in `TRACKER_TAG` are separated by commas.\n");
    for (size_t i = 0; i < option_count; i++) {
        const char *title = section_title(&options[i]);
        if (title != NULL) {
            buf_text(out, "\n## ");
            buf_text(out, title);
            buf_text(out, "\n\n| option | variable | TOML | default | meaning |\n"
                          "| --- | --- | --- | --- | --- |\n");
        }
        put_option_line(out, &options[i]);
    }
}

static const char *kind_name(enum metric_kind kind)
{
    switch (kind) {
    case KIND_GAUGE:
        return "level";
    case KIND_DELTA:
        return "per interval";
    case KIND_TOTAL:
        return "running total";
    case KIND_SERIES:
        return "level per CPU";
    case KIND_TEXT:
        return "text";
    }
    return "";
}

static void put_metric_line(struct buf *out, const struct metric *metric)
{
    buf_text(out, "| `");
    catalog_metric_name(metric, out);
    buf_text(out, "` | ");
    put_cell(out, metric->unit);
    buf_text(out, " | ");
    buf_text(out, kind_name(metric->kind));
    buf_text(out, " | ");
    if (metric->csv_position > 0)
        put_code(out, "", metric->csv_name);
    buf_text(out, " | ");
    put_cell(out, metric->source);
    buf_text(out, " | ");
    put_cell(out, metric->meaning);
    buf_text(out, " |\n");
}

static void put_field_line(struct buf *out, const struct field *field)
{
    buf_text(out, "| `");
    catalog_field_name(field, out);
    buf_text(out, "` | ");
    put_cell(out, field->unit);
    buf_text(out, " | ");
    put_cell(out, field->source);
    buf_text(out, " | ");
    put_cell(out, field->meaning);
    buf_text(out, " |\n");
}

static void metrics_page(struct buf *out)
{
    buf_text(out,
             "# Metrics\n\n"
             "Made from `src/metrics.def` by `make docs`; do not edit.\n\n"
             "A figure that could not be read is `null` in JSON and an empty cell in CSV: missing\n"
             "is not zero. Figures per interval add up over a run. CSV columns have the names\n"
             "shown with `--csv-columns basic`; in `full`, machine-wide columns get the prefix\n"
             "`system_`, and `_mib` at the end when they are in MiB.\n\n"
             "| JSON | unit | kind | CSV | source | meaning |\n"
             "| --- | --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; i < METRIC_COUNT; i++)
        put_metric_line(out, &metrics[i]);
    buf_text(out, "\n## Devices\n\nOne entry for each device, in JSON only.\n\n"
                  "| JSON | unit | source | meaning |\n| --- | --- | --- | --- |\n");
    for (size_t i = 0; i < FIELD_COUNT; i++)
        put_field_line(out, &fields[i]);
}

/* --- shell completions --- */

static void put_words(struct buf *out, bool letters)
{
    for (size_t i = 0; i < option_count; i++) {
        char letter[] = {' ', '-', options[i].letter, '\0'};
        buf_text(out, i > 0 ? " --" : "--");
        buf_text(out, options[i].name);
        if (letters && options[i].letter != 0)
            buf_text(out, letter);
    }
}

/* "-f|--format" as a case pattern. */
static void put_pattern(struct buf *out, const struct option_row *row)
{
    char letter[] = {'-', row->letter, '|', '\0'};

    if (row->letter != 0)
        buf_text(out, letter);
    buf_text(out, "--");
    buf_text(out, row->name);
}

static void put_bash_case(struct buf *out, const struct option_row *row)
{
    if (!takes_word(row))
        return;
    buf_text(out, "        ");
    put_pattern(out, row);
    buf_text(out, ") COMPREPLY=(");
    if (row->type == OPTION_CHOICE || takes_file(row) || takes_directory(row)) {
        buf_text(out, "$(compgen ");
        if (row->type == OPTION_CHOICE) {
            buf_text(out, "-W '");
            put_choices(out, row->choices);
            buf_text(out, "'");
        } else {
            buf_text(out, takes_file(row) ? "-f" : "-d");
        }
        buf_text(out, " -- \"$word\")");
    }
    buf_text(out, "); return ;;\n");
}

static void bash_completion(struct buf *out)
{
    buf_text(out,
             "# Made from the option table by make docs; do not edit.\n"
             "_resource_tracker()\n{\n"
             "    local word=${COMP_WORDS[COMP_CWORD]} i\n"
             "    COMPREPLY=()\n"
             "    # Behind the first word that is no option, the command has its own completion.\n"
             "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
             "        case ${COMP_WORDS[i]} in\n"
             "        --) _command_offset $((i + 1)); return ;;\n");
    for (size_t i = 0; i < option_count; i++)
        if (takes_word(&options[i])) {
            buf_text(out, "        ");
            put_pattern(out, &options[i]);
            buf_text(out, ") ((i++)) ;;\n");
        }
    buf_text(out, "        -*) ;;\n"
                  "        *) _command_offset $i; return ;;\n"
                  "        esac\n"
                  "    done\n"
                  "    case ${COMP_WORDS[COMP_CWORD-1]} in\n");
    for (size_t i = 0; i < option_count; i++)
        put_bash_case(out, &options[i]);
    buf_text(out, "    esac\n"
                  "    if [[ $word == -* ]]; then\n"
                  "        COMPREPLY=($(compgen -W '");
    put_words(out, true);
    buf_text(out, "' -- \"$word\"))\n"
                  "    else\n"
                  "        COMPREPLY=($(compgen -c -- \"$word\"))\n"
                  "    fi\n"
                  "}\n"
                  "complete -F _resource_tracker resource-tracker\n");
}

/* Brackets and colons have a meaning in zsh's descriptions, and quotes in ours. */
static void put_zsh_text(struct buf *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'') {
            buf_text(out, "'\\''");
            continue;
        }
        if (strchr("[]:\\", *text) != NULL)
            buf_char(out, '\\');
        buf_char(out, *text);
    }
}

static void put_zsh_option(struct buf *out, const struct option_row *row)
{
    char letter[] = {'-', row->letter, '\0'};

    buf_text(out, "    ");
    if (row->letter != 0) {
        buf_text(out, "{");
        buf_text(out, letter);
        buf_text(out, ",--");
        buf_text(out, row->name);
        buf_text(out, "}'");
    } else {
        buf_text(out, is_repeatable(row) ? "'*--" : "'--");
        buf_text(out, row->name);
        buf_text(out, row->type == OPTION_SWITCH ? "=-" : "");
    }
    buf_char(out, '[');
    put_zsh_text(out, row->help);
    buf_char(out, ']');
    if (row->argument != NULL) {
        buf_text(out, takes_word(row) ? ":" : "::");
        buf_text(out, row->argument);
        buf_char(out, ':');
        if (row->choices != NULL) {
            buf_char(out, '(');
            put_choices(out, row->choices);
            buf_char(out, ')');
        } else if (takes_file(row) || takes_directory(row)) {
            buf_text(out, takes_file(row) ? "_files" : "_files -/");
        } else if (row->type == OPTION_PID) {
            buf_text(out, "_pids");
        }
    }
    buf_text(out, "' \\\n");
}

static void zsh_completion(struct buf *out)
{
    buf_text(out, "#compdef resource-tracker\n"
                  "# Made from the option table by make docs; do not edit.\n"
                  "_arguments -S \\\n");
    for (size_t i = 0; i < option_count; i++)
        put_zsh_option(out, &options[i]);
    buf_text(out, "    '(-)1:command:_command_names -e' \\\n"
                  "    '*::argument:_normal'\n");
}

static void put_fish_text(struct buf *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'' || *text == '\\')
            buf_char(out, '\\');
        buf_char(out, *text);
    }
}

static void fish_completion(struct buf *out)
{
    buf_text(out, "# Made from the option table by make docs; do not edit.\n"
                  "complete -c resource-tracker -f -a '(__fish_complete_subcommand)'\n");
    for (size_t i = 0; i < option_count; i++) {
        const struct option_row *row = &options[i];
        char letter[] = {' ', '-', 's', ' ', row->letter, '\0'};
        buf_text(out, "complete -c resource-tracker -l ");
        buf_text(out, row->name);
        if (row->letter != 0)
            buf_text(out, letter);
        if (takes_word(row))
            buf_text(out, takes_file(row) || takes_directory(row) ? " -r -F" : " -x");
        if (row->choices != NULL) {
            buf_text(out, " -a '");
            put_choices(out, row->choices);
            buf_char(out, '\'');
        } else if (row->type == OPTION_PID) {
            buf_text(out, " -a '(__fish_complete_pids)'");
        }
        buf_text(out, " -d '");
        put_fish_text(out, row->help);
        buf_text(out, "'\n");
    }
}

/* --- main --- */

static const struct {
    const char *file;
    void (*print)(struct buf *out);
} pages[] = {
    {"docs/resource-tracker.1", man_page},
    {"docs/options.md", options_page},
    {"docs/metrics.md", metrics_page},
    {"completions/resource-tracker.bash", bash_completion},
    {"completions/_resource-tracker", zsh_completion},
    {"completions/resource-tracker.fish", fish_completion},
};

int main(int argc, char **argv)
{
    struct buf out;

    if (argc != 2 || buf_init(&out, 4096, TEXT_BYTES_MAX) < 0)
        return 2;
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++)
        if (strcmp(pages[i].file, argv[1]) == 0)
            pages[i].print(&out);
    bool fine = out.size > 0 && !out.overflow && fwrite(out.data, 1, out.size, stdout) == out.size;
    buf_free(&out);
    return fine ? 0 : 1;
}

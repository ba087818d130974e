#include "app/help.h"

#include "base/scan.h"
#include "version.h"

#include <string.h>

#define TEXT_COLUMN 30
#define LINE_WIDTH 100

void help_option_name(const struct option_row *row, struct buf *out)
{
    char letter[] = {'-', row->letter, ',', ' ', '\0'};

    buf_text(out, row->letter != 0 ? letter : "    ");
    buf_text(out, "--");
    buf_text(out, row->name);
    if (row->argument != NULL) {
        bool may_be_left_out = row->type == OPTION_SWITCH;
        buf_text(out, may_be_left_out ? "[=" : " ");
        buf_text(out, row->argument);
        buf_text(out, may_be_left_out ? "]" : "");
    }
}

void help_option_text(const struct option_row *row, struct buf *out)
{
    buf_text(out, row->help);
    if (row->fallback != NULL) {
        buf_text(out, " [");
        buf_text(out, row->fallback);
        buf_char(out, ']');
    }
}

/* Words of `text` from TEXT_COLUMN to LINE_WIDTH, over as many lines as it takes. */
static void put_wrapped(struct buf *out, size_t line_begin, const struct buf *text)
{
    struct scan words = scan_over(text->data, text->size);
    struct scan word;

    while (scan_word(&words, &word)) {
        if (out->size - line_begin > TEXT_COLUMN &&
            out->size - line_begin + 1 + scan_left(&word) > LINE_WIDTH) {
            buf_char(out, '\n');
            line_begin = out->size;
        }
        do {
            buf_char(out, ' ');
        } while (!out->overflow && out->size - line_begin < TEXT_COLUMN);
        buf_bytes(out, word.at, scan_left(&word));
    }
    buf_char(out, '\n');
}

static void put_option(struct buf *out, struct buf *text, const struct option_row *row)
{
    size_t begin = out->size;

    buf_text(out, "  ");
    help_option_name(row, out);
    buf_reset(text);
    help_option_text(row, text);
    put_wrapped(out, begin, text);
}

static void put_heading(struct buf *out, const struct option_row *row)
{
    for (size_t i = 0; i < option_section_count; i++)
        if (strcmp(option_sections[i].first, row->name) == 0) {
            buf_char(out, '\n');
            buf_text(out, option_sections[i].title);
            buf_text(out, ":\n");
        }
}

void help_print(struct buf *out)
{
    struct buf text;

    if (buf_init(&text, 256, 4096) < 0)
        return;
    buf_text(out,
             "resource-tracker " TRACKER_VERSION "\n"
             "Tells what a job really uses: CPU, memory, disk and network.\n"
             "\n"
             "  resource-tracker [OPTIONS] [--] COMMAND [ARG...]   run and track a command\n"
             "  resource-tracker [OPTIONS] --pid PID               track a running process\n"
             "  resource-tracker [OPTIONS]                         watch the whole host\n"
             "  resource-tracker [OPTIONS] --from FILE             look at recorded samples\n");
    for (size_t i = 0; i < option_count; i++) {
        put_heading(out, &options[i]);
        put_option(out, &text, &options[i]);
    }
    buf_text(out,
             "\nEvery option is also read from RESOURCE_TRACKER_NAME and TRACKER_NAME "
             "(--csv-columns:\nTRACKER_CSV_COLUMNS) and from the TOML file; "
             "a flag overrules the environment, and that the file.\n"
             "The exit status is the command's own; 128+N if signal N ended it; 126 or 127 if "
             "it could\nnot be run; 2 for a usage error; 125 if the tracker could not start.\n");
    buf_free(&text);
}

#include "read/reader.h"

#include "base/cleanup.h"
#include "read/csv_in.h"
#include "read/folder.h"
#include "read/jsonl.h"
#include "read/lines.h"
#include "read/pace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Three years; a longer one is damaged. */
#define INTERVAL_MAX_MS 1e11

enum format { FORMAT_UNKNOWN, FORMAT_JSONL, FORMAT_CSV };

struct reader {
    const char *path;
    struct folder folder;
    size_t next_file;

    /* The file that is being read. */
    const char *file;
    enum format format;
    bool is_open;
    struct bytes bytes;
    struct lines lines;
    struct line line;
    bool line_waits; /* the line was looked at, and is to be taken later */
    struct csv_in csv;
    struct jsonl jsonl;

    struct pace pace; /* goes on from file to file: batches are cut anywhere */
    double last_secs;
    bool has_interval; /* some sample told how long it covers */
    struct problems problems;
    struct reader_facts facts;
};

/* --- files --- */

static bool open_fd(struct reader *reader, int fd, const char *file)
{
    int error = bytes_open(&reader->bytes, fd);

    if (error == 0 && (error = lines_open(&reader->lines, &reader->bytes)) < 0)
        bytes_close(&reader->bytes);
    if (error == -ENOTSUP)
        problems_add(&reader->problems, file, 0,
                     "is compressed, and this build cannot unpack; it is passed over");
    else if (error < 0)
        problems_add(&reader->problems, file, 0, "cannot be read: %s; it is passed over",
                     strerror(-error));
    if (error < 0)
        return false;
    reader->is_open = true;
    reader->file = file;
    reader->format = FORMAT_UNKNOWN;
    csv_in_reset(&reader->csv);
    return true;
}

static int open_path(struct reader *reader, const char *path)
{
    /* Our own copy: the caller's stays open. */
    int fd = strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                    : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

    if (fd < 0)
        problems_add(&reader->problems, path, 0, "cannot be opened: %s; it is passed over",
                     strerror(errno));
    return fd;
}

/* True: it is one, and its files are listed. */
static bool open_folder(struct reader *reader, int fd)
{
    struct stat status;

    if (fstat(fd, &status) < 0 || !S_ISDIR(status.st_mode))
        return false;
    int error = folder_list(&reader->folder, fd, reader->path);
    if (error < 0)
        problems_add(&reader->problems, reader->path, 0, "cannot be listed: %s; it is passed over",
                     strerror(-error));
    else if (reader->folder.count == 0)
        problems_add(&reader->problems, reader->path, 0,
                     "has no file *.csv, *.jsonl or *.gz of these; it is passed over");
    return true;
}

static void start(struct reader *reader)
{
    int fd = open_path(reader, reader->path);

    if (fd < 0)
        return;
    if (open_folder(reader, fd))
        close(fd);
    else
        (void)open_fd(reader, fd, reader->path);
}

static void close_file(struct reader *reader)
{
    if (reader->bytes.problem[0] != '\0')
        problems_add(&reader->problems, reader->file, reader->lines.number, "%s",
                     reader->bytes.problem);
    else if (reader->lines.number == 0)
        problems_add(&reader->problems, reader->file, 0, "is empty");
    lines_close(&reader->lines);
    bytes_close(&reader->bytes);
    reader->is_open = false;
}

/* False: there is no other file. */
static bool open_next_file(struct reader *reader)
{
    while (reader->next_file < reader->folder.count) {
        const char *path = reader->folder.paths[reader->next_file++];
        int fd = open_path(reader, path);
        if (fd >= 0 && open_fd(reader, fd, path))
            return true;
    }
    return false;
}

/* --- what is said of a line --- */

#define NAME(...) problems_add(&reader->problems, reader->file, reader->line.number, __VA_ARGS__)

static void note_version(struct reader *reader, const char *version)
{
    char *known = reader->facts.version;

    if (version == NULL || strcmp(version, known) == 0)
        return;
    if (known[0] != '\0')
        NAME("from here on written by version %.32s, until here by %.32s", version, known);
    snprintf(known, READER_TEXT_MAX, "%s", version);
}

static void note_json(struct reader *reader)
{
    const struct jsonl *jsonl = &reader->jsonl;

    if (jsonl->job_name != NULL)
        snprintf(reader->facts.phase, READER_TEXT_MAX, "%s", jsonl->job_name);
    if (jsonl->job_name != NULL && reader->facts.job_name[0] == '\0')
        snprintf(reader->facts.job_name, READER_TEXT_MAX, "%s", jsonl->job_name);
    note_version(reader, jsonl->version);
    if (jsonl->unknown.list[0] != '\0')
        NAME("keys that are not known here are passed over: %s", jsonl->unknown.list);
    if (jsonl->wrong != NULL)
        NAME("\"%s\" is not what it should be; it stays unknown", jsonl->wrong);
}

static void note_json_fault(struct reader *reader, int error, size_t at)
{
    if (error == -ENODATA)
        NAME("no sample: it has no timestamp_secs; it is passed over");
    else if (error == -ENOMEM)
        NAME("out of memory; the line is passed over");
    else if (reader->line.text[0] != '{')
        NAME("is no sample; it is passed over");
    else if (!reader->line.has_end)
        NAME("is cut off; it is passed over");
    else
        NAME("is no JSON from its byte %zu on; it is passed over", at + 1);
}

static void note_header(struct reader *reader)
{
    const struct columns *columns = &reader->csv.columns;

    reader->facts.remark = columns->remark;
    if (columns->unknown.list[0] != '\0')
        NAME("columns that are not known here are passed over: %s", columns->unknown.list);
    if (columns->missing.list[0] != '\0')
        NAME("columns are missing and stay unknown: %s", columns->missing.list);
}

static void note_row(struct reader *reader)
{
    const struct csv_in *csv = &reader->csv;

    if (csv->cell_count < csv->columns.count)
        NAME("has %zu of %zu cells; the last of them may be cut off and stays unknown",
             csv->cell_count, csv->columns.count);
    else if (csv->is_cut)
        NAME("has no line end; its last cell may be cut off and stays unknown");
    if (csv->wrong_cell > 0)
        NAME("cell %zu is no number; it stays unknown", csv->wrong_cell);
}

static void note_csv_fault(struct reader *reader, enum csv_in_verdict verdict)
{
    const struct csv_in *csv = &reader->csv;

    switch (verdict) {
    case CSV_IN_TIMELESS_HEADER:
        NAME("no column timestamp: rows cannot be placed in time and are passed over");
        break;
    case CSV_IN_WIDE_HEADER:
        NAME("more than %d columns: its rows are passed over", COLUMNS_MAX);
        break;
    case CSV_IN_TOO_LONG:
        NAME("has %zu cells, the header %zu; it is passed over", csv->cell_count,
             csv->columns.count);
        break;
    case CSV_IN_NO_TIME:
        NAME(csv->is_cut ? "is cut off; it is passed over" : "has no timestamp; it is passed over");
        break;
    default:
        NAME("is neither a sample nor a header known here; it is passed over");
        break;
    }
}

static void note_time(struct reader *reader, double now)
{
    if (now < reader->last_secs)
        NAME("time goes back by %.0f s: another run?", reader->last_secs - now);
    reader->last_secs = now;
}

/* --- samples --- */

/* As it says, which the first one never does; where none does, the time since the one before. */
static double json_interval(struct reader *reader, const struct sample *sample)
{
    double told_ms = sample->value[METRIC_ACTUAL_INTERVAL];
    double growth = sample->value[METRIC_TIMESTAMP_SECS] - reader->last_secs;

    if (told_ms < INTERVAL_MAX_MS) {
        reader->has_interval = true;
        return told_ms / 1000;
    }
    if (isnan(reader->last_secs))
        return pace_guess(sample->value);
    return !reader->has_interval && growth > 0 ? growth : NAN;
}

static bool read_json(struct reader *reader, struct sample *sample)
{
    size_t at = 0;
    int error = jsonl_read(&reader->jsonl, reader->line.text, reader->line.size, sample, &at);

    if (error < 0) {
        note_json_fault(reader, error, at);
        return false;
    }
    problems_part(&reader->problems);
    note_json(reader);
    sample->interval_secs = json_interval(reader, sample);
    note_time(reader, sample->value[METRIC_TIMESTAMP_SECS]);
    return true;
}

/* A row is given out only when those of the next second are seen. */
static void read_csv(struct reader *reader)
{
    double values[METRIC_COUNT];
    struct scan line = scan_over(reader->line.text, reader->line.size);
    enum csv_in_verdict verdict = csv_in_read(&reader->csv, line, reader->line.has_end, values);

    if (verdict == CSV_IN_HEADER) {
        reader->format = FORMAT_CSV;
        note_header(reader);
    } else if (verdict == CSV_IN_ROW) {
        problems_part(&reader->problems);
        note_row(reader);
        note_time(reader, values[METRIC_TIMESTAMP_SECS]);
        if (pace_add(&reader->pace, values) < 0)
            NAME("out of memory; the row is passed over");
    } else {
        note_csv_fault(reader, verdict);
    }
}

static bool take_paced(struct reader *reader, struct sample *sample)
{
    const struct paced_row *row = pace_next(&reader->pace);

    if (row == NULL)
        return false;
    sample_reset(sample);
    memcpy(sample->value, row->value, sizeof sample->value);
    sample->interval_secs = row->interval_secs;
    return true;
}

static bool is_blank(const struct line *line)
{
    for (size_t i = 0; i < line->size; i++)
        if (line->text[i] != ' ' && line->text[i] != '\t' && line->text[i] != '\r')
            return false;
    return true;
}

/* Windows programs begin a file with a mark that it is UTF-8. */
static void pass_mark(struct line *line)
{
    if (line->number == 1 && line->size >= 3 && memcmp(line->text, "\xef\xbb\xbf", 3) == 0) {
        line->text += 3;
        line->size -= 3;
    }
}

/* The next line that is to be looked at; false at the end of all files. */
static bool next_line(struct reader *reader)
{
    for (;;) {
        if (!reader->is_open && !open_next_file(reader))
            return false;
        if (!lines_next(&reader->lines, &reader->line)) {
            close_file(reader);
            continue;
        }
        pass_mark(&reader->line);
        if (reader->line.is_too_long)
            NAME("is longer than %zu MiB; it is passed over", LINE_MAX_SIZE >> 20);
        else if (!is_blank(&reader->line))
            return true;
    }
}

static bool is_json_line(const struct reader *reader)
{
    return reader->format == FORMAT_JSONL ||
           (reader->format == FORMAT_UNKNOWN && reader->line.text[0] == '{');
}

/* Looks at one line; true when it gave a sample. */
static bool read_line(struct reader *reader, struct sample *sample)
{
    reader->line_waits = false;
    if (!is_json_line(reader)) {
        read_csv(reader);
        return false;
    }
    if (!pace_is_empty(&reader->pace)) {
        /* Rows of the file before go first. */
        pace_finish(&reader->pace);
        reader->line_waits = true;
        return false;
    }
    if (!read_json(reader, sample))
        return false;
    reader->format = FORMAT_JSONL;
    return true;
}

bool reader_next(struct reader *reader, struct sample *ret_sample)
{
    while (!take_paced(reader, ret_sample)) {
        if (!reader->line_waits && !next_line(reader)) {
            if (pace_is_empty(&reader->pace))
                return false;
            pace_finish(&reader->pace);
        } else if (read_line(reader, ret_sample)) {
            break;
        }
    }
    reader->facts.samples++;
    return true;
}

/* --- life --- */

int reader_open(struct reader **ret_reader, const char *path)
{
    struct reader *reader = calloc(1, sizeof *reader);

    if (reader == NULL)
        return -ENOMEM;
    reader->path = path;
    reader->bytes.fd = -1;
    reader->last_secs = NAN;
    jsonl_init(&reader->jsonl);
    pace_init(&reader->pace);
    start(reader);
    *ret_reader = reader;
    return 0;
}

void reader_close(struct reader *reader)
{
    if (reader == NULL)
        return;
    lines_close(&reader->lines);
    bytes_close(&reader->bytes);
    folder_free(&reader->folder);
    jsonl_free(&reader->jsonl);
    pace_free(&reader->pace);
    free(reader);
}

const struct problems *reader_problems(const struct reader *reader)
{
    return &reader->problems;
}

const struct reader_facts *reader_facts(const struct reader *reader)
{
    return &reader->facts;
}

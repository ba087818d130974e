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

struct reader {
    const char *path;
    struct folder folder;
    size_t next_file;

    /* The file that is being read. */
    const char *file;
    bool has_json; /* it gave a sample of JSON */
    bool is_open;
    struct bytes bytes;
    struct lines lines;
    struct line line;
    struct sample held; /* that of the line, while rows before it are given out */
    bool is_held;
    struct csv_in csv;
    struct jsonl jsonl;

    struct pace pace; /* goes on from file to file: batches are cut anywhere */

    /* Of JSON samples; rows have their own. */
    double last_secs;
    double last_interval_secs;
    struct stride stride;
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
    reader->has_json = false;
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
    if (jsonl->wrong.list[0] != '\0')
        NAME("not what it should be, and stays unknown: %s", jsonl->wrong.list);
}

static void note_json_fault(struct reader *reader, int error, size_t at)
{
    if (error == -ENODATA)
        NAME("no sample: it has no timestamp_secs; it is passed over");
    else if (error == -ENOMEM)
        NAME("out of memory; the line is passed over");
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
    case CSV_IN_TOO_SHORT:
        NAME("has %zu of %zu cells; it is passed over", csv->cell_count, csv->columns.count);
        break;
    case CSV_IN_NO_TIME:
        NAME(csv->is_cut ? "is cut off; it is passed over" : "has no timestamp; it is passed over");
        break;
    default:
        if (reader->has_json)
            NAME("is no sample; it is passed over");
        else
            NAME("is neither a sample nor a header known here; it is passed over");
        break;
    }
}

static void note_back(struct reader *reader, const char *file, uint64_t line, double secs)
{
    problems_add(&reader->problems, file, line, "time goes back by %.0f s: another run?", secs);
}

static void note_gap(struct reader *reader, const char *file, uint64_t line, double gap_secs,
                     double counted_secs)
{
    if (isnan(counted_secs))
        problems_add(&reader->problems, file, line,
                     "%.0f s after the sample before it: another run? They do not count", gap_secs);
    else
        problems_add(&reader->problems, file, line,
                     "%.0f s after the sample before it: another run? %.3g s of them count",
                     gap_secs, counted_secs);
}

static void note_pace(struct reader *reader, const struct paced_row *row)
{
    if (row->remark == PACE_BACK)
        note_back(reader, row->file, row->line, row->remark_secs);
    else if (row->remark == PACE_GAP)
        note_gap(reader, row->file, row->line, row->remark_secs, row->interval_secs);
    else if (row->remark == PACE_MENDED)
        problems_add(&reader->problems, row->file, row->line,
                     "its time is %.0f s off from those before and after it; one between them is "
                     "taken",
                     row->remark_secs);
}

/* --- samples --- */

/* As it says, which the first one of a run never does; where none does, by the clock. */
static double json_interval(struct reader *reader, const struct sample *sample, double growth)
{
    double told_ms = sample->value[METRIC_ACTUAL_INTERVAL];
    double guess = pace_guess(sample->value);

    if (told_ms < INTERVAL_MAX_MS) {
        reader->has_interval = true;
        return told_ms / 1000;
    }
    if (reader->has_interval || !(growth > 0))
        return guess;
    double counted = pace_settle(&reader->stride, growth, guess, reader->last_interval_secs, false);
    if (counted != growth)
        note_gap(reader, reader->file, reader->line.number, growth, counted);
    return counted;
}

/* True: there is a sample, which is held. */
static bool read_json(struct reader *reader)
{
    size_t at = 0;
    int error =
        jsonl_read(&reader->jsonl, reader->line.text, reader->line.size, &reader->held, &at);

    if (error < 0)
        note_json_fault(reader, error, at);
    reader->is_held = error == 0;
    return error == 0;
}

/* Now that the rows before it were given out. */
static void take_held(struct reader *reader, struct sample *sample)
{
    double growth = reader->held.value[METRIC_TIMESTAMP_SECS] - reader->last_secs;

    *sample = reader->held;
    reader->is_held = false;
    reader->has_json = true;
    note_json(reader);
    sample->interval_secs = json_interval(reader, sample, growth);
    if (growth < 0)
        note_back(reader, reader->file, reader->line.number, -growth);
    if (!isnan(sample->interval_secs))
        reader->last_interval_secs = sample->interval_secs;
    reader->last_secs = sample->value[METRIC_TIMESTAMP_SECS];
}

/* A row is given out only when those of the next second are seen. */
static void read_csv(struct reader *reader)
{
    double values[METRIC_COUNT];
    struct scan line = scan_over(reader->line.text, reader->line.size);
    bool has_rows = reader->csv.has_header && reader->csv.has_rows;
    enum csv_in_verdict verdict = csv_in_read(&reader->csv, line, reader->line.has_end, values);

    if (verdict == CSV_IN_HEADER) {
        /* A file of its own in a folder goes on with the run, one within a file may be another. */
        if (has_rows)
            pace_part(&reader->pace);
        note_header(reader);
    } else if (verdict == CSV_IN_ROW) {
        note_row(reader);
        if (pace_add(&reader->pace, values, reader->file, reader->line.number) < 0)
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
    note_pace(reader, row);
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

/* Each line for itself: files of both kinds are appended to each other. */
static bool is_json_line(const struct line *line)
{
    size_t at = 0;

    while (at < line->size && (line->text[at] == ' ' || line->text[at] == '\t'))
        at++;
    return at < line->size && line->text[at] == '{';
}

static void read_line(struct reader *reader)
{
    problems_turn(&reader->problems);
    if (!is_json_line(&reader->line))
        read_csv(reader);
    else if (read_json(reader))
        pace_finish(&reader->pace);
}

bool reader_next(struct reader *reader, struct sample *ret_sample)
{
    while (!take_paced(reader, ret_sample)) {
        if (reader->is_held) {
            take_held(reader, ret_sample);
            break;
        }
        if (next_line(reader)) {
            read_line(reader);
        } else {
            if (pace_is_empty(&reader->pace))
                return false;
            pace_finish(&reader->pace);
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
    reader->last_interval_secs = NAN;
    reader->stride = PACE_NO_STRIDE;
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

#include "app/from.h"

#include "app/show.h"
#include "app/tracker.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "encode/summary.h"
#include "model/digest.h"
#include "read/folder.h"
#include "read/reader.h"
#include "sink/report_file.h"
#include "sink/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STATUS_NOTHING_READ 1
#define STATUS_USAGE 2
#define SUMMARY_INITIAL (16 * 1024)
#define SUMMARY_MAX_BYTES (16 * 1024 * 1024)
/* For whoever reads the report from a pipe. */
#define REPORT_PATIENCE_NS (60 * NS_PER_SEC)

/* The runs that could be read, in the order of the command line. */
struct recordings {
    struct digest *digests;
    const struct digest **found;
    const char **paths; /* of those found */
    size_t count;
};

/* --- reading --- */

static const char *shown_path(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

static void tell_problem(const struct problem *problem)
{
    const char *path = shown_path(problem->file);

    if (problem->first_line == 0)
        log_say("%s: %s", path, problem->text);
    else if (problem->first_line == problem->last_line)
        log_say("%s:%llu: %s", path, (unsigned long long)problem->first_line, problem->text);
    else
        log_say("%s:%llu-%llu: %s", path, (unsigned long long)problem->first_line,
                (unsigned long long)problem->last_line, problem->text);
}

/* A single fault of the file as such, as that it is not there, needs no second sentence. */
static bool is_told_already(const struct problems *problems)
{
    return problems->kept == 1 && problems->list[0].first_line == 0;
}

static void tell_problems(const struct reader *reader, const char *path)
{
    const struct problems *problems = reader_problems(reader);
    const struct reader_facts *facts = reader_facts(reader);

    for (size_t i = 0; i < problems->kept; i++)
        tell_problem(&problems->list[i]);
    if (problems->dropped > 0)
        log_say("%s: and %llu more such faults", shown_path(path),
                (unsigned long long)problems->dropped);
    if (facts->samples == 0 && !is_told_already(problems))
        log_say("%s: no sample could be read", shown_path(path));
    else if (facts->samples > 0)
        log_detail("%s: %llu samples were read%s%s", shown_path(path),
                   (unsigned long long)facts->samples, facts->remark != NULL ? "; " : "",
                   facts->remark != NULL ? facts->remark : "");
}

/* The recording knows the job better than our own command line does. */
static int describe_run(struct digest *digest, const struct config *config,
                        const struct reader_facts *facts)
{
    struct run run = config->run;

    if (facts->job_name[0] != '\0')
        run.job_name = facts->job_name;
    return digest_set_run(digest, &run);
}

static int read_run(struct digest *digest, const struct config *config, const char *path)
{
    struct reader *reader;
    struct sample sample;

    int error = reader_open(&reader, path);
    if (error < 0)
        return error;
    while (reader_next(reader, &sample)) {
        const char *phase = reader_facts(reader)->phase;
        if (phase[0] != '\0')
            digest_phase(digest, phase);
        digest_add(digest, &sample, sample.interval_secs);
    }
    tell_problems(reader, path);
    error = describe_run(digest, config, reader_facts(reader));
    reader_close(reader);
    if (digest->ran_out_of_memory)
        log_say("%s: out of memory; some devices are left out", shown_path(path));
    return error;
}

/* --- names --- */

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

static bool has_namesake(const struct recordings *recordings, size_t which)
{
    const char *name = last_part(recordings->paths[which]);

    for (size_t i = 0; i < recordings->count; i++)
        if (i != which && strcmp(last_part(recordings->paths[i]), name) == 0)
            return true;
    return false;
}

/* Beside others a run is called by its file, as short as is enough to tell them apart. */
static int name_runs(struct recordings *recordings)
{
    for (size_t i = 0; i < recordings->count; i++) {
        struct digest *digest = &recordings->digests[i];
        const char *path = shown_path(recordings->paths[i]);
        if (recordings->count == 1 && digest->run.job_name != NULL)
            continue;
        int error = digest_set_title(digest, has_namesake(recordings, i) ? path : last_part(path));
        if (error < 0)
            return error;
    }
    return 0;
}

/* --- all of them --- */

/* -ENOMEM, or 0. */
static int read_all(struct recordings *recordings, const struct config *config)
{
    for (size_t i = 0; i < config->from_count; i++) {
        struct digest *digest = &recordings->digests[recordings->count];
        int error = digest_init(digest, config->report != NULL);
        if (error == 0)
            error = read_run(digest, config, config->from[i]);
        if (error < 0 || digest->sample_count == 0)
            digest_free(digest);
        else {
            recordings->paths[recordings->count] = config->from[i];
            recordings->found[recordings->count++] = digest;
        }
        if (error < 0)
            return error;
    }
    return name_runs(recordings);
}

static int recordings_open(struct recordings *recordings, size_t count)
{
    recordings->digests = calloc(count, sizeof *recordings->digests);
    recordings->found = calloc(count, sizeof(void *));
    recordings->paths = calloc(count, sizeof *recordings->paths);
    return recordings->digests != NULL && recordings->found != NULL && recordings->paths != NULL
               ? 0
               : -ENOMEM;
}

static void recordings_close(struct recordings *recordings)
{
    for (size_t i = 0; i < recordings->count; i++)
        digest_free(&recordings->digests[i]);
    free(recordings->digests);
    free(recordings->found);
    free(recordings->paths);
}

/* --- what is made of them --- */

static bool is_same(const struct stat *left, const struct stat *right)
{
    return left->st_dev == right->st_dev && left->st_ino == right->st_ino;
}

/* Whether `target` is one of the files that are read from a folder. */
static bool is_in_folder(const char *path, const struct stat *target)
{
    struct folder folder = {0};
    struct stat status;
    bool is_found = false;

    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
    if (fd < 0)
        return false;
    (void)folder_list(&folder, fd, path);
    for (size_t i = 0; i < folder.count && !is_found; i++)
        is_found = stat(folder.paths[i], &status) == 0 && is_same(&status, target);
    folder_free(&folder);
    return is_found;
}

static bool is_read_from(const char *path, const struct stat *target)
{
    struct stat status;
    int error = strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, &status) : stat(path, &status);

    if (error < 0)
        return false;
    return S_ISDIR(status.st_mode) ? is_in_folder(path, target) : is_same(&status, target);
}

/* The report takes the place of what is there: that must not be what it is made from. */
static bool would_replace(const struct config *config)
{
    struct stat target;

    if (config->report == NULL || stat(config->report, &target) < 0 || !S_ISREG(target.st_mode))
        return false;
    for (size_t i = 0; i < config->from_count; i++)
        if (is_read_from(config->from[i], &target)) {
            log_say("option --report: %s is what --from %s reads; give another file",
                    config->report, config->from[i]);
            return true;
        }
    return false;
}

/* By whatever name: /dev/stdout, /dev/fd/1, the file that it was redirected to. */
static bool is_our_output(const char *path)
{
    struct stat target;
    struct stat output;

    return stat(path, &target) == 0 && fstat(STDOUT_FILENO, &output) == 0 &&
           is_same(&target, &output);
}

/* Without a command the summary is what was asked for, unless the report goes to its place. */
static enum summary_mode wanted_summary(const struct config *config)
{
    if (config->summary != SUMMARY_AUTO)
        return (enum summary_mode)config->summary;
    bool is_taken = config->report != NULL && is_our_output(config->report);
    return is_taken ? SUMMARY_NONE : SUMMARY_TEXT;
}

static int print_summary(const struct recordings *recordings, enum summary_mode mode)
{
    struct summary_style style = {
        .colour = terminal_has_colour(STDOUT_FILENO),
        .width = terminal_width(STDOUT_FILENO),
    };
    struct buf text;
    int status = STATUS_CANNOT_START;

    if (mode == SUMMARY_NONE)
        return 0;
    if (buf_init(&text, SUMMARY_INITIAL, SUMMARY_MAX_BYTES) == 0) {
        if (mode == SUMMARY_JSON)
            summary_json(recordings->found, recordings->count, &text);
        else
            summary_text(recordings->found, recordings->count, &style, &text);
        if (text.overflow)
            log_say("the summary is too long to be printed");
        else
            status = show_text(&text);
    }
    buf_free(&text);
    return status;
}

static int write_report(const struct recordings *recordings, const char *path)
{
    if (path == NULL)
        return 0;
    int error = report_file_write(path, recordings->found, recordings->count,
                                  clock_monotonic_ns() + REPORT_PATIENCE_NS);
    if (error < 0)
        log_say("cannot write the report to %s: %s; %s", path, strerror(-error),
                report_file_rest(path));
    return error < 0 ? STATUS_CANNOT_START : 0;
}

static int tell(const struct recordings *recordings, const struct config *config)
{
    if (recordings->count == 0)
        return STATUS_NOTHING_READ;
    int summary_status = print_summary(recordings, wanted_summary(config));
    int report_status = write_report(recordings, config->report);
    return summary_status != 0 ? summary_status : report_status;
}

int from_run(const struct config *config)
{
    struct recordings recordings = {0};
    int status = STATUS_CANNOT_START;

    if (would_replace(config))
        return STATUS_USAGE;
    int error = recordings_open(&recordings, config->from_count);
    if (error == 0)
        error = read_all(&recordings, config);
    if (error < 0)
        log_say("cannot read the recordings: %s", strerror(-error));
    else
        status = tell(&recordings, config);
    recordings_close(&recordings);
    return status;
}

/*
 * A recorded run, sample by sample: a file, a folder of files, or standard input; JSON Lines or CSV
 * of ours, of the Rust tool or of the Python tool; compressed or not. What it is, is told by what
 * is in it. What can be read is; the rest is named in `problems`, with its line.
 *
 * In a folder, all files *.csv, *.jsonl and those with .gz behind it are one run, in the order of
 * their names: that is how batches of rows are streamed.
 */
#ifndef READ_READER_H
#define READ_READER_H

#include "model/sample.h"
#include "read/problems.h"

#define READER_TEXT_MAX 256

struct reader;

/* Texts are "" when they are not known. */
struct reader_facts {
    char job_name[READER_TEXT_MAX]; /* of the first sample that has one */
    char phase[READER_TEXT_MAX];    /* the same of the last one given out */
    char version[READER_TEXT_MAX];
    const char *remark; /* what its writer counts otherwise than we do; NULL: nothing */
    uint64_t samples;   /* given out so far */
};

/*
 * `path` must outlive the reader; "-" is standard input. Only -ENOMEM is an error: what cannot be
 * opened is a problem, and gives no samples.
 */
int reader_open(struct reader **ret_reader, const char *path);

/*
 * The next sample, with the time it covers in interval_secs; false at the end. Its texts and lists
 * are valid until the next call.
 */
bool reader_next(struct reader *reader, struct sample *ret_sample);

const struct problems *reader_problems(const struct reader *reader);
const struct reader_facts *reader_facts(const struct reader *reader);

/* Takes NULL too. */
void reader_close(struct reader *reader);

#endif

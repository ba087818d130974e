/*
 * Hosts for the collectors to read. A host is a copy of tests/fixtures/HOST in a temporary
 * directory, or an empty one that a test fills itself. One host and one collector at a time: the
 * hook that answers for statvfs has no context to tell two apart. Run from the repository's root.
 *
 * support_step() goes to the host's next moment in place: the collectors keep their descriptors, so
 * a file is rewritten in its inode and never replaced.
 *
 * Every test that opens a host is listed with TEST(), which cleans up even after a failure.
 */
#ifndef TESTS_UNIT_SUPPORT_H
#define TESTS_UNIT_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/sysroot.h"
#include "collect/collector.h"
#include "model/sample.h"

#define TEST(function) cmocka_unit_test_teardown(function, support_teardown)

#define SECOND NS_PER_SEC

/* --- hosts --- */

void support_open(const char *host);
void support_open_empty(void);
int support_teardown(void **state);

/* The next moment of the host; fails the test when there is none. */
void support_step(void);
unsigned support_moments(const char *host);

/* Paths are relative to the host: "proc/stat", "sys/block/sda/size". Folders are made. */
void support_write(const char *path, const char *text);
void support_write_bytes(const char *path, const void *bytes, size_t size);
void support_link(const char *path, const char *target);
void support_remove(const char *path);

/* Cuts a file to its first `size` bytes. */
void support_cut(const char *path, size_t size);

struct sysroot *support_root(void);

/* A descriptor of a directory of the host; closed by the teardown. */
int support_dir(const char *path);

/* Whether the file system mounted there was asked for its space in the last reading. */
bool support_was_asked(const char *mount_point);

/* --- one collector --- */

/* Opens it, takes the priming reading and looks up the facts, as the tracker does. */
void support_start(const struct collector *collector);

/* The same in its steps. */
int support_start_only(const struct collector *collector);
void support_prime(void);

/* A reading `elapsed_ns` after the last one. Valid until the next. */
const struct sample *support_read(uint64_t elapsed_ns);

/* support_step(), then support_read() a second later. */
const struct sample *support_step_and_read(void);

/* Time of the last reading. */
uint64_t support_now_ns(void);

/* --- what a sample says --- */

/* Index of the row whose text field is `name`; ROW_NONE when there is none. */
#define ROW_NONE SIZE_MAX
size_t support_row(const struct rows *rows, enum field_id name_field, const char *name);

/* A cell of the row with that name; fails the test when there is no such row. */
const union cell *support_cell(const struct sample *sample, const char *name, enum field_id field);

/* Equal up to the rounding of a few double operations; NAN equals NAN. */
#define assert_number(actual, wanted) support_assert_number(actual, wanted, __FILE__, __LINE__)
void support_assert_number(double actual, double wanted, const char *file, int line);

#define assert_absent(actual) assert_number(actual, NAN)

/* Reads a file of the project whole; the caller frees. Fails the test when it cannot. */
char *support_slurp(const char *path, size_t *ret_size);

#endif

#include "scratch.h"

#include "net/spool.h"

#include <signal.h>
#include <sys/resource.h>

#define HEADER "a,b\n"
#define HELD_MAX 4096

static struct scratch scratch;
static struct spool spool;
static struct buf out;

static int set_up(void **state)
{
    (void)state;
    scratch_make(&scratch);
    assert_int_equal(buf_init(&out, 64, 1 << 20), 0);
    assert_int_equal(spool_open(&spool, scratch.path, HEADER, HELD_MAX), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    spool_close(&spool);
    buf_free(&out);
    scratch_remove(&scratch);
    return 0;
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

static bool append(const char *row)
{
    return spool_append(&spool, row, strlen(row));
}

static void assert_batch(const struct spool_batch *batch, const char *wanted)
{
    buf_reset(&out);
    assert_int_equal(spool_read(&spool, batch, &out), 0);
    assert_int_equal(out.size, strlen(wanted));
    assert_memory_equal(out.data, wanted, out.size);
}

/* What somebody finds who comes when we are dead: the file without NUL bytes. */
static void assert_file(const char *wanted)
{
    char text[65536];
    size_t kept = 0;
    int fd = open(spool.path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    ssize_t got = read(fd, text, sizeof text - 1);
    close(fd);

    for (ssize_t i = 0; i < got; i++)
        if (text[i] != '\0')
            text[kept++] = text[i];
    text[kept] = '\0';
    assert_string_equal(text, wanted);
}

/* As if the disk were full from here on. */
static void limit_files(uint64_t size)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = size;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void test_rows_come_out_as_they_went_in(void **state)
{
    struct spool_batch first;
    struct spool_batch second;

    (void)state;
    assert_false(spool_cut(&spool, &first));
    assert_true(append("1,2\n"));
    assert_true(append("3,4\n"));
    assert_true(spool_cut(&spool, &first));
    assert_false(spool_cut(&spool, &second));
    assert_true(append("5,6\n"));
    assert_true(spool_cut(&spool, &second));
    assert_int_equal(first.rows, 2);
    assert_int_equal(second.rows, 1);
    assert_batch(&first, "1,2\n3,4\n");
    assert_batch(&second, "5,6\n");
    assert_int_equal(spool_rows(&spool), 3);
}

static void test_the_file_has_what_was_not_confirmed(void **state)
{
    struct spool_batch batch[3];

    (void)state;
    assert_file(HEADER);
    append("1\n");
    spool_cut(&spool, &batch[0]);
    append("2\n");
    spool_cut(&spool, &batch[1]);
    append("3\n");
    assert_file(HEADER "1\n2\n3\n");
    spool_release(&spool, &batch[0]);
    assert_file(HEADER "2\n3\n");
    assert_batch(&batch[1], "2\n");
    spool_release(&spool, &batch[1]);
    assert_file(HEADER "3\n");
    spool_cut(&spool, &batch[2]);
    spool_release(&spool, &batch[2]);
    assert_file(HEADER);
    assert_int_equal(spool_rows(&spool), 0);
    append("4\n");
    spool_cut(&spool, &batch[0]);
    assert_batch(&batch[0], "4\n");
    spool_release(&spool, &batch[0]);
}

static void test_a_file_without_rows_is_removed_and_one_with_rows_stays(void **state)
{
    struct spool_batch batch;
    char path[SPOOL_PATH_MAX];

    (void)state;
    append("1\n");
    snprintf(path, sizeof path, "%s", spool.path);
    spool_close(&spool);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(spool_open(&spool, scratch.path, HEADER, HELD_MAX), 0);
    append("1\n");
    spool_cut(&spool, &batch);
    spool_release(&spool, &batch);
    snprintf(path, sizeof path, "%s", spool.path);
    spool_close(&spool);
    assert_int_equal(access(path, F_OK), -1);
}

static void test_only_the_owner_can_read_it(void **state)
{
    struct stat status;

    (void)state;
    assert_int_equal(stat(spool.path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
}

static void test_rows_that_a_full_disk_does_not_take_are_held(void **state)
{
    struct spool_batch file;
    struct spool_batch held[2];
    char wanted[64] = "";

    (void)state;
    append("11\n");
    limit_files(strlen(HEADER) + 8);
    assert_true(append("22\n"));
    assert_true(append("33\n")); /* fits only in part */
    assert_true(append("44\n"));
    assert_file(HEADER "11\n22\n");
    assert_true(spool_cut(&spool, &file));
    assert_true(spool_cut(&spool, &held[0]));
    append("55\n");
    assert_true(spool_cut(&spool, &held[1]));
    assert_batch(&file, "11\n22\n");
    assert_batch(&held[0], "33\n44\n");
    spool_release(&spool, &file);
    spool_release(&spool, &held[0]);
    assert_batch(&held[1], "55\n");
    assert_int_equal(held[1].rows, 1);
    spool_release(&spool, &held[1]);
    assert_int_equal(spool.lost_rows, 0);
    /* With nothing held, the file is used again. */
    limit_files(RLIM_INFINITY);
    append("66\n");
    strcat(wanted, HEADER "66\n");
    assert_file(wanted);
}

static void test_all_rows_are_released_wherever_they_are(void **state)
{
    struct spool_batch batch;

    (void)state;
    assert_true(append("1,cut\n"));
    assert_true(spool_cut(&spool, &batch));
    assert_true(append("2,uncut\n"));
    limit_files(spool.file.end);
    bool is_held = append("3,held\n");
    limit_files(RLIM_INFINITY);
    assert_true(is_held);
    assert_int_equal(spool_rows(&spool), 3);
    spool_release_all(&spool);
    assert_int_equal(spool_rows(&spool), 0);
    assert_int_equal(spool_size(&spool), 0);
    assert_false(spool_cut(&spool, &batch));
    assert_file(HEADER);
}

static void test_held_rows_go_to_the_file_when_there_is_room_again(void **state)
{
    struct spool_batch batch;

    (void)state;
    limit_files(strlen(HEADER));
    append("1\n");
    append("2\n");
    assert_file(HEADER);
    limit_files(RLIM_INFINITY);
    append("3\n");
    assert_file(HEADER "1\n2\n3\n");
    assert_true(spool_cut(&spool, &batch));
    assert_false(batch.is_held);
    assert_int_equal(batch.rows, 3);
    assert_batch(&batch, "1\n2\n3\n");
    spool_release(&spool, &batch);
    assert_int_equal(spool_rows(&spool), 0);
}

static void test_what_is_held_at_the_end_is_left_in_the_file(void **state)
{
    struct spool_batch batch;
    char path[SPOOL_PATH_MAX];

    (void)state;
    limit_files(strlen(HEADER));
    append("1\n");
    assert_true(spool_cut(&spool, &batch));
    limit_files(RLIM_INFINITY);
    snprintf(path, sizeof path, "%s", spool.path);
    spool_close(&spool);
    snprintf(spool.path, sizeof spool.path, "%s", path);
    assert_file(HEADER "1\n");
}

static void test_beyond_the_memory_rows_are_counted_as_lost(void **state)
{
    struct spool_batch batch;
    unsigned kept = 0;

    (void)state;
    limit_files(strlen(HEADER));
    while (append("0123456789abcdef\n"))
        kept++;
    assert_int_equal(kept, HELD_MAX / 17);
    assert_int_equal(spool.lost_rows, 1);
    assert_false(append("0123456789abcdef\n"));
    assert_int_equal(spool.lost_rows, 2);
    assert_true(spool_cut(&spool, &batch));
    assert_int_equal(batch.rows, kept);
    limit_files(RLIM_INFINITY);
}

/* As if so much were in the file: a hole, for us. */
static void fill_file(uint64_t left)
{
    uint64_t added = SPOOL_FILE_MAX - left - (spool.file.end - spool.file.begin);

    spool.file.end += added;
    spool.file.rows++;
    spool.file.uncut_rows++;
}

static void test_the_file_has_a_maximum(void **state)
{
    struct spool_batch batch;
    unsigned kept = 0;

    (void)state;
    fill_file(6);
    assert_true(append("1\n"));
    assert_true(append("2\n"));
    assert_true(append("3\n"));
    assert_int_equal(spool.file.end - spool.file.begin, SPOOL_FILE_MAX);
    /* Beyond it memory is used, and then they are lost. */
    while (kept < HELD_MAX && append("0123456789abcdef\n"))
        kept++;
    assert_int_equal(kept, HELD_MAX / 17);
    assert_int_equal(spool.lost_rows, 1);
    assert_int_equal(spool.file.end - spool.file.begin, SPOOL_FILE_MAX);
    /* When the file was delivered there is room for all of them. */
    assert_true(spool_cut(&spool, &batch));
    assert_false(batch.is_held);
    spool_release(&spool, &batch);
    assert_true(append("last\n"));
    assert_int_equal(spool.memory.size, 0);
    assert_int_equal(spool.file.end, strlen(HEADER) + kept * 17 + strlen("last\n"));
    assert_int_equal(spool.lost_rows, 1);
}

static void test_what_was_delivered_counts_only_where_it_takes_room(void **state)
{
    struct spool_batch batch;

    (void)state;
    append("11\n");
    spool_cut(&spool, &batch);
    append("22\n");
    spool_release(&spool, &batch);
    if (spool.has_no_holes)
        skip();
    spool.file.end = spool.file.begin + SPOOL_FILE_MAX - 4;
    append("3\n");
    assert_int_equal(spool.memory.size, 0);
    spool.has_no_holes = true;
    append("4\n");
    assert_int_equal(spool.memory.size, 2);
    spool.has_no_holes = false;
    append("5\n");
    assert_int_equal(spool.file.end - spool.file.begin, SPOOL_FILE_MAX);
    assert_int_equal(spool.memory.size, 2);
}

/* In the end they are few, and nobody comes to take them away. */
static void test_the_end_goes_beyond_the_maximum(void **state)
{
    (void)state;
    fill_file(0);
    append("1\n");
    assert_int_equal(spool.memory.size, 2);
    spool_settle(&spool);
    assert_int_equal(spool.memory.size, 0);
    assert_int_equal(spool.file.end - spool.file.begin, SPOOL_FILE_MAX + 2);
}

static void test_without_a_folder_all_is_held(void **state)
{
    struct spool_batch batch;

    (void)state;
    spool_close(&spool);
    assert_int_equal(spool_open(&spool, "/nowhere/at/all", HEADER, HELD_MAX), -ENOENT);
    assert_string_equal(spool.path, "");
    assert_true(append("1\n"));
    assert_true(append("2\n"));
    assert_true(spool_cut(&spool, &batch));
    assert_true(batch.is_held);
    assert_batch(&batch, "1\n2\n");
    spool_release(&spool, &batch);
    assert_int_equal(spool_rows(&spool), 0);
}

static void test_a_batch_that_does_not_fit_is_told(void **state)
{
    struct spool_batch batch;
    struct buf small;

    (void)state;
    append("0123456789\n");
    spool_cut(&spool, &batch);
    assert_int_equal(buf_init(&small, 4, 4), 0);
    assert_int_equal(spool_read(&spool, &batch, &small), -ENOMEM);
    buf_free(&small);
    assert_int_equal(ftruncate(spool.fd, 2), 0);
    assert_int_equal(spool_read(&spool, &batch, &out), -EIO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_rows_come_out_as_they_went_in),
        TEST(test_the_file_has_what_was_not_confirmed),
        TEST(test_a_file_without_rows_is_removed_and_one_with_rows_stays),
        TEST(test_only_the_owner_can_read_it),
        TEST(test_rows_that_a_full_disk_does_not_take_are_held),
        TEST(test_all_rows_are_released_wherever_they_are),
        TEST(test_held_rows_go_to_the_file_when_there_is_room_again),
        TEST(test_what_is_held_at_the_end_is_left_in_the_file),
        TEST(test_beyond_the_memory_rows_are_counted_as_lost),
        TEST(test_the_file_has_a_maximum),
        TEST(test_what_was_delivered_counts_only_where_it_takes_room),
        TEST(test_the_end_goes_beyond_the_maximum),
        TEST(test_without_a_folder_all_is_held),
        TEST(test_a_batch_that_does_not_fit_is_told),
    };

    signal(SIGXFSZ, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

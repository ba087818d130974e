#include "base/file.h"
#include "scratch.h"

#include <sys/syscall.h>

static struct scratch dir;

/* Takes the place of the library's pread: gives little at a time, is interrupted, or fails. */
static size_t chunk_max;
static int interruptions;
static int failure;
static size_t fail_at;

ssize_t pread(int fd, void *out, size_t size, off_t offset)
{
    if (interruptions > 0) {
        interruptions--;
        errno = EINTR;
        return -1;
    }
    if (failure != 0 && (size_t)offset >= fail_at) {
        errno = failure;
        return -1;
    }
    if (chunk_max > 0 && size > chunk_max)
        size = chunk_max;
    return syscall(SYS_pread64, fd, out, size, offset);
}

static int make(void **state)
{
    (void)state;
    chunk_max = 0;
    interruptions = 0;
    failure = 0;
    fail_at = 0;
    scratch_make(&dir);
    return 0;
}

static int drop(void **state)
{
    (void)state;
    chunk_max = 0;
    failure = 0;
    scratch_remove(&dir);
    return 0;
}

static void expect(const struct file *file, const char *text)
{
    assert_int_equal(file->size, strlen(text));
    assert_memory_equal(file->data, text, file->size);
}

/* `count` lines of ten bytes. */
static char *lines(size_t count)
{
    char *text = malloc(count * 10 + 1);

    assert_non_null(text);
    assert_true(count < 100000);
    for (unsigned i = 0; i < count; i++)
        sprintf(text + i * 10, "line%05u\n", i % 100000);
    return text;
}

static void test_reads_whole_content_again_and_again(void **state)
{
    struct file file;

    (void)state;
    scratch_text(&dir, "a", "first\n");
    assert_int_equal(file_open(&file, dir.fd, "a", 64, 64), 0);
    assert_int_equal(file_read(&file), 0);
    expect(&file, "first\n");
    assert_int_equal(file_read(&file), 0);
    expect(&file, "first\n");
    scratch_text(&dir, "a", "now longer than it was\n");
    assert_int_equal(file_read(&file), 0);
    expect(&file, "now longer than it was\n");
    scratch_text(&dir, "a", "s");
    assert_int_equal(file_read(&file), 0);
    expect(&file, "s");
    scratch_text(&dir, "a", "");
    assert_int_equal(file_read(&file), 0);
    assert_int_equal(file.size, 0);
    file_close(&file);
}

static void test_short_reads_are_not_the_end(void **state)
{
    struct file file;
    char *text = lines(100);

    (void)state;
    scratch_text(&dir, "a", text);
    for (chunk_max = 1; chunk_max < 40; chunk_max += 3) {
        assert_int_equal(file_open(&file, dir.fd, "a", 16, 4096), 0);
        assert_int_equal(file_read(&file), 0);
        expect(&file, text);
        file_close(&file);
    }
    free(text);
}

static void test_kernel_file_in_small_pieces(void **state)
{
    struct file whole;
    struct file pieces;

    (void)state;
    assert_int_equal(file_open(&whole, AT_FDCWD, "/proc/self/limits", 65536, 65536), 0);
    assert_int_equal(file_open(&pieces, AT_FDCWD, "/proc/self/limits", 1, 65536), 0);
    assert_int_equal(file_read(&whole), 0);
    chunk_max = 7;
    assert_int_equal(file_read(&pieces), 0);
    assert_true(whole.size > 100);
    assert_int_equal(pieces.size, whole.size);
    assert_memory_equal(pieces.data, whole.data, whole.size);
    file_close(&whole);
    file_close(&pieces);
}

static void test_grows_once_and_keeps_its_buffer(void **state)
{
    struct file file;
    char *text = lines(500);

    (void)state;
    scratch_text(&dir, "a", text);
    assert_int_equal(file_open(&file, dir.fd, "a", 10, 100000), 0);
    assert_int_equal(file.capacity, 10);
    assert_int_equal(file_read(&file), 0);
    expect(&file, text);
    const char *data = file.data;
    size_t capacity = file.capacity;
    assert_true(capacity <= 100000);
    for (int i = 0; i < 10; i++)
        assert_int_equal(file_read(&file), 0);
    assert_ptr_equal(file.data, data);
    assert_int_equal(file.capacity, capacity);
    expect(&file, text);
    file_close(&file);
    free(text);
}

static void test_cap_cuts_at_the_last_whole_line(void **state)
{
    struct file file;
    char *text = lines(50);

    (void)state;
    scratch_text(&dir, "a", text);
    assert_int_equal(file_open(&file, dir.fd, "a", 8, 95), 0);
    assert_int_equal(file_read(&file), 0);
    assert_int_equal(file.capacity, 95);
    text[90] = '\0';
    expect(&file, text);
    file_close(&file);
    free(text);
}

static void test_cap_without_a_line_end_leaves_nothing(void **state)
{
    struct file file;

    (void)state;
    scratch_text(&dir, "a", "12345678901234567890\n");
    assert_int_equal(file_open(&file, dir.fd, "a", 8, 16), 0);
    assert_int_equal(file_read(&file), 0);
    assert_int_equal(file.size, 0);
    file_close(&file);
}

static void test_content_of_exactly_the_cap_is_whole(void **state)
{
    struct file file;
    char *text = lines(10);

    (void)state;
    scratch_text(&dir, "a", text);
    assert_int_equal(file_open(&file, dir.fd, "a", 8, 100), 0);
    assert_int_equal(file_read(&file), 0);
    expect(&file, text);
    file_close(&file);
    free(text);
}

static void test_last_line_without_its_end_is_kept(void **state)
{
    struct file file;

    (void)state;
    scratch_text(&dir, "a", "one\ntwo");
    assert_int_equal(file_open(&file, dir.fd, "a", 64, 64), 0);
    assert_int_equal(file_read(&file), 0);
    expect(&file, "one\ntwo");
    file_close(&file);
}

static void test_interrupted_reads_go_on(void **state)
{
    struct file file;
    char text[8];

    (void)state;
    scratch_text(&dir, "a", "text\n");
    assert_int_equal(file_open(&file, dir.fd, "a", 64, 64), 0);
    interruptions = 3;
    assert_int_equal(file_read(&file), 0);
    expect(&file, "text\n");
    file_close(&file);
    interruptions = 2;
    assert_int_equal(file_read_text(dir.fd, "a", text, sizeof text), 4);
    assert_string_equal(text, "text");
}

static void test_failed_read_leaves_no_content(void **state)
{
    struct file file;

    (void)state;
    scratch_text(&dir, "a", "0123456789\n");
    assert_int_equal(file_open(&file, dir.fd, "a", 4, 64), 0);
    assert_int_equal(file_read(&file), 0);
    failure = EIO;
    fail_at = 4;
    assert_int_equal(file_read(&file), -EIO);
    assert_int_equal(file.size, 0);
    failure = 0;
    assert_int_equal(file_read(&file), 0);
    expect(&file, "0123456789\n");
    file_close(&file);
}

static void test_what_cannot_be_opened(void **state)
{
    struct file file;

    (void)state;
    assert_int_equal(file_open(&file, dir.fd, "missing", 16, 16), -ENOENT);
    assert_int_equal(file.fd, -1);
    assert_int_equal(file_read(&file), -EBADF);
    file_close(&file);
    assert_int_equal(file_open(&file, -1, "relative", 16, 16), -EBADF);
    file_close(&file);
    assert_int_equal(mkdirat(dir.fd, "d", 0755), 0);
    assert_int_equal(file_open(&file, dir.fd, "d", 16, 16), 0);
    assert_int_equal(file_read(&file), -EISDIR);
    assert_int_equal(file.size, 0);
    file_close(&file);
}

static void test_close_takes_a_zeroed_file(void **state)
{
    struct file file = {0};
    int before = fcntl(0, F_GETFD);

    (void)state;
    file_close(&file);
    assert_int_equal(fcntl(0, F_GETFD), before); /* descriptor 0 was not its own */
    assert_int_equal(file.fd, -1);
    file_close(&file);
}

static void test_close_releases_the_descriptor_and_exec_would(void **state)
{
    struct file file;

    (void)state;
    scratch_text(&dir, "a", "x\n");
    assert_int_equal(file_open(&file, dir.fd, "a", 16, 16), 0);
    int fd = file.fd;
    assert_true((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    file_close(&file);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
}

static void test_scan_covers_the_content(void **state)
{
    struct file file;

    (void)state;
    scratch_text(&dir, "a", "12 34\n");
    assert_int_equal(file_open(&file, dir.fd, "a", 16, 16), 0);
    assert_int_equal(file_read(&file), 0);
    struct scan scan = file_scan(&file);
    assert_true(scan_equals(&scan, "12 34\n"));
    file_close(&file);
}

static void expect_text(const char *content, size_t size, const char *wanted)
{
    char out[64];

    memset(out, '~', sizeof out);
    scratch_text(&dir, "t", content);
    assert_int_equal(file_read_text(dir.fd, "t", out, size), strlen(wanted));
    assert_string_equal(out, wanted);
}

static void test_text_is_trimmed_and_cut(void **state)
{
    (void)state;
    expect_text("eth0\n", 64, "eth0");
    expect_text(" \t\r\n two words \n\n", 64, "two words");
    expect_text("x", 2, "x");
    expect_text("abcdef\n", 5, "abcd");
    expect_text("   abcdef\n", 6, "ab");
}

static void test_text_of_nothing_is_no_data(void **state)
{
    char out[16];

    (void)state;
    scratch_text(&dir, "t", "");
    assert_int_equal(file_read_text(dir.fd, "t", out, sizeof out), -ENODATA);
    scratch_text(&dir, "t", " \n\n");
    assert_int_equal(file_read_text(dir.fd, "t", out, sizeof out), -ENODATA);
    scratch_write(&dir, "t", "\0\0\0", 3);
    assert_int_equal(file_read_text(dir.fd, "t", out, sizeof out), -ENODATA);
    assert_int_equal(file_read_text(dir.fd, "missing", out, sizeof out), -ENOENT);
    failure = ENODEV; /* what sysfs says for a link that is down */
    assert_int_equal(file_read_text(dir.fd, "t", out, sizeof out), -ENODEV);
}

static void test_text_of_a_pipe_does_not_wait(void **state)
{
    char out[16];

    (void)state;
    assert_int_equal(mkfifoat(dir.fd, "pipe", 0644), 0);
    assert_int_equal(file_read_text(dir.fd, "pipe", out, sizeof out), -ESPIPE);
}

static void test_u64(void **state)
{
    uint64_t value = 5;

    (void)state;
    scratch_text(&dir, "n", " 1500\n");
    assert_int_equal(file_read_u64(dir.fd, "n", &value), 0);
    assert_int_equal(value, 1500);
    scratch_text(&dir, "n", "18446744073709551615\n");
    assert_int_equal(file_read_u64(dir.fd, "n", &value), 0);
    assert_int_equal(value, UINT64_MAX);
}

static void test_u64_leaves_the_value_when_there_is_none(void **state)
{
    uint64_t value = 5;

    (void)state;
    scratch_text(&dir, "n", "-1\n");
    assert_int_equal(file_read_u64(dir.fd, "n", &value), -EINVAL);
    scratch_text(&dir, "n", "many\n");
    assert_int_equal(file_read_u64(dir.fd, "n", &value), -EINVAL);
    scratch_text(&dir, "n", "99999999999999999999999999999999999999\n");
    assert_int_equal(file_read_u64(dir.fd, "n", &value), -EINVAL);
    scratch_text(&dir, "n", "\n");
    assert_int_equal(file_read_u64(dir.fd, "n", &value), -ENODATA);
    assert_int_equal(file_read_u64(dir.fd, "missing", &value), -ENOENT);
    assert_int_equal(value, 5);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_reads_whole_content_again_and_again),
        TEST(test_short_reads_are_not_the_end),
        TEST(test_kernel_file_in_small_pieces),
        TEST(test_grows_once_and_keeps_its_buffer),
        TEST(test_cap_cuts_at_the_last_whole_line),
        TEST(test_cap_without_a_line_end_leaves_nothing),
        TEST(test_content_of_exactly_the_cap_is_whole),
        TEST(test_last_line_without_its_end_is_kept),
        TEST(test_interrupted_reads_go_on),
        TEST(test_failed_read_leaves_no_content),
        TEST(test_what_cannot_be_opened),
        TEST(test_close_takes_a_zeroed_file),
        TEST(test_close_releases_the_descriptor_and_exec_would),
        TEST(test_scan_covers_the_content),
        TEST(test_text_is_trimmed_and_cut),
        TEST(test_text_of_nothing_is_no_data),
        TEST(test_text_of_a_pipe_does_not_wait),
        TEST(test_u64),
        TEST(test_u64_leaves_the_value_when_there_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

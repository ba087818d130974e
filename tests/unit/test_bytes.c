#include "scratch_dir.h"

#include "net/gzip.h"
#include "read/bytes.h"

#include <sys/wait.h>

static struct bytes bytes;

static int open_file(const char *name)
{
    int fd = openat(dir.fd, name, O_RDONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    return bytes_open(&bytes, fd);
}

static char *read_all(size_t room, size_t *ret_size)
{
    char *out = malloc(4 << 20);
    size_t size = 0;
    size_t got;

    assert_non_null(out);
    while ((got = bytes_read(&bytes, out + size, room)) > 0) {
        size += got;
        assert_true(size < (4 << 20) - room);
    }
    *ret_size = size;
    return out;
}

static void expect(const char *name, const char *wanted, size_t wanted_size)
{
    size_t size;

    assert_int_equal(open_file(name), 0);
    char *out = read_all(1000, &size);
    assert_int_equal(size, wanted_size);
    assert_memory_equal(out, wanted, size);
    free(out);
}

static void test_plain_and_packed_are_the_same(void **state)
{
    size_t size = 300000; /* more than is looked at first */
    char *text = malloc(size);
    struct buf packed;

    (void)state;
    assert_non_null(text);
    uint64_t random = 1;
    for (size_t i = 0; i < size; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        text[i] = (char)(random >> 56);
    }
    text[0] = 'x';
    assert_int_equal(buf_init(&packed, 64, 4 << 20), 0);
    assert_int_equal(gzip_compress(text, size, &packed), 0);
    assert_true(packed.size > BYTES_HEAD_MAX);
    scratch_write(&dir, "plain", text, size);
    scratch_write(&dir, "packed", packed.data, packed.size);
    expect("plain", text, size);
    assert_false(bytes.is_packed);
    bytes_close(&bytes);
    expect("packed", text, size);
    assert_true(bytes.is_packed);
    assert_string_equal(bytes.problem, "");
    bytes_close(&bytes);
    buf_free(&packed);
    free(text);
}

static void test_small_files(void **state)
{
    (void)state;
    scratch_text(&dir, "empty", "");
    scratch_text(&dir, "one", "\x1f");
    expect("empty", "", 0);
    bytes_close(&bytes);
    expect("one", "\x1f", 1);
    bytes_close(&bytes);
}

static void test_damage_is_named(void **state)
{
    (void)state;
    scratch_write(&dir, "cut", "\x1f\x8b\x08\x00", 4);
    expect("cut", "", 0);
    assert_non_null(strstr(bytes.problem, "damaged or cut off"));
    char out[4];
    assert_int_equal(bytes_read(&bytes, out, sizeof out), 0);
    bytes_close(&bytes);
}

static void test_what_cannot_be_read(void **state)
{
    (void)state;
    int fd = open(dir.path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(bytes_open(&bytes, fd), -EISDIR);
    assert_int_equal(fcntl(fd, F_GETFD), -1); /* it was taken all the same */
    bytes_close(&bytes);
}

/* A writer that gives one byte, then the other. */
static void test_a_slow_pipe_is_told_right(void **state)
{
    struct buf packed;
    int ends[2];
    size_t size;

    (void)state;
    assert_int_equal(buf_init(&packed, 64, 65536), 0);
    assert_int_equal(gzip_compress("slow", 4, &packed), 0);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        for (size_t i = 0; i < packed.size; i++) {
            if (write(ends[1], packed.data + i, 1) != 1)
                _exit(1);
            usleep(2000);
        }
        _exit(0);
    }
    close(ends[1]);
    assert_int_equal(bytes_open(&bytes, ends[0]), 0);
    char *out = read_all(100, &size);
    assert_int_equal(size, 4);
    assert_memory_equal(out, "slow", 4);
    free(out);
    assert_int_equal(waitpid(child, NULL, 0), child);
    bytes_close(&bytes);
    buf_free(&packed);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, make, drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_plain_and_packed_are_the_same),
        TEST(test_small_files),
        TEST(test_damage_is_named),
        TEST(test_what_cannot_be_read),
        TEST(test_a_slow_pipe_is_told_right),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "base/clock.h"
#include "in_child.h"
#include "sink/writer.h"

#include <limits.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

static struct scratch dir;

/* As the tracker does: a write then fails with an error instead of ending us. */
static int block_signals(void **state)
{
    sigset_t set;

    (void)state;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    sigaddset(&set, SIGXFSZ);
    return sigprocmask(SIG_BLOCK, &set, NULL);
}

static int make(void **state)
{
    (void)state;
    scratch_make(&dir);
    return 0;
}

static int drop(void **state)
{
    (void)state;
    scratch_remove(&dir);
    return 0;
}

static void put(struct writer *writer, const char *text)
{
    struct buf line = {.data = (char *)(uintptr_t)text, .size = strlen(text)};

    writer_line(writer, &line);
}

/* "number" padded with 'x' to `size` bytes, the line end included. */
static void put_number(struct writer *writer, unsigned number, size_t size)
{
    char *text = malloc(size + 1);

    memset(text, 'x', size);
    text[snprintf(text, size, "%u", number)] = 'x';
    text[size - 1] = '\n';
    text[size] = '\0';
    put(writer, text);
    free(text);
}

/* Takes what is in a descriptor now, without waiting; adds it to `out`. */
static void drain(int fd, struct buf *out)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    char bytes[4096];
    ssize_t got;

    while (poll(&ready, 1, 0) > 0 && (got = read(fd, bytes, sizeof bytes)) > 0)
        buf_bytes(out, bytes, (size_t)got);
}

/* The stream is lines 0, 1, 2, … of `size` bytes, whole and in order. */
static void expect_numbered(const struct buf *stream, unsigned count, size_t size)
{
    char start[16];

    assert_int_equal(stream->size, count * size);
    for (unsigned i = 0; i < count; i++) {
        const char *line = stream->data + i * size;
        int length = snprintf(start, sizeof start, "%ux", i);
        assert_memory_equal(line, start, (size_t)length);
        assert_int_equal(line[size - 1], '\n');
    }
}

/* --- paths --- */

static void test_path_is_created_but_not_emptied(void **state)
{
    struct writer writer;

    (void)state;
    assert_int_equal(writer_open_path(&writer, scratch_path(&dir, "new").text), 0);
    assert_true(writer.created);
    assert_true(writer.is_own_file);
    assert_true((fcntl(writer.fd, F_GETFD) & FD_CLOEXEC) != 0);
    writer_close(&writer);
    scratch_expect(&dir, "new", "");

    scratch_text(&dir, "old", "earlier run\n");
    assert_int_equal(writer_open_path(&writer, scratch_path(&dir, "old").text), 0);
    assert_false(writer.created);
    assert_true(writer.is_own_file);
    writer_close(&writer);
    scratch_expect(&dir, "old", "earlier run\n");
}

static void test_lines_replace_what_was_there_after_truncation(void **state)
{
    struct writer writer;

    (void)state;
    scratch_text(&dir, "old", "a longer text of an earlier run\n");
    assert_int_equal(writer_open_path(&writer, scratch_path(&dir, "old").text), 0);
    writer_truncate(&writer);
    put(&writer, "one\n");
    put(&writer, "two\n");
    assert_int_equal(writer.error, 0);
    assert_int_equal(writer.whole_bytes, 8);
    writer_finish(&writer, 0);
    writer_close(&writer);
    scratch_expect(&dir, "old", "one\ntwo\n");
}

static void test_paths_that_cannot_be_written(void **state)
{
    struct writer writer = {0};

    (void)state;
    assert_int_equal(writer_open_path(&writer, scratch_path(&dir, "no/such").text), -ENOENT);
    assert_int_equal(writer_open_path(&writer, dir.path), -EISDIR);
    assert_int_equal(writer_open_path(&writer, ""), -ENOENT);
    scratch_text(&dir, "file", "");
    assert_int_equal(writer_open_path(&writer, scratch_path(&dir, "file/x").text), -ENOTDIR);
}

static void test_fifo_without_reader_is_refused_at_once(void **state)
{
    struct writer writer;

    (void)state;
    assert_int_equal(mkfifoat(dir.fd, "fifo", 0600), 0);
    assert_int_equal(writer_open_path(&writer, scratch_path(&dir, "fifo").text), -ENXIO);
}

static void test_fifo_with_reader(void **state)
{
    struct writer writer;
    char bytes[16] = "";

    (void)state;
    assert_int_equal(mkfifoat(dir.fd, "fifo", 0600), 0);
    int reader = openat(dir.fd, "fifo", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_int_equal(writer_open_path(&writer, scratch_path(&dir, "fifo").text), 0);
    assert_false(writer.is_own_file);
    assert_false(writer.created);
    writer_truncate(&writer); /* there is nothing to empty */
    assert_int_equal(writer.error, 0);
    put(&writer, "line\n");
    assert_int_equal(read(reader, bytes, sizeof bytes), 5);
    assert_string_equal(bytes, "line\n");
    writer_close(&writer);
    close(reader);
}

static void test_full_disk_keeps_lines(void **state)
{
    struct writer writer;

    (void)state;
    assert_int_equal(writer_open_path(&writer, "/dev/full"), 0);
    assert_false(writer.is_own_file);
    put(&writer, "one\n");
    assert_int_equal(writer.error, ENOSPC);
    assert_false(writer.dead);
    put(&writer, "two\n");
    assert_int_equal(writer.pending.size, 8);
    assert_memory_equal(writer.pending.data, "one\ntwo\n", 8);
    writer_finish(&writer, clock_monotonic_ns() + 3600 * NS_PER_SEC); /* does not wait for space */
    assert_int_equal(writer.error, ENOSPC);
    assert_int_equal(writer.pending.size, 8);
    writer_close(&writer);
}

static void limit_file_size(rlim_t bytes)
{
    struct rlimit limit;

    CHECK(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    limit.rlim_cur = bytes;
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

static off_t size_of(const char *name)
{
    struct stat status;

    CHECK(fstatat(dir.fd, name, &status, 0) == 0);
    return status.st_size;
}

static void limited_file_ends_with_a_whole_line(void)
{
    struct writer writer;

    CHECK(writer_open_path(&writer, scratch_path(&dir, "out").text) == 0);
    limit_file_size(25);
    put(&writer, "line 0000\n");
    put(&writer, "line 0001\n");
    put(&writer, "line 0002\n");
    CHECK(writer.error == EFBIG);
    CHECK(!writer.dead);
    CHECK(writer.pending.size == 5);
    CHECK(size_of("out") == 25);
    put(&writer, "line 0003\n");
    writer_finish(&writer, 0);
    CHECK(writer.pending.size == 15);
    writer_close(&writer);
}

static void test_file_size_limit_leaves_whole_lines(void **state)
{
    (void)state;
    in_child(limited_file_ends_with_a_whole_line);
    scratch_expect(&dir, "out", "line 0000\nline 0001\n");
}

static void pending_lines_go_out_when_there_is_room_again(void)
{
    struct writer writer;

    CHECK(writer_open_path(&writer, scratch_path(&dir, "out").text) == 0);
    limit_file_size(5);
    put(&writer, "line 0000\n");
    put(&writer, "line 0001\n");
    CHECK(writer.pending.size == 15);
    limit_file_size(RLIM_INFINITY);
    put(&writer, "line 0002\n");
    CHECK(writer.error == 0);
    CHECK(writer.pending.size == 0);
    CHECK(writer.whole_bytes == 30);
    writer_finish(&writer, 0);
    writer_close(&writer);
}

static void test_room_again_loses_nothing(void **state)
{
    (void)state;
    in_child(pending_lines_go_out_when_there_is_room_again);
    scratch_expect(&dir, "out", "line 0000\nline 0001\nline 0002\n");
}

static void some_of_the_pending_lines_went_out(void)
{
    struct writer writer;

    CHECK(writer_open_path(&writer, scratch_path(&dir, "out").text) == 0);
    limit_file_size(5);
    put(&writer, "line 0000\n");
    put(&writer, "line 0001\n");
    limit_file_size(25);
    put(&writer, "line 0002\n"); /* two whole lines and a half are out now */
    CHECK(writer.pending.size == 5);
    writer_finish(&writer, 0);
    writer_close(&writer);
}

/* Only the torn line may be cut off, not the whole ones that went out in the same write. */
static void test_cut_takes_only_the_torn_line(void **state)
{
    (void)state;
    in_child(some_of_the_pending_lines_went_out);
    scratch_expect(&dir, "out", "line 0000\nline 0001\n");
}

/* --- descriptors of others --- */

static void make_pipe(int *ends)
{
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_true(fcntl(ends[1], F_SETPIPE_SZ, 4096) > 0);
}

static void test_pipe_gets_a_descriptor_of_our_own(void **state)
{
    struct writer writer;
    int ends[2];

    (void)state;
    make_pipe(ends);
    int flags = fcntl(ends[1], F_GETFL);
    assert_int_equal(writer_open_fd(&writer, ends[1]), 0);
    assert_int_not_equal(writer.fd, ends[1]);
    assert_true(writer.owns_fd);
    assert_true((fcntl(writer.fd, F_GETFL) & O_NONBLOCK) != 0);
    assert_true((fcntl(writer.fd, F_GETFD) & FD_CLOEXEC) != 0);
    for (unsigned i = 0; i < 10; i++)
        put_number(&writer, i, 1000);
    assert_int_equal(fcntl(ends[1], F_GETFL), flags); /* O_NONBLOCK did not get to the command */
    int own = writer.fd;
    writer_close(&writer);
    assert_int_equal(fcntl(own, F_GETFD), -1);
    assert_true(fcntl(ends[1], F_GETFD) >= 0);
    close(ends[0]);
    close(ends[1]);
}

static void test_full_pipe_keeps_lines_in_order(void **state)
{
    enum { LINES = 400, SIZE = 700 };
    struct writer writer;
    struct buf stream;
    int ends[2];

    (void)state;
    make_pipe(ends);
    assert_int_equal(buf_init(&stream, 4096, 1 << 20), 0);
    assert_int_equal(writer_open_fd(&writer, ends[1]), 0);
    for (unsigned i = 0; i < LINES; i++) {
        put_number(&writer, i, SIZE);
        if (i == 10) {
            assert_int_equal(writer.error, EAGAIN);
            assert_true(writer.pending.size > 0);
            assert_false(writer.dead);
        }
        if (i % 37 == 36)
            drain(ends[0], &stream);
    }
    while (writer.pending.size > 0) {
        drain(ends[0], &stream);
        writer_flush(&writer);
    }
    assert_int_equal(writer.error, 0);
    drain(ends[0], &stream);
    expect_numbered(&stream, LINES, SIZE);
    writer_close(&writer);
    buf_free(&stream);
    close(ends[0]);
    close(ends[1]);
}

static void test_pipe_without_reader_is_the_end_of_it(void **state)
{
    struct writer writer;
    int ends[2];

    (void)state;
    make_pipe(ends);
    assert_int_equal(writer_open_fd(&writer, ends[1]), 0);
    put(&writer, "one\n");
    assert_int_equal(writer.error, 0);
    close(ends[0]);
    put(&writer, "two\n");
    assert_int_equal(writer.error, EPIPE);
    assert_true(writer.dead);
    put(&writer, "three\n");
    writer_flush(&writer);
    assert_int_equal(writer.pending.size, 0);
    writer_finish(&writer, clock_monotonic_ns() + 3600 * NS_PER_SEC);
    writer_close(&writer);
    close(ends[1]);
}

static void test_reader_that_leaves_ends_waiting(void **state)
{
    struct writer writer;
    int ends[2];

    (void)state;
    make_pipe(ends);
    assert_int_equal(writer_open_fd(&writer, ends[1]), 0);
    for (unsigned i = 0; i < 20; i++)
        put_number(&writer, i, 1000);
    assert_true(writer.pending.size > 0);
    close(ends[0]);
    writer_finish(&writer, clock_monotonic_ns() + 3600 * NS_PER_SEC);
    assert_true(writer.dead);
    writer_close(&writer);
    close(ends[1]);
}

static void test_reader_gone_before_we_came(void **state)
{
    struct writer writer;
    int ends[2];

    (void)state;
    make_pipe(ends);
    close(ends[0]);
    assert_int_equal(writer_open_fd(&writer, ends[1]), 0);
    put(&writer, "one\n");
    assert_int_equal(writer.error, EPIPE);
    assert_true(writer.dead);
    writer_close(&writer);
    close(ends[1]);
}

static void test_finish_waits_for_a_slow_reader(void **state)
{
    enum { LINES = 50, SIZE = 1000 };
    struct writer writer;
    struct buf stream;
    int ends[2];
    int status;

    (void)state;
    make_pipe(ends);
    assert_int_equal(writer_open_fd(&writer, ends[1]), 0);
    for (unsigned i = 0; i < LINES; i++)
        put_number(&writer, i, SIZE);
    assert_true(writer.pending.size > 0);
    pid_t reader = fork();
    if (reader == 0) {
        char bytes[LINES * SIZE];
        size_t got = 0;
        while (got < sizeof bytes) {
            ssize_t more = read(ends[0], bytes + got, sizeof bytes - got);
            if (more <= 0)
                _exit(1);
            got += (size_t)more;
        }
        _exit(0);
    }
    writer_finish(&writer, clock_monotonic_ns() + 3600 * NS_PER_SEC);
    assert_int_equal(writer.pending.size, 0);
    assert_int_equal(waitpid(reader, &status, 0), reader);
    assert_int_equal(status, 0);
    assert_int_equal(buf_init(&stream, 16, 4096), 0);
    drain(ends[0], &stream);
    assert_int_equal(stream.size, 0);
    buf_free(&stream);
    writer_close(&writer);
    close(ends[0]);
    close(ends[1]);
}

static void test_finish_gives_up_at_the_deadline(void **state)
{
    struct writer writer;
    int ends[2];

    (void)state;
    make_pipe(ends);
    assert_int_equal(writer_open_fd(&writer, ends[1]), 0);
    for (unsigned i = 0; i < 20; i++)
        put_number(&writer, i, 1000);
    size_t pending = writer.pending.size;
    writer_finish(&writer, clock_monotonic_ns());
    assert_int_equal(writer.error, EAGAIN);
    assert_int_equal(writer.pending.size, pending);
    writer_close(&writer);
    close(ends[0]);
    close(ends[1]);
}

/* A descriptor that could not be opened anew: the pipe of another user, or no /proc. */
static void line_into_a_shared_pipe_with_little_room(void)
{
    struct writer writer;
    int ends[2];
    char filler[4096];

    memset(filler, 'f', sizeof filler);
    CHECK(pipe2(ends, O_CLOEXEC) == 0);
    CHECK(fcntl(ends[1], F_SETPIPE_SZ, 8192) == 8192);
    CHECK(write(ends[1], filler, sizeof filler) == sizeof filler); /* one page is left */
    CHECK(writer_open_fd(&writer, ends[1]) == 0);
    close(writer.fd);
    writer.fd = ends[1];
    writer.owns_fd = false;
    writer.may_block = true;
    put_number(&writer, 0, 20000);
    CHECK(writer.error == EAGAIN);
    CHECK(writer.pending.size > 0);
    CHECK((fcntl(ends[1], F_GETFL) & O_NONBLOCK) == 0);
    writer_close(&writer);
}

static void test_shared_pipe_never_makes_us_wait(void **state)
{
    (void)state;
    in_child_within(20, line_into_a_shared_pipe_with_little_room);
}

static void test_full_shared_pipe_is_not_written_to(void **state)
{
    struct writer writer;
    int ends[2];
    char filler[4096];

    (void)state;
    make_pipe(ends);
    memset(filler, 'f', sizeof filler);
    assert_int_equal(write(ends[1], filler, sizeof filler), sizeof filler);
    assert_int_equal(writer_open_fd(&writer, ends[1]), 0);
    close(writer.fd);
    writer.fd = ends[1];
    writer.owns_fd = false;
    writer.may_block = true;
    put(&writer, "one\n");
    assert_int_equal(writer.error, EAGAIN);
    assert_int_equal(writer.pending.size, 4);
    assert_int_equal(read(ends[0], filler, sizeof filler), sizeof filler);
    writer_flush(&writer);
    assert_int_equal(read(ends[0], filler, sizeof filler), 4);
    assert_memory_equal(filler, "one\n", 4);
    writer_close(&writer);
    assert_true(fcntl(ends[1], F_GETFD) >= 0);
    close(ends[0]);
    close(ends[1]);
}

static void test_regular_file_of_others_is_appended_to(void **state)
{
    struct writer writer;

    (void)state;
    scratch_text(&dir, "log", "before\n");
    int fd = openat(dir.fd, "log", O_WRONLY | O_APPEND | O_CLOEXEC);
    assert_int_equal(writer_open_fd(&writer, fd), 0);
    assert_int_equal(writer.fd, fd);
    assert_false(writer.is_own_file);
    writer_truncate(&writer); /* not ours to empty */
    put(&writer, "one\n");
    assert_int_equal(dprintf(fd, "command\n"), 8);
    put(&writer, "two\n");
    writer_finish(&writer, 0);
    writer_close(&writer);
    assert_true(fcntl(fd, F_GETFD) >= 0);
    close(fd);
    scratch_expect(&dir, "log", "before\none\ncommand\ntwo\n");
}

static void test_closed_descriptor(void **state)
{
    struct writer writer;
    int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 200);

    (void)state;
    close(fd);
    assert_int_equal(writer_open_fd(&writer, fd), 0);
    put(&writer, "one\n");
    assert_int_equal(writer.error, EBADF);
    assert_true(writer.dead);
    writer_close(&writer);
}

/* --- sockets --- */

static void test_every_line_is_one_write(void **state)
{
    struct writer writer;
    int ends[2];
    char bytes[64];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(writer_open_fd(&writer, ends[1]), 0);
    assert_true(writer.is_socket);
    put(&writer, "one\n");
    put(&writer, "second\n");
    assert_int_equal(read(ends[0], bytes, sizeof bytes), 4);
    assert_int_equal(read(ends[0], bytes, sizeof bytes), 7);
    writer_close(&writer);
    assert_true(fcntl(ends[1], F_GETFD) >= 0);
    close(ends[0]);
    close(ends[1]);
}

static void test_full_socket_keeps_lines_in_order(void **state)
{
    enum { LINES = 600, SIZE = 1000 };
    struct writer writer;
    struct buf stream;
    int ends[2];
    int small = 4096;

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &small, sizeof small), 0);
    assert_int_equal(buf_init(&stream, 4096, 1 << 20), 0);
    int flags = fcntl(ends[1], F_GETFL);
    assert_int_equal(writer_open_fd(&writer, ends[1]), 0);
    for (unsigned i = 0; i < LINES; i++)
        put_number(&writer, i, SIZE);
    assert_int_equal(writer.error, EAGAIN);
    assert_int_equal(fcntl(ends[1], F_GETFL), flags);
    while (writer.pending.size > 0) {
        drain(ends[0], &stream);
        writer_flush(&writer);
    }
    drain(ends[0], &stream);
    expect_numbered(&stream, LINES, SIZE);
    writer_close(&writer);
    buf_free(&stream);
    close(ends[0]);
    close(ends[1]);
}

static void line_to_a_socket_without_peer(void)
{
    struct writer writer;
    sigset_t set;
    int ends[2];

    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    CHECK(sigprocmask(SIG_UNBLOCK, &set, NULL) == 0); /* MSG_NOSIGNAL alone must do */
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    CHECK(writer_open_fd(&writer, ends[1]) == 0);
    close(ends[0]);
    put(&writer, "one\n");
    CHECK(writer.dead);
    CHECK(writer.error == EPIPE || writer.error == ECONNRESET);
    writer_close(&writer);
}

static void test_socket_without_peer_raises_no_signal(void **state)
{
    (void)state;
    in_child(line_to_a_socket_without_peer);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_path_is_created_but_not_emptied),
        TEST(test_lines_replace_what_was_there_after_truncation),
        TEST(test_paths_that_cannot_be_written),
        TEST(test_fifo_without_reader_is_refused_at_once),
        TEST(test_fifo_with_reader),
        TEST(test_full_disk_keeps_lines),
        TEST(test_file_size_limit_leaves_whole_lines),
        TEST(test_room_again_loses_nothing),
        TEST(test_cut_takes_only_the_torn_line),
        TEST(test_pipe_gets_a_descriptor_of_our_own),
        TEST(test_full_pipe_keeps_lines_in_order),
        TEST(test_pipe_without_reader_is_the_end_of_it),
        TEST(test_reader_that_leaves_ends_waiting),
        TEST(test_reader_gone_before_we_came),
        TEST(test_finish_waits_for_a_slow_reader),
        TEST(test_finish_gives_up_at_the_deadline),
        TEST(test_shared_pipe_never_makes_us_wait),
        TEST(test_full_shared_pipe_is_not_written_to),
        TEST(test_regular_file_of_others_is_appended_to),
        TEST(test_closed_descriptor),
        TEST(test_every_line_is_one_write),
        TEST(test_full_socket_keeps_lines_in_order),
        TEST(test_socket_without_peer_raises_no_signal),
    };

    return cmocka_run_group_tests(tests, block_signals, NULL);
}

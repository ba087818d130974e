#include "collect/own_io.h"

#include "in_child.h"
#include "scratch.h"

#include <pthread.h>

enum { CHUNK = 1 << 20 };

static struct scratch scratch;

static int set_up(void **state)
{
    (void)state;
    scratch_make(&scratch);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    scratch_remove(&scratch);
    return 0;
}

/* It stays until the end: what is removed before it was written to disk does not count. */
static void write_file(const char *name)
{
    int fd = openat(scratch.fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    char *chunk = calloc(1, CHUNK);

    assert_true(fd >= 0 && chunk != NULL);
    assert_int_equal(write(fd, chunk, CHUNK), CHUNK);
    free(chunk);
    close(fd);
}

/* To a file system in memory nothing is written at all. */
static bool writing_is_counted(void)
{
    struct pid_io before;
    struct pid_io after;

    own_io_of_this_thread(&before);
    write_file("probe");
    own_io_of_this_thread(&after);
    return after.write_bytes - before.write_bytes == CHUNK;
}

static void *write_in_thread(void *argument)
{
    write_file("thread");
    own_io_of_this_thread(argument);
    return NULL;
}

static uint64_t written_by_children(struct own_io *own)
{
    struct usage usage;

    assert_true(own_io_read(own, &usage));
    return usage.reaped[QUANTITY_WRITE];
}

static void test_own_threads_are_left_out_and_children_are_not(void **state)
{
    struct own_io own = OWN_IO_CLOSED;
    struct pid_io ended;
    pthread_t thread;

    (void)state;
    if (!writing_is_counted())
        skip();
    own_io_open(&own);
    uint64_t before = written_by_children(&own);
    write_file("main");
    assert_int_equal(written_by_children(&own), before);

    assert_int_equal(pthread_create(&thread, NULL, write_in_thread, &ended), 0);
    pthread_join(thread, NULL);
    assert_true(ended.write_bytes >= CHUNK);
    own_io_thread_ended(&ended);
    assert_int_equal(written_by_children(&own), before);

    pid_t child = fork();
    if (child == 0) {
        write_file("child");
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    /* The file system may count some blocks of its own for the new file. */
    assert_in_range(written_by_children(&own), before + CHUNK, before + CHUNK + CHUNK / 16);
    own_io_close(&own);
}

static void test_closed_it_tells_nothing(void **state)
{
    struct own_io own = OWN_IO_CLOSED;
    struct usage usage;

    (void)state;
    assert_false(own_io_read(&own, &usage));
    own_io_close(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_own_threads_are_left_out_and_children_are_not, set_up,
                                        tear_down),
        cmocka_unit_test(test_closed_it_tells_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

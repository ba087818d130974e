#include "base/cleanup.h"
#include "scratch.h"

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static int return_early(bool early, int *ret_fd)
{
    cleanup_fd int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    *ret_fd = fd;
    assert_true(is_open(fd));
    if (early)
        return 1;
    return 0;
}

static void test_every_way_out_closes(void **state)
{
    int fd;

    (void)state;
    assert_int_equal(return_early(true, &fd), 1);
    assert_false(is_open(fd));
    assert_int_equal(return_early(false, &fd), 0);
    assert_false(is_open(fd));
}

static void test_close_marks_the_descriptor(void **state)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int number = fd;

    (void)state;
    close_fd(&fd);
    assert_int_equal(fd, -1);
    assert_false(is_open(number));
    close_fd(&fd);
    assert_int_equal(fd, -1);
}

static void test_never_opened_is_left_alone(void **state)
{
    (void)state;
    errno = 0;
    {
        cleanup_fd int fd = -1;
        (void)fd;
    }
    assert_int_equal(errno, 0); /* no close(-1) */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_way_out_closes),
        cmocka_unit_test(test_close_marks_the_descriptor),
        cmocka_unit_test(test_never_opened_is_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

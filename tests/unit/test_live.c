#include "play.h"
#include "pty.h"
#include "sink/sink.h"

/* The terminal makes two returns out of the one before a new line. */
#define BELOW "\033D\033[A\0337\r\r\n\033[K"
#define BACK "\0338"

static const struct run run;
static void *live;

static void open_on_terminal(unsigned short columns)
{
    const struct sink_options options = {.run = &run, .live = true};

    pty_become_leader(columns);
    CHECK(live_sink.open(&options, &live) == 0);
    live_sink.begin(live);
    play_reset(2);
    play_sample.value[METRIC_PROCESS_CORES_USED] = 1.5;
    play_sample.value[METRIC_PROCESS_PSS] = 2048;
}

static void show_and_hide(void)
{
    char text[4096];

    open_on_terminal(80);
    live_sink.sample(live, &play_sample);
    (void)pty_read(text, sizeof text);
    CHECK(strcmp(text, BELOW "0:00:00  1.50 cores  2 GiB memory" BACK) == 0);
    live_sink.hide(live);
    (void)pty_read(text, sizeof text);
    CHECK(strcmp(text, "\033[K" BELOW BACK) == 0);
    live_sink.hide(live); /* it is gone already */
    live_sink.end(live, &(struct run_end){0});
    CHECK(pty_read(text, sizeof text) == 0);
    live_sink.close(live);
}

static void update_too_often(void)
{
    char text[4096];

    open_on_terminal(80);
    for (int i = 0; i < 100; i++)
        live_sink.sample(live, &play_sample);
    CHECK(pty_read(text, sizeof text) < 100); /* one line, or two on a very slow machine */
    live_sink.end(live, &(struct run_end){0});
    (void)pty_read(text, sizeof text);
    CHECK(strcmp(text, "\033[K" BELOW BACK) == 0);
    live_sink.close(live);
}

static void come_to_the_end(void)
{
    char text[4096];

    open_on_terminal(80);
    live_sink.expect_last(live);
    live_sink.sample(live, &play_sample);
    live_sink.end(live, &(struct run_end){0});
    CHECK(pty_read(text, sizeof text) == 0);
    live_sink.close(live);
}

static void show_gpus(void)
{
    char text[4096];

    open_on_terminal(200);
    play_devices(DEVICE_GPU, 2, "GPU-");
    play_sample.value[METRIC_TOTAL_GPU_USAGE] = 1.25;
    play_sample.value[METRIC_TOTAL_GPU_VRAM] = 512;
    live_sink.sample(live, &play_sample);
    (void)pty_read(text, sizeof text);
    CHECK(strstr(text, "  1.25 GPUs  512 MiB VRAM" BACK) != NULL);
    live_sink.close(live);
    play_free();
}

/* A line as long as the terminal is wide would wrap on some, and could not be taken back. */
static void show_on_a_narrow_one(void)
{
    char text[4096];

    open_on_terminal(16);
    live_sink.sample(live, &play_sample);
    (void)pty_read(text, sizeof text);
    CHECK(strcmp(text, BELOW "0:00:00  1.50 c" BACK) == 0);
    live_sink.close(live);
}

static void show_what_is_not_known(void)
{
    char text[4096];

    open_on_terminal(80);
    play_reset(0);
    live_sink.sample(live, &play_sample);
    (void)pty_read(text, sizeof text);
    CHECK(strcmp(text, BELOW "0:00:00" BACK) == 0);
    live_sink.close(live);
}

/* Somebody else's screen is left alone, and so is the memory of what was on it. */
static void keep_off_an_editor(void)
{
    char text[4096];
    struct termios mode;

    open_on_terminal(80);
    CHECK(tcgetattr(STDERR_FILENO, &mode) == 0);
    mode.c_lflag &= (tcflag_t)~ICANON;
    CHECK(tcsetattr(STDERR_FILENO, TCSANOW, &mode) == 0);
    live_sink.sample(live, &play_sample);
    live_sink.end(live, &(struct run_end){0});
    CHECK(pty_read(text, sizeof text) == 0);
    live_sink.close(live);
}

static void write_until_it_is_full(void)
{
    char blank[4096] = {0};

    open_on_terminal(80);
    int fd = open(ptsname(pty_master), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    while (write(fd, blank, sizeof blank) > 0)
        ;
    live_sink.sample(live, &play_sample); /* returns, although nobody reads */
    live_sink.end(live, &(struct run_end){0});
    live_sink.close(live);
}

#define IN_CHILD(test, function)                                                                   \
    static void test(void **state)                                                                 \
    {                                                                                              \
        (void)state;                                                                               \
        in_child(function);                                                                        \
    }

IN_CHILD(test_it_is_shown_and_vanishes, show_and_hide)
IN_CHILD(test_at_most_two_updates_a_second, update_too_often)
IN_CHILD(test_the_last_sample_is_not_shown, come_to_the_end)
IN_CHILD(test_gpus, show_gpus)
IN_CHILD(test_it_is_cut_to_the_terminal, show_on_a_narrow_one)
IN_CHILD(test_what_is_not_known_is_left_out, show_what_is_not_known)
IN_CHILD(test_it_keeps_off_an_editor, keep_off_an_editor)
IN_CHILD(test_a_terminal_that_is_full_does_not_hold_us_up, write_until_it_is_full)

static void test_only_when_asked_for(void **state)
{
    const struct sink_options options = {.run = &run};

    (void)state;
    assert_int_equal(live_sink.open(&options, &live), -ENODEV);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_when_asked_for),
        cmocka_unit_test(test_it_is_shown_and_vanishes),
        cmocka_unit_test(test_at_most_two_updates_a_second),
        cmocka_unit_test(test_the_last_sample_is_not_shown),
        cmocka_unit_test(test_gpus),
        cmocka_unit_test(test_it_is_cut_to_the_terminal),
        cmocka_unit_test(test_what_is_not_known_is_left_out),
        cmocka_unit_test(test_it_keeps_off_an_editor),
        cmocka_unit_test(test_a_terminal_that_is_full_does_not_hold_us_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

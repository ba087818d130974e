#include "base/log.h"
#include "scratch.h"

static struct capture stderr_text;

static const char *said(const char *text)
{
    capture_begin(&stderr_text, STDERR_FILENO);
    log_say("%s", text);
    return capture_end(&stderr_text);
}

static void test_one_prefixed_line(void **state)
{
    (void)state;
    capture_begin(&stderr_text, STDERR_FILENO);
    log_say("option --%s: '%d' is bad", "pid", 5);
    assert_string_equal(capture_end(&stderr_text), "resource-tracker: option --pid: '5' is bad\n");
}

static void test_one_write_a_line(void **state)
{
    int ends[2];
    char line[4096];
    int saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 100);

    (void)state;
    assert_int_equal(pipe2(ends, O_DIRECT | O_CLOEXEC), 0); /* keeps writes apart */
    dup2(ends[1], STDERR_FILENO);
    log_say("first %s", "line");
    log_say("second");
    dup2(saved, STDERR_FILENO);
    close(saved);
    assert_int_equal(read(ends[0], line, sizeof line), strlen("resource-tracker: first line\n"));
    assert_int_equal(read(ends[0], line, sizeof line), strlen("resource-tracker: second\n"));
    close(ends[0]);
    close(ends[1]);
}

static void test_control_characters_do_not_reach_the_terminal(void **state)
{
    char text[2] = "";
    char wanted[] = "resource-tracker: ?\n";

    (void)state;
    assert_string_equal(said("a\033[2Jb\nc\rd\177e\tf"), "resource-tracker: a?[2Jb?c?d?e?f\n");
    for (int c = 1; c < 0x20; c++) {
        text[0] = (char)c;
        assert_string_equal(said(text), wanted);
    }
    for (int c = 0x20; c < 0x7f; c++) {
        text[0] = (char)c;
        wanted[strlen(wanted) - 2] = (char)c;
        assert_string_equal(said(text), wanted);
    }
}

/* U+009B is a control character too: terminals take it for ESC [. */
static void test_control_characters_above_ascii_do_not_reach_it_either(void **state)
{
    (void)state;
    assert_null(strstr(said("a\xc2\x9b"
                            "2Jb"),
                       "\xc2\x9b"));
}

static void test_utf8_names_are_readable(void **state)
{
    (void)state;
    assert_string_equal(said("Aufgabe \xc3\xbc \xe2\x82\xac \xf0\x9f\x98\x80"),
                        "resource-tracker: Aufgabe \xc3\xbc \xe2\x82\xac \xf0\x9f\x98\x80\n");
}

static void test_long_lines_are_cut_at_1000_bytes(void **state)
{
    char text[5000];

    (void)state;
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    const char *line = said(text);
    assert_int_equal(strlen(line), 1000);
    assert_int_equal(line[999], '\n');
    assert_int_equal(line[998], 'x');

    text[1000 - strlen("resource-tracker: ") - 1] = '\0';
    line = said(text);
    assert_int_equal(strlen(line), 1000);
    text[1000 - strlen("resource-tracker: ") - 2] = '\0';
    line = said(text);
    assert_int_equal(strlen(line), 999);
    assert_int_equal(line[998], '\n');
}

static void test_details_only_when_verbose(void **state)
{
    (void)state;
    capture_begin(&stderr_text, STDERR_FILENO);
    log_detail("hidden");
    log_set_verbose(true);
    log_detail("shown %d", 1);
    log_set_verbose(false);
    log_detail("hidden");
    assert_string_equal(capture_end(&stderr_text), "resource-tracker: shown 1\n");
}

static void test_closed_stderr_harms_nobody(void **state)
{
    int saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 100);

    (void)state;
    close(STDERR_FILENO);
    log_say("nobody hears this");
    assert_int_equal(fcntl(STDERR_FILENO, F_GETFD), -1);
    assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
    close(saved);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_prefixed_line),
        cmocka_unit_test(test_one_write_a_line),
        cmocka_unit_test(test_control_characters_do_not_reach_the_terminal),
        cmocka_unit_test(test_control_characters_above_ascii_do_not_reach_it_either),
        cmocka_unit_test(test_utf8_names_are_readable),
        cmocka_unit_test(test_long_lines_are_cut_at_1000_bytes),
        cmocka_unit_test(test_details_only_when_verbose),
        cmocka_unit_test(test_closed_stderr_harms_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

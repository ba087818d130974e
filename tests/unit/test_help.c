#include "app/help.h"
#include "base/scan.h"
#include "out.h"
#include "version.h"

static const char *name_of(const struct option_row *row)
{
    buf_reset(&out);
    help_option_name(row, &out);
    buf_char(&out, '\0');
    return out.data;
}

static const char *text_of(const struct option_row *row)
{
    buf_reset(&out);
    help_option_text(row, &out);
    buf_char(&out, '\0');
    return out.data;
}

static const struct option_row *find(const char *name)
{
    for (size_t i = 0; i < option_count; i++)
        if (strcmp(options[i].name, name) == 0)
            return &options[i];
    fail_msg("no option --%s", name);
    return NULL;
}

/* All blanks and line ends become one space, as if it had never been wrapped. */
static char *unwrapped_help(void)
{
    struct buf text;

    assert_int_equal(buf_init(&text, 4096, 65536), 0);
    help_print(&text);
    assert_false(text.overflow);
    char *plain = malloc(text.size + 1);
    size_t size = 0;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i] == '\n' ? ' ' : text.data[i];
        if (c != ' ' || size == 0 || plain[size - 1] != ' ')
            plain[size++] = c;
    }
    plain[size] = '\0';
    buf_free(&text);
    return plain;
}

static void test_option_names(void **state)
{
    (void)state;
    assert_string_equal(name_of(find("interval")), "-i, --interval SECS");
    assert_string_equal(name_of(find("csv-columns")), "    --csv-columns SET");
    assert_string_equal(name_of(find("quiet")), "    --quiet");
    assert_string_equal(name_of(find("summary")), "    --summary[=FORMAT]");
    assert_string_equal(name_of(find("help")), "-h, --help");
}

static void test_option_texts_end_with_the_default(void **state)
{
    (void)state;
    for (size_t i = 0; i < option_count; i++) {
        const char *text = text_of(&options[i]);
        assert_memory_equal(text, options[i].help, strlen(options[i].help));
        char wanted[128] = "";
        if (options[i].fallback != NULL)
            snprintf(wanted, sizeof wanted, " [%s]", options[i].fallback);
        assert_string_equal(text + strlen(options[i].help), wanted);
    }
}

static void test_help_tells_every_option(void **state)
{
    char *help = unwrapped_help();

    (void)state;
    for (size_t i = 0; i < option_count; i++) {
        char wanted[512];
        const char *name = name_of(&options[i]);
        name += strspn(name, " ");
        int length = snprintf(wanted, sizeof wanted, " %s ", name);
        snprintf(wanted + length, sizeof wanted - (size_t)length, "%s", text_of(&options[i]));
        if (strstr(help, wanted) == NULL)
            fail_msg("the help does not say '%s'", wanted);
    }
    free(help);
}

static void test_help_tells_every_choice(void **state)
{
    (void)state;
    for (size_t i = 0; i < option_count; i++) {
        if (options[i].choices == NULL)
            continue;
        char choices[64];
        snprintf(choices, sizeof choices, "%s", options[i].choices);
        for (char *rest = choices, *choice; (choice = strsep(&rest, "|")) != NULL;)
            assert_non_null(strstr(options[i].help, choice));
    }
}

static void test_help_has_version_forms_sections_and_statuses(void **state)
{
    static const char *const wanted[] = {"resource-tracker " TRACKER_VERSION " ",
                                         "[OPTIONS] [--] COMMAND [ARG...]",
                                         "--pid PID",
                                         "RESOURCE_TRACKER_NAME",
                                         "TRACKER_NAME",
                                         "125",
                                         "126",
                                         "127",
                                         "128+N"};
    char *help = unwrapped_help();

    (void)state;
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        if (strstr(help, wanted[i]) == NULL)
            fail_msg("the help does not say '%s'", wanted[i]);
    for (size_t i = 0; i < option_section_count; i++) {
        char heading[128];
        snprintf(heading, sizeof heading, " %s: ", option_sections[i].title);
        assert_non_null(strstr(help, heading));
    }
    free(help);
}

static void test_lines_fit_and_texts_are_aligned(void **state)
{
    struct scan line;

    (void)state;
    help_print(&out);
    for (struct scan text = scan_over(out.data, out.size); scan_line(&text, &line);) {
        assert_true(scan_left(&line) <= 100);
        assert_false(scan_left(&line) > 0 && line.end[-1] == ' ');
        /* a wrapped line begins at the column of the texts */
        struct scan word = line;
        scan_blanks(&word);
        if (word.at - line.at > 6)
            assert_int_equal(word.at - line.at, 30);
    }
    assert_int_equal(out.data[out.size - 1], '\n');
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, out_make, out_drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_option_names),
        TEST(test_option_texts_end_with_the_default),
        TEST(test_help_tells_every_option),
        TEST(test_help_tells_every_choice),
        TEST(test_help_has_version_forms_sections_and_statuses),
        TEST(test_lines_fit_and_texts_are_aligned),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "collect/pid_file.h"

#include "in_child.h"
#include "proc_fixture.h"
#include "scratch_dir.h"

#include "base/clock.h"

#include <grp.h>
#include <inttypes.h>

/* Fields 4 to 52 of a real line, 6.18; rss is the 21st of these. */
#define REST                                                                                       \
    " 18479 18481 8176 34816 -1 4194304 101 202 3 4 50 60 70 80 -51 -20 9 0 410980 3133440 418 "   \
    "18446744073709551615 94290792304640 94290792324521 140723719378416 0 0 0 0 0 0 0 0 0 17 0 0 " \
    "0 0 0 0 94290792340528 94290792342144 94291208228864 140723719379596 140723719379672 "        \
    "140723719379672 140723719380971 0\n"

/*
 * Copies the text to a block of exactly its size, so that the address sanitizer sees every byte
 * that is read beyond it.
 */
struct exact {
    char *data;
    struct scan scan;
};

static struct exact exactly(const char *bytes, size_t size)
{
    struct exact exact = {.data = malloc(size > 0 ? size : 1)};

    assert_non_null(exact.data);
    memcpy(exact.data, bytes, size);
    exact.scan = scan_over(exact.data, size);
    return exact;
}

static bool parse_stat_bytes(const char *bytes, size_t size, struct pid_stat *ret_stat)
{
    struct exact text = exactly(bytes, size);
    bool fine = pid_stat_parse(text.scan, ret_stat);

    free(text.data);
    return fine;
}

static bool parse_stat(const char *text, struct pid_stat *ret_stat)
{
    return parse_stat_bytes(text, strlen(text), ret_stat);
}

static bool parse_status(const char *text, struct pid_status *ret_status)
{
    struct exact exact = exactly(text, strlen(text));
    bool fine = pid_status_parse(exact.scan, ret_status);

    free(exact.data);
    return fine;
}

static bool parse_io(const char *text, struct pid_io *ret_io)
{
    struct exact exact = exactly(text, strlen(text));
    bool fine = pid_io_parse(exact.scan, ret_io);

    free(exact.data);
    return fine;
}

static bool parse_rollup(const char *text, uint64_t *ret_kib)
{
    struct exact exact = exactly(text, strlen(text));
    bool fine = pid_rollup_parse(exact.scan, ret_kib);

    free(exact.data);
    return fine;
}

/* --- stat --- */

static void assert_the_usual_fields(const struct pid_stat *stat)
{
    assert_int_equal(stat->parent, 18479);
    assert_int_equal(stat->minor_faults, 101);
    assert_int_equal(stat->reaped_minor_faults, 202);
    assert_int_equal(stat->major_faults, 3);
    assert_int_equal(stat->reaped_major_faults, 4);
    assert_int_equal(stat->utime_ticks, 50);
    assert_int_equal(stat->stime_ticks, 60);
    assert_int_equal(stat->reaped_utime_ticks, 70);
    assert_int_equal(stat->reaped_stime_ticks, 80);
    assert_int_equal(stat->threads, 9);
    assert_int_equal(stat->start_ticks, 410980);
    assert_int_equal(stat->rss_pages, 418);
}

static void test_stat_fields_are_told_apart(void **state)
{
    struct pid_stat stat;

    (void)state;
    assert_true(parse_stat("18481 (cat) R" REST, &stat));
    assert_int_equal(stat.state, 'R');
    assert_the_usual_fields(&stat);
}

static void test_stat_names_may_hold_anything(void **state)
{
    static const char *const names[] = {
        "a) R 1 (",
        ") Z 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 (",
        "",
        ")",
        "((((",
        "))))",
        " ",
        "new\nline",
        "tab\tbed",
        "\xff\xfe\x80",
        "kworker/u8:2-events_unbound",
        "123 (x) S 7",
    };

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char text[1024];
        struct pid_stat stat;
        snprintf(text, sizeof text, "18481 (%s) S" REST, names[i]);
        assert_true(parse_stat(text, &stat));
        assert_int_equal(stat.state, 'S');
        assert_the_usual_fields(&stat);
    }
}

/* Every prefix that ends before the resident pages is refused and leaves the result alone. */
static void test_stat_that_was_cut_is_refused(void **state)
{
    static const char text[] = "18481 (a) b) D" REST;
    size_t needed = (size_t)(strstr(text, " 418 ") - text) + 2;

    (void)state;
    for (size_t size = 0; size < sizeof text - 1; size++) {
        struct pid_stat stat = {.state = '?', .rss_pages = 77};
        bool fine = parse_stat_bytes(text, size, &stat);
        assert_int_equal(fine, size >= needed);
        assert_int_equal(stat.state, fine ? 'D' : '?');
        if (!fine)
            assert_int_equal(stat.rss_pages, 77);
    }
}

static void test_stat_that_is_none_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "\n",
        ")",
        "()",
        "18481 (cat",
        "18481 (cat)",
        "18481 (cat) ",
        "18481 (cat) R",
        "18481 (cat) R -1 1 1 0 -1 0 1 2 3 4 5 6 7 8 20 0 1 0 5 6 7 8",
        "18481 (cat) R x 1 1 0 -1 0 1 2 3 4 5 6 7 8 20 0 1 0 5 6 7 8",
        "18481 (cat) R 1 1 1 0 -1 0 1 2 3 4 five 6 7 8 20 0 1 0 5 6 7 8",
        "18481 (cat) R 1 1 1 0 -1 0 1 2 3 4 5 6 7 8 20 0 1 0 -5 6 7 8",
        "18481 (cat) R 1 1 1 0 -1 0 1 2 3 4 5 6 7 8 20 0 1 0 5 6 -7 8",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct pid_stat stat = {.rss_pages = 77};
        assert_false(parse_stat(texts[i], &stat));
        assert_int_equal(stat.rss_pages, 77);
    }
}

static void test_stat_numbers_have_64_bits_and_parents_31(void **state)
{
    struct pid_stat stat;

    (void)state;
    assert_true(parse_stat("1 (x) S 2147483647 1 1 0 -1 0 18446744073709551615 0 0 0 "
                           "18446744073709551614 0 0 0 20 0 1 0 18446744073709551613 6 "
                           "18446744073709551612 8",
                           &stat));
    assert_int_equal(stat.parent, INT32_MAX);
    assert_true(stat.minor_faults == UINT64_MAX);
    assert_true(stat.utime_ticks == UINT64_MAX - 1);
    assert_true(stat.start_ticks == UINT64_MAX - 2);
    assert_true(stat.rss_pages == UINT64_MAX - 3);
    assert_true(parse_stat("1 (x) S 7 1 1 0 -1 0 1 2 3 4 5 6 7 8 20 0 1 0 5 6 7 8", &stat));
    assert_false(
        parse_stat("1 (x) S 2147483648 1 1 0 -1 0 1 2 3 4 5 6 7 8 20 0 1 0 5 6 7 8", &stat));
    assert_false(parse_stat("1 (x) S 1 1 1 0 -1 0 18446744073709551616 0 0 0 0 0 0 0 20 0 1 0 5 6 "
                            "7 8",
                            &stat));
}

/* kthreadd: no parent, no memory, another scheduling class. */
static void test_stat_of_a_kernel_thread(void **state)
{
    struct pid_stat stat;

    (void)state;
    assert_true(parse_stat("2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 3 0 0 20 0 1 0 4 0 0 "
                           "18446744073709551615 0 0 0 0 0 0 0 2147483647 0 0 0 0 0 1 0 0 0 0 0 0 "
                           "0 0 0 0 0 0 0\n",
                           &stat));
    assert_int_equal(stat.parent, 0);
    assert_int_equal(stat.stime_ticks, 3);
    assert_int_equal(stat.rss_pages, 0);
    assert_int_equal(stat.start_ticks, 4);
}

/* --- io --- */

static void test_io_counts_what_reached_storage(void **state)
{
    struct pid_io io;

    (void)state;
    assert_true(parse_io("rchar: 7277\nwchar: 301\nsyscr: 12\nsyscw: 1\nread_bytes: 8192\n"
                         "write_bytes: 4096\ncancelled_write_bytes: 512\n",
                         &io));
    assert_int_equal(io.read_bytes, 8192);
    assert_int_equal(io.write_bytes, 4096);
}

static void test_io_without_one_of_the_two_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "\n\n\n",
        "read_bytes: 1\n",
        "write_bytes: 1\n",
        "read_bytes: 1\ncancelled_write_bytes: 2\n",
        "read_bytes: 1\nwrite_bytes:",
        "read_bytes: \nwrite_bytes: 1\n",
        "read_bytes: -1\nwrite_bytes: 1\n",
        "read_bytes: 18446744073709551616\nwrite_bytes: 1\n",
        " read_bytes: 1\n write_bytes: 1\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct pid_io io = {.read_bytes = 77, .write_bytes = 78};
        assert_false(parse_io(texts[i], &io));
        assert_int_equal(io.read_bytes, 77);
        assert_int_equal(io.write_bytes, 78);
    }
}

/* --- status --- */

#define SWITCHES "voluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t545\n"

static void test_status_fields_are_told_apart(void **state)
{
    struct pid_status status;

    (void)state;
    assert_true(parse_status("Name:\tcat\nVmPeak:\t    3060 kB\nVmHWM:\t    1780 kB\n"
                             "VmRSS:\t    1700 kB\nSigIgn:\t0000000000010000\n" SWITCHES,
                             &status));
    assert_int_equal(status.peak_rss_kib, 1780);
    assert_int_equal(status.voluntary_switches, 150);
    assert_int_equal(status.involuntary_switches, 545);
    assert_true(status.ignores_children);
}

static void test_status_of_a_kernel_thread_has_no_memory(void **state)
{
    struct pid_status status;

    (void)state;
    assert_true(parse_status("Name:\tkthreadd\nState:\tS (sleeping)\nKthread:\t1\n"
                             "SigIgn:\tffffffffffffffff\n" SWITCHES,
                             &status));
    assert_int_equal(status.peak_rss_kib, 0);
    assert_int_equal(status.involuntary_switches, 545);
    assert_true(status.ignores_children);
}

static void test_status_without_switches_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "VmHWM:\t1780 kB\n",
        "VmHWM:\t1780 kB\nvoluntary_ctxt_switches:\t150\n",
        "VmHWM:\t1780 kB\nnonvoluntary_ctxt_switches:\t150\n",
        "voluntary_ctxt_switches:\t\nnonvoluntary_ctxt_switches:\t1\n",
        "voluntary_ctxt_switches:\t1\nnonvoluntary_ctxt_switches:",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct pid_status status = {.voluntary_switches = 77};
        assert_false(parse_status(texts[i], &status));
        assert_int_equal(status.voluntary_switches, 77);
    }
}

/* SIGCHLD is 17: bit 16, the lowest of the fifth digit from the end. */
static bool is_ignoring(const char *mask)
{
    char text[256];
    struct pid_status status;

    snprintf(text, sizeof text, "SigBlk:\t0000000000010000\nSigIgn:\t%s\n" SWITCHES, mask);
    assert_true(parse_status(text, &status));
    return status.ignores_children;
}

static void test_only_the_bit_of_sigchld_tells_that_children_are_ignored(void **state)
{
    (void)state;
    assert_true(is_ignoring("0000000000010000"));
    assert_true(is_ignoring("0000000180010000"));
    assert_true(is_ignoring("00000000000f0000"));
    assert_true(is_ignoring("00000000000b0000"));
    assert_true(is_ignoring("0000000000090000"));
    assert_true(is_ignoring("10000"));
    assert_false(is_ignoring("0000000000000000"));
    assert_false(is_ignoring("fffffffffffeffff"));
    assert_false(is_ignoring("00000000000a0000"));
    assert_false(is_ignoring("0000000000001000"));
    assert_false(is_ignoring("0000000000100000"));
    assert_false(is_ignoring("1000"));
}

static void test_a_mask_that_is_not_hexadecimal_ignores_nothing(void **state)
{
    (void)state;
    assert_false(is_ignoring("zzzzzzzzzzzzzzzz"));
    assert_false(is_ignoring("00000000000~0000"));
    assert_false(is_ignoring("00000000000 0000"));
    assert_false(is_ignoring("00000000000G0000"));
    assert_false(is_ignoring(""));
}

static void test_status_without_the_mask_ignores_nothing(void **state)
{
    struct pid_status status;

    (void)state;
    assert_true(parse_status("SigCgt:\t0000000000010000\n" SWITCHES, &status));
    assert_false(status.ignores_children);
    assert_true(parse_status(SWITCHES "SigIgn:", &status));
    assert_false(status.ignores_children);
}

/* --- smaps_rollup --- */

static void test_pss_is_told_from_its_parts(void **state)
{
    uint64_t kib = 0;

    (void)state;
    assert_true(parse_rollup("55c1c92e3000-7ffccb4e2000 ---p 00000000 00:00 0    [rollup]\n"
                             "Rss:                1780 kB\nPss_Dirty:           108 kB\n"
                             "Pss:                 254 kB\nPss_Anon:            108 kB\n"
                             "SwapPss:               9 kB\n",
                             &kib));
    assert_int_equal(kib, 254);
}

static void test_a_rollup_without_pss_is_refused(void **state)
{
    static const char *const texts[] = {
        "", "Rss: 1 kB\n", "Pss_Anon: 1 kB\nSwapPss: 1 kB\n", "Pss:", "Pss: kB\n", "Pss: -1 kB\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        uint64_t kib = 77;
        assert_false(parse_rollup(texts[i], &kib));
        assert_int_equal(kib, 77);
    }
}

/* --- any bytes at all --- */

static void test_any_bytes_can_be_parsed(void **state)
{
    char bytes[512];
    uint32_t random = 12345;

    (void)state;
    for (unsigned round = 0; round < 2000; round++) {
        size_t size = (random >> 8) % sizeof bytes;
        for (size_t i = 0; i < size; i++) {
            random = random * 1664525U + 1013904223U;
            bytes[i] = "0123456789 ():\tRPssVmHWM\n\xff"[(random >> 16) % 26];
        }
        struct pid_stat stat = {.parent = 5};
        if (parse_stat_bytes(bytes, size, &stat))
            assert_true(stat.parent >= 0);
        else
            assert_int_equal(stat.parent, 5);
    }
}

/* --- files --- */

static void test_a_file_is_opened_below_its_process(void **state)
{
    char text[PID_FILE_MAX];

    (void)state;
    proc_text(&dir, 4194304, "stat", "hello");
    assert_int_equal(pid_file_read(dir.fd, 4194304, "stat", text), 5);
    assert_memory_equal(text, "hello", 5);
    assert_int_equal(pid_file_read(dir.fd, 4194304, "io", text), -ENOENT);
    assert_int_equal(pid_file_read(dir.fd, 1, "stat", text), -ENOENT);
    assert_int_equal(pid_file_read(-1, 1, "stat", text), -EBADF);
}

static void test_a_descriptor_is_read_from_its_beginning_each_time(void **state)
{
    char text[PID_FILE_MAX];

    (void)state;
    proc_text(&dir, 10, "io", "first");
    int fd = pid_file_open(dir.fd, 10, "io");
    assert_true(fd >= 0);
    assert_true((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    assert_int_equal(pid_file_pread(fd, text), 5);
    proc_text(&dir, 10, "io", "the second");
    assert_int_equal(pid_file_pread(fd, text), 10);
    assert_memory_equal(text, "the second", 10);
    close(fd);
    assert_int_equal(pid_file_pread(fd, text), -EBADF);
}

static void test_no_more_is_read_than_fits(void **state)
{
    char *large = malloc(3 * PID_FILE_MAX);
    char text[PID_FILE_MAX + 1];

    (void)state;
    assert_non_null(large);
    memset(large, 'x', 3 * PID_FILE_MAX);
    large[3 * PID_FILE_MAX - 1] = '\0';
    proc_text(&dir, 10, "status", large);
    free(large);
    text[PID_FILE_MAX] = '!';
    assert_int_equal(pid_file_read(dir.fd, 10, "status", text), PID_FILE_MAX);
    assert_int_equal(text[PID_FILE_MAX], '!');
}

static void test_a_name_that_does_not_fit_is_refused(void **state)
{
    char name[128];

    (void)state;
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_int_equal(pid_file_open(dir.fd, 10, name), -ENAMETOOLONG);
    name[62] = '\0'; /* "7/" and 62 bytes: one too many for the NUL */
    assert_int_equal(pid_file_open(dir.fd, 7, name), -ENAMETOOLONG);
    name[61] = '\0';
    assert_int_equal(pid_file_open(dir.fd, 7, name), -ENOENT);
}

/* --- the real thing --- */

static int real_proc(void)
{
    int fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    assert_true(fd >= 0);
    return fd;
}

static void test_our_own_files_are_understood(void **state)
{
    int proc = real_proc();
    char text[PID_FILE_MAX];
    struct pid_stat stat;
    struct pid_status status;
    uint64_t pss_kib;

    (void)state;
    ssize_t size = pid_file_read(proc, getpid(), "stat", text);
    assert_true(size > 0 && pid_stat_parse(scan_over(text, (size_t)size), &stat));
    assert_int_equal(stat.parent, getppid());
    assert_int_equal(stat.state, 'R');
    assert_int_equal(stat.threads, 1);
    assert_true(stat.rss_pages > 0);
    size = pid_file_read(proc, getpid(), "status", text);
    assert_true(size > 0 && pid_status_parse(scan_over(text, (size_t)size), &status));
    assert_true(status.peak_rss_kib > 0);
    size = pid_file_read(proc, getpid(), "smaps_rollup", text);
    if (size > 0) {
        assert_true(pid_rollup_parse(scan_over(text, (size_t)size), &pss_kib));
        assert_true(pss_kib > 0 && pss_kib <= status.peak_rss_kib);
    }
    close(proc);
}

static void ignore_children(void)
{
    char text[PID_FILE_MAX];
    struct pid_status status;

    int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(signal(SIGCHLD, SIG_DFL) != SIG_ERR);
    ssize_t size = pid_file_read(proc, getpid(), "status", text);
    CHECK(size > 0 && pid_status_parse(scan_over(text, (size_t)size), &status));
    CHECK(!status.ignores_children);
    CHECK(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
    size = pid_file_read(proc, getpid(), "status", text);
    CHECK(size > 0 && pid_status_parse(scan_over(text, (size_t)size), &status));
    CHECK(status.ignores_children);
}

static void test_ignoring_children_shows_in_our_status(void **state)
{
    (void)state;
    in_child(ignore_children);
}

/* The switches stand at the end of status, behind a line that names every group. */
static void join_many_groups(void)
{
    enum { GROUPS = 500 };
    gid_t groups[GROUPS];
    char text[PID_FILE_MAX];
    struct pid_status status;

    for (unsigned i = 0; i < GROUPS; i++)
        groups[i] = 1900000000U + i;
    if (setgroups(GROUPS, groups) < 0)
        return; /* only root may */
    int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ssize_t size = pid_file_read(proc, getpid(), "status", text);
    CHECK(size > 0);
    CHECK(pid_status_parse(scan_over(text, (size_t)size), &status));
    CHECK(status.peak_rss_kib > 0);
}

static void test_status_of_a_member_of_many_groups_is_understood(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    in_child(join_many_groups);
}

static void test_the_clock_of_a_process_is_its_cpu_time(void **state)
{
    uint64_t before = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    uint64_t used_ns = 0;

    (void)state;
    assert_true(pid_clock_read(getpid(), &used_ns));
    assert_true(used_ns >= before);
    assert_true(used_ns <= clock_ns(CLOCK_PROCESS_CPUTIME_ID));
}

static void test_there_is_no_clock_without_a_process(void **state)
{
    uint64_t used_ns = 77;

    (void)state;
    assert_false(pid_clock_read(4194305, &used_ns)); /* beyond the largest pid_max */
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(0);
    /* A zombie still has one. */
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    assert_true(pid_clock_read(pid, &used_ns));
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    used_ns = 77;
    assert_false(pid_clock_read(pid, &used_ns));
    assert_int_equal(used_ns, 77);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stat_fields_are_told_apart),
        cmocka_unit_test(test_stat_names_may_hold_anything),
        cmocka_unit_test(test_stat_that_was_cut_is_refused),
        cmocka_unit_test(test_stat_that_is_none_is_refused),
        cmocka_unit_test(test_stat_numbers_have_64_bits_and_parents_31),
        cmocka_unit_test(test_stat_of_a_kernel_thread),
        cmocka_unit_test(test_io_counts_what_reached_storage),
        cmocka_unit_test(test_io_without_one_of_the_two_is_refused),
        cmocka_unit_test(test_status_fields_are_told_apart),
        cmocka_unit_test(test_status_of_a_kernel_thread_has_no_memory),
        cmocka_unit_test(test_status_without_switches_is_refused),
        cmocka_unit_test(test_only_the_bit_of_sigchld_tells_that_children_are_ignored),
        cmocka_unit_test(test_a_mask_that_is_not_hexadecimal_ignores_nothing),
        cmocka_unit_test(test_status_without_the_mask_ignores_nothing),
        cmocka_unit_test(test_pss_is_told_from_its_parts),
        cmocka_unit_test(test_a_rollup_without_pss_is_refused),
        cmocka_unit_test(test_any_bytes_can_be_parsed),
        cmocka_unit_test_setup_teardown(test_a_file_is_opened_below_its_process, make, drop),
        cmocka_unit_test_setup_teardown(test_a_descriptor_is_read_from_its_beginning_each_time,
                                        make, drop),
        cmocka_unit_test_setup_teardown(test_no_more_is_read_than_fits, make, drop),
        cmocka_unit_test_setup_teardown(test_a_name_that_does_not_fit_is_refused, make, drop),
        cmocka_unit_test(test_our_own_files_are_understood),
        cmocka_unit_test(test_ignoring_children_shows_in_our_status),
        cmocka_unit_test(test_status_of_a_member_of_many_groups_is_understood),
        cmocka_unit_test(test_the_clock_of_a_process_is_its_cpu_time),
        cmocka_unit_test(test_there_is_no_clock_without_a_process),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

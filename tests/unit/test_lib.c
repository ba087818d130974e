#include "base/lib.h"

#include "scratch.h"

#include <elf.h>
#include <link.h>

#define SAMPLE "build/fakes/countalloc.so"

static struct scratch scratch;
static char *library;
static size_t library_size;

static int set_up(void **state)
{
    (void)state;
    scratch_make(&scratch);
    int fd = open(SAMPLE, O_RDONLY | O_CLOEXEC);
    struct stat status;
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &status), 0);
    library_size = (size_t)status.st_size;
    library = malloc(library_size);
    assert_non_null(library);
    assert_int_equal(read(fd, library, library_size), library_size);
    close(fd);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(library);
    scratch_remove(&scratch);
    return 0;
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

static int check(const char *name)
{
    return lib_check(scratch_path(&scratch, name).text);
}

static int open_file(const char *name, char *bad)
{
    void *lib = NULL;
    int error = lib_open(scratch_path(&scratch, name).text, NULL, &lib, bad);

    lib_close(lib);
    return error;
}

/* End of the last byte that the loader would map. */
static size_t mapped_end(void)
{
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)(const void *)library;
    const ElfW(Phdr) *segment = (const ElfW(Phdr) *)(const void *)(library + header->e_phoff);
    size_t end = 0;

    for (size_t i = 0; i < header->e_phnum; i++)
        if (segment[i].p_type == PT_LOAD && segment[i].p_offset + segment[i].p_filesz > end)
            end = segment[i].p_offset + segment[i].p_filesz;
    return end;
}

static void test_a_whole_library_is_loaded(void **state)
{
    char bad[LIB_PROBLEM_MAX];
    void *lib = NULL;

    (void)state;
    assert_int_equal(lib_check(SAMPLE), 0);
    assert_int_equal(lib_open(SAMPLE, NULL, &lib, bad), 0);
    assert_non_null(lib);
    lib_close(lib);
}

static void test_one_that_was_cut_short_is_refused_at_every_length(void **state)
{
    char bad[LIB_PROBLEM_MAX];
    size_t end = mapped_end();

    (void)state;
    assert_true(end > 4096 && end <= library_size);
    for (size_t size = 0; size < end; size += size < 256 ? 1 : 997) {
        scratch_write(&scratch, "cut.so", library, size);
        assert_int_equal(check("cut.so"), -ENOEXEC);
        assert_int_equal(open_file("cut.so", bad), -ENOEXEC);
        assert_non_null(strstr(bad, scratch_path(&scratch, "cut.so").text));
    }
    for (size_t size = end; size < library_size; size += 97) {
        scratch_write(&scratch, "cut.so", library, size);
        assert_int_equal(check("cut.so"), -ENOEXEC);
    }
}

/* A copy that was interrupted by a power cut has its length, but zeros for what was not written. */
static void test_one_whose_tail_was_never_written_is_refused(void **state)
{
    char bad[LIB_PROBLEM_MAX];
    static const int fillings[] = {0, 0xff};

    (void)state;
    for (size_t i = 0; i < 2; i++)
        for (size_t size = 64; size < library_size; size += 509) {
            char *damaged = malloc(library_size);
            assert_non_null(damaged);
            memcpy(damaged, library, size);
            memset(damaged + size, fillings[i], library_size - size);
            scratch_write(&scratch, "torn.so", damaged, library_size);
            free(damaged);
            assert_int_equal(open_file("torn.so", bad), -ENOEXEC);
        }
}

static void test_one_without_a_way_to_link_it_is_refused(void **state)
{
    ElfW(Ehdr) *header = (ElfW(Ehdr) *)(void *)library;
    ElfW(Phdr) *segment = (ElfW(Phdr) *)(void *)(library + header->e_phoff);

    (void)state;
    for (size_t i = 0; i < header->e_phnum; i++)
        if (segment[i].p_type == PT_DYNAMIC)
            memset(library + segment[i].p_offset, 0, segment[i].p_filesz);
    scratch_write(&scratch, "mute.so", library, library_size);
    assert_int_equal(check("mute.so"), -ENOEXEC);
}

static void test_what_is_no_library_is_refused(void **state)
{
    char bad[LIB_PROBLEM_MAX];

    (void)state;
    scratch_text(&scratch, "text.so", "this is no library\n");
    assert_int_equal(open_file("text.so", bad), -ENOEXEC);
    assert_int_equal(mkdirat(scratch.fd, "folder.so", 0755), 0);
    assert_int_equal(open_file("folder.so", bad), -ENOEXEC);
    assert_int_equal(mkfifoat(scratch.fd, "pipe.so", 0644), 0);
    assert_int_equal(open_file("pipe.so", bad), -ENOEXEC);
    assert_int_equal(open_file("missing.so", bad), -ENOENT);
}

static void test_one_for_another_machine_is_refused(void **state)
{
    ElfW(Ehdr) *header = (ElfW(Ehdr) *)(void *)library;

    (void)state;
    header->e_machine = header->e_machine == EM_S390 ? EM_X86_64 : EM_S390;
    scratch_write(&scratch, "other.so", library, library_size);
    assert_int_equal(check("other.so"), -ENOEXEC);
}

static void test_absurd_headers_are_refused(void **state)
{
    ElfW(Ehdr) *header = (ElfW(Ehdr) *)(void *)library;
    ElfW(Ehdr) good = *header;

    (void)state;
    header->e_phnum = UINT16_MAX;
    scratch_write(&scratch, "many.so", library, library_size);
    assert_int_equal(check("many.so"), -ENOEXEC);
    *header = good;
    header->e_phoff = UINT64_MAX - 8;
    scratch_write(&scratch, "far.so", library, library_size);
    assert_int_equal(check("far.so"), -ENOEXEC);
    *header = good;
    ((ElfW(Phdr) *)(void *)(library + good.e_phoff))->p_filesz = UINT64_MAX;
    ((ElfW(Phdr) *)(void *)(library + good.e_phoff))->p_type = PT_LOAD;
    scratch_write(&scratch, "huge.so", library, library_size);
    assert_int_equal(check("huge.so"), -ENOEXEC);
}

static void test_a_name_is_found_in_the_loaders_folders(void **state)
{
    char bad[LIB_PROBLEM_MAX];
    void *lib = NULL;

    (void)state;
    assert_int_equal(lib_open("libm.so.6", NULL, &lib, bad), 0);
    lib_close(lib);
}

static void test_a_name_is_found_in_the_folders_given(void **state)
{
    const char *const folders[] = {"/nowhere", scratch.path, NULL};
    char bad[LIB_PROBLEM_MAX];
    void *lib = NULL;

    (void)state;
    assert_int_equal(lib_open("libtracker-test.so.1", folders, &lib, bad), -ENOENT);
    scratch_write(&scratch, "libtracker-test.so.1", library, library_size);
    assert_int_equal(lib_open("libtracker-test.so.1", folders, &lib, bad), 0);
    lib_close(lib);
}

static void test_a_damaged_one_does_not_hide_a_good_one_behind_it(void **state)
{
    char bad[LIB_PROBLEM_MAX];
    struct scratch second;
    void *lib = NULL;

    (void)state;
    scratch_make(&second);
    const char *const folders[] = {scratch.path, second.path, NULL};
    scratch_write(&scratch, "libtracker-test.so.1", library, library_size / 2);
    assert_int_equal(lib_open("libtracker-test.so.1", folders, &lib, bad), -ENOEXEC);
    assert_non_null(strstr(bad, scratch_path(&scratch, "libtracker-test.so.1").text));
    scratch_write(&second, "libtracker-test.so.1", library, library_size);
    assert_int_equal(lib_open("libtracker-test.so.1", folders, &lib, bad), 0);
    lib_close(lib);
    scratch_remove(&second);
}

static void test_paths_are_found_among_anything(void **state)
{
    static const char data[] = "\x01\xff/libx.so.1\0libx.so.1\0/a/libx.so.1\0/b/libx.so.11\0"
                               "c/libx.so.1\0/d/e/libx.so.1\0/f/libx.so.1";
    const char *path = NULL;

    (void)state;
    /* The text ends with the last NUL that was written: the last path has none. */
    size_t size = sizeof data - 1;
    size_t at = lib_next_path(data, size, 0, "libx.so.1", &path);
    assert_string_equal(path, "/a/libx.so.1");
    at = lib_next_path(data, size, at, "libx.so.1", &path);
    assert_string_equal(path, "/d/e/libx.so.1");
    assert_int_equal(lib_next_path(data, size, at, "libx.so.1", &path), 0);
    assert_int_equal(lib_next_path(data, 0, 0, "libx.so.1", &path), 0);
    assert_int_equal(lib_next_path("/libx.so.1", 11, 0, "libx.so.1", &path), 11);
    assert_string_equal(path, "/libx.so.1");
}

static void test_functions_that_are_missing_become_null(void **state)
{
    struct table {
        double (*cosine)(double);
        void (*missing)(void);
    } table;
    static const struct lib_symbol symbols[] = {
        {"cos", offsetof(struct table, cosine)},
        {"no_such_function", offsetof(struct table, missing)},
    };
    char bad[LIB_PROBLEM_MAX];
    void *lib = NULL;

    (void)state;
    memset(&table, 0xff, sizeof table);
    assert_int_equal(lib_open("libm.so.6", NULL, &lib, bad), 0);
    lib_load(lib, symbols, 2, &table);
    assert_true(table.cosine(0) == 1);
    assert_null(table.missing);
    lib_close(lib);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_whole_library_is_loaded),
        TEST(test_one_that_was_cut_short_is_refused_at_every_length),
        TEST(test_one_whose_tail_was_never_written_is_refused),
        TEST(test_one_without_a_way_to_link_it_is_refused),
        TEST(test_what_is_no_library_is_refused),
        TEST(test_one_for_another_machine_is_refused),
        TEST(test_absurd_headers_are_refused),
        TEST(test_a_name_is_found_in_the_loaders_folders),
        TEST(test_a_name_is_found_in_the_folders_given),
        TEST(test_a_damaged_one_does_not_hide_a_good_one_behind_it),
        TEST(test_paths_are_found_among_anything),
        TEST(test_functions_that_are_missing_become_null),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "scratch.h"

#include "base/resident.h"

#include <sys/mman.h>

#define PAGE_MAX 65536

/* More than a page, so that a whole one of it is nobody else's. */
static const volatile char constants[2 * PAGE_MAX] = {[0] = 1, [PAGE_MAX] = 2};

static size_t resident_pages(void)
{
    unsigned long size;
    unsigned long resident;
    FILE *file = fopen("/proc/self/statm", "re");

    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lu %lu", &size, &resident), 2);
    fclose(file);
    return resident;
}

static void touch(void)
{
    for (size_t i = 0; i < sizeof constants; i += 4096)
        (void)constants[i];
}

static void test_what_was_only_read_is_given_back(void **state)
{
    (void)state;
    touch();
    size_t before = resident_pages();
    resident_give_back();
    size_t after = resident_pages();
    assert_true(after + sizeof constants / (size_t)sysconf(_SC_PAGESIZE) <= before);
    assert_int_equal(constants[0], 1);
    assert_int_equal(constants[PAGE_MAX], 2);
}

/* As a debugger does it. */
static void test_what_was_changed_stays(void **state)
{
    size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
    union {
        const volatile char *constant;
        char *memory;
    } at = {.constant = constants + PAGE_MAX};
    char *page = at.memory - (uintptr_t)at.memory % page_size;

    (void)state;
    assert_int_equal(mprotect(page, page_size, PROT_READ | PROT_WRITE), 0);
    *at.memory = 3;
    assert_int_equal(mprotect(page, page_size, PROT_READ), 0);
    resident_give_back();
    assert_int_equal(constants[PAGE_MAX], 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_only_read_is_given_back),
        cmocka_unit_test(test_what_was_changed_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

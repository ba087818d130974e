#include "collect/pss.h"

#include "proc_fixture.h"

#include "base/clock.h"

#define ROOT 100
#define LONGEST_NS (50 * NS_PER_MS)
#define FIXED_NS (50 * NS_PER_US)
#define PAGE_NS 14
/* The largest process whose reading is not expected to take over 50 ms. */
#define LARGEST_PAGES ((LONGEST_NS - FIXED_NS) / PAGE_NS)
#define HUNDRED_GIB_PAGES (100 * UINT64_C(1024) * 1024 * 1024 / 4096)
#define REFRESH_NS (10 * NS_PER_SEC)

static struct scratch proc;
static struct tree tree;
static struct pss pss;
static uint64_t now_ns;

static int make(void **state)
{
    (void)state;
    scratch_make(&proc);
    memset(&tree, 0, sizeof tree);
    now_ns = 1000 * NS_PER_SEC;
    return 0;
}

static int drop(void **state)
{
    (void)state;
    tree_close(&tree);
    scratch_remove(&proc);
    return 0;
}

static void add(pid_t pid, uint64_t rss_pages, uint64_t pss_kib)
{
    struct ledger unused = {0};
    struct pid_stat stat = {.state = 'S', .start_ticks = 1, .rss_pages = rss_pages};

    proc_put(&proc, (struct entry){.pid = pid, .parent = 1, .rss = rss_pages});
    proc_pss(&proc, pid, pss_kib);
    assert_int_equal(tree_add(&tree, pid, &stat, &unused), 0);
}

static void begin(enum pss_mode mode)
{
    assert_int_equal(tree_open(&tree, proc.fd, ROOT, 0, 0), 0);
    pss_init(&pss, mode);
}

/* One sample in which so much may be spent, whatever was saved up or spent too much before. */
static void read_with(uint64_t allowance_ns)
{
    pss.allowance_ns = 0;
    pss_read(&pss, &tree, now_ns += NS_PER_SEC, allowance_ns * 200);
}

static bool was_read(pid_t pid)
{
    return tree_find(&tree, pid)->pss_read_ns == now_ns;
}

static bool was_ever_read(pid_t pid)
{
    return tree_find(&tree, pid)->pss_read_ns != 0;
}

static size_t count_read(void)
{
    size_t count = 0;

    for (size_t i = 0; i < tree.count; i++)
        count += tree.members[i].pss_read_ns == now_ns;
    return count;
}

static uint64_t sum_kib(void)
{
    return pss_sum(&pss, &tree).bytes / 1024;
}

static uint64_t pages_kib(uint64_t pages)
{
    return pages * (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
}

/* --- what a reading is expected to take --- */

static void test_the_prediction_grows_with_resident_pages(void **state)
{
    struct member member = {0};

    (void)state;
    assert_int_equal(pss_predict_ns(&member), FIXED_NS);
    member.rss_pages = 1000;
    assert_int_equal(pss_predict_ns(&member), FIXED_NS + 1000 * PAGE_NS);
    member.rss_pages = LARGEST_PAGES;
    assert_true(pss_predict_ns(&member) <= LONGEST_NS);
    member.rss_pages = LARGEST_PAGES + 1;
    assert_true(pss_predict_ns(&member) > LONGEST_NS);
    member.rss_pages = HUNDRED_GIB_PAGES;
    assert_true(pss_predict_ns(&member) > 7 * LONGEST_NS);
}

static void test_the_prediction_goes_by_what_was_learned(void **state)
{
    struct member member = {.rss_pages = 1000, .pss_cost_ns_per_page = 200};

    (void)state;
    assert_int_equal(pss_predict_ns(&member), FIXED_NS + 1000 * 200);
}

static void test_no_member_is_thought_cheaper_than_measured(void **state)
{
    (void)state;
    begin(PSS_AUTO);
    add(ROOT, 100000, 500);
    read_with(LONGEST_NS);
    assert_true(was_read(ROOT));
    assert_true(pss_predict_ns(&tree.members[0]) >= FIXED_NS + 100000 * PAGE_NS);
}

/* --- the budget --- */

static void test_half_a_percent_of_the_time_is_saved_up(void **state)
{
    (void)state;
    begin(PSS_AUTO);
    pss_read(&pss, &tree, now_ns, NS_PER_SEC);
    assert_int_equal(pss.allowance_ns, 5 * NS_PER_MS);
    pss_read(&pss, &tree, now_ns, 10 * NS_PER_MS);
    assert_int_equal(pss.allowance_ns, 5 * NS_PER_MS + 50 * NS_PER_US);
}

static void test_no_more_than_one_longest_reading_is_saved_up(void **state)
{
    (void)state;
    begin(PSS_AUTO);
    for (unsigned i = 0; i < 100; i++)
        pss_read(&pss, &tree, now_ns, NS_PER_SEC);
    assert_int_equal(pss.allowance_ns, LONGEST_NS);
    pss_read(&pss, &tree, now_ns, UINT64_C(86400) * 365 * NS_PER_SEC);
    assert_int_equal(pss.allowance_ns, LONGEST_NS);
}

static void test_a_reading_is_paid_for(void **state)
{
    (void)state;
    begin(PSS_AUTO);
    add(ROOT, 1, 4);
    read_with(LONGEST_NS);
    assert_true(was_read(ROOT));
    assert_true(pss.allowance_ns < (int64_t)LONGEST_NS);
}

static void test_a_member_waits_until_enough_is_saved_up(void **state)
{
    uint64_t expected_ns = FIXED_NS + 1000000 * PAGE_NS;

    (void)state;
    begin(PSS_AUTO);
    add(ROOT, 1000000, 77);
    for (unsigned i = 0; i < 10; i++) {
        read_with(expected_ns - 1);
        assert_false(was_ever_read(ROOT));
    }
    read_with(expected_ns);
    assert_true(was_read(ROOT));
    assert_int_equal(sum_kib(), 77);
}

/* At 10 ms, one sample does not pay for a reading, but two do. */
static void test_short_intervals_add_up(void **state)
{
    (void)state;
    begin(PSS_AUTO);
    add(ROOT, 3000, 77);
    unsigned samples = 0;
    while (!was_ever_read(ROOT) && samples < 100) {
        pss_read(&pss, &tree, now_ns += 10 * NS_PER_MS, 10 * NS_PER_MS);
        samples++;
    }
    assert_int_equal(samples, 2);
}

static void test_a_member_of_a_hundred_gib_is_never_read(void **state)
{
    (void)state;
    begin(PSS_AUTO);
    add(ROOT, HUNDRED_GIB_PAGES, 1);
    add(101, LARGEST_PAGES + 1, 1);
    add(102, LARGEST_PAGES, 1);
    for (unsigned i = 0; i < 100; i++) {
        read_with(NS_PER_SEC * 1000);
        assert_false(was_ever_read(ROOT));
        assert_false(was_ever_read(101));
    }
    assert_true(was_ever_read(102));
    assert_int_equal(sum_kib(), pages_kib(HUNDRED_GIB_PAGES) + pages_kib(LARGEST_PAGES + 1) + 1);
}

/* The tracker lost the CPU for 60 ms during one reading of 2 MB, as under a CPU limit. */
static void test_one_slow_reading_is_not_held_against_a_member_for_good(void **state)
{
    (void)state;
    begin(PSS_AUTO);
    add(ROOT, 500, 7);
    read_with(LONGEST_NS);
    uint64_t read_ns = now_ns;
    tree.members[0].pss_cost_ns_per_page = 60 * NS_PER_MS / 500;
    while (now_ns < read_ns + 3600 * NS_PER_SEC)
        read_with(LONGEST_NS);
    assert_true(tree.members[0].pss_read_ns > read_ns);
}

/* --- whose turn it is --- */

/* Each call pays for exactly one reading of these; together they go round. */
static void test_members_are_read_in_turn(void **state)
{
    (void)state;
    begin(PSS_AUTO);
    for (pid_t pid = ROOT; pid < ROOT + 5; pid++)
        add(pid, 1, 4);
    for (unsigned round = 0; round < 3; round++) {
        for (pid_t pid = ROOT; pid < ROOT + 5; pid++) {
            for (size_t i = 0; i < tree.count; i++) {
                tree.members[i].rss_pages++; /* all are due */
                tree.members[i].pss_cost_ns_per_page = 0;
            }
            read_with(FIXED_NS + tree.members[0].rss_pages * PAGE_NS);
            assert_int_equal(count_read(), 1);
            assert_true(was_read(pid));
        }
    }
}

static void test_the_turn_survives_departures(void **state)
{
    struct account unused_account = {0};
    struct ledger unused = {0};

    (void)state;
    begin(PSS_ALWAYS);
    for (pid_t pid = ROOT; pid < ROOT + 5; pid++)
        add(pid, 1, 4);
    pss.next = 4;
    for (size_t i = 1; i < 5; i++)
        tree.members[i].departed = true;
    tree_settle(&tree, &unused_account, &unused);
    assert_int_equal(tree.count, 1);
    read_with(0);
    assert_true(was_read(ROOT));
    tree.members[0].departed = true;
    tree_settle(&tree, &unused_account, &unused);
    read_with(0);
    assert_int_equal(sum_kib(), 0);
}

static void test_always_reads_every_time(void **state)
{
    (void)state;
    begin(PSS_ALWAYS);
    add(ROOT, 10, 7);
    for (int i = 0; i < 3; i++) {
        read_with(0);
        assert_true(was_read(ROOT));
    }
}

static void test_one_that_has_not_changed_is_not_read_again_soon(void **state)
{
    (void)state;
    begin(PSS_AUTO);
    add(ROOT, 10, 7);
    read_with(LONGEST_NS);
    uint64_t read_ns = now_ns;
    while (now_ns < read_ns + REFRESH_NS) {
        read_with(LONGEST_NS);
        assert_int_equal(tree.members[0].pss_read_ns, read_ns);
    }
    read_with(LONGEST_NS);
    assert_true(was_read(ROOT));
    tree.members[0].rss_pages++;
    read_with(LONGEST_NS);
    assert_true(was_read(ROOT));
}

static void test_what_has_no_memory_is_not_read(void **state)
{
    (void)state;
    begin(PSS_ALWAYS);
    add(ROOT, 0, 7);
    add(101, 10, 7);
    tree.members[1].state = 'Z';
    read_with(LONGEST_NS);
    assert_int_equal(count_read(), 0);
}

/* --- modes --- */

static void test_always_reads_whatever_it_takes(void **state)
{
    (void)state;
    begin(PSS_ALWAYS);
    add(ROOT, HUNDRED_GIB_PAGES, 123);
    add(101, 1000, 45);
    read_with(0);
    assert_true(was_read(ROOT) && was_read(101));
    assert_int_equal(sum_kib(), 168);
}

static void test_never_reads_nothing(void **state)
{
    (void)state;
    begin(PSS_NEVER);
    add(ROOT, 10, 1);
    read_with(LONGEST_NS);
    assert_false(was_ever_read(ROOT));
    assert_int_equal(sum_kib(), pages_kib(10));
    assert_int_equal(pss_sum(&pss, &tree).oldest_ns, 0);
}

/* --- the sum --- */

static void test_what_cannot_be_read_counts_with_its_resident_size(void **state)
{
    (void)state;
    begin(PSS_AUTO);
    add(ROOT, 10, 1);
    add(101, 20, 2);
    add(102, 30, 3);
    proc_end_file(&proc, ROOT, "smaps_rollup");
    proc_text(&proc, 101, "smaps_rollup", "Rss: 5 kB\n");
    read_with(LONGEST_NS);
    assert_false(was_ever_read(ROOT) || was_ever_read(101));
    assert_int_equal(sum_kib(), pages_kib(10) + pages_kib(20) + 3);
    /* It may have been the moment only. */
    proc_pss(&proc, ROOT, 1);
    tree_find(&tree, ROOT)->pss_cost_ns_per_page = 0;
    read_with(LONGEST_NS);
    assert_int_equal(sum_kib(), 1 + pages_kib(20) + 3);
}

static void test_a_value_that_was_read_stands_when_the_next_cannot_be(void **state)
{
    (void)state;
    begin(PSS_ALWAYS);
    add(ROOT, 10, 9);
    read_with(0);
    uint64_t read_ns = now_ns;
    proc_end_file(&proc, ROOT, "smaps_rollup");
    tree.members[0].rss_pages = 11;
    read_with(0);
    assert_int_equal(sum_kib(), 9);
    assert_int_equal(pss_sum(&pss, &tree).oldest_ns, read_ns);
}

/* The memory shrank since. */
static void test_a_share_never_exceeds_the_resident_size(void **state)
{
    (void)state;
    begin(PSS_ALWAYS);
    add(ROOT, 1000, 3000);
    read_with(0);
    assert_int_equal(sum_kib(), 3000);
    tree.members[0].rss_pages = 10;
    assert_int_equal(sum_kib(), pages_kib(10));
}

static void test_the_age_is_that_of_the_oldest_value(void **state)
{
    (void)state;
    begin(PSS_AUTO);
    assert_int_equal(pss_sum(&pss, &tree).oldest_ns, 0);
    add(ROOT, 10, 1);
    add(101, 10, 1);
    read_with(LONGEST_NS);
    uint64_t first_ns = now_ns;
    tree_find(&tree, 101)->rss_pages = 11;
    read_with(LONGEST_NS);
    assert_true(was_read(101));
    assert_int_equal(pss_sum(&pss, &tree).oldest_ns, first_ns);
    tree_find(&tree, ROOT)->rss_pages = 11;
    tree_find(&tree, 101)->rss_pages = 12;
    read_with(LONGEST_NS);
    assert_int_equal(pss_sum(&pss, &tree).oldest_ns, now_ns);
}

/* Nothing of a zombie is in the sum, so how long ago it was read says nothing of it. */
static void test_a_zombie_does_not_age_the_sum(void **state)
{
    (void)state;
    begin(PSS_ALWAYS);
    add(ROOT, 10, 1);
    add(101, 10, 1);
    read_with(0);
    tree_find(&tree, 101)->rss_pages = 0;
    tree_find(&tree, 101)->state = 'Z';
    tree_find(&tree, ROOT)->rss_pages = 11;
    read_with(0);
    assert_true(was_read(ROOT));
    assert_int_equal(sum_kib(), 1);
    assert_int_equal(pss_sum(&pss, &tree).oldest_ns, now_ns);
}

static void test_the_page_size_is_the_systems(void **state)
{
    (void)state;
    begin(PSS_AUTO);
    assert_int_equal(pss.page_bytes, sysconf(_SC_PAGESIZE));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, make, drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_prediction_grows_with_resident_pages),
        cmocka_unit_test(test_the_prediction_goes_by_what_was_learned),
        TEST(test_no_member_is_thought_cheaper_than_measured),
        TEST(test_half_a_percent_of_the_time_is_saved_up),
        TEST(test_no_more_than_one_longest_reading_is_saved_up),
        TEST(test_a_reading_is_paid_for),
        TEST(test_a_member_waits_until_enough_is_saved_up),
        TEST(test_short_intervals_add_up),
        TEST(test_a_member_of_a_hundred_gib_is_never_read),
        TEST(test_one_slow_reading_is_not_held_against_a_member_for_good),
        TEST(test_members_are_read_in_turn),
        TEST(test_the_turn_survives_departures),
        TEST(test_always_reads_every_time),
        TEST(test_one_that_has_not_changed_is_not_read_again_soon),
        TEST(test_what_has_no_memory_is_not_read),
        TEST(test_always_reads_whatever_it_takes),
        TEST(test_never_reads_nothing),
        TEST(test_what_cannot_be_read_counts_with_its_resident_size),
        TEST(test_a_value_that_was_read_stands_when_the_next_cannot_be),
        TEST(test_a_share_never_exceeds_the_resident_size),
        TEST(test_the_age_is_that_of_the_oldest_value),
        TEST(test_a_zombie_does_not_age_the_sum),
        TEST(test_the_page_size_is_the_systems),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

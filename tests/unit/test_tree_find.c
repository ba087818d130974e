/*
 * Finding newcomers. Most of this reads a /proc of plain files whose "self" names us: the tree then
 * goes by the PIDs in its loadavg and by the CPU clocks of real, sleeping processes, and what it
 * opens is in the test's hands. The rest reads the real /proc.
 */
#include "collect/tree.h"

#include "proc_fixture.h"
#include "puppet.h"

#include <linux/sched.h>

/* Beyond the largest pid_max: nobody has it. */
#define NOBODY 5000000
#define SLEEPERS 4
#define LISTING_NS (60 * NS_PER_SEC)
#define BURST 4096

static struct scratch proc;
static struct tree tree;
static struct ledger ledger;
static uint64_t now_ns;
static pid_t sleepers[SLEEPERS]; /* by PID */

static int by_pid(const void *left, const void *right)
{
    return *(const pid_t *)left - *(const pid_t *)right;
}

static void sleep_for_good(void)
{
    for (;;)
        pause();
}

static void say_last_pid(pid_t pid)
{
    char text[128];

    snprintf(text, sizeof text, "2.00 2.27 1.62 3/95 %d\n", (int)pid);
    scratch_text(&proc, "loadavg", text);
}

static int make(void **state)
{
    char self[32];

    (void)state;
    scratch_make(&proc);
    snprintf(self, sizeof self, "%d", (int)getpid());
    assert_int_equal(symlinkat(self, proc.fd, "self"), 0);
    say_last_pid(1);
    for (size_t i = 0; i < SLEEPERS; i++) {
        sleepers[i] = fork();
        assert_true(sleepers[i] >= 0);
        if (sleepers[i] == 0)
            sleep_for_good();
    }
    qsort(sleepers, SLEEPERS, sizeof sleepers[0], by_pid);
    memset(&tree, 0, sizeof tree);
    memset(&ledger, 0, sizeof ledger);
    now_ns = NS_PER_SEC;
    return 0;
}

static int drop(void **state)
{
    (void)state;
    tree_close(&tree);
    for (size_t i = 0; i < SLEEPERS; i++) {
        kill(sleepers[i], SIGKILL);
        assert_int_equal(waitpid(sleepers[i], NULL, 0), sleepers[i]);
    }
    scratch_remove(&proc);
    return 0;
}

static void look(pid_t last_pid)
{
    say_last_pid(last_pid);
    tree_find_newcomers(&tree, now_ns += NS_PER_SEC, &ledger);
}

static void put(pid_t pid, pid_t parent)
{
    proc_put(&proc, (struct entry){.pid = pid, .parent = parent});
}

static bool is_member(pid_t pid)
{
    return tree_find(&tree, pid) != NULL;
}

/* The lowest of the sleepers is the root and has been found; the last PID was its. */
static void open_on_sleeper(void)
{
    put(sleepers[0], getpid());
    assert_int_equal(tree_open(&tree, proc.fd, sleepers[0], getpid(), 0), 0);
    assert_true(tree.own_namespace);
    look(sleepers[0]);
    assert_int_equal(tree.count, 1);
}

/* A member that only a listing finds: its PID was given out long ago. */
static void put_unnoticed(void)
{
    put(sleepers[1], sleepers[0]);
}

static bool was_listed(void)
{
    return is_member(sleepers[1]);
}

/* --- by PID --- */

static void test_only_pids_given_out_since_the_last_look_are_tried(void **state)
{
    (void)state;
    open_on_sleeper();
    look(sleepers[1]);
    put_unnoticed();
    put(sleepers[2], sleepers[0]);
    put(sleepers[3], sleepers[2]);
    look(sleepers[2]);
    assert_true(is_member(sleepers[2]));
    assert_false(is_member(sleepers[3]));
    look(sleepers[3]);
    assert_true(is_member(sleepers[3]));
    look(sleepers[3]);
    assert_int_equal(tree.count, 3);
    assert_false(was_listed());
}

static void test_a_pid_without_a_process_is_not_opened(void **state)
{
    (void)state;
    open_on_sleeper();
    look(NOBODY - 1);
    put(NOBODY, sleepers[0]);
    look(NOBODY + 1);
    assert_false(is_member(NOBODY));
}

static void test_strangers_among_the_new_pids_stay_out(void **state)
{
    (void)state;
    open_on_sleeper();
    put(sleepers[1], 1);
    put(sleepers[2], sleepers[1]);
    put(sleepers[3], sleepers[0]);
    look(sleepers[3]);
    assert_int_equal(tree.count, 2);
    assert_true(is_member(sleepers[3]));
}

static void test_ourselves_are_not_a_member(void **state)
{
    (void)state;
    open_on_sleeper();
    put(getpid(), sleepers[0]);
    tree.last_pid = getpid() - 1;
    look(getpid());
    assert_false(is_member(getpid()));
    look(1); /* by listing as well */
    assert_false(is_member(getpid()));
}

/* Makes a process of a certain PID; only root may. */
static pid_t fork_with_pid(pid_t pid)
{
    struct clone_args args = {
        .exit_signal = SIGCHLD,
        .set_tid = (uint64_t)(uintptr_t)&pid,
        .set_tid_size = 1,
    };

    pid_t child = (pid_t)syscall(SYS_clone3, &args, sizeof args);
    if (child == 0)
        sleep_for_good();
    return child;
}

/* A PID is given out before its process can be seen. */
static void test_a_fork_under_way_has_a_second_chance(void **state)
{
    (void)state;
    open_on_sleeper();
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    look(pid - 1);
    look(pid);
    pid_t late = fork_with_pid(pid);
    if (late < 0)
        skip();
    put(late, sleepers[0]);
    look(pid);
    bool found = is_member(late);
    kill(late, SIGKILL);
    assert_int_equal(waitpid(late, NULL, 0), late);
    assert_true(found);
    assert_false(was_listed());
}

/* --- by listing --- */

static void test_a_lower_last_pid_means_wrap_around_and_a_listing(void **state)
{
    (void)state;
    open_on_sleeper();
    look(sleepers[3]);
    put_unnoticed();
    look(sleepers[3]);
    assert_false(was_listed());
    look(sleepers[3] - 1);
    assert_true(was_listed());
}

static void test_a_burst_of_pids_means_a_listing(void **state)
{
    (void)state;
    open_on_sleeper();
    look(NOBODY);
    put_unnoticed();
    look(NOBODY + BURST);
    assert_false(was_listed());
    look(NOBODY + 2 * BURST + 1);
    assert_true(was_listed());
}

static void test_now_and_then_there_is_a_listing(void **state)
{
    (void)state;
    open_on_sleeper();
    look(sleepers[3]);
    put_unnoticed();
    now_ns = tree.listed_ns + LISTING_NS - NS_PER_SEC;
    look(sleepers[3]);
    assert_false(was_listed());
    look(sleepers[3]);
    assert_true(was_listed());
    put(sleepers[2], sleepers[0]);
    look(sleepers[3]);
    assert_false(is_member(sleepers[2]));
}

static void test_without_a_last_pid_there_is_a_listing(void **state)
{
    static const char *const texts[] = {"", "2.00 2.27 1.62 3/95", "2.00 2.27 1.62 3/95 x\n",
                                        "2.00 2.27 1.62 3/95 99999999999\n"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        open_on_sleeper();
        look(sleepers[3]);
        put_unnoticed();
        scratch_text(&proc, "loadavg", texts[i]);
        tree_find_newcomers(&tree, now_ns += NS_PER_SEC, &ledger);
        assert_true(was_listed());
        tree_close(&tree);
        proc_end(&proc, sleepers[1]);
    }
}

static void test_after_a_lost_last_pid_nobody_is_overlooked(void **state)
{
    (void)state;
    open_on_sleeper();
    look(0);
    put(sleepers[1], sleepers[0]);
    look(sleepers[1]);
    put(sleepers[2], sleepers[0]);
    look(sleepers[2]);
    assert_int_equal(tree.count, 3);
}

static void test_an_attach_begins_with_a_listing(void **state)
{
    (void)state;
    for (size_t i = 0; i < SLEEPERS; i++)
        put(sleepers[i], i > 0 ? sleepers[i - 1] : 1);
    assert_int_equal(tree_open(&tree, proc.fd, sleepers[0], 0, 0), 0);
    look(sleepers[3]);
    assert_int_equal(tree.count, SLEEPERS);
}

static void test_entries_that_are_no_pids_are_passed_over(void **state)
{
    static const char *const names[] = {"0", "12x", "-5", "+6", "sys", "99999999999", ".7"};

    (void)state;
    open_on_sleeper();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[64];
        assert_int_equal(mkdirat(proc.fd, names[i], 0755), 0);
        snprintf(path, sizeof path, "%s/stat", names[i]);
        scratch_text(&proc, path, "1 (x) S 1");
    }
    put_unnoticed();
    look(1);
    look(1);
    assert_int_equal(tree.count, 2);
    /* The sleeper itself was none of the foreigners when it was listed, nor are these. */
    for (size_t i = 0; i < tree.foreigner_count; i++)
        assert_true(tree.foreigners[i].pid == sleepers[1]);
}

/* Strangers are opened once: a listing goes by their inodes after that. */
static void test_a_stranger_is_looked_at_once(void **state)
{
    (void)state;
    put(1, 0);
    put(NOBODY, 1);
    put(sleepers[0], 1);
    assert_int_equal(tree_open(&tree, proc.fd, sleepers[0], 0, 0), 0);
    look(0);
    assert_int_equal(tree.count, 1);
    put(NOBODY, sleepers[0]); /* no real process changes like this */
    look(0);
    assert_int_equal(tree.count, 1);
    proc_reuse(&proc, (struct entry){.pid = NOBODY, .parent = sleepers[0]});
    look(0);
    assert_true(is_member(NOBODY));
}

/*
 * A process is created at a PID that the listing has passed, and forks another at one that it has
 * not: the child is seen before its parent is.
 */
static void test_a_child_listed_before_its_parent_is_not_lost(void **state)
{
    (void)state;
    put(sleepers[0], 1);
    assert_int_equal(tree_open(&tree, proc.fd, sleepers[0], 0, 0), 0);
    look(0);
    put(sleepers[2], sleepers[1]);
    look(0);
    assert_int_equal(tree.count, 1);
    put(sleepers[1], sleepers[0]);
    look(0);
    assert_true(is_member(sleepers[1]));
    assert_true(is_member(sleepers[2]));
}

static void test_no_proc_at_all_finds_nobody(void **state)
{
    (void)state;
    assert_int_equal(tree_open(&tree, -1, sleepers[0], 0, 0), 0);
    look(1);
    look(2);
    assert_int_equal(tree.count, 0);
}

/* --- the real /proc --- */

static int real_proc;

static void open_real(pid_t root, pid_t tracker)
{
    real_proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(tree_open(&tree, real_proc, root, tracker, 64) == 0);
    CHECK(tree.own_namespace);
}

static void look_really(void)
{
    struct account unused = {0};

    tree_read_members(&tree);
    tree_settle(&tree, &unused, &ledger);
    tree_find_newcomers(&tree, now_ns += NS_PER_SEC, &ledger);
}

static void find_real_children(void)
{
    open_real(puppets_begin(NULL), getpid());
    look_really();
    CHECK(tree.count == 1);
    uint64_t listed_ns = tree.listed_ns;
    puppet_child(0, 1);
    puppet_child(1, 2);
    look_really();
    CHECK(tree.count == 3);
    CHECK(is_member(puppets[1].pid) && is_member(puppets[2].pid));
    look_really();
    CHECK(tree.count == 3);
    /* Unless PIDs have just wrapped around, nothing was listed. */
    CHECK(tree.listed_ns == listed_ns || tree.last_pid < puppets[0].pid);
    puppet_end(2);
    look_really();
    CHECK(tree_find(&tree, puppets[2].pid)->state == 'Z');
    CHECK(puppet_ask(1, ORDER_WAIT, puppets[2].pid) == puppets[2].pid);
    look_really();
    CHECK(tree.count == 2);
}

static void test_real_children_are_found(void **state)
{
    (void)state;
    in_child(find_real_children);
}

static void find_child_of_thread(void)
{
    open_real(puppets_begin(NULL), getpid());
    look_really();
    puppets[1].pid = (pid_t)puppet_ask(0, ORDER_THREAD_FORK, 1);
    look_really();
    CHECK(tree.count == 2);
    CHECK(is_member(puppets[1].pid));
    CHECK(tree_find(&tree, puppets[1].pid)->parent == puppets[0].pid);
}

static void test_a_child_forked_by_a_thread_is_found(void **state)
{
    (void)state;
    in_child(find_child_of_thread);
}

/* Threads have numbers like processes, and /proc opens them by number. */
static void count_threads_once(void)
{
    open_real(puppets_begin(NULL), getpid());
    look_really();
    puppet_child(0, 1);
    CHECK(puppet_ask(1, ORDER_THREADS, 20) == 0);
    CHECK(puppet_ask(0, ORDER_THREADS, 4) == 0);
    look_really();
    look_really();
    CHECK(tree.count == 2);
    CHECK(tree_find(&tree, puppets[1].pid)->threads == 21);
    CHECK(tree_find(&tree, puppets[0].pid)->threads == 5);
}

static void test_a_process_with_many_threads_is_one_member(void **state)
{
    (void)state;
    in_child(count_threads_once);
}

static void *do_nothing(void *unused)
{
    return unused;
}

/* Threads use PIDs up as well. */
static void use_up_pids(unsigned count)
{
    pthread_t thread;

    while (count-- > 0) {
        CHECK(pthread_create(&thread, NULL, do_nothing, NULL) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
    }
}

static void find_after_a_burst(void)
{
    open_real(puppets_begin(NULL), getpid());
    look_really();
    uint64_t listed_ns = tree.listed_ns;
    puppet_child(0, 1);
    use_up_pids(BURST);
    puppet_child(0, 2);
    look_really();
    CHECK(tree.listed_ns != listed_ns);
    CHECK(tree.count == 3);
    CHECK(is_member(puppets[1].pid) && is_member(puppets[2].pid));
}

static void test_real_children_are_found_in_a_burst(void **state)
{
    (void)state;
    in_child(find_after_a_burst);
}

static void adopt_real_orphans(void)
{
    CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0);
    open_real(puppets_begin(NULL), getpid());
    look_really();
    /* Forked twice between two looks: the one in the middle is never seen. */
    puppet_child(0, 1);
    puppet_child(1, 2);
    puppet_end(1);
    CHECK(puppet_ask(0, ORDER_WAIT, puppets[1].pid) == puppets[1].pid);
    look_really();
    CHECK(tree.count == 2);
    CHECK(is_member(puppets[2].pid));
    CHECK(tree_find(&tree, puppets[2].pid)->parent == getpid());
    /* And its children, when the root is long gone. */
    puppet_end(0);
    CHECK(waitpid(puppets[0].pid, NULL, 0) == puppets[0].pid);
    puppet_child(2, 3);
    look_really();
    CHECK(tree.count == 2);
    CHECK(is_member(puppets[3].pid));
}

static void test_real_orphans_are_adopted(void **state)
{
    (void)state;
    in_child(adopt_real_orphans);
}

/* A member that sleeps learns of its new parent although its clock stands still. */
static void notice_a_new_parent(void)
{
    CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0);
    open_real(puppets_begin(NULL), getpid());
    look_really();
    puppet_child(0, 1);
    puppet_child(1, 2);
    look_really();
    look_really();
    CHECK(tree_find(&tree, puppets[2].pid)->parent == puppets[1].pid);
    puppet_end(1);
    CHECK(puppet_ask(0, ORDER_WAIT, puppets[1].pid) == puppets[1].pid);
    look_really();
    look_really();
    CHECK(tree.count == 2);
    CHECK(tree_find(&tree, puppets[2].pid)->parent == getpid());
}

static void test_a_sleeping_orphan_has_a_new_parent(void **state)
{
    (void)state;
    in_child(notice_a_new_parent);
}

static void attach_really(void)
{
    pid_t root = puppets_begin(NULL);

    puppet_child(0, 1);
    puppet_child(1, 2);
    usleep(30000); /* the attach is in a later tick than the forks */
    open_real(root, 0);
    look_really();
    CHECK(tree.count == 3);
    CHECK(ledger.total[QUANTITY_CPU] == 0);
    CHECK(ledger.total[QUANTITY_MINOR_FAULTS] == 0);
    CHECK(tree_find(&tree, getpid()) == NULL);
    puppet_child(2, 3);
    look_really();
    CHECK(tree.count == 4);
}

static void test_a_real_tree_can_be_attached_to(void **state)
{
    (void)state;
    in_child(attach_really);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, make, drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_only_pids_given_out_since_the_last_look_are_tried),
        TEST(test_a_pid_without_a_process_is_not_opened),
        TEST(test_strangers_among_the_new_pids_stay_out),
        TEST(test_ourselves_are_not_a_member),
        TEST(test_a_fork_under_way_has_a_second_chance),
        TEST(test_a_lower_last_pid_means_wrap_around_and_a_listing),
        TEST(test_a_burst_of_pids_means_a_listing),
        TEST(test_now_and_then_there_is_a_listing),
        TEST(test_without_a_last_pid_there_is_a_listing),
        TEST(test_after_a_lost_last_pid_nobody_is_overlooked),
        TEST(test_an_attach_begins_with_a_listing),
        TEST(test_entries_that_are_no_pids_are_passed_over),
        TEST(test_a_stranger_is_looked_at_once),
        TEST(test_a_child_listed_before_its_parent_is_not_lost),
        TEST(test_no_proc_at_all_finds_nobody),
        cmocka_unit_test(test_real_children_are_found),
        cmocka_unit_test(test_a_child_forked_by_a_thread_is_found),
        cmocka_unit_test(test_a_process_with_many_threads_is_one_member),
        cmocka_unit_test(test_real_children_are_found_in_a_burst),
        cmocka_unit_test(test_real_orphans_are_adopted),
        cmocka_unit_test(test_a_sleeping_orphan_has_a_new_parent),
        cmocka_unit_test(test_a_real_tree_can_be_attached_to),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

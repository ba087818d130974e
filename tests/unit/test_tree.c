#include "collect/tree.h"

#include "proc_fixture.h"

#include "base/clock.h"

#include <dirent.h>
#include <sys/resource.h>

#define ROOT 100
#define TRACKER 50
#define TICK_NS (10 * NS_PER_MS)

static struct scratch proc;
static struct tree tree;
static struct ledger ledger;
static struct account reaped_by_tracker;
static uint64_t now_ns;

static int make(void **state)
{
    (void)state;
    scratch_make(&proc);
    memset(&ledger, 0, sizeof ledger);
    memset(&reaped_by_tracker, 0, sizeof reaped_by_tracker);
    memset(&tree, 0, sizeof tree);
    now_ns = NS_PER_SEC;
    return 0;
}

static int drop(void **state)
{
    (void)state;
    tree_close(&tree);
    scratch_remove(&proc);
    return 0;
}

static void look(void)
{
    tree_find_newcomers(&tree, now_ns += NS_PER_SEC, &ledger);
}

static void settle(void)
{
    tree_read_members(&tree);
    tree_settle(&tree, &reaped_by_tracker, &ledger);
}

static void pass_interval(void)
{
    settle();
    look();
}

/* A tree of our own command; what is in the fixture by now is found. */
static void open_own(size_t kept_fds_max)
{
    assert_int_equal(tree_open(&tree, proc.fd, ROOT, TRACKER, kept_fds_max), 0);
    assert_int_equal(tree.tick_ns, NS_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK));
    assert_false(tree.own_namespace);
    tree.began_ticks = 0; /* the processes of a fixture are as old as it says */
    look();
    look();
}

static void attach(size_t kept_fds_max)
{
    assert_int_equal(tree_open(&tree, proc.fd, ROOT, 0, kept_fds_max), 0);
    look();
}

static bool is_member(pid_t pid)
{
    const struct member *member = tree_find(&tree, pid);

    assert_true(member == NULL || member->pid == pid);
    return member != NULL;
}

static void put(pid_t pid, pid_t parent)
{
    proc_put(&proc, (struct entry){.pid = pid, .parent = parent});
}

static uint64_t cpu_ticks(void)
{
    return ledger.total[QUANTITY_CPU] / tree.tick_ns;
}

static void assert_parents_come_first(void)
{
    for (size_t i = 0; i < tree.count; i++) {
        const struct member *parent = tree_find(&tree, tree.members[i].parent);
        assert_true(parent == NULL || parent < &tree.members[i]);
    }
}

/* --- who belongs --- */

static void test_the_tree_is_the_root_and_its_descendants(void **state)
{
    (void)state;
    put(1, 0);
    put(ROOT, TRACKER);
    put(110, ROOT);
    put(120, 110);
    put(130, 1);
    put(140, 130);
    put(TRACKER, 1);
    open_own(0);
    assert_int_equal(tree.count, 3);
    assert_true(is_member(ROOT) && is_member(110) && is_member(120));
    assert_parents_come_first();
}

/* PIDs wrap around: a child may have a lower one than its parent. */
static void test_a_child_may_be_listed_before_its_parent(void **state)
{
    (void)state;
    put(ROOT, 1);
    put(99, ROOT);
    put(98, 99);
    put(97, 98);
    put(500, 97);
    put(3, 500);
    attach(0);
    assert_int_equal(tree.count, 6);
    assert_parents_come_first();
}

static void test_adopted_orphans_belong_to_the_trackers_tree_only(void **state)
{
    (void)state;
    put(ROOT, TRACKER);
    put(300, TRACKER);
    put(310, 300);
    open_own(0);
    assert_true(is_member(300) && is_member(310));
    tree_close(&tree);
    attach(0);
    assert_int_equal(tree.count, 1);
}

static void test_our_own_command_is_all_of_its_tree_at_first(void **state)
{
    (void)state;
    put(ROOT, TRACKER);
    put(110, ROOT);
    assert_int_equal(tree_open(&tree, proc.fd, ROOT, TRACKER, 0), 0);
    look();
    assert_int_equal(tree.count, 1);
    assert_true(tree.root_seen);
    look();
    assert_int_equal(tree.count, 2);
}

static void test_a_member_stays_one_when_it_is_orphaned(void **state)
{
    (void)state;
    put(1, 0);
    put(ROOT, 1);
    put(110, ROOT);
    put(120, 110);
    attach(0);
    proc_end(&proc, 110);
    put(120, 1);
    pass_interval();
    pass_interval();
    assert_int_equal(tree.count, 2);
    assert_true(is_member(120));
    assert_int_equal(tree_find(&tree, 120)->parent, 1);
    put(130, 120);
    pass_interval();
    assert_true(is_member(130));
    proc_end(&proc, ROOT);
    pass_interval();
    assert_true(is_member(120) && is_member(130) && !is_member(ROOT));
}

static void test_there_is_no_tree_without_its_root(void **state)
{
    (void)state;
    put(1, 0);
    put(110, ROOT);
    attach(0);
    assert_int_equal(tree.count, 0);
    assert_false(tree.root_seen);
    pass_interval();
    assert_int_equal(tree.count, 0);
}

static void test_a_kernel_thread_can_be_the_root(void **state)
{
    (void)state;
    proc_put(&proc, (struct entry){.pid = ROOT, .name = "kthreadd", .start = 1, .stime = 3});
    proc_put(&proc, (struct entry){.pid = 101, .parent = ROOT, .name = "pool_workqueue_"});
    put(1, 0);
    attach(0);
    assert_int_equal(tree.count, 2);
    assert_int_equal(tree_find(&tree, ROOT)->rss_pages, 0);
    assert_false(is_member(1));
}

/* With another namespace's /proc, our own number is just somebody there. */
static void test_a_stranger_may_have_our_number_in_another_namespace(void **state)
{
    (void)state;
    put(1, 0);
    put(ROOT, 1);
    put(getpid(), ROOT);
    attach(0);
    assert_false(tree.own_namespace);
    assert_true(is_member(getpid()));
}

/* --- PIDs that are given out again --- */

static void test_a_pid_with_another_start_time_is_another_process(void **state)
{
    (void)state;
    put(ROOT, TRACKER);
    proc_put(&proc, (struct entry){.pid = 110, .parent = ROOT, .start = 2000, .utime = 70});
    open_own(0);
    assert_int_equal(cpu_ticks(), 70);
    proc_reuse(&proc, (struct entry){.pid = 110, .parent = ROOT, .start = 3000, .utime = 5});
    proc_put(&proc, (struct entry){.pid = ROOT, .parent = TRACKER, .reaped_utime = 71});
    pass_interval();
    assert_true(is_member(110));
    assert_int_equal(tree_find(&tree, 110)->start_ticks, 3000);
    assert_int_equal(tree.count, 2);
    assert_int_equal(cpu_ticks(), 76);
}

static void test_a_members_pid_may_go_to_a_stranger(void **state)
{
    (void)state;
    put(1, 0);
    put(ROOT, TRACKER);
    put(110, ROOT);
    open_own(4);
    proc_reuse(&proc, (struct entry){.pid = 110, .parent = 1, .start = 3000, .utime = 1000});
    pass_interval();
    assert_false(is_member(110));
    assert_int_equal(cpu_ticks(), 0);
}

static void test_the_roots_pid_does_not_make_a_root_again(void **state)
{
    (void)state;
    put(1, 0);
    put(ROOT, 1);
    put(110, ROOT);
    attach(0);
    proc_reuse(&proc, (struct entry){.pid = ROOT, .parent = 1, .start = 3000});
    put(110, 1);
    pass_interval();
    pass_interval();
    assert_int_equal(tree.count, 1);
    assert_true(is_member(110));
    assert_true(tree.root_seen);
}

/* --- readings --- */

static void test_growth_of_members_is_counted(void **state)
{
    (void)state;
    proc_put(&proc, (struct entry){.pid = ROOT, .parent = TRACKER, .utime = 10, .stime = 5});
    proc_io(&proc, ROOT, 1000, 2000);
    open_own(0);
    assert_int_equal(cpu_ticks(), 15);
    assert_int_equal(ledger.total[QUANTITY_READ], 1000);
    assert_int_equal(ledger.total[QUANTITY_WRITE], 2000);
    proc_put(&proc, (struct entry){.pid = ROOT,
                                   .parent = TRACKER,
                                   .utime = 20,
                                   .stime = 7,
                                   .reaped_utime = 3,
                                   .reaped_stime = 2,
                                   .minor = 100,
                                   .reaped_minor = 11,
                                   .major = 20,
                                   .reaped_major = 4,
                                   .rss = 77,
                                   .threads = 9});
    proc_io(&proc, ROOT, 1500, 2700);
    pass_interval();
    assert_int_equal(cpu_ticks(), 32);
    assert_int_equal(ledger.total[QUANTITY_STIME], 9 * tree.tick_ns);
    assert_int_equal(ledger.total[QUANTITY_MINOR_FAULTS], 111);
    assert_int_equal(ledger.total[QUANTITY_MAJOR_FAULTS], 24);
    assert_int_equal(ledger.total[QUANTITY_READ], 1500);
    assert_int_equal(ledger.total[QUANTITY_WRITE], 2700);
    assert_int_equal(tree.members[0].rss_pages, 77);
    assert_int_equal(tree.members[0].threads, 9);
}

static void test_what_was_there_before_an_attach_does_not_count(void **state)
{
    (void)state;
    proc_put(&proc, (struct entry){.pid = ROOT, .parent = 1, .utime = 1000, .reaped_utime = 500});
    proc_io(&proc, ROOT, 4096, 8192);
    attach(0);
    assert_int_equal(cpu_ticks(), 0);
    assert_int_equal(ledger.total[QUANTITY_READ], 0);
    proc_put(&proc, (struct entry){.pid = ROOT, .parent = 1, .utime = 1003, .reaped_utime = 504});
    proc_io(&proc, ROOT, 4106, 8192);
    uint64_t later = tree.began_ticks + 1;
    proc_put(&proc, (struct entry){.pid = 110, .parent = ROOT, .start = later, .utime = 20});
    /* Overlooked at first, but older than the attach. */
    proc_put(&proc, (struct entry){.pid = 120, .parent = ROOT, .utime = 900});
    pass_interval();
    assert_int_equal(tree.count, 3);
    assert_int_equal(cpu_ticks(), 27);
    assert_int_equal(ledger.total[QUANTITY_READ], 10);
    assert_int_equal(ledger.total[QUANTITY_WRITE], 0);
}

static void test_a_zombie_is_a_member_until_it_is_waited_for(void **state)
{
    (void)state;
    put(ROOT, TRACKER);
    proc_put(&proc, (struct entry){.pid = 110, .parent = ROOT, .utime = 10, .rss = 5});
    proc_io(&proc, 110, 0, 4096);
    open_own(4);
    proc_put(&proc, (struct entry){.pid = 110, .parent = ROOT, .utime = 12, .state = 'Z'});
    proc_end_file(&proc, 110, "io");
    pass_interval();
    assert_int_equal(tree.count, 2);
    const struct member *zombie = tree_find(&tree, 110);
    assert_int_equal(zombie->state, 'Z');
    assert_int_equal(zombie->rss_pages, 0);
    assert_int_equal(zombie->usage.reaped[QUANTITY_WRITE], 4096);
    assert_int_equal(cpu_ticks(), 12);
    proc_put(&proc, (struct entry){.pid = ROOT, .parent = TRACKER, .reaped_utime = 12});
    proc_io(&proc, ROOT, 0, 4096);
    proc_end(&proc, 110);
    pass_interval();
    assert_int_equal(tree.count, 1);
    assert_int_equal(cpu_ticks(), 12);
    assert_int_equal(ledger.total[QUANTITY_WRITE], 4096);
}

static void test_what_cannot_be_understood_is_gone(void **state)
{
    (void)state;
    put(ROOT, TRACKER);
    put(110, ROOT);
    proc_text(&proc, 120, "stat", "120 (half a li");
    proc_text(&proc, 130, "status", "no stat at all");
    open_own(0);
    assert_int_equal(tree.count, 2);
    proc_text(&proc, 110, "stat", "");
    pass_interval();
    assert_int_equal(tree.count, 1);
}

/* No descriptor was free: that says nothing of the process. */
static void test_a_member_that_cannot_be_opened_for_a_moment_stays(void **state)
{
    struct rlimit limit;

    (void)state;
    put(ROOT, TRACKER);
    proc_put(&proc, (struct entry){.pid = 110, .parent = ROOT, .utime = 40});
    open_own(0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    struct rlimit none = {.rlim_cur = 0, .rlim_max = limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    pass_interval();
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    pass_interval();
    assert_true(is_member(ROOT) && is_member(110));
    assert_int_equal(cpu_ticks(), 40);
}

/* --- departures --- */

static void test_a_departed_member_is_settled_with_its_parent(void **state)
{
    (void)state;
    put(ROOT, TRACKER);
    proc_put(&proc, (struct entry){.pid = 110, .parent = ROOT, .utime = 40});
    open_own(0);
    assert_int_equal(cpu_ticks(), 40);
    proc_end(&proc, 110);
    proc_put(&proc, (struct entry){.pid = ROOT, .parent = TRACKER, .reaped_utime = 45});
    pass_interval();
    assert_int_equal(cpu_ticks(), 45);
    assert_int_equal(tree.count, 1);
}

static void test_a_departed_family_is_settled_with_who_is_left_of_it(void **state)
{
    (void)state;
    put(ROOT, TRACKER);
    proc_put(&proc, (struct entry){.pid = 110, .parent = ROOT, .utime = 1});
    proc_put(&proc, (struct entry){.pid = 120, .parent = 110, .utime = 10});
    proc_put(&proc, (struct entry){.pid = 130, .parent = 120, .utime = 100});
    open_own(0);
    assert_int_equal(cpu_ticks(), 111);
    proc_end(&proc, 110);
    proc_end(&proc, 120);
    proc_end(&proc, 130);
    pass_interval();
    assert_int_equal(cpu_ticks(), 111);
    proc_put(&proc, (struct entry){.pid = ROOT, .parent = TRACKER, .reaped_utime = 115});
    pass_interval();
    assert_int_equal(cpu_ticks(), 115);
    assert_int_equal(ledger.forgiven[QUANTITY_CPU], 0);
}

static void test_children_nobody_waits_for_are_forgiven(void **state)
{
    (void)state;
    put(ROOT, TRACKER);
    proc_put(&proc, (struct entry){.pid = 110, .parent = ROOT, .utime = 40});
    open_own(0);
    proc_end(&proc, 110);
    pass_interval();
    pass_interval();
    assert_int_equal(ledger.forgiven[QUANTITY_CPU], 40 * tree.tick_ns);
    proc_put(&proc, (struct entry){.pid = ROOT, .parent = TRACKER, .reaped_utime = 3});
    pass_interval();
    assert_int_equal(cpu_ticks(), 43);
}

/* PIDs that were given out again can make each the other's parent. */
static void test_a_ring_of_parents_is_no_trap(void **state)
{
    (void)state;
    put(ROOT, 120);
    put(110, ROOT);
    put(120, 110);
    put(200, 210); /* strangers in a ring of their own */
    put(210, 200);
    put(220, 220);
    attach(0);
    assert_int_equal(tree.count, 3);
    pass_interval();
    proc_end(&proc, ROOT);
    proc_end(&proc, 110);
    proc_end(&proc, 120);
    pass_interval();
    assert_int_equal(tree.count, 0);
}

static void test_everything_may_end_at_once(void **state)
{
    (void)state;
    put(ROOT, TRACKER);
    put(110, ROOT);
    open_own(8);
    proc_end(&proc, ROOT);
    proc_end(&proc, 110);
    pass_interval();
    assert_int_equal(tree.count, 0);
    assert_int_equal(tree.kept_fds, 0);
    pass_interval();
    assert_int_equal(tree.count, 0);
}

/* --- children that the tracker waits for --- */

/* As the collector does when it is told of one. */
static void end_here(pid_t pid, uint64_t cpu_ns)
{
    struct member *member = tree_find(&tree, pid);

    member->usage = (struct usage){0};
    member->usage.reaped[QUANTITY_CPU] = cpu_ns;
    member->ended_here = true;
    proc_end(&proc, pid);
}

static void test_the_last_reading_of_a_child_of_ours_is_its_rusage(void **state)
{
    (void)state;
    proc_put(&proc,
             (struct entry){.pid = ROOT, .parent = TRACKER, .utime = 10, .reaped_utime = 20});
    open_own(4);
    end_here(ROOT, 33 * TICK_NS);
    pass_interval();
    assert_int_equal(ledger.total[QUANTITY_CPU], 33 * TICK_NS);
    assert_int_equal(tree.count, 0);
    assert_int_equal(tree.kept_fds, 0);
}

static void test_a_rusage_pays_for_the_departed_too(void **state)
{
    (void)state;
    proc_put(&proc, (struct entry){.pid = ROOT, .parent = TRACKER, .utime = 10});
    proc_put(&proc, (struct entry){.pid = 110, .parent = ROOT, .utime = 5});
    proc_put(&proc, (struct entry){.pid = 120, .parent = 110, .utime = 7});
    open_own(0);
    proc_end(&proc, 110);
    proc_end(&proc, 120);
    end_here(ROOT, 23 * TICK_NS);
    pass_interval();
    assert_int_equal(ledger.total[QUANTITY_CPU], 23 * TICK_NS);
}

/* The kernel has added its bytes to ours: what was counted of them is our debt. */
static void test_bytes_of_a_child_of_ours_move_to_the_tracker(void **state)
{
    struct usage ours = {0};

    (void)state;
    put(ROOT, TRACKER);
    proc_io(&proc, ROOT, 0, 1000);
    put(110, ROOT);
    proc_io(&proc, 110, 0, 300);
    open_own(0);
    assert_int_equal(ledger.total[QUANTITY_WRITE], 1300);
    proc_end(&proc, 110);
    end_here(ROOT, 0);
    pass_interval();
    assert_int_equal(ledger.total[QUANTITY_WRITE], 1300);
    ours.reaped[QUANTITY_WRITE] = 1350;
    account_advance(&reaped_by_tracker, &ours, &ledger);
    assert_int_equal(ledger.total[QUANTITY_WRITE], 1350);
}

/* --- descriptors --- */

static size_t open_descriptors(void)
{
    size_t count = 0;
    DIR *dir = opendir("/proc/self/fd");

    assert_non_null(dir);
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count;
}

static void put_family(void)
{
    proc_put(&proc, (struct entry){.pid = ROOT, .parent = TRACKER, .utime = 1});
    for (pid_t pid = 110; pid < 115; pid++) {
        proc_put(&proc, (struct entry){.pid = pid, .parent = ROOT, .utime = 1});
        proc_io(&proc, pid, 10, 20);
    }
    proc_io(&proc, ROOT, 10, 20);
}

static void check_with_descriptors(size_t most, size_t wanted)
{
    size_t before = open_descriptors();

    memset(&ledger, 0, sizeof ledger);
    put_family();
    open_own(most);
    assert_int_equal(tree.kept_fds, wanted);
    assert_int_equal(open_descriptors(), before + wanted);
    for (pid_t pid = 110; pid < 115; pid++) {
        proc_put(&proc, (struct entry){.pid = pid, .parent = ROOT, .utime = 3});
        proc_io(&proc, pid, 11, 22);
    }
    pass_interval();
    assert_int_equal(cpu_ticks(), 16);
    assert_int_equal(ledger.total[QUANTITY_READ], 65);
    assert_int_equal(ledger.total[QUANTITY_WRITE], 130);
    proc_end(&proc, ROOT);
    proc_end(&proc, 110);
    pass_interval();
    assert_int_equal(tree.count, 4);
    assert_int_equal(open_descriptors(), before + tree.kept_fds);
    tree_close(&tree);
    assert_int_equal(open_descriptors(), before);
}

static void test_no_more_descriptors_are_kept_than_allowed(void **state)
{
    (void)state;
    check_with_descriptors(0, 0);
    check_with_descriptors(1, 0);
    check_with_descriptors(2, 0);
    check_with_descriptors(3, 0);
    check_with_descriptors(4, 2);
    check_with_descriptors(7, 4);
    check_with_descriptors(1000, 12);
}

static void test_descriptors_of_the_departed_serve_newcomers(void **state)
{
    (void)state;
    put(ROOT, TRACKER);
    proc_io(&proc, ROOT, 0, 0);
    open_own(6);
    for (pid_t pid = 110; pid < 140; pid++) {
        put(pid, ROOT);
        proc_io(&proc, pid, 0, 0);
        pass_interval();
        assert_int_equal(tree.kept_fds, 4);
        proc_end(&proc, pid);
        pass_interval();
        assert_int_equal(tree.kept_fds, 2);
    }
}

static void test_an_io_file_that_is_missing_takes_no_descriptor(void **state)
{
    (void)state;
    put(ROOT, TRACKER);
    open_own(4);
    assert_int_equal(tree.kept_fds, 1);
    assert_int_equal(tree.members[0].io_fd, -1);
    proc_io(&proc, ROOT, 5, 6);
    pass_interval();
    assert_int_equal(ledger.total[QUANTITY_READ], 5);
}

/* --- size --- */

static void test_two_thousand_members(void **state)
{
    enum { COUNT = 2000 };

    (void)state;
    put(ROOT, TRACKER);
    /* A chain of ten, then all children of its last. */
    for (pid_t pid = 1000; pid < 1000 + COUNT; pid++)
        proc_put(&proc, (struct entry){.pid = pid,
                                       .parent = pid == 1000   ? ROOT
                                                 : pid <= 1010 ? pid - 1
                                                               : 1010,
                                       .utime = 1});
    open_own(100);
    assert_int_equal(tree.count, COUNT + 1);
    assert_int_equal(cpu_ticks(), COUNT);
    assert_parents_come_first();
    for (pid_t pid = 1011; pid < 1000 + COUNT; pid += 2)
        proc_end(&proc, pid);
    pass_interval();
    for (pid_t pid = 1000; pid < 1000 + COUNT; pid++)
        assert_int_equal(is_member(pid), pid <= 1010 || pid % 2 == 0);
    assert_false(is_member(1000 + COUNT));
    assert_parents_come_first();
    assert_int_equal(cpu_ticks(), COUNT);
}

/*
 * --- any life of a tree ---
 *
 * Processes with few PIDs, which are soon given out again, use, fork, exit and are waited for at
 * random; between the samples their files are written anew. Process 0 is the tracker.
 */

enum { PIDS = 40, FIRST_PID = ROOT };

struct actor {
    bool lives;
    bool is_zombie;
    size_t parent;  /* 0: the tracker */
    uint64_t start; /* no two have the same */
    uint64_t own;
    uint64_t reaped;
    uint64_t bytes;
};

static struct {
    struct actor actors[PIDS + 1]; /* the one at i has PID FIRST_PID + i - 1 */
    uint64_t shown[PIDS + 1];      /* who has the PID in the fixture, by start; 0: nobody */
    uint64_t random;
    uint64_t clock;
    uint64_t cpu;
    uint64_t bytes;
} play;

static uint64_t chance(uint64_t below)
{
    play.random ^= play.random << 13;
    play.random ^= play.random >> 7;
    play.random ^= play.random << 17;
    return (play.random >> 11) % below;
}

static pid_t pid_of(size_t actor)
{
    return actor == 0 ? TRACKER : (pid_t)(FIRST_PID + actor - 1);
}

static void play_use(struct actor *actor)
{
    uint64_t ticks = chance(20);
    uint64_t bytes = chance(10000);

    actor->own += ticks;
    actor->bytes += bytes;
    play.cpu += ticks;
    play.bytes += bytes;
}

static void play_fork(size_t parent)
{
    for (size_t i = 2; i <= PIDS; i++)
        if (!play.actors[i].lives) {
            play.actors[i] = (struct actor){.lives = true, .parent = parent, .start = play.clock++};
            return;
        }
}

static void play_exit(size_t index)
{
    play.actors[index].is_zombie = true;
    for (size_t i = 1; i <= PIDS; i++)
        if (play.actors[i].parent == index)
            play.actors[i].parent = 0;
}

/* What the collector does with a child of ours. */
static void tell_of_end(pid_t pid, uint64_t ticks)
{
    struct usage usage = {0};
    struct account unseen;
    struct member *member = tree_find(&tree, pid);

    usage.reaped[QUANTITY_CPU] = ticks * tree.tick_ns;
    if (member != NULL && !member->ended_here) {
        member->usage = usage;
        member->ended_here = true;
    } else {
        account_open(&unseen, &usage, &ledger);
    }
}

static void play_wait(size_t parent)
{
    for (size_t i = 1; i <= PIDS; i++) {
        struct actor *child = &play.actors[i];
        if (!child->lives || !child->is_zombie || child->parent != parent)
            continue;
        play.actors[parent].reaped += child->own + child->reaped;
        play.actors[parent].bytes += child->bytes;
        if (parent == 0)
            tell_of_end(pid_of(i), child->own + child->reaped);
        child->lives = false;
        return;
    }
}

static void play_step(void)
{
    size_t index = 1 + chance(PIDS);
    struct actor *actor = &play.actors[index];

    if (!actor->lives || actor->is_zombie)
        return;
    uint64_t what = chance(10);
    if (what < 3)
        play_fork(index);
    else if (what < 4 && index != 1)
        play_exit(index);
    else if (what < 7)
        play_wait(index);
    else
        play_use(actor);
}

static void play_show_actor(size_t index)
{
    const struct actor *actor = &play.actors[index];
    struct entry entry = {.pid = pid_of(index),
                          .parent = pid_of(actor->parent),
                          .state = actor->is_zombie ? 'Z' : 'S',
                          .start = actor->start,
                          .utime = actor->own,
                          .reaped_utime = actor->reaped};
    uint64_t wanted = actor->lives ? actor->start : 0;

    if (wanted == 0 && play.shown[index] != 0)
        proc_end(&proc, entry.pid);
    else if (wanted != 0 && play.shown[index] != 0 && play.shown[index] != wanted)
        proc_reuse(&proc, entry);
    else if (wanted != 0)
        proc_put(&proc, entry);
    if (wanted != 0)
        proc_io(&proc, entry.pid, 0, actor->bytes);
    play.shown[index] = wanted;
}

static void play_show(void)
{
    struct usage ours = {0};

    for (size_t i = 1; i <= PIDS; i++)
        play_show_actor(i);
    settle();
    ours.reaped[QUANTITY_WRITE] = play.actors[0].bytes;
    account_advance(&reaped_by_tracker, &ours, &ledger);
    look();
    assert_true(cpu_ticks() <= play.cpu);
    assert_true(ledger.total[QUANTITY_WRITE] <= play.bytes);
}

static void play_begin(uint64_t seed, size_t kept_fds_max)
{
    memset(&play, 0, sizeof play);
    memset(&ledger, 0, sizeof ledger);
    memset(&reaped_by_tracker, 0, sizeof reaped_by_tracker);
    play.random = seed * 2654435761U + 1;
    play.clock = 5000;
    play.actors[1] = (struct actor){.lives = true, .start = play.clock++};
    play_show_actor(1);
    assert_int_equal(tree_open(&tree, proc.fd, ROOT, TRACKER, kept_fds_max), 0);
    look();
}

static void play_end(void)
{
    for (size_t i = PIDS; i >= 1; i--) {
        if (play.actors[i].lives && !play.actors[i].is_zombie)
            play_exit(i);
        if (chance(3) == 0)
            play_show();
    }
    for (size_t i = 1; i <= PIDS; i++)
        play_wait(0);
    play_show();
    play_show();
}

static void test_any_life_of_a_tree_sums_up_to_the_truth(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        play_begin(seed, seed * 7);
        for (unsigned i = 0; i < 20; i++) {
            for (uint64_t steps = chance(150); steps > 0; steps--)
                play_step();
            if (chance(2) == 0)
                play_wait(0);
            play_show();
        }
        play_end();
        assert_int_equal(tree.count, 0);
        assert_int_equal(tree.kept_fds, 0);
        assert_int_equal(cpu_ticks(), play.cpu);
        assert_int_equal(ledger.total[QUANTITY_WRITE], play.bytes);
        assert_int_equal(ledger.forgiven[QUANTITY_CPU], 0);
        tree_close(&tree);
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, make, drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_tree_is_the_root_and_its_descendants),
        TEST(test_a_child_may_be_listed_before_its_parent),
        TEST(test_adopted_orphans_belong_to_the_trackers_tree_only),
        TEST(test_our_own_command_is_all_of_its_tree_at_first),
        TEST(test_a_member_stays_one_when_it_is_orphaned),
        TEST(test_there_is_no_tree_without_its_root),
        TEST(test_a_kernel_thread_can_be_the_root),
        TEST(test_a_stranger_may_have_our_number_in_another_namespace),
        TEST(test_a_pid_with_another_start_time_is_another_process),
        TEST(test_a_members_pid_may_go_to_a_stranger),
        TEST(test_the_roots_pid_does_not_make_a_root_again),
        TEST(test_growth_of_members_is_counted),
        TEST(test_what_was_there_before_an_attach_does_not_count),
        TEST(test_a_zombie_is_a_member_until_it_is_waited_for),
        TEST(test_what_cannot_be_understood_is_gone),
        TEST(test_a_member_that_cannot_be_opened_for_a_moment_stays),
        TEST(test_a_departed_member_is_settled_with_its_parent),
        TEST(test_a_departed_family_is_settled_with_who_is_left_of_it),
        TEST(test_children_nobody_waits_for_are_forgiven),
        TEST(test_a_ring_of_parents_is_no_trap),
        TEST(test_everything_may_end_at_once),
        TEST(test_the_last_reading_of_a_child_of_ours_is_its_rusage),
        TEST(test_a_rusage_pays_for_the_departed_too),
        TEST(test_bytes_of_a_child_of_ours_move_to_the_tracker),
        TEST(test_no_more_descriptors_are_kept_than_allowed),
        TEST(test_descriptors_of_the_departed_serve_newcomers),
        TEST(test_an_io_file_that_is_missing_takes_no_descriptor),
        TEST(test_two_thousand_members),
        TEST(test_any_life_of_a_tree_sums_up_to_the_truth),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * The collector as a whole: on a /proc of plain files, which it can only attach to, and on real
 * children. The truth about these is what the kernel tells when they were waited for.
 */
#include "collect/collector.h"
#include "collect/job_cgroup.h"
#include "collect/pss.h"

#include "proc_fixture.h"
#include "puppet.h"

#include <grp.h>
#include <sys/resource.h>

#define ROOT 100
#define SECOND NS_PER_SEC
#define TICK_SECS 0.01
#define NEVER 5000000 /* beyond the largest pid_max */

static struct scratch proc;
static struct sysroot root;
static struct collect_context context;
static void *collector;
static struct sample sample;
static uint64_t now_ns;

/* Of all samples since the start. */
static struct {
    double cpu;
    double read;
    double write;
    double minor_faults;
    double voluntary;
} total;

static int make(void **state)
{
    (void)state;
    scratch_make(&proc);
    root = (struct sysroot){.proc_fd = proc.fd, .sys_fd = -1};
    context = (struct collect_context){.root = &root, .tracked_pid = ROOT, .pss_mode = PSS_NEVER};
    memset(&total, 0, sizeof total);
    collector = NULL;
    now_ns = 1000 * SECOND;
    return 0;
}

static int drop(void **state)
{
    (void)state;
    if (collector != NULL)
        process_collector.close(collector);
    scratch_remove(&proc);
    return 0;
}

static double value(enum metric_id id)
{
    return sample.value[id];
}

static void add(double *sum, enum metric_id id)
{
    *sum += isnan(value(id)) ? 0 : value(id);
}

static void read_sample(uint64_t elapsed_ns)
{
    now_ns += elapsed_ns;
    struct tick tick = {
        .now_ns = now_ns, .elapsed_ns = elapsed_ns, .due_ns = now_ns, .priming = elapsed_ns == 0};

    sample_reset(&sample);
    process_collector.read(collector, &tick, &sample);
    add(&total.cpu, METRIC_PROCESS_UTIME);
    add(&total.cpu, METRIC_PROCESS_STIME);
    add(&total.read, METRIC_PROCESS_DISK_READ);
    add(&total.write, METRIC_PROCESS_DISK_WRITE);
    add(&total.minor_faults, METRIC_PROCESS_MINOR_FAULTS);
    add(&total.voluntary, METRIC_PROCESS_VOLUNTARY_SWITCHES);
}

static int start(void)
{
    int error = process_collector.open(&context, &collector);

    if (error == 0)
        read_sample(0);
    return error;
}

static const enum metric_id all[] = {
    METRIC_PROCESS_CORES_USED,   METRIC_PROCESS_CHILD_COUNT,
    METRIC_PROCESS_UTIME,        METRIC_PROCESS_STIME,
    METRIC_PROCESS_PSS,          METRIC_PROCESS_RSS,
    METRIC_PROCESS_DISK_READ,    METRIC_PROCESS_DISK_WRITE,
    METRIC_PROCESS_THREADS,      METRIC_PROCESS_MINOR_FAULTS,
    METRIC_PROCESS_MAJOR_FAULTS, METRIC_PROCESS_VOLUNTARY_SWITCHES,
    METRIC_PROCESS_PEAK_RSS,     METRIC_PROCESS_INVOLUNTARY_SWITCHES,
    METRIC_PROCESS_PSS_AGE,      METRIC_PROCESS_UNREADABLE,
};

static bool is_nothing_known(void)
{
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (!isnan(value(all[i])))
            return false;
    return sample.text[METRIC_PROCESS_CPU_SOURCE] == NULL;
}

static bool is_near(double actual, double wanted, double margin)
{
    if (fabs(actual - wanted) <= margin)
        return true;
    dprintf(STDERR_FILENO, "%.9g is not %.9g within %.9g\n", actual, wanted, margin);
    return false;
}

static void assert_value(enum metric_id id, double wanted)
{
    if (!is_near(value(id), wanted, 1e-9))
        fail_msg("%s is %.9g", metrics[id].key, value(id));
}

static double pages_mib(uint64_t pages)
{
    return (double)(pages * (uint64_t)sysconf(_SC_PAGESIZE)) / 1048576;
}

static void put(struct entry entry, uint64_t read_bytes, uint64_t write_bytes)
{
    if (entry.parent == 0)
        entry.parent = 1;
    proc_put(&proc, entry);
    proc_io(&proc, entry.pid, read_bytes, write_bytes);
    proc_status(&proc, entry.pid, 0, 0, 0);
}

static void put_root(void)
{
    put((struct entry){.pid = ROOT, .rss = 256}, 0, 0);
}

/* --- a /proc of plain files --- */

static void test_nothing_to_track_is_not_an_error(void **state)
{
    (void)state;
    context.tracked_pid = 0;
    assert_int_equal(start(), -ENODEV);
}

static void test_a_root_that_never_was_leaves_everything_unavailable(void **state)
{
    (void)state;
    proc_put(&proc, (struct entry){.pid = 1});
    proc_put(&proc, (struct entry){.pid = 110, .parent = ROOT});
    assert_int_equal(start(), 0);
    for (unsigned i = 0; i < 3; i++) {
        read_sample(SECOND);
        assert_true(is_nothing_known());
    }
}

static void test_the_priming_reading_publishes_nothing(void **state)
{
    (void)state;
    put_root();
    assert_int_equal(start(), 0);
    assert_true(is_nothing_known());
}

static void test_growth_since_the_last_sample_is_published(void **state)
{
    (void)state;
    put((struct entry){.pid = ROOT, .utime = 1000, .stime = 500, .minor = 70, .major = 7}, 4096,
        8192);
    put((struct entry){.pid = 110, .parent = ROOT, .utime = 100}, 0, 0);
    assert_int_equal(start(), 0);
    put((struct entry){.pid = ROOT,
                       .utime = 1015,
                       .stime = 510,
                       .minor = 75,
                       .major = 8,
                       .rss = 256,
                       .threads = 3},
        4196, 8292);
    put((struct entry){.pid = 110, .parent = ROOT, .utime = 105, .minor = 1, .rss = 512}, 1, 2);
    read_sample(SECOND / 2);
    assert_value(METRIC_PROCESS_UTIME, 20 * TICK_SECS);
    assert_value(METRIC_PROCESS_STIME, 10 * TICK_SECS);
    assert_value(METRIC_PROCESS_CORES_USED, 0.6);
    assert_value(METRIC_PROCESS_MINOR_FAULTS, 6);
    assert_value(METRIC_PROCESS_MAJOR_FAULTS, 1);
    assert_value(METRIC_PROCESS_DISK_READ, 101);
    assert_value(METRIC_PROCESS_DISK_WRITE, 102);
    assert_value(METRIC_PROCESS_CHILD_COUNT, 1);
    assert_value(METRIC_PROCESS_THREADS, 4);
    assert_value(METRIC_PROCESS_RSS, pages_mib(768));
    assert_value(METRIC_PROCESS_UNREADABLE, 0);
    assert_string_equal(sample.text[METRIC_PROCESS_CPU_SOURCE], "proc");
    read_sample(SECOND);
    assert_value(METRIC_PROCESS_UTIME, 0);
    assert_value(METRIC_PROCESS_STIME, 0);
    assert_value(METRIC_PROCESS_CORES_USED, 0);
    assert_value(METRIC_PROCESS_MINOR_FAULTS, 0);
    assert_value(METRIC_PROCESS_DISK_READ, 0);
    assert_value(METRIC_PROCESS_CHILD_COUNT, 1);
}

static void test_a_tree_that_has_ended_reads_zero(void **state)
{
    (void)state;
    put((struct entry){.pid = ROOT, .utime = 1000, .rss = 10}, 5, 6);
    put((struct entry){.pid = 110, .parent = ROOT, .rss = 10}, 5, 6);
    assert_int_equal(start(), 0);
    read_sample(SECOND);
    proc_end(&proc, ROOT);
    proc_end(&proc, 110);
    for (unsigned i = 0; i < 3; i++) {
        read_sample(SECOND);
        assert_value(METRIC_PROCESS_UTIME, 0);
        assert_value(METRIC_PROCESS_STIME, 0);
        assert_value(METRIC_PROCESS_CORES_USED, 0);
        assert_value(METRIC_PROCESS_CHILD_COUNT, 0);
        assert_value(METRIC_PROCESS_THREADS, 0);
        assert_value(METRIC_PROCESS_RSS, 0);
        assert_value(METRIC_PROCESS_PSS, 0);
        assert_value(METRIC_PROCESS_DISK_READ, 0);
        assert_value(METRIC_PROCESS_DISK_WRITE, 0);
        assert_value(METRIC_PROCESS_MINOR_FAULTS, 0);
        assert_value(METRIC_PROCESS_VOLUNTARY_SWITCHES, 0);
        assert_value(METRIC_PROCESS_PEAK_RSS, pages_mib(20));
    }
}

static void test_the_dead_are_neither_children_nor_threads(void **state)
{
    (void)state;
    put_root();
    put((struct entry){.pid = 110, .parent = ROOT, .state = 'Z'}, 0, 0);
    put((struct entry){.pid = 120, .parent = ROOT, .state = 'X'}, 0, 0);
    put((struct entry){.pid = 130, .parent = ROOT, .state = 'T'}, 0, 0);
    assert_int_equal(start(), 0);
    read_sample(SECOND);
    assert_value(METRIC_PROCESS_CHILD_COUNT, 1);
    assert_value(METRIC_PROCESS_THREADS, 2);
}

/* Much may be settled at once, but no more cores are in use than there are. */
static void test_cores_in_use_are_at_most_all(void **state)
{
    struct tick tick = {.now_ns = now_ns + SECOND, .elapsed_ns = SECOND};
    static const double cores[4] = {0};

    (void)state;
    put_root();
    assert_int_equal(start(), 0);
    put((struct entry){.pid = ROOT, .utime = 5000}, 0, 0);
    sample_reset(&sample);
    sample.per_core = cores;
    sample.per_core_count = 4;
    process_collector.read(collector, &tick, &sample);
    assert_value(METRIC_PROCESS_CORES_USED, 4);
    assert_value(METRIC_PROCESS_UTIME, 50);
}

/* The kernel moves ticks from user to system time as it learns more; neither is ever negative. */
static void test_system_time_is_part_of_the_sum(void **state)
{
    (void)state;
    put((struct entry){.pid = ROOT, .utime = 100}, 0, 0);
    assert_int_equal(start(), 0);
    put((struct entry){.pid = ROOT, .utime = 95, .stime = 10}, 0, 0);
    read_sample(SECOND);
    assert_value(METRIC_PROCESS_UTIME, 0);
    assert_value(METRIC_PROCESS_STIME, 5 * TICK_SECS);
    put((struct entry){.pid = ROOT, .utime = 115, .stime = 10}, 0, 0);
    read_sample(SECOND);
    assert_value(METRIC_PROCESS_UTIME, 15 * TICK_SECS);
    assert_value(METRIC_PROCESS_STIME, 5 * TICK_SECS);
}

static void test_counters_that_go_backwards_publish_nothing(void **state)
{
    (void)state;
    put((struct entry){.pid = ROOT, .utime = 100, .stime = 100, .minor = 100}, 1000, 1000);
    assert_int_equal(start(), 0);
    put((struct entry){.pid = ROOT, .utime = 10, .stime = 20, .minor = 3}, 10, 20);
    read_sample(SECOND);
    assert_value(METRIC_PROCESS_UTIME, 0);
    assert_value(METRIC_PROCESS_STIME, 0);
    assert_value(METRIC_PROCESS_MINOR_FAULTS, 0);
    assert_value(METRIC_PROCESS_DISK_READ, 0);
    assert_value(METRIC_PROCESS_DISK_WRITE, 0);
}

/* --- what happened before an attach --- */

static void test_switches_before_an_attach_are_left_out(void **state)
{
    (void)state;
    put_root();
    proc_status(&proc, ROOT, 0, 100000, 5000);
    assert_int_equal(start(), 0);
    proc_status(&proc, ROOT, 0, 100030, 5004);
    read_sample(SECOND);
    assert_value(METRIC_PROCESS_VOLUNTARY_SWITCHES, 30);
    assert_value(METRIC_PROCESS_INVOLUNTARY_SWITCHES, 4);
}

static void test_switches_are_published_as_they_grow(void **state)
{
    (void)state;
    put_root();
    assert_int_equal(start(), 0);
    read_sample(SECOND);
    proc_status(&proc, ROOT, 0, 30, 4);
    read_sample(SECOND);
    assert_value(METRIC_PROCESS_VOLUNTARY_SWITCHES, 30);
    assert_value(METRIC_PROCESS_INVOLUNTARY_SWITCHES, 4);
    read_sample(SECOND);
    assert_value(METRIC_PROCESS_VOLUNTARY_SWITCHES, 0);
    assert_value(METRIC_PROCESS_INVOLUNTARY_SWITCHES, 0);
}

/* --- memory --- */

static void test_the_peak_keeps_spikes_between_samples(void **state)
{
    (void)state;
    put_root();
    put((struct entry){.pid = 110, .parent = ROOT, .rss = 100}, 0, 0);
    assert_int_equal(start(), 0);
    read_sample(SECOND);
    assert_value(METRIC_PROCESS_PEAK_RSS, pages_mib(356));
    /* It had 1 MiB for a while, which is less than all have now; but the root was there too. */
    proc_status(&proc, 110, 1024, 0, 0);
    read_sample(SECOND);
    assert_value(METRIC_PROCESS_PEAK_RSS, 1 + pages_mib(256));
    proc_status(&proc, 110, 8192, 0, 0);
    read_sample(SECOND);
    assert_value(METRIC_PROCESS_PEAK_RSS, 8 + pages_mib(256));
    put((struct entry){.pid = ROOT, .rss = 10}, 0, 0);
    proc_end(&proc, 110);
    read_sample(SECOND);
    assert_value(METRIC_PROCESS_PEAK_RSS, 8 + pages_mib(256));
    assert_value(METRIC_PROCESS_RSS, pages_mib(10));
}

/* So dear a file is not read of all members at once, but of each in its turn. */
static void test_the_peak_of_every_member_is_found_in_its_turn(void **state)
{
    (void)state;
    put_root();
    for (pid_t pid = 1000; pid < 1040; pid++)
        put((struct entry){.pid = pid, .parent = ROOT}, 0, 0);
    assert_int_equal(start(), 0);
    proc_status(&proc, 1039, 102400, 0, 0);
    for (unsigned i = 0; i < 3; i++)
        read_sample(SECOND);
    assert_value(METRIC_PROCESS_PEAK_RSS, 100 + pages_mib(256));
}

static void test_never_reading_shares_gives_the_resident_size(void **state)
{
    (void)state;
    put_root();
    proc_pss(&proc, ROOT, 512);
    assert_int_equal(start(), 0);
    read_sample(SECOND);
    assert_value(METRIC_PROCESS_PSS, pages_mib(256));
    assert_true(isnan(value(METRIC_PROCESS_PSS_AGE)));
}

static void test_shares_tell_their_age(void **state)
{
    (void)state;
    context.pss_mode = PSS_AUTO;
    put_root();
    proc_pss(&proc, ROOT, 512);
    assert_int_equal(start(), 0);
    read_sample(SECOND);
    assert_value(METRIC_PROCESS_PSS, 0.5);
    assert_value(METRIC_PROCESS_PSS_AGE, 0);
    read_sample(SECOND);
    read_sample(2 * SECOND);
    assert_value(METRIC_PROCESS_PSS_AGE, 3);
}

static void test_a_share_that_would_take_too_long_is_not_read(void **state)
{
    (void)state;
    context.pss_mode = PSS_AUTO;
    put((struct entry){.pid = ROOT, .rss = 26214400}, 0, 0); /* 100 GiB */
    proc_pss(&proc, ROOT, 512);
    assert_int_equal(start(), 0);
    for (unsigned i = 0; i < 100; i++)
        read_sample(60 * SECOND);
    assert_value(METRIC_PROCESS_PSS, pages_mib(26214400));
    assert_true(isnan(value(METRIC_PROCESS_PSS_AGE)));
}

/* --- I/O that cannot be read --- */

/* A kernel without task I/O accounting has no such file. Missing is not zero. */
static void test_io_of_a_kernel_that_does_not_count_it_is_unavailable(void **state)
{
    (void)state;
    proc_put(&proc, (struct entry){.pid = ROOT, .parent = 1});
    assert_int_equal(start(), 0);
    read_sample(SECOND);
    assert_value(METRIC_PROCESS_UTIME, 0);
    assert_true(isnan(value(METRIC_PROCESS_DISK_READ)));
    assert_true(isnan(value(METRIC_PROCESS_DISK_WRITE)));
}

static void hide_io(pid_t pid)
{
    assert_int_equal(fchmodat(proc.fd, proc_path(pid, "io").text, 0, 0), 0);
}

/* Root is refused nothing. */
static void become_nobody(void)
{
    if (geteuid() != 0)
        return;
    CHECK(chmod(proc.path, 0755) == 0);
    CHECK(setgroups(0, NULL) == 0);
    CHECK(setresgid(65534, 65534, 65534) == 0);
    CHECK(setresuid(65534, 65534, 65534) == 0);
}

static void track_one_that_hides(void)
{
    become_nobody();
    CHECK(start() == 0);
    read_sample(SECOND);
    CHECK(value(METRIC_PROCESS_UNREADABLE) == 1);
    CHECK(isnan(value(METRIC_PROCESS_DISK_READ)));
    CHECK(isnan(value(METRIC_PROCESS_DISK_WRITE)));
    CHECK(value(METRIC_PROCESS_UTIME) == 0);
}

static void test_io_is_unavailable_when_all_may_not_be_read(void **state)
{
    (void)state;
    put_root();
    hide_io(ROOT);
    in_child(track_one_that_hides);
}

static void track_two_of_which_one_hides(void)
{
    become_nobody();
    CHECK(start() == 0);
    read_sample(SECOND);
    CHECK(value(METRIC_PROCESS_UNREADABLE) == 1);
    CHECK(value(METRIC_PROCESS_DISK_READ) == 0);
    CHECK(value(METRIC_PROCESS_DISK_WRITE) == 0);
}

static void test_io_is_published_when_some_may_be_read(void **state)
{
    (void)state;
    put_root();
    put((struct entry){.pid = 110, .parent = ROOT}, 10, 10);
    hide_io(110);
    in_child(track_two_of_which_one_hides);
}

/* A zombie root: the only live member is its child, which may not be read. */
static void test_the_dead_do_not_make_io_known(void **state)
{
    (void)state;
    put((struct entry){.pid = ROOT, .state = 'Z'}, 0, 0);
    put((struct entry){.pid = 110, .parent = ROOT}, 10, 10);
    hide_io(110);
    in_child(track_one_that_hides);
}

/* --- many --- */

static void track_many_with_few_descriptors(void)
{
    enum { MANY = 600 };
    struct rlimit limit = {.rlim_cur = 256, .rlim_max = 256};

    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    CHECK(start() == 0);
    for (pid_t pid = 1000; pid < 1000 + MANY; pid++)
        put((struct entry){.pid = pid, .parent = ROOT, .utime = 2}, 20, 30);
    read_sample(SECOND);
    CHECK(value(METRIC_PROCESS_CHILD_COUNT) == MANY);
    CHECK(is_near(value(METRIC_PROCESS_UTIME), MANY * TICK_SECS, 1e-9));
    CHECK(value(METRIC_PROCESS_DISK_READ) == MANY * 10.0);
    CHECK(value(METRIC_PROCESS_DISK_WRITE) == MANY * 10.0);
    /* There is room for what else the tracker does. */
    for (unsigned i = 0; i < 32; i++)
        CHECK(open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0);
    process_collector.close(collector);
}

static void test_hundreds_of_members_need_few_descriptors(void **state)
{
    (void)state;
    put_root();
    for (pid_t pid = 1000; pid < 1600; pid++)
        put((struct entry){.pid = pid, .parent = ROOT, .utime = 1}, 10, 20);
    in_child(track_many_with_few_descriptors);
}

/* --- real children --- */

static void track(pid_t pid)
{
    context.tracked_pid = pid;
    context.tracked_is_ours = true;
    CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0);
    CHECK(start() == 0);
    CHECK(is_nothing_known());
}

/* What the kernel says that children of ours have used. */
static struct {
    double cpu;
    double minor_faults;
    double voluntary;
} truth;

static double timeval_secs(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

/* Waits for a child of ours as the tracker does. */
static void reap(pid_t pid)
{
    struct rusage rusage;

    CHECK(wait4(pid, NULL, 0, &rusage) == pid);
    truth.cpu += timeval_secs(rusage.ru_utime) + timeval_secs(rusage.ru_stime);
    truth.minor_faults += (double)rusage.ru_minflt;
    truth.voluntary += (double)rusage.ru_nvcsw;
    process_collector.child_ended(collector, pid, &rusage);
}

static void end_and_reap(size_t number)
{
    puppet_end(number);
    reap(puppets[number].pid);
}

/* rusage is in whole microseconds, user and system apart. */
#define ROUNDING_SECS 1e-5

static void check_against_truth(void)
{
    CHECK(is_near(total.cpu, truth.cpu, ROUNDING_SECS));
    CHECK(is_near(total.minor_faults, truth.minor_faults, 0));
    CHECK(is_near(total.voluntary, truth.voluntary, 0));
}

static void follow_a_command(void)
{
    track(puppets_begin(NULL));
    double used = (double)puppet_ask(0, ORDER_BURN, 30) / NS_PER_SEC;
    read_sample(SECOND);
    CHECK(total.cpu >= used);
    CHECK(value(METRIC_PROCESS_CHILD_COUNT) == 0);
    CHECK(value(METRIC_PROCESS_THREADS) == 1);
    CHECK(value(METRIC_PROCESS_RSS) > 0);
    CHECK(value(METRIC_PROCESS_PEAK_RSS) >= value(METRIC_PROCESS_RSS));
    CHECK(value(METRIC_PROCESS_UNREADABLE) == 0);
    puppet_child(0, 1);
    puppet_ask(1, ORDER_BURN, 30);
    read_sample(SECOND);
    CHECK(value(METRIC_PROCESS_CHILD_COUNT) == 1);
    puppet_ask(1, ORDER_BURN, 10);
    puppet_end(1);
    read_sample(SECOND);
    CHECK(value(METRIC_PROCESS_CHILD_COUNT) == 0); /* a zombie */
    puppet_ask(0, ORDER_WAIT, puppets[1].pid);
    read_sample(SECOND);
    end_and_reap(0);
    read_sample(SECOND);
    check_against_truth();
    CHECK(total.cpu >= 0.07);
    read_sample(SECOND);
    check_against_truth();
    CHECK(value(METRIC_PROCESS_CORES_USED) == 0);
    CHECK(value(METRIC_PROCESS_THREADS) == 0);
    CHECK(value(METRIC_PROCESS_RSS) == 0);
    CHECK(value(METRIC_PROCESS_PEAK_RSS) > 0);
    process_collector.close(collector);
}

static void test_a_command_is_counted_as_the_kernel_does(void **state)
{
    (void)state;
    in_child(follow_a_command);
}

static void follow_a_storm(void)
{
    track(puppets_begin(NULL));
    puppet_order(0, ORDER_STORM, 150);
    struct pollfd answer = {.fd = puppets[0].answers[0], .events = POLLIN};
    while (poll(&answer, 1, 3) == 0)
        read_sample(SECOND);
    CHECK(puppet_answer(0) == 0);
    end_and_reap(0);
    read_sample(SECOND);
    CHECK(total.cpu >= 0.15);
    CHECK(is_near(total.cpu, truth.cpu, ROUNDING_SECS));
    CHECK(is_near(total.minor_faults, truth.minor_faults, 0));
    process_collector.close(collector);
}

static void test_a_storm_of_short_children_is_counted(void **state)
{
    (void)state;
    in_child(follow_a_storm);
}

/* Puppet 2 is a daemon: its parent is gone, and we wait for it. */
static void follow_a_daemon(void)
{
    track(puppets_begin(NULL));
    puppet_child(0, 1);
    puppet_child(1, 2);
    puppet_ask(1, ORDER_BURN, 5);
    puppet_ask(2, ORDER_BURN, 10);
    read_sample(SECOND);
    puppet_end(1);
    puppet_ask(0, ORDER_WAIT, puppets[1].pid);
    puppet_ask(2, ORDER_BURN, 10);
    end_and_reap(0);
    read_sample(SECOND);
    CHECK(value(METRIC_PROCESS_CHILD_COUNT) == 1);
    puppet_child(2, 3);
    puppet_ask(3, ORDER_BURN, 10);
    read_sample(SECOND);
    CHECK(value(METRIC_PROCESS_CHILD_COUNT) == 2);
    puppet_end(2); /* without waiting for its child */
    end_and_reap(3);
    reap(puppets[2].pid);
    read_sample(SECOND);
    CHECK(total.cpu >= 0.035);
    check_against_truth();
    process_collector.close(collector);
}

static void test_daemons_are_counted(void **state)
{
    (void)state;
    in_child(follow_a_daemon);
}

/* Come and gone between two samples, adopted by us in between. */
static void count_the_unseen(void)
{
    track(puppets_begin(NULL));
    read_sample(SECOND);
    puppet_child(0, 1);
    puppet_child(1, 2);
    puppet_end(1);
    puppet_ask(0, ORDER_WAIT, puppets[1].pid);
    puppet_ask(2, ORDER_BURN, 20);
    end_and_reap(2);
    read_sample(SECOND);
    CHECK(total.cpu >= 0.02);
    end_and_reap(0);
    read_sample(SECOND);
    check_against_truth();
    process_collector.close(collector);
}

static void test_children_of_ours_that_nobody_saw_count_whole(void **state)
{
    (void)state;
    in_child(count_the_unseen);
}

/* The kernel says of a PID twice that it ended: it was given out again in between. */
static void end_one_pid_twice(void)
{
    struct rusage rusage = {.ru_utime.tv_sec = 2, .ru_maxrss = 1 << 20};

    track(puppets_begin(NULL));
    puppet_end(0);
    process_collector.child_ended(collector, puppets[0].pid, &rusage);
    process_collector.child_ended(collector, puppets[0].pid, &rusage);
    read_sample(SECOND);
    CHECK(is_near(total.cpu, 4, ROUNDING_SECS));
    CHECK(value(METRIC_PROCESS_PEAK_RSS) == 1024);
    process_collector.close(collector);
}

static void test_a_pid_may_end_twice_in_an_interval(void **state)
{
    (void)state;
    in_child(end_one_pid_twice);
}

static void track_one_that_never_was(void)
{
    track(NEVER);
    read_sample(SECOND);
    CHECK(is_nothing_known());
    process_collector.close(collector);
}

static void test_a_command_that_never_was_leaves_everything_unavailable(void **state)
{
    (void)state;
    in_child(track_one_that_never_was);
}

/* The main thread may end before the others: the process lives on. */
static void end_the_main_thread(void)
{
    track(puppets_begin(NULL));
    read_sample(SECOND);
    puppet_order(0, ORDER_END_MAIN, 0);
    while (puppet_state(0) != 'Z')
        usleep(100);
    read_sample(SECOND);
    CHECK(value(METRIC_PROCESS_THREADS) >= 1);
    process_collector.close(collector);
}

static void test_a_process_outlives_its_main_thread(void **state)
{
    (void)state;
    in_child(end_the_main_thread);
}

/* --- children nobody waits for --- */

static void follow_those_nobody_waits_for(void)
{
    track(puppets_begin(NULL));
    CHECK(puppet_ask(0, ORDER_IGNORE, 0) == 0);
    read_sample(SECOND);
    puppet_child(0, 1);
    double used = (double)puppet_ask(1, ORDER_BURN, 100) / NS_PER_SEC;
    puppet_end(1);
    read_sample(SECOND);
    if (strcmp(sample.text[METRIC_PROCESS_CPU_SOURCE], "proc") == 0)
        _exit(NOT_HERE);
    CHECK(strcmp(sample.text[METRIC_PROCESS_CPU_SOURCE], "proc+perf") == 0);
    CHECK(total.cpu >= 0.95 * used);
    process_collector.close(collector);
}

static void test_children_nobody_waits_for_are_counted_where_perf_may_be_used(void **state)
{
    (void)state;
    in_child_or_skip(follow_those_nobody_waits_for);
}

static void count_with_a_cgroup(void)
{
    struct job_cgroup cgroup;
    uint64_t user_ns;
    uint64_t system_ns;

    pid_t pid = puppets_begin(NULL);
    if (job_cgroup_open(&cgroup, pid) < 0)
        _exit(NOT_HERE);
    context.cgroup = &cgroup;
    track(pid);
    CHECK(puppet_ask(0, ORDER_IGNORE, 0) == 0);
    puppet_child(0, 1);
    puppet_ask(1, ORDER_BURN, 40);
    puppet_end(1);
    read_sample(SECOND);
    end_and_reap(0);
    read_sample(SECOND);
    CHECK(job_cgroup_read(&cgroup, &user_ns, &system_ns));
    job_cgroup_close(&cgroup);
    CHECK(strcmp(sample.text[METRIC_PROCESS_CPU_SOURCE], "cgroup") == 0);
    CHECK(total.cpu >= 0.04);
    CHECK(is_near(total.cpu, (double)(user_ns + system_ns) / NS_PER_SEC, ROUNDING_SECS));
    process_collector.close(collector);
}

static void test_a_cgroup_is_believed_before_all_else(void **state)
{
    (void)state;
    in_child_or_skip(count_with_a_cgroup);
}

/* --- I/O of real children --- */

static struct scratch_path file;

/* Truth: the root's own account, which has that of the children it waited for. */
static void write_in_a_family(void)
{
    track(puppets_begin(file.text));
    puppet_ask(0, ORDER_WRITE, 65536);
    if (puppet_ask(0, ORDER_WRITTEN, 0) < 65536)
        _exit(NOT_HERE); /* not on storage */
    read_sample(SECOND);
    CHECK(total.write >= 65536);
    puppet_child(0, 1);
    puppet_ask(1, ORDER_WRITE, 262144);
    read_sample(SECOND);
    puppet_ask(1, ORDER_WRITE, 131072);
    puppet_end(1);
    puppet_ask(0, ORDER_WAIT, puppets[1].pid);
    read_sample(SECOND);
    puppet_child(0, 2); /* never seen */
    puppet_ask(2, ORDER_WRITE, 131072);
    puppet_end(2);
    puppet_ask(0, ORDER_WAIT, puppets[2].pid);
    puppet_ask(0, ORDER_WRITE, 32768);
    double written = (double)puppet_ask(0, ORDER_WRITTEN, 0);
    CHECK(written >= 5 * 65536);
    end_and_reap(0);
    read_sample(SECOND);
    read_sample(SECOND);
    CHECK(is_near(total.write, written, 0));
    process_collector.close(collector);
}

static void test_bytes_of_children_that_were_waited_for_count_once(void **state)
{
    (void)state;
    file = scratch_path(&proc, "written");
    in_child_or_skip(write_in_a_family);
}

static void write_as_an_orphan(void)
{
    track(puppets_begin(file.text));
    puppet_child(0, 1);
    puppet_child(1, 2);
    puppet_ask(2, ORDER_WRITE, 65536);
    read_sample(SECOND);
    puppet_end(1);
    puppet_ask(0, ORDER_WAIT, puppets[1].pid);
    puppet_ask(2, ORDER_WRITE, 131072);
    double written = (double)puppet_ask(2, ORDER_WRITTEN, 0);
    if (written < 196608)
        _exit(NOT_HERE);
    end_and_reap(2);
    end_and_reap(0);
    read_sample(SECOND);
    read_sample(SECOND);
    CHECK(is_near(total.write, written, 0));
    process_collector.close(collector);
}

static void test_bytes_of_adopted_orphans_count_once(void **state)
{
    (void)state;
    file = scratch_path(&proc, "written");
    in_child_or_skip(write_as_an_orphan);
}

/* A script ran a program, then replaced itself by the tracker: that program's bytes are ours now.
 */
static void wait_for_a_writer_first(void)
{
    puppets_begin(file.text);
    puppet_ask(0, ORDER_WRITE, 262144);
    if (puppet_ask(0, ORDER_WRITTEN, 0) < 262144)
        _exit(NOT_HERE);
    puppet_end(0);
    CHECK(waitpid(puppets[0].pid, NULL, 0) == puppets[0].pid);
    track(puppets_begin(file.text));
    read_sample(SECOND);
    CHECK(is_near(total.write, 0, 0));
    process_collector.close(collector);
}

static void test_bytes_of_children_before_the_command_are_left_out(void **state)
{
    (void)state;
    file = scratch_path(&proc, "written");
    in_child_or_skip(wait_for_a_writer_first);
}

/* --- attaching to a real tree --- */

static void attach_to_a_family(void)
{
    context.tracked_pid = puppets_begin(file.text);
    root.proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    puppet_child(0, 1);
    puppet_ask(0, ORDER_BURN, 200);
    puppet_ask(1, ORDER_BURN, 200);
    puppet_ask(1, ORDER_WRITE, 65536);
    double written_before = (double)puppet_ask(1, ORDER_WRITTEN, 0);
    CHECK(start() == 0);
    read_sample(SECOND);
    CHECK(value(METRIC_PROCESS_CHILD_COUNT) == 1);
    CHECK(total.cpu < 0.1);
    puppet_ask(1, ORDER_BURN, 50);
    read_sample(SECOND);
    puppet_ask(1, ORDER_WRITE, 65536);
    double written = (double)puppet_ask(1, ORDER_WRITTEN, 0) - written_before;
    puppet_end(1);
    puppet_ask(0, ORDER_WAIT, puppets[1].pid);
    read_sample(SECOND);
    read_sample(SECOND);
    CHECK(total.cpu >= 0.05 && total.cpu < 0.15);
    CHECK(is_near(total.write, written, 0));
    CHECK(value(METRIC_PROCESS_CHILD_COUNT) == 0);
    CHECK(value(METRIC_PROCESS_THREADS) == 1);
    process_collector.close(collector);
}

static void test_an_attach_counts_from_then_on(void **state)
{
    (void)state;
    file = scratch_path(&proc, "written");
    in_child(attach_to_a_family);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, make, drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_nothing_to_track_is_not_an_error),
        TEST(test_a_root_that_never_was_leaves_everything_unavailable),
        TEST(test_the_priming_reading_publishes_nothing),
        TEST(test_growth_since_the_last_sample_is_published),
        TEST(test_a_tree_that_has_ended_reads_zero),
        TEST(test_the_dead_are_neither_children_nor_threads),
        TEST(test_cores_in_use_are_at_most_all),
        TEST(test_system_time_is_part_of_the_sum),
        TEST(test_counters_that_go_backwards_publish_nothing),
        TEST(test_switches_before_an_attach_are_left_out),
        TEST(test_switches_are_published_as_they_grow),
        TEST(test_the_peak_keeps_spikes_between_samples),
        TEST(test_the_peak_of_every_member_is_found_in_its_turn),
        TEST(test_never_reading_shares_gives_the_resident_size),
        TEST(test_shares_tell_their_age),
        TEST(test_a_share_that_would_take_too_long_is_not_read),
        TEST(test_io_of_a_kernel_that_does_not_count_it_is_unavailable),
        TEST(test_io_is_unavailable_when_all_may_not_be_read),
        TEST(test_io_is_published_when_some_may_be_read),
        TEST(test_the_dead_do_not_make_io_known),
        TEST(test_hundreds_of_members_need_few_descriptors),
        TEST(test_a_command_is_counted_as_the_kernel_does),
        TEST(test_a_storm_of_short_children_is_counted),
        TEST(test_daemons_are_counted),
        TEST(test_children_of_ours_that_nobody_saw_count_whole),
        TEST(test_a_pid_may_end_twice_in_an_interval),
        TEST(test_a_command_that_never_was_leaves_everything_unavailable),
        TEST(test_a_process_outlives_its_main_thread),
        TEST(test_children_nobody_waits_for_are_counted_where_perf_may_be_used),
        TEST(test_a_cgroup_is_believed_before_all_else),
        TEST(test_bytes_of_children_that_were_waited_for_count_once),
        TEST(test_bytes_of_adopted_orphans_count_once),
        TEST(test_bytes_of_children_before_the_command_are_left_out),
        TEST(test_an_attach_counts_from_then_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

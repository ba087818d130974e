#include "collect/ledger.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <string.h>

#define CPU QUANTITY_CPU

static struct usage used(uint64_t own, uint64_t reaped)
{
    struct usage usage = {0};

    usage.own[CPU] = own;
    usage.reaped[CPU] = reaped;
    return usage;
}

static struct account newcomer(uint64_t own, uint64_t reaped, struct ledger *ledger)
{
    struct account account;
    struct usage usage = used(own, reaped);

    account_open(&account, &usage, ledger);
    return account;
}

static struct account baseline(uint64_t own, uint64_t reaped)
{
    return newcomer(own, reaped, NULL);
}

static void advance(struct account *account, uint64_t own, uint64_t reaped, struct ledger *ledger)
{
    struct usage usage = used(own, reaped);

    account_advance(account, &usage, ledger);
}

/* --- the rules, one by one --- */

static void test_a_newcomer_counts_whole(void **state)
{
    struct ledger ledger = {.total[CPU] = 5};

    (void)state;
    struct account account = newcomer(100, 30, &ledger);
    assert_int_equal(ledger.total[CPU], 135);
    advance(&account, 100, 30, &ledger);
    assert_int_equal(ledger.total[CPU], 135);
}

static void test_of_one_that_was_there_before_only_growth_counts(void **state)
{
    struct ledger ledger = {0};

    (void)state;
    struct account account = baseline(100, 30);
    advance(&account, 107, 30, &ledger);
    assert_int_equal(ledger.total[CPU], 7);
    advance(&account, 107, 41, &ledger);
    assert_int_equal(ledger.total[CPU], 18);
}

static void test_opening_forgets_what_the_account_held(void **state)
{
    struct ledger ledger = {0};
    struct account account;
    struct usage usage = used(1, 1);

    (void)state;
    memset(&account, 0xff, sizeof account);
    account_open(&account, &usage, &ledger);
    advance(&account, 1, 11, &ledger);
    assert_int_equal(ledger.total[CPU], 12);
    assert_int_equal(ledger.forgiven[CPU], 0);
}

static void test_growth_of_reaped_use_pays_the_debt_before_it_counts(void **state)
{
    struct ledger ledger = {0};

    (void)state;
    struct account parent = newcomer(10, 0, &ledger);
    struct account child = newcomer(50, 20, &ledger);
    assert_int_equal(ledger.total[CPU], 80);
    account_owe(&parent, &child);
    /* The child had used 4 more and reaped 1 more before its end. */
    advance(&parent, 12, 75, &ledger);
    assert_int_equal(ledger.total[CPU], 87);
    advance(&parent, 12, 75, &ledger);
    assert_int_equal(ledger.total[CPU], 87);
    assert_int_equal(ledger.forgiven[CPU], 0);
}

static void test_children_nobody_saw_count_when_they_were_waited_for(void **state)
{
    struct ledger ledger = {0};

    (void)state;
    struct account parent = newcomer(0, 0, &ledger);
    advance(&parent, 0, 1000, &ledger);
    assert_int_equal(ledger.total[CPU], 1000);
}

static void test_a_departure_seen_before_the_reaping_has_an_interval_of_grace(void **state)
{
    struct ledger ledger = {0};

    (void)state;
    struct account parent = newcomer(0, 0, &ledger);
    struct account child = newcomer(50, 0, &ledger);
    account_owe(&parent, &child);
    advance(&parent, 3, 0, &ledger);
    assert_int_equal(ledger.total[CPU], 53);
    advance(&parent, 3, 52, &ledger);
    assert_int_equal(ledger.total[CPU], 55);
    assert_int_equal(ledger.forgiven[CPU], 0);
}

static void test_a_debt_is_forgiven_after_its_grace(void **state)
{
    struct ledger ledger = {0};

    (void)state;
    struct account parent = newcomer(0, 0, &ledger);
    struct account child = newcomer(50, 0, &ledger);
    account_owe(&parent, &child);
    advance(&parent, 0, 0, &ledger);
    assert_int_equal(ledger.forgiven[CPU], 0);
    advance(&parent, 0, 20, &ledger);
    assert_int_equal(ledger.total[CPU], 50);
    assert_int_equal(ledger.forgiven[CPU], 30);
    /* What comes now is somebody else's. */
    advance(&parent, 0, 27, &ledger);
    assert_int_equal(ledger.total[CPU], 57);
    assert_int_equal(ledger.forgiven[CPU], 30);
}

static void test_the_older_debt_is_paid_first(void **state)
{
    struct ledger ledger = {0};

    (void)state;
    struct account parent = newcomer(0, 0, &ledger);
    struct account first = newcomer(10, 0, &ledger);
    struct account second = newcomer(7, 0, &ledger);
    account_owe(&parent, &first);
    advance(&parent, 0, 0, &ledger);
    account_owe(&parent, &second);
    advance(&parent, 0, 10, &ledger);
    assert_int_equal(ledger.forgiven[CPU], 0);
    advance(&parent, 0, 17, &ledger);
    assert_int_equal(ledger.forgiven[CPU], 0);
    assert_int_equal(ledger.total[CPU], 17);
}

static void test_a_debt_may_be_paid_in_parts(void **state)
{
    struct ledger ledger = {0};

    (void)state;
    struct account parent = newcomer(0, 0, &ledger);
    struct account child = newcomer(50, 0, &ledger);
    account_owe(&parent, &child);
    advance(&parent, 0, 20, &ledger);
    advance(&parent, 0, 51, &ledger);
    assert_int_equal(ledger.total[CPU], 51);
    assert_int_equal(ledger.forgiven[CPU], 0);
}

/* Grandchild, child and their debts, paid and not, reach the grandparent in one sum. */
static void test_a_departed_hands_its_debts_on(void **state)
{
    struct ledger ledger = {0};

    (void)state;
    struct account top = newcomer(0, 0, &ledger);
    struct account middle = newcomer(5, 0, &ledger);
    struct account early = newcomer(11, 0, &ledger);
    struct account late = newcomer(100, 0, &ledger);
    account_owe(&middle, &early);
    advance(&middle, 5, 0, &ledger); /* its grace runs now */
    account_owe(&middle, &late);
    account_owe(&top, &middle);
    assert_int_equal(top.debt[CPU], 116);
    advance(&top, 0, 118, &ledger);
    assert_int_equal(ledger.total[CPU], 118);
    assert_int_equal(ledger.forgiven[CPU], 0);
}

/* What was handed on has its own interval of grace with the new debtor. */
static void test_a_debt_handed_on_has_grace_anew(void **state)
{
    struct ledger ledger = {0};

    (void)state;
    struct account top = newcomer(0, 0, &ledger);
    struct account middle = newcomer(0, 0, &ledger);
    struct account low = newcomer(9, 0, &ledger);
    account_owe(&middle, &low);
    advance(&middle, 0, 0, &ledger);
    account_owe(&top, &middle);
    advance(&top, 0, 0, &ledger);
    assert_int_equal(ledger.forgiven[CPU], 0);
    advance(&top, 0, 9, &ledger);
    assert_int_equal(ledger.total[CPU], 9);
    assert_int_equal(ledger.forgiven[CPU], 0);
}

static void test_of_a_departed_that_was_there_before_only_growth_counts(void **state)
{
    struct ledger ledger = {0};

    (void)state;
    struct account parent = baseline(0, 1000);
    struct account child = baseline(400, 600);
    advance(&child, 410, 600, &ledger);
    account_owe(&parent, &child);
    advance(&parent, 0, 2013, &ledger);
    assert_int_equal(ledger.total[CPU], 13);
}

static void test_several_departed_of_one_parent_add_up(void **state)
{
    struct ledger ledger = {0};

    (void)state;
    struct account parent = newcomer(0, 0, &ledger);
    for (unsigned i = 0; i < 10; i++) {
        struct account child = newcomer(i, 1, &ledger);
        account_owe(&parent, &child);
    }
    advance(&parent, 0, 55, &ledger);
    assert_int_equal(ledger.total[CPU], 55);
}

/* --- rounding --- */

/* The clock said 15 ms, the parent's reaped time grew by 10: the rest comes with the next child. */
static void test_a_debt_within_the_slack_waits(void **state)
{
    struct ledger ledger = {.slack[CPU] = 10};

    (void)state;
    struct account parent = newcomer(0, 0, &ledger);
    struct account child = newcomer(15, 0, &ledger);
    account_owe(&parent, &child);
    for (unsigned i = 0; i < 20; i++)
        advance(&parent, 0, 10, &ledger);
    assert_int_equal(ledger.forgiven[CPU], 0);
    assert_int_equal(ledger.total[CPU], 15);
    advance(&parent, 0, 20, &ledger);
    assert_int_equal(ledger.total[CPU], 20);
}

static void test_only_the_slack_is_kept_of_a_larger_debt(void **state)
{
    struct ledger ledger = {.slack[CPU] = 10};

    (void)state;
    struct account parent = newcomer(0, 0, &ledger);
    struct account child = newcomer(35, 0, &ledger);
    account_owe(&parent, &child);
    advance(&parent, 0, 0, &ledger);
    advance(&parent, 0, 0, &ledger);
    assert_int_equal(ledger.forgiven[CPU], 25);
    advance(&parent, 0, 12, &ledger);
    assert_int_equal(ledger.total[CPU], 37);
    assert_int_equal(ledger.forgiven[CPU], 25);
}

static void test_slack_does_not_pile_up(void **state)
{
    struct ledger ledger = {.slack[CPU] = 10};
    uint64_t owed = 0;

    (void)state;
    struct account parent = newcomer(0, 0, &ledger);
    for (unsigned i = 0; i < 50; i++) {
        struct account child = newcomer(8, 0, &ledger);
        owed += 8;
        account_owe(&parent, &child);
        advance(&parent, 0, 0, &ledger);
    }
    advance(&parent, 0, 0, &ledger);
    assert_int_equal(ledger.forgiven[CPU], owed - 10);
    advance(&parent, 0, 10, &ledger);
    assert_int_equal(ledger.total[CPU], owed);
    advance(&parent, 0, 11, &ledger);
    assert_int_equal(ledger.total[CPU], owed + 1);
}

/* --- counters that go backwards --- */

static void test_a_counter_that_went_backwards_adds_nothing(void **state)
{
    struct ledger ledger = {0};

    (void)state;
    struct account account = newcomer(100, 100, &ledger);
    advance(&account, 90, 0, &ledger);
    assert_int_equal(ledger.total[CPU], 200);
    /* It is counted from where it is now. */
    advance(&account, 93, 4, &ledger);
    assert_int_equal(ledger.total[CPU], 207);
}

static void test_a_backwards_counter_pays_no_debt(void **state)
{
    struct ledger ledger = {0};

    (void)state;
    struct account parent = newcomer(0, 100, &ledger);
    struct account child = newcomer(30, 0, &ledger);
    account_owe(&parent, &child);
    advance(&parent, 0, 40, &ledger);
    advance(&parent, 0, 75, &ledger);
    assert_int_equal(ledger.total[CPU], 135);
    assert_int_equal(ledger.forgiven[CPU], 0);
}

/* --- more than one quantity --- */

static void test_quantities_do_not_pay_for_each_other(void **state)
{
    struct ledger ledger = {0};
    struct usage usage = {0};
    struct account parent;
    struct account child;

    (void)state;
    account_open(&parent, &usage, &ledger);
    for (int q = 0; q < QUANTITY_COUNT; q++)
        usage.own[q] = 10U << q;
    account_open(&child, &usage, &ledger);
    account_owe(&parent, &child);
    usage = (struct usage){0};
    for (int q = 0; q < QUANTITY_COUNT; q++)
        usage.reaped[q] = (10U << q) + (unsigned)q;
    account_advance(&parent, &usage, &ledger);
    for (int q = 0; q < QUANTITY_COUNT; q++)
        assert_int_equal(ledger.total[q], (10U << q) + (unsigned)q);
}

/*
 * --- a kernel of our own ---
 *
 * Processes use, fork, exit and are waited for at random, also while the readings are being taken.
 * Process 0 is the tracker: it uses nothing and adopts orphans. CPU time is told apart by own and
 * reaped, bytes read are not.
 */

enum life { LIFE_RUNS, LIFE_ZOMBIE, LIFE_GONE };

struct simulated {
    enum life life;
    bool ignores_children;
    size_t parent;
    uint64_t own;
    uint64_t reaped;
    uint64_t bytes; /* its children's too, once they were waited for */

    bool known;
    bool departed;
    bool ended_here; /* waited for by the tracker */
    size_t seen_parent;
    struct account account;
    struct usage reading;
};

#define SIMULATED_MAX 300

static struct {
    struct simulated processes[SIMULATED_MAX];
    size_t count;
    uint64_t random;
    uint64_t tick;      /* reaped CPU time is told in multiples of this */
    unsigned ignorants; /* one process in so many ignores SIGCHLD; 0: none */
    uint64_t truth[QUANTITY_COUNT];
    uint64_t lost[QUANTITY_COUNT]; /* of children nobody waited for */
    struct ledger ledger;
} sim;

static uint64_t chance(uint64_t below)
{
    sim.random ^= sim.random << 13;
    sim.random ^= sim.random >> 7;
    sim.random ^= sim.random << 17;
    return (sim.random >> 11) % below;
}

static void sim_use(struct simulated *process)
{
    uint64_t time = chance(1000);
    uint64_t bytes = chance(5000);

    process->own += time;
    process->bytes += bytes;
    sim.truth[CPU] += time;
    sim.truth[QUANTITY_READ] += bytes;
}

static void sim_fork(size_t parent)
{
    if (sim.count == SIMULATED_MAX)
        return;
    sim.processes[sim.count++] = (struct simulated){
        .parent = parent, .ignores_children = sim.ignorants > 0 && chance(sim.ignorants) == 0};
}

static void sim_reap(size_t child)
{
    struct simulated *process = &sim.processes[child];
    struct simulated *parent = &sim.processes[process->parent];

    process->life = LIFE_GONE;
    process->ended_here = process->parent == 0;
    parent->reaped += process->own + process->reaped;
    parent->bytes += process->bytes;
}

/* Also of zombies whose parent ends, when the tracker is not at work: it waits for them later. */
static void sim_exit(size_t index)
{
    struct simulated *process = &sim.processes[index];

    process->life = LIFE_ZOMBIE;
    for (size_t i = 1; i < sim.count; i++)
        if (sim.processes[i].life != LIFE_GONE && sim.processes[i].parent == index)
            sim.processes[i].parent = 0;
    if (!sim.processes[process->parent].ignores_children)
        return;
    process->life = LIFE_GONE;
    sim.lost[CPU] += process->own + process->reaped;
    sim.lost[QUANTITY_READ] += process->bytes;
}

static void sim_wait(size_t parent)
{
    size_t start = chance(sim.count);

    for (size_t i = 0; i < sim.count; i++) {
        size_t child = (start + i) % sim.count;
        const struct simulated *process = &sim.processes[child];
        if (child != 0 && process->life == LIFE_ZOMBIE && process->parent == parent) {
            sim_reap(child);
            return;
        }
    }
}

/* Something happens to some process, but not to the tracker or by it. */
static void sim_step(void)
{
    size_t index = 0;

    for (unsigned tries = 0; tries < 10 && (index == 0 || sim.processes[index].life != LIFE_RUNS);
         tries++)
        index = 1 + chance(sim.count - 1);
    struct simulated *process = &sim.processes[index];
    if (index == 0 || process->life != LIFE_RUNS)
        return;
    switch (chance(8)) {
    case 0:
    case 1:
        sim_fork(index);
        break;
    case 2:
        if (index != 1) /* the root lives to the end */
            sim_exit(index);
        break;
    case 3:
    case 4:
        sim_wait(index);
        break;
    default:
        sim_use(process);
        break;
    }
}

static void sim_steps(uint64_t count)
{
    while (count-- > 0)
        sim_step();
}

static struct usage sim_read(const struct simulated *process)
{
    struct usage usage = used(process->own, process->reaped / sim.tick * sim.tick);

    usage.reaped[QUANTITY_READ] = process->bytes;
    return usage;
}

/* --- and a tracker for it --- */

static void read_all(void)
{
    for (size_t i = 0; i < sim.count; i++) {
        struct simulated *process = &sim.processes[i];
        if (!process->known)
            continue;
        sim_steps(chance(4));
        process->departed = process->life == LIFE_GONE;
        process->reading = sim_read(process);
        if (!process->departed)
            process->seen_parent = process->parent;
    }
}

static struct simulated *heir_of(const struct simulated *process)
{
    struct simulated *heir;

    do {
        heir = &sim.processes[process->seen_parent];
        process = heir;
    } while (heir->departed && !heir->ended_here);
    return heir;
}

static void settle_all(void)
{
    for (size_t i = 0; i < sim.count; i++) {
        const struct simulated *process = &sim.processes[i];
        if (process->known && process->departed && !process->ended_here)
            account_owe(&heir_of(process)->account, &process->account);
    }
    for (size_t i = 0; i < sim.count; i++) {
        struct simulated *process = &sim.processes[i];
        if (process->known && process->departed && process->ended_here)
            account_owe(&sim.processes[0].account, &process->account);
    }
    for (size_t i = 0; i < sim.count; i++) {
        struct simulated *process = &sim.processes[i];
        if (process->known && !process->departed)
            account_advance(&process->account, &process->reading, &sim.ledger);
        process->known = process->known && !process->departed;
    }
}

/* Sometimes a newcomer is overlooked; then its children are too. */
static void discover(void)
{
    size_t count = sim.count;

    for (size_t i = 1; i < count; i++) {
        struct simulated *process = &sim.processes[i];
        if (process->known || process->life == LIFE_GONE)
            continue;
        sim_steps(chance(3));
        if (process->life == LIFE_GONE || !sim.processes[process->parent].known || chance(10) == 0)
            continue;
        struct usage usage = sim_read(process);
        account_open(&process->account, &usage, &sim.ledger);
        process->seen_parent = process->parent;
        process->known = true;
    }
}

static void assert_nothing_counted_twice(void)
{
    assert_true(sim.ledger.total[CPU] <= sim.truth[CPU]);
    assert_true(sim.ledger.total[QUANTITY_READ] <= sim.truth[QUANTITY_READ]);
}

static void take_reading(void)
{
    read_all();
    settle_all();
    discover();
    assert_nothing_counted_twice();
}

static void sim_begin(uint64_t seed, uint64_t tick, unsigned ignorants)
{
    memset(&sim, 0, sizeof sim);
    sim.random = seed * 2654435761U + 1;
    sim.tick = tick;
    sim.ignorants = ignorants;
    sim.ledger.slack[CPU] = tick > 1 ? tick : 0;
    sim.count = 2; /* the tracker and the root */
    struct usage nothing = {0};
    account_open(&sim.processes[0].account, &nothing, NULL);
    sim.processes[0].known = true;
}

static void sim_run(unsigned readings)
{
    for (unsigned i = 0; i < readings; i++) {
        sim_steps(chance(100));
        for (size_t waits = chance(3); waits > 0; waits--)
            sim_wait(0);
        take_reading();
    }
}

/* All end, some waited for by their parents, the rest by the tracker. */
static void sim_end(void)
{
    for (size_t i = sim.count - 1; i > 0; i--) {
        size_t parent = sim.processes[i].parent;
        if (sim.processes[i].life == LIFE_RUNS)
            sim_exit(i);
        if (chance(2) == 0 && sim.processes[parent].life == LIFE_RUNS)
            sim_wait(parent);
        if (chance(20) == 0)
            take_reading();
    }
    for (size_t i = 1; i < sim.count; i++)
        if (sim.processes[i].life == LIFE_RUNS)
            sim_exit(i);
    for (size_t i = 1; i < sim.count; i++)
        sim_wait(0);
    take_reading();
    take_reading();
}

static void test_any_life_of_a_tree_sums_up_to_the_truth(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        sim_begin(seed, 1, 0);
        sim_run(30);
        sim_end();
        assert_int_equal(sim.ledger.total[CPU], sim.truth[CPU]);
        assert_int_equal(sim.ledger.total[QUANTITY_READ], sim.truth[QUANTITY_READ]);
        assert_int_equal(sim.ledger.forgiven[CPU], 0);
        assert_int_equal(sim.ledger.forgiven[QUANTITY_READ], 0);
    }
}

static void test_reaped_time_in_ticks_costs_less_than_one_of_them(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        sim_begin(seed, 700, 0);
        sim_run(30);
        sim_end();
        assert_true(sim.ledger.total[CPU] + sim.tick > sim.truth[CPU]);
        assert_int_equal(sim.ledger.total[QUANTITY_READ], sim.truth[QUANTITY_READ]);
        assert_int_equal(sim.ledger.forgiven[CPU], 0);
    }
}

static void test_children_nobody_waits_for_cost_no_more_than_they_used(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        sim_begin(seed, 1, 4);
        sim_run(30);
        sim_end();
        assert_true(sim.lost[CPU] > 0);
        assert_true(sim.ledger.total[CPU] + sim.lost[CPU] >= sim.truth[CPU]);
        assert_true(sim.ledger.total[QUANTITY_READ] + sim.lost[QUANTITY_READ] >=
                    sim.truth[QUANTITY_READ]);
    }
}

/* Attaching: everyone is known before anything counts. */
static void test_what_was_used_before_attaching_is_left_out(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        sim_begin(seed, 1, 0);
        sim_steps(500);
        uint64_t before = sim.truth[CPU];
        for (size_t i = 1; i < sim.count; i++) {
            struct simulated *process = &sim.processes[i];
            if (process->life == LIFE_GONE)
                continue;
            struct usage usage = sim_read(process);
            account_open(&process->account, &usage, NULL);
            process->seen_parent = process->parent;
            process->known = true;
        }
        sim_run(20);
        sim_end();
        assert_int_equal(sim.ledger.total[CPU], sim.truth[CPU] - before);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_newcomer_counts_whole),
        cmocka_unit_test(test_of_one_that_was_there_before_only_growth_counts),
        cmocka_unit_test(test_opening_forgets_what_the_account_held),
        cmocka_unit_test(test_growth_of_reaped_use_pays_the_debt_before_it_counts),
        cmocka_unit_test(test_children_nobody_saw_count_when_they_were_waited_for),
        cmocka_unit_test(test_a_departure_seen_before_the_reaping_has_an_interval_of_grace),
        cmocka_unit_test(test_a_debt_is_forgiven_after_its_grace),
        cmocka_unit_test(test_the_older_debt_is_paid_first),
        cmocka_unit_test(test_a_debt_may_be_paid_in_parts),
        cmocka_unit_test(test_a_departed_hands_its_debts_on),
        cmocka_unit_test(test_a_debt_handed_on_has_grace_anew),
        cmocka_unit_test(test_of_a_departed_that_was_there_before_only_growth_counts),
        cmocka_unit_test(test_several_departed_of_one_parent_add_up),
        cmocka_unit_test(test_a_debt_within_the_slack_waits),
        cmocka_unit_test(test_only_the_slack_is_kept_of_a_larger_debt),
        cmocka_unit_test(test_slack_does_not_pile_up),
        cmocka_unit_test(test_a_counter_that_went_backwards_adds_nothing),
        cmocka_unit_test(test_a_backwards_counter_pays_no_debt),
        cmocka_unit_test(test_quantities_do_not_pay_for_each_other),
        cmocka_unit_test(test_any_life_of_a_tree_sums_up_to_the_truth),
        cmocka_unit_test(test_reaped_time_in_ticks_costs_less_than_one_of_them),
        cmocka_unit_test(test_children_nobody_waits_for_cost_no_more_than_they_used),
        cmocka_unit_test(test_what_was_used_before_attaching_is_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

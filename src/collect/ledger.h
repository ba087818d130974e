/*
 * Counting what a tree of processes used, each unit once, from readings of its members.
 *
 * The kernel keeps for each process what it used itself ("own") and what those of its children used
 * that it has waited for ("reaped", theirs included). When a child is waited for, its use moves
 * into its parent's reaped part. So for a tree: growth of the own parts, plus growth of the reaped
 * parts, less what had been counted of the departed while they lived. That difference is settled
 * per surviving ancestor: a departed member leaves a debt with it, and growth of the ancestor's
 * reaped part pays the debt before it counts. A debt has one interval's grace (the departure may be
 * seen before the ancestor's reading shows it) and is then forgiven: nobody waited for that child.
 *
 * Pure; no process is looked at here.
 */
#ifndef COLLECT_LEDGER_H
#define COLLECT_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

enum quantity {
    QUANTITY_CPU,   /* nanoseconds, user and system */
    QUANTITY_STIME, /* the system part of it */
    QUANTITY_MINOR_FAULTS,
    QUANTITY_MAJOR_FAULTS,
    QUANTITY_READ, /* bytes */
    QUANTITY_WRITE,
    QUANTITY_COUNT
};

/* A reading of one process. The kernel does not tell own from reaped I/O: all of it is `reaped`. */
struct usage {
    uint64_t own[QUANTITY_COUNT];
    uint64_t reaped[QUANTITY_COUNT];
};

struct account {
    bool in_debt;       /* something is owed: it must be counted even without a new reading */
    struct usage usage; /* as last counted */
    uint64_t debt[QUANTITY_COUNT];  /* of members that departed since the last reading */
    uint64_t stray[QUANTITY_COUNT]; /* of those whose parents departed too; see account_owe_stray */
    uint64_t grace[QUANTITY_COUNT]; /* what is left of the debts before those */
    uint64_t arrived[QUANTITY_COUNT]; /* growth of the reaped part that has paid no debt yet */
    uint64_t unpaid[QUANTITY_COUNT];  /* of the grace, after this interval's arrivals */
};

struct ledger {
    uint64_t total[QUANTITY_COUNT];
    /* Reaped time is told in whole ticks: a debt this small is not forgiven but waits. */
    uint64_t slack[QUANTITY_COUNT];
    uint64_t forgiven[QUANTITY_COUNT]; /* debts nobody paid: of children that nobody waited for */
};

/* Opens an account. A newcomer's whole use counts; of one that was there before, none. */
void account_open(struct account *account, const struct usage *usage, struct ledger *newcomer);

/* `departed` is gone; the nearest ancestor that is left is to settle for it. */
void account_owe(struct account *ancestor, const struct account *departed);

/*
 * Likewise for one whose parent has departed too. Who waited for it is not known: that parent,
 * whose use went to `ancestor`; or, the parent being gone, a subreaper further up.
 */
void account_owe_stray(struct account *ancestor, const struct account *departed);

/*
 * A new reading, after all departures of the interval were owed, in three steps over all accounts:
 * what has arrived pays the account's own debts; what is left of it may pay strays of accounts
 * below; the rest counts.
 */
void account_receive(struct account *account, const struct usage *usage);
void account_pay_strays(struct account *ancestor, struct account *account);
void account_count(struct account *account, const struct usage *usage, struct ledger *ledger);

/* All three, for an account that stands alone. */
void account_advance(struct account *account, const struct usage *usage, struct ledger *ledger);

/* The account's owner is gone, and with it whoever could have paid what is still owed. */
void account_close(const struct account *account, struct ledger *ledger);

#endif

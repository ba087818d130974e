#include "collect/ledger.h"

#include <stddef.h>

static uint64_t growth(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

void account_open(struct account *account, const struct usage *usage, struct ledger *newcomer)
{
    *account = (struct account){.usage = *usage};
    if (newcomer == NULL)
        return;
    for (int q = 0; q < QUANTITY_COUNT; q++)
        newcomer->total[q] += usage->own[q] + usage->reaped[q];
}

static uint64_t owed_for(const struct account *departed, int q)
{
    return departed->usage.own[q] + departed->usage.reaped[q] + departed->debt[q] +
           departed->stray[q] + departed->grace[q];
}

void account_owe(struct account *ancestor, const struct account *departed)
{
    for (int q = 0; q < QUANTITY_COUNT; q++)
        ancestor->debt[q] += owed_for(departed, q);
    ancestor->in_debt = true;
}

void account_owe_stray(struct account *ancestor, const struct account *departed)
{
    for (int q = 0; q < QUANTITY_COUNT; q++)
        ancestor->stray[q] += owed_for(departed, q);
    ancestor->in_debt = true;
}

/* Pays as much of a debt as there is, and returns what is then left of it. */
static uint64_t pay(uint64_t *purse, uint64_t debt)
{
    uint64_t paid = smaller(*purse, debt);

    *purse -= paid;
    return debt - paid;
}

void account_receive(struct account *account, const struct usage *usage)
{
    for (int q = 0; q < QUANTITY_COUNT; q++) {
        account->arrived[q] = growth(usage->reaped[q], account->usage.reaped[q]);
        account->unpaid[q] = pay(&account->arrived[q], account->grace[q]);
        account->debt[q] = pay(&account->arrived[q], account->debt[q]);
        account->stray[q] = pay(&account->arrived[q], account->stray[q]);
    }
}

void account_pay_strays(struct account *ancestor, struct account *account)
{
    for (int q = 0; q < QUANTITY_COUNT; q++)
        account->stray[q] = pay(&ancestor->arrived[q], account->stray[q]);
}

void account_count(struct account *account, const struct usage *usage, struct ledger *ledger)
{
    account->in_debt = false;
    for (int q = 0; q < QUANTITY_COUNT; q++) {
        uint64_t waits = smaller(account->unpaid[q], ledger->slack[q]);

        ledger->total[q] += growth(usage->own[q], account->usage.own[q]) + account->arrived[q];
        ledger->forgiven[q] += account->unpaid[q] - waits;
        account->grace[q] = account->debt[q] + account->stray[q] + waits;
        account->in_debt |= account->grace[q] > 0;
        account->debt[q] = 0;
        account->stray[q] = 0;
        account->arrived[q] = 0;
        account->unpaid[q] = 0;
    }
    account->usage = *usage;
}

void account_advance(struct account *account, const struct usage *usage, struct ledger *ledger)
{
    account_receive(account, usage);
    account_count(account, usage, ledger);
}

void account_close(const struct account *account, struct ledger *ledger)
{
    for (int q = 0; q < QUANTITY_COUNT; q++)
        ledger->forgiven[q] += growth(account->grace[q], ledger->slack[q]);
}

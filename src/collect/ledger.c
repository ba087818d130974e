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

void account_owe(struct account *ancestor, const struct account *departed)
{
    for (int q = 0; q < QUANTITY_COUNT; q++)
        ancestor->debt[q] += departed->usage.own[q] + departed->usage.reaped[q] +
                             departed->debt[q] + departed->grace[q];
}

void account_advance(struct account *account, const struct usage *usage, struct ledger *ledger)
{
    for (int q = 0; q < QUANTITY_COUNT; q++) {
        uint64_t arrived = growth(usage->reaped[q], account->usage.reaped[q]);
        uint64_t pays_grace = smaller(arrived, account->grace[q]);
        uint64_t pays_debt = smaller(arrived - pays_grace, account->debt[q]);

        ledger->total[q] += growth(usage->own[q], account->usage.own[q]);
        ledger->total[q] += arrived - pays_grace - pays_debt;
        uint64_t unpaid = account->grace[q] - pays_grace;
        uint64_t waits = smaller(unpaid, ledger->slack[q]);
        ledger->forgiven[q] += unpaid - waits;
        account->grace[q] = account->debt[q] - pays_debt + waits;
        account->debt[q] = 0;
    }
    account->usage = *usage;
}

void account_close(const struct account *account, struct ledger *ledger)
{
    for (int q = 0; q < QUANTITY_COUNT; q++)
        ledger->forgiven[q] += growth(account->grace[q], ledger->slack[q]);
}

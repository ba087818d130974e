#include "collect/gpu_unit.h"

#include "base/clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define FIND_PERIOD_NS (5 * NS_PER_SEC)

struct gpu_unit {
    const struct gpu_backend *backend;
    const struct gpu_places *places;
    void *state;
    atomic_uint users;
    uint64_t looked_ns; /* when it was last seen whether devices have changed */
    bool find_failed;
    atomic_bool find_is_wanted; /* details are to wait */
    pthread_mutex_t find_lock;  /* for what follows, and for what the backend does in find() */
    uint64_t list_number;       /* grows with each listing; 0: none yet */
    struct gpu_table found;
};

struct gpu_unit *gpu_unit_new(const struct gpu_backend *backend, const struct gpu_places *places)
{
    struct gpu_unit *unit = calloc(1, sizeof *unit);

    if (unit == NULL)
        return NULL;
    unit->backend = backend;
    unit->places = places;
    unit->users = 1;
    pthread_mutex_init(&unit->find_lock, NULL);
    return unit;
}

void gpu_unit_share(struct gpu_unit *unit)
{
    atomic_fetch_add(&unit->users, 1);
}

void gpu_unit_release(struct gpu_unit *unit)
{
    if (atomic_fetch_sub(&unit->users, 1) != 1)
        return;
    if (unit->state != NULL)
        unit->backend->close(unit->state);
    gpu_table_free(&unit->found);
    pthread_mutex_destroy(&unit->find_lock);
    free(unit);
}

int gpu_unit_open(struct gpu_unit *unit, char *remark)
{
    return unit->backend->open(unit->places, &unit->state, remark);
}

/* --- which devices there are --- */

static void find_devices(struct gpu_unit *unit)
{
    atomic_store(&unit->find_is_wanted, true);
    if (pthread_mutex_trylock(&unit->find_lock) != 0)
        return;
    unit->find_failed = unit->backend->find(unit->state, &unit->found) < 0;
    if (unit->find_failed)
        unit->found.count = 0;
    unit->list_number++;
    pthread_mutex_unlock(&unit->find_lock);
    atomic_store(&unit->find_is_wanted, false);
}

static void find_if_changed(struct gpu_unit *unit, uint64_t now_ns)
{
    if (unit->list_number > 0 && !atomic_load(&unit->find_is_wanted)) {
        if (now_ns - unit->looked_ns < FIND_PERIOD_NS)
            return;
        unit->looked_ns = now_ns;
        if (!unit->find_failed && !unit->backend->has_changed(unit->state))
            return;
    }
    unit->looked_ns = now_ns;
    find_devices(unit);
}

/* --- what they say --- */

bool gpu_unit_read(struct gpu_unit *unit, struct gpu_request *request, bool wants_tree,
                   struct gpu_table *table)
{
    const struct gpu_backend *backend = unit->backend;

    find_if_changed(unit, request->now_ns);
    if (gpu_table_copy(table, &unit->found) < 0 || unit->find_failed)
        return false;
    for (size_t i = 0; i < table->count; i++)
        if (backend->read(unit->state, i, request->now_ns, &table->devices[i]) < 0)
            gpu_device_copy(&table->devices[i], &unit->found.devices[i]);
    request->places = unit->places;
    if (wants_tree)
        backend->read_processes(unit->state, request, table);
    return true;
}

/* The lock is let go between devices: AMD's throughput alone takes a second each. */
bool gpu_unit_read_details(struct gpu_unit *unit, uint64_t now_ns, struct gpu_table *table)
{
    pthread_mutex_lock(&unit->find_lock);
    uint64_t list_number = unit->list_number;
    bool is_whole = gpu_table_copy(table, &unit->found) == 0;
    pthread_mutex_unlock(&unit->find_lock);
    for (size_t i = 0; is_whole && i < table->count; i++) {
        pthread_mutex_lock(&unit->find_lock);
        is_whole = unit->list_number == list_number;
        if (is_whole)
            unit->backend->read_detail(unit->state, i, now_ns, &table->devices[i]);
        pthread_mutex_unlock(&unit->find_lock);
        is_whole = is_whole && !atomic_load(&unit->find_is_wanted);
    }
    return is_whole;
}

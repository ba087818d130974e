#include "collect/drm_fleet.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>

static void close_cards(struct drm_fleet *fleet)
{
    for (size_t i = 0; i < fleet->count; i++)
        fleet->vendor->close_card(drm_fleet_card(fleet, i));
    fleet->count = 0;
}

static int add_card(struct drm_fleet *fleet, const struct drm_card_id *id, struct gpu_table *table)
{
    const struct drm_vendor *vendor = fleet->vendor;
    char *grown = array_grow(fleet->cards, &fleet->capacity, fleet->count + 1, vendor->card_size);

    if (grown == NULL)
        return -ENOMEM;
    fleet->cards = grown;
    void *card = drm_fleet_card(fleet, fleet->count);
    /* One that left just now is found missing by drm_fleet_has_changed. */
    if (vendor->open_card(card, fleet->places.root->sys_fd, id) < 0)
        return 0;
    struct gpu_device *device = gpu_table_add(table);
    if (device == NULL) {
        vendor->close_card(card);
        return -ENOMEM;
    }
    fleet->count++;
    vendor->describe(&fleet->places, card, device);
    return 0;
}

int drm_fleet_find(void *state, struct gpu_table *table)
{
    struct drm_fleet *fleet = state;
    int error = 0;

    close_cards(fleet);
    table->count = 0;
    drm_cards_list(fleet->places.root->sys_fd, fleet->vendor->drivers, &fleet->list);
    for (size_t i = 0; i < fleet->list.count && error == 0; i++)
        error = add_card(fleet, &fleet->list.ids[i], table);
    return error;
}

bool drm_fleet_has_changed(void *state)
{
    const struct drm_fleet *fleet = state;
    struct drm_card_list list;

    drm_cards_list(fleet->places.root->sys_fd, fleet->vendor->drivers, &list);
    return !drm_cards_are_same(&list, &fleet->list);
}

int drm_fleet_read(void *state, size_t index, uint64_t now_ns, struct gpu_device *device)
{
    const struct drm_fleet *fleet = state;
    struct drm_card *card = drm_fleet_card(fleet, index);

    if (drm_card_is_gone(card))
        return -ENODEV;
    if (drm_card_is_suspended(card))
        fleet->vendor->read_asleep(card, device);
    else
        fleet->vendor->read_awake(card, now_ns, device);
    return 0;
}

void drm_fleet_close(void *state)
{
    struct drm_fleet *fleet = state;

    close_cards(fleet);
    drm_clients_close(&fleet->clients);
    free(fleet->cards);
    free(state);
}

int drm_fleet_open(const struct drm_vendor *vendor, const struct gpu_places *places,
                   void **ret_state)
{
    struct drm_fleet *fleet = calloc(1, vendor->state_size);

    if (fleet == NULL)
        return -ENOMEM;
    fleet->vendor = vendor;
    fleet->places = *places;
    drm_clients_init(&fleet->clients, places->tree_fd);
    drm_cards_list(places->root->sys_fd, vendor->drivers, &fleet->list);
    if (fleet->list.count == 0) {
        drm_fleet_close(fleet);
        return -ENODEV;
    }
    fleet->list.count = 0;
    *ret_state = fleet;
    return 0;
}

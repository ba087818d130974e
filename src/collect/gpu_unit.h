/*
 * One vendor's driver with its devices: lists them when they change, and reads them. Shared by the
 * worker of a vendor and the worker of its details, which read different things at the same time;
 * devices are listed by the former, while the latter keeps out. May block for as long as the driver
 * likes.
 */
#ifndef COLLECT_GPU_UNIT_H
#define COLLECT_GPU_UNIT_H

#include "collect/gpu.h"

struct gpu_unit;

/* With one user; NULL when out of memory. */
struct gpu_unit *gpu_unit_new(const struct gpu_backend *backend, const struct gpu_places *places);
void gpu_unit_share(struct gpu_unit *unit);

/* The last user's closes the backend. */
void gpu_unit_release(struct gpu_unit *unit);

/* As the backend's. */
int gpu_unit_open(struct gpu_unit *unit, char *remark);

/*
 * Fills the table with the devices and their figures. False: nothing could be read, not even which
 * devices there are. The request's `places` are filled in.
 */
bool gpu_unit_read(struct gpu_unit *unit, struct gpu_request *request, bool wants_tree,
                   struct gpu_table *table);

/* Likewise with what blocks. False also when devices have changed meanwhile. */
bool gpu_unit_read_details(struct gpu_unit *unit, uint64_t now_ns, struct gpu_table *table);

#endif

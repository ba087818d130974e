/*
 * Intel GPUs from the attributes that the i915 and xe drivers have in sysfs. Neither tells how busy
 * the GPU is; both count the milliseconds in which its units (gt) were powered down for want of
 * work, and what is left of the time is its use. A unit stays up a little after its last work, so
 * this is an upper bound.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "collect/drm_fleet.h"
#include "collect/drm_gauge.h"
#include "collect/gpu.h"
#include "collect/intel_throttle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* i915 numbers its units, xe those of each tile; today's largest has two tiles of two units. */
#define TILES_MAX 4
#define UNITS_MAX 8

/* Counters in ms: over a shorter time than this their rate would be noise. */
#define RATE_MIN_NS (50 * NS_PER_MS)

/* Where the GPU in a processor is, on all of them; cards are behind a bridge. */
#define INTEGRATED_ADDRESS "0000:00:02.0"

static const char *const drivers[] = {"i915", "xe", NULL};

/* hwmon: milli-degrees and microwatts, of the card or the package, whichever comes first. */
static const struct drm_gauge gauges[] = {
    {FIELD_GPU_TEMPERATURE, DRM_IN_HWMON, 1e-3, DRM_CELSIUS_MAX, {"temp1_input", "temp2_input"}},
    {FIELD_GPU_POWER_LIMIT, DRM_IN_HWMON, 1e-6, DRM_WATTS_MAX, {"power1_max", "power2_max"}},
};
enum { GAUGE_COUNT = sizeof gauges / sizeof gauges[0] };

static const struct drm_gauge i915_clock = {
    FIELD_GPU_FREQUENCY,
    DRM_IN_CARD,
    1,
    DRM_MHZ_MAX,
    {"gt/gt0/rps_act_freq_mhz", "gt_act_freq_mhz", "gt_cur_freq_mhz"},
};
static const struct drm_gauge xe_clock = {
    FIELD_GPU_FREQUENCY,
    DRM_IN_DEVICE,
    1,
    DRM_MHZ_MAX,
    {"tile0/gt0/freq0/act_freq", "tile0/gt0/freq0/cur_freq"},
};

struct intel_unit {
    int fd;
    bool has_before;
    uint64_t idle_ms;
};

struct intel_card {
    struct drm_card drm;
    const struct drm_gauge *clock;
    struct drm_gauge_fds clock_fds;
    struct drm_gauge_fds gauges[GAUGE_COUNT];
    struct intel_throttle throttle;
    size_t unit_count;
    struct intel_unit units[UNITS_MAX];
    int energy_fd;
    bool has_energy;
    uint64_t microjoules;
    uint64_t vram_total;
    int vram_free_fd; /* -1 where nobody tells */

    bool has_baseline;
    uint64_t baseline_ns; /* of idle_ms and microjoules */
    double utilization_pct;
    double watts;
};

struct intel {
    struct drm_fleet fleet; /* first: it serves the backend */
};

static bool intel_probe(const struct gpu_places *places)
{
    int sys_fd = places->root->sys_fd;

    return faccessat(sys_fd, "module/i915", F_OK, 0) == 0 ||
           faccessat(sys_fd, "module/xe", F_OK, 0) == 0;
}

/* --- finding --- */

static bool is_xe(const struct intel_card *card)
{
    return strcmp(card->drm.id.driver, "xe") == 0;
}

static bool is_integrated(const struct intel_card *card)
{
    return strcmp(card->drm.id.pci_address, INTEGRATED_ADDRESS) == 0;
}

static void add_unit(struct intel_card *card, int dir_fd, const char *path)
{
    if (card->unit_count == UNITS_MAX)
        return;
    int fd = drm_attr_open(dir_fd, path);
    if (fd >= 0)
        card->units[card->unit_count++] = (struct intel_unit){.fd = fd};
}

static void find_i915_units(struct intel_card *card)
{
    char path[64];

    for (unsigned unit = 0; unit < UNITS_MAX; unit++) {
        snprintf(path, sizeof path, "gt/gt%u/rc6_residency_ms", unit);
        add_unit(card, card->drm.card_fd, path);
    }
    /* Older kernels have one for the whole GPU. */
    if (card->unit_count == 0)
        add_unit(card, card->drm.card_fd, "power/rc6_residency_ms");
}

static void find_xe_units(struct intel_card *card)
{
    char path[64];

    for (unsigned tile = 0; tile < TILES_MAX; tile++)
        for (unsigned unit = 0; unit < UNITS_MAX; unit++) {
            snprintf(path, sizeof path, "tile%u/gt%u/gtidle/idle_residency_ms", tile, unit);
            add_unit(card, card->drm.device_fd, path);
        }
}

/* Some kernels tell the size. A GPU in a processor has no memory of its own. */
static uint64_t read_vram_total(const struct intel_card *card)
{
    char path[64];
    uint64_t total = 0;
    uint64_t bytes;

    if (file_read_u64(card->drm.card_fd, "lmem_total_bytes", &bytes) == 0)
        return bytes;
    for (unsigned tile = 0; tile < TILES_MAX; tile++) {
        snprintf(path, sizeof path, "tile%u/physical_vram_size_bytes", tile);
        if (file_read_u64(card->drm.device_fd, path, &bytes) == 0 && bytes < UINT64_MAX - total)
            total += bytes;
    }
    return total > 0 || is_integrated(card) ? total : COUNTER_UNKNOWN;
}

static int open_energy(const struct drm_card *card)
{
    if (card->hwmon_fd < 0)
        return -1;
    int fd = drm_attr_open(card->hwmon_fd, "energy1_input");
    return fd >= 0 ? fd : drm_attr_open(card->hwmon_fd, "energy2_input");
}

static int open_card(void *closed, int sys_fd, const struct drm_card_id *id)
{
    struct intel_card *card = closed;

    *card = (struct intel_card){.utilization_pct = NAN, .watts = NAN};
    int error = drm_card_open(&card->drm, sys_fd, id);
    if (error < 0)
        return error;
    card->clock = is_xe(card) ? &xe_clock : &i915_clock;
    drm_gauges_open(&card->drm, card->clock, 1, &card->clock_fds);
    drm_gauges_open(&card->drm, gauges, GAUGE_COUNT, card->gauges);
    intel_throttle_open(&card->throttle, &card->drm);
    if (is_xe(card))
        find_xe_units(card);
    else
        find_i915_units(card);
    card->energy_fd = open_energy(&card->drm);
    card->vram_total = read_vram_total(card);
    card->vram_free_fd = drm_attr_open(card->drm.card_fd, "lmem_avail_bytes");
    return 0;
}

static void close_card(void *opened)
{
    struct intel_card *card = opened;

    drm_gauges_close(&card->clock_fds, 1);
    drm_gauges_close(card->gauges, GAUGE_COUNT);
    intel_throttle_close(&card->throttle);
    for (size_t i = 0; i < card->unit_count; i++)
        close_fd(&card->units[i].fd);
    close_fd(&card->energy_fd);
    close_fd(&card->vram_free_fd);
    drm_card_close(&card->drm);
}

static void describe(const struct gpu_places *places, const struct drm_card *card,
                     struct gpu_device *device)
{
    (void)places;
    char name[GPU_TEXT_MAX];

    snprintf(name, sizeof name, "Intel GPU%s%s", card->pci_id[0] != '\0' ? " " : "", card->pci_id);
    gpu_set_name(device, name);
    gpu_set_uuid(device, card->id.pci_address);
    gpu_set_host_id(device, card->id.pci_address);
    gpu_add_detail(device, "driver", card->id.driver);
    gpu_add_detail(device, "pci_bus_id", card->id.pci_address);
    gpu_add_detail(device, "pci_id", card->pci_id);
    gpu_add_detail(device, "node", card->id.node);
}

/* --- reading --- */

/*
 * The busy share of one unit since the last reading, in percent. A unit that was never idle since
 * the driver was loaded is one whose power saving is off, and tells nothing.
 */
static double read_unit(struct intel_unit *unit, double elapsed_ms)
{
    struct intel_unit before = *unit;

    unit->has_before = drm_attr_read_u64(unit->fd, &unit->idle_ms) == 0;
    if (!unit->has_before || !before.has_before || unit->idle_ms == 0 ||
        unit->idle_ms < before.idle_ms || elapsed_ms <= 0)
        return NAN;
    double idle = (double)(unit->idle_ms - before.idle_ms) / elapsed_ms;
    return idle < 1 ? 100 * (1 - idle) : 0;
}

static double read_power(struct intel_card *card, double elapsed_seconds)
{
    uint64_t before = card->microjoules;
    bool had_energy = card->has_energy;

    card->has_energy = drm_attr_read_u64(card->energy_fd, &card->microjoules) == 0;
    if (!had_energy || !card->has_energy || card->microjoules < before || elapsed_seconds <= 0)
        return NAN;
    double watts = (double)(card->microjoules - before) / 1e6 / elapsed_seconds;
    return watts <= DRM_WATTS_MAX ? watts : NAN;
}

/* Sets the figures that are rates; those of two readings close together are the same. */
static void read_rates(struct intel_card *card, uint64_t now_ns)
{
    bool is_later = card->has_baseline && now_ns > card->baseline_ns;
    uint64_t elapsed_ns = is_later ? now_ns - card->baseline_ns : 0;

    if (card->has_baseline && elapsed_ns < RATE_MIN_NS)
        return;
    card->has_baseline = true;
    card->baseline_ns = now_ns;
    card->utilization_pct = NAN;
    for (size_t i = 0; i < card->unit_count; i++) {
        double busy_pct = read_unit(&card->units[i], (double)elapsed_ns / (double)NS_PER_MS);
        if (isnan(card->utilization_pct) || busy_pct > card->utilization_pct)
            card->utilization_pct = busy_pct;
    }
    card->watts = read_power(card, (double)elapsed_ns / (double)NS_PER_SEC);
}

/* Idle time is not counted while it sleeps, so rates begin anew when it wakes. */
static void forget_rates(struct intel_card *card)
{
    card->has_baseline = false;
    card->has_energy = false;
    for (size_t i = 0; i < card->unit_count; i++)
        card->units[i].has_before = false;
    card->utilization_pct = 0;
    card->watts = NAN;
}

static void set_vram(const struct intel_card *card, struct gpu_device *device)
{
    uint64_t unused;
    uint64_t used = COUNTER_UNKNOWN;

    if (card->vram_total == 0)
        used = 0;
    else if (drm_attr_read_u64(card->vram_free_fd, &unused) == 0 && unused <= card->vram_total &&
             card->vram_total != COUNTER_UNKNOWN)
        used = card->vram_total - unused;
    gpu_set_vram(device, card->vram_total, used);
}

static void store_rates(const struct intel_card *card, struct gpu_device *device)
{
    gpu_set_percent(device, FIELD_GPU_UTILIZATION, card->utilization_pct);
    gpu_cell(device, FIELD_GPU_POWER)->number = card->watts;
}

/* It does no work; what else there is to know would wake it. */
static void read_asleep(void *asleep, struct gpu_device *device)
{
    struct intel_card *card = asleep;

    forget_rates(card);
    drm_gauges_clear(card->clock, 1, device);
    drm_gauges_clear(gauges, GAUGE_COUNT, device);
    gpu_set_throttle(device, "");
    gpu_set_vram(device, card->vram_total, card->vram_total == 0 ? 0 : COUNTER_UNKNOWN);
    gpu_cell(device, FIELD_GPU_PCIE_GENERATION)->number = NAN;
    gpu_cell(device, FIELD_GPU_PCIE_WIDTH)->number = NAN;
    store_rates(card, device);
}

static void read_awake(void *awake, uint64_t now_ns, struct gpu_device *device)
{
    struct intel_card *card = awake;

    read_rates(card, now_ns);
    store_rates(card, device);
    drm_gauges_read(card->clock, &card->clock_fds, 1, device);
    drm_gauges_read(gauges, card->gauges, GAUGE_COUNT, device);
    intel_throttle_read(&card->throttle, device);
    set_vram(card, device);
    drm_card_read_link(&card->drm, now_ns, device);
}

static const struct drm_vendor vendor = {
    .state_size = sizeof(struct intel),
    .drivers = drivers,
    .card_size = sizeof(struct intel_card),
    .open_card = open_card,
    .close_card = close_card,
    .describe = describe,
    .read_asleep = read_asleep,
    .read_awake = read_awake,
};

static int intel_open(const struct gpu_places *places, void **ret_state, char *remark)
{
    remark[0] = '\0';
    return drm_fleet_open(&vendor, places, ret_state);
}

/* --- the tracked tree --- */

static void intel_read_processes(void *state, const struct gpu_request *request,
                                 struct gpu_table *table)
{
    struct intel *intel = state;

    drm_clients_read(&intel->fleet.clients, request);
    for (size_t i = 0; i < intel->fleet.count && i < table->count; i++) {
        const struct intel_card *card = drm_fleet_card(&intel->fleet, i);
        struct drm_use use = drm_clients_use(&intel->fleet.clients, &card->drm);
        struct gpu_device *device = &table->devices[i];
        gpu_set_percent(device, FIELD_GPU_PROCESS_UTILIZATION, use.utilization_pct);
        gpu_cell(device, FIELD_GPU_PROCESS_VRAM)->counter =
            card->vram_total == 0 ? 0 : use.vram_bytes;
    }
}

/* --- what may take long --- */

static void intel_read_detail(void *state, size_t index, uint64_t now_ns, struct gpu_device *device)
{
    const struct intel_card *card = drm_fleet_card(state, index);
    uint64_t microjoules;
    bool is_told =
        !drm_card_is_suspended(&card->drm) && drm_attr_read_u64(card->energy_fd, &microjoules) == 0;

    (void)now_ns;
    gpu_cell(device, FIELD_GPU_ENERGY)->number = is_told ? (double)microjoules / 1e6 : NAN;
}

const struct gpu_backend gpu_intel = {
    .name = "intel",
    .probe = intel_probe,
    .open = intel_open,
    .has_changed = drm_fleet_has_changed,
    .find = drm_fleet_find,
    .read = drm_fleet_read,
    .read_processes = intel_read_processes,
    .read_detail = intel_read_detail,
    .close = drm_fleet_close,
};

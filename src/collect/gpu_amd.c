/*
 * AMD GPUs from the attributes that the amdgpu driver has in sysfs. libdrm_amdgpu is asked for the
 * name of the model only, once. What the tracked tree uses comes from the DRM clients' figures and,
 * for ROCm, from KFD.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "collect/amd_kfd.h"
#include "collect/amd_name.h"
#include "collect/drm_fleet.h"
#include "collect/drm_gauge.h"
#include "collect/gpu.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* Reading the error counters asks the card's firmware. */
#define ERRORS_EVERY_NS (10 * NS_PER_SEC)
/* Bytes a second; 16 lanes of the sixth generation carry an eighth of it. */
#define PCIE_RATE_MAX 1e12
#define ROCM_VERSION_FILE "/opt/rocm/.info/version"

static const char *const drivers[] = {"amdgpu", NULL};

/* hwmon: milli-degrees, microwatts, Hz, and 0 to 255 for the fan. */
static const struct drm_gauge gauges[] = {
    {FIELD_GPU_UTILIZATION, DRM_IN_DEVICE, 1, 100, {"gpu_busy_percent"}},
    {FIELD_GPU_MEMORY_UTILIZATION, DRM_IN_DEVICE, 1, 100, {"mem_busy_percent"}},
    {FIELD_GPU_TEMPERATURE, DRM_IN_HWMON, 1e-3, DRM_CELSIUS_MAX, {"temp1_input"}},
    {FIELD_GPU_POWER, DRM_IN_HWMON, 1e-6, DRM_WATTS_MAX, {"power1_average", "power1_input"}},
    {FIELD_GPU_POWER_LIMIT, DRM_IN_HWMON, 1e-6, DRM_WATTS_MAX, {"power1_cap"}},
    {FIELD_GPU_FREQUENCY, DRM_IN_HWMON, 1e-6, DRM_MHZ_MAX, {"freq1_input"}},
    {FIELD_GPU_MEMORY_FREQUENCY, DRM_IN_HWMON, 1e-6, DRM_MHZ_MAX, {"freq2_input"}},
    {FIELD_GPU_FAN, DRM_IN_HWMON, 100.0 / 255, 100, {"pwm1"}},
};
enum { GAUGE_COUNT = sizeof gauges / sizeof gauges[0] };

struct amd_card {
    struct drm_card drm;
    struct drm_gauge_fds gauges[GAUGE_COUNT];
    int core_clock_fd; /* pp_dpm_sclk */
    int memory_clock_fd;
    int vram_used_fd;
    int errors_fd;
    int pcie_fd;
    int energy_fd;
    uint64_t vram_total;
    bool errors_were_read;
    uint64_t errors_read_ns;
    uint64_t corrected;
    uint64_t uncorrected;
    struct kfd_gpu kfd;
};

struct amd {
    struct drm_fleet fleet; /* first: it serves the backend */
    struct kfd_processes kfd_processes;
};

static bool amd_probe(const struct gpu_places *places)
{
    return faccessat(places->root->sys_fd, "module/amdgpu", F_OK, 0) == 0;
}

/* --- finding --- */

static void add_text_detail(struct gpu_device *device, const char *name, int dir_fd,
                            const char *path)
{
    char text[GPU_TEXT_MAX];

    if (file_read_text(dir_fd, path, text, sizeof text) > 0)
        gpu_add_detail(device, name, text);
}

static void describe(const struct gpu_places *places, const struct drm_card *card,
                     struct gpu_device *device)
{
    const struct sysroot *root = places->root;

    gpu_set_uuid(device, card->id.pci_address);
    gpu_set_host_id(device, card->id.pci_address);
    amd_set_name(places, card, device);
    add_text_detail(device, "driver_version", root->sys_fd, "module/amdgpu/version");
    gpu_add_detail(device, "pci_bus_id", card->id.pci_address);
    gpu_add_detail(device, "pci_id", card->pci_id);
    add_text_detail(device, "vbios", card->device_fd, "vbios_version");
    gpu_add_detail(device, "node", card->id.node);
    /* Of this machine, so not where another one's files are read. */
    if (strcmp(root->dev, SYSROOT_DEV) == 0)
        add_text_detail(device, "rocm_version", AT_FDCWD, ROCM_VERSION_FILE);
}

static void close_card(void *opened)
{
    struct amd_card *card = opened;

    drm_gauges_close(card->gauges, GAUGE_COUNT);
    close_fd(&card->core_clock_fd);
    close_fd(&card->memory_clock_fd);
    close_fd(&card->vram_used_fd);
    close_fd(&card->errors_fd);
    close_fd(&card->pcie_fd);
    close_fd(&card->energy_fd);
    drm_card_close(&card->drm);
}

static int open_card(void *closed, int sys_fd, const struct drm_card_id *id)
{
    struct amd_card *card = closed;

    *card = (struct amd_card){.corrected = COUNTER_UNKNOWN, .uncorrected = COUNTER_UNKNOWN};
    int error = drm_card_open(&card->drm, sys_fd, id);
    if (error < 0)
        return error;
    int device_fd = card->drm.device_fd;
    drm_gauges_open(&card->drm, gauges, GAUGE_COUNT, card->gauges);
    card->core_clock_fd = drm_attr_open(device_fd, "pp_dpm_sclk");
    card->memory_clock_fd = drm_attr_open(device_fd, "pp_dpm_mclk");
    card->vram_used_fd = drm_attr_open(device_fd, "mem_info_vram_used");
    card->errors_fd = drm_attr_open(device_fd, "ras/umc_err_count");
    card->pcie_fd = drm_attr_open(device_fd, "pcie_bw");
    card->energy_fd =
        card->drm.hwmon_fd >= 0 ? drm_attr_open(card->drm.hwmon_fd, "energy1_input") : -1;
    /* A fact, which the driver has in memory: this wakes nobody. */
    if (file_read_u64(device_fd, "mem_info_vram_total", &card->vram_total) < 0)
        card->vram_total = COUNTER_UNKNOWN;
    kfd_find_gpu(sys_fd, id->pci_address, &card->kfd);
    return 0;
}

/* --- reading --- */

/* "1: 1311Mhz *": the clock of the line with the star. */
static double read_clock(int fd)
{
    char text[4096];
    struct scan line;
    struct scan label;
    uint64_t mhz;

    ssize_t length = drm_attr_read_text(fd, text, sizeof text);
    struct scan rest = scan_over(text, length > 0 ? (size_t)length : 0);
    while (scan_line(&rest, &line))
        if (scan_left(&line) > 0 && memchr(line.at, '*', scan_left(&line)) != NULL)
            return scan_until(&line, ':', &label) && scan_u64(&line, &mhz) &&
                           scan_starts_with(&line, "Mhz") && mhz <= DRM_MHZ_MAX
                       ? (double)mhz
                       : NAN;
    return NAN;
}

static void read_clock_if_absent(struct gpu_device *device, enum field_id field, int fd)
{
    union cell *cell = gpu_cell(device, field);

    if (isnan(cell->number))
        cell->number = read_clock(fd);
}

/* "ue: 0" and "ce: 0": uncorrectable and corrected errors of the memory. */
static void look_for_errors(struct amd_card *card)
{
    char text[256];
    struct scan line;
    uint64_t count;

    card->corrected = COUNTER_UNKNOWN;
    card->uncorrected = COUNTER_UNKNOWN;
    ssize_t length = drm_attr_read_text(card->errors_fd, text, sizeof text);
    struct scan rest = scan_over(text, length > 0 ? (size_t)length : 0);
    while (scan_line(&rest, &line)) {
        bool is_corrected = scan_starts_with(&line, "ce:");
        if (!is_corrected && !scan_starts_with(&line, "ue:"))
            continue;
        line.at += strlen("ce:");
        if (scan_u64(&line, &count))
            *(is_corrected ? &card->corrected : &card->uncorrected) = count;
    }
}

static void read_errors(struct amd_card *card, uint64_t now_ns)
{
    if (card->errors_were_read && now_ns - card->errors_read_ns < ERRORS_EVERY_NS)
        return;
    card->errors_were_read = true;
    card->errors_read_ns = now_ns;
    look_for_errors(card);
}

/* Counts stay what they were while it sleeps. */
static void store_errors(const struct amd_card *card, struct gpu_device *device)
{
    gpu_cell(device, FIELD_GPU_ECC_CORRECTED)->counter = card->corrected;
    gpu_cell(device, FIELD_GPU_ECC_UNCORRECTED)->counter = card->uncorrected;
}

/* It does no work; what else there is to know would wake it. */
static void read_asleep(void *asleep, struct gpu_device *device)
{
    const struct amd_card *card = asleep;

    drm_gauges_clear(gauges, GAUGE_COUNT, device);
    gpu_set_percent(device, FIELD_GPU_UTILIZATION, 0);
    gpu_set_vram(device, card->vram_total, COUNTER_UNKNOWN);
    gpu_cell(device, FIELD_GPU_PCIE_GENERATION)->number = NAN;
    gpu_cell(device, FIELD_GPU_PCIE_WIDTH)->number = NAN;
    store_errors(card, device);
}

static void read_awake(void *awake, uint64_t now_ns, struct gpu_device *device)
{
    struct amd_card *card = awake;
    uint64_t used;

    drm_gauges_read(gauges, card->gauges, GAUGE_COUNT, device);
    read_clock_if_absent(device, FIELD_GPU_FREQUENCY, card->core_clock_fd);
    read_clock_if_absent(device, FIELD_GPU_MEMORY_FREQUENCY, card->memory_clock_fd);
    if (drm_attr_read_u64(card->vram_used_fd, &used) < 0)
        used = COUNTER_UNKNOWN;
    gpu_set_vram(device, card->vram_total, used);
    read_errors(card, now_ns);
    store_errors(card, device);
    drm_card_read_link(&card->drm, now_ns, device);
}

static const struct drm_vendor vendor = {
    .state_size = sizeof(struct amd),
    .drivers = drivers,
    .card_size = sizeof(struct amd_card),
    .open_card = open_card,
    .close_card = close_card,
    .describe = describe,
    .read_asleep = read_asleep,
    .read_awake = read_awake,
};

static int amd_open(const struct gpu_places *places, void **ret_state, char *remark)
{
    remark[0] = '\0';
    return drm_fleet_open(&vendor, places, ret_state);
}

/* --- the tracked tree --- */

/*
 * The same memory may be in both accounts, since newer kernels show what ROCm has also in its DRM
 * client. So each process has the larger of the two: to the sum over clients is added, for each
 * process that KFD knows, what KFD knows of beyond its clients. Busy time KFD does not tell.
 */
static void add_kfd(const struct amd *amd, const struct amd_card *card, struct drm_use *use)
{
    bool is_used = false;

    for (size_t i = 0; i < amd->kfd_processes.count; i++) {
        pid_t pid = amd->kfd_processes.pids[i];
        uint64_t bytes = kfd_vram_of(amd->fleet.places.root->sys_fd, &card->kfd, pid);
        uint64_t in_clients = drm_clients_vram_of(&amd->fleet.clients, &card->drm, pid);
        is_used = is_used || bytes > 0;
        uint64_t beyond = bytes > in_clients ? bytes - in_clients : 0;
        bool is_known = bytes != COUNTER_UNKNOWN && beyond <= COUNTER_UNKNOWN - use->vram_bytes;
        use->vram_bytes = is_known ? use->vram_bytes + beyond : COUNTER_UNKNOWN;
    }
    if (is_used && use->utilization_pct == 0)
        use->utilization_pct = NAN;
}

/* A member computes, but on which card and with how much memory cannot be seen. */
static void doubt_nothing_used(struct drm_use *use)
{
    if (use->utilization_pct == 0)
        use->utilization_pct = NAN;
    if (use->vram_bytes == 0)
        use->vram_bytes = COUNTER_UNKNOWN;
}

static void amd_read_processes(void *state, const struct gpu_request *request,
                               struct gpu_table *table)
{
    struct amd *amd = state;

    drm_clients_read(&amd->fleet.clients, request);
    amd->kfd_processes.count = 0;
    bool sees_kfd =
        amd->fleet.places.pids_are_global &&
        kfd_find_processes(amd->fleet.places.root->sys_fd, request, &amd->kfd_processes) == 0;
    for (size_t i = 0; i < amd->fleet.count && i < table->count; i++) {
        const struct amd_card *card = drm_fleet_card(&amd->fleet, i);
        struct drm_use use = drm_clients_use(&amd->fleet.clients, &card->drm);
        if (sees_kfd)
            add_kfd(amd, card, &use);
        else if (amd->fleet.clients.has_kfd)
            doubt_nothing_used(&use);
        struct gpu_device *device = &table->devices[i];
        gpu_set_percent(device, FIELD_GPU_PROCESS_UTILIZATION, use.utilization_pct);
        gpu_cell(device, FIELD_GPU_PROCESS_VRAM)->counter = use.vram_bytes;
    }
}

/* --- what blocks --- */

static double bytes_per_second(uint64_t packets, uint64_t packet_bytes)
{
    double rate = (double)packets * (double)packet_bytes;

    return rate <= PCIE_RATE_MAX ? rate : NAN;
}

/* "6641 815 256": packets received and sent in one second, for which this waits, and their size. */
static void read_bandwidth(const struct amd_card *card, struct gpu_device *device)
{
    char text[96];
    uint64_t received;
    uint64_t sent;
    uint64_t size;

    ssize_t length = drm_attr_read_text(card->pcie_fd, text, sizeof text);
    struct scan scan = scan_over(text, length > 0 ? (size_t)length : 0);
    if (!scan_u64(&scan, &received) || !scan_u64(&scan, &sent) || !scan_u64(&scan, &size))
        return;
    gpu_cell(device, FIELD_GPU_PCIE_RX)->number = bytes_per_second(received, size);
    gpu_cell(device, FIELD_GPU_PCIE_TX)->number = bytes_per_second(sent, size);
}

static void amd_read_detail(void *state, size_t index, uint64_t now_ns, struct gpu_device *device)
{
    const struct amd_card *card = drm_fleet_card(state, index);
    uint64_t microjoules;

    (void)now_ns;
    gpu_cell(device, FIELD_GPU_PCIE_RX)->number = NAN;
    gpu_cell(device, FIELD_GPU_PCIE_TX)->number = NAN;
    gpu_cell(device, FIELD_GPU_ENERGY)->number = NAN;
    if (drm_card_is_suspended(&card->drm))
        return;
    read_bandwidth(card, device);
    if (drm_attr_read_u64(card->energy_fd, &microjoules) == 0)
        gpu_cell(device, FIELD_GPU_ENERGY)->number = (double)microjoules / 1e6;
}

const struct gpu_backend gpu_amd = {
    .name = "amd",
    .probe = amd_probe,
    .open = amd_open,
    .has_changed = drm_fleet_has_changed,
    .find = drm_fleet_find,
    .read = drm_fleet_read,
    .read_processes = amd_read_processes,
    .read_detail = amd_read_detail,
    .close = drm_fleet_close,
};

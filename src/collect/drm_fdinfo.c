#include "collect/drm_fdinfo.h"

#include <string.h>

/* Kinds of figures about memory, the best one first. */
enum memory_kind { MEMORY_RESIDENT, MEMORY_OLD_RESIDENT, MEMORY_TOTAL, MEMORY_KINDS };

struct memory {
    bool is_told; /* of any region: a device without VRAM tells of others */
    bool has_vram;
    bool is_broken; /* a number or unit that we do not understand */
    uint64_t vram_bytes;
};

struct parse {
    bool has_driver;
    bool has_client;
    struct memory memory[MEMORY_KINDS];
    struct drm_fdinfo info;
};

/* Takes `prefix` off the front of a key. */
static bool take_prefix(struct scan *key, const char *prefix)
{
    if (!scan_starts_with(key, prefix))
        return false;
    key->at += strlen(prefix);
    return true;
}

/* The entry of an engine class, made when it is new; NULL when there is no room for it. */
static struct drm_engine *engine_named(struct drm_fdinfo *info, const struct scan *name)
{
    size_t length = scan_left(name);

    if (length == 0 || length >= DRM_ENGINE_NAME_SIZE || memchr(name->at, '\0', length) != NULL)
        return NULL;
    for (size_t i = 0; i < info->engine_count; i++)
        if (scan_equals(name, info->engines[i].name))
            return &info->engines[i];
    if (info->engine_count == DRM_ENGINES_MAX)
        return NULL;
    struct drm_engine *engine = &info->engines[info->engine_count++];
    *engine = (struct drm_engine){.capacity = 1};
    (void)scan_copy(name, engine->name, sizeof engine->name);
    return engine;
}

static void take_capacity(struct drm_fdinfo *info, const struct scan *name, struct scan value)
{
    struct drm_engine *engine = engine_named(info, name);
    uint64_t capacity;

    if (engine != NULL && scan_u64(&value, &capacity) && capacity > 0)
        engine->capacity = capacity;
}

static void take_busy(struct drm_fdinfo *info, const struct scan *name, struct scan value,
                      const char *unit)
{
    struct drm_engine *engine = engine_named(info, name);
    uint64_t busy;

    if (engine == NULL || !scan_u64(&value, &busy))
        return;
    scan_blanks(&value);
    if (!scan_starts_with(&value, unit))
        return;
    engine->busy = busy;
    engine->has_busy = true;
}

static void take_total_cycles(struct drm_fdinfo *info, const struct scan *name, struct scan value)
{
    struct drm_engine *engine = engine_named(info, name);

    if (engine != NULL && scan_u64(&value, &engine->total_cycles))
        engine->has_total_cycles = true;
}

static bool take_engine(struct drm_fdinfo *info, struct scan key, struct scan value)
{
    if (take_prefix(&key, "drm-engine-capacity-"))
        take_capacity(info, &key, value);
    else if (take_prefix(&key, "drm-engine-"))
        take_busy(info, &key, value, "ns");
    else if (take_prefix(&key, "drm-cycles-"))
        take_busy(info, &key, value, "");
    else if (take_prefix(&key, "drm-total-cycles-"))
        take_total_cycles(info, &key, value);
    else
        return false;
    return true;
}

/* "vram" (amdgpu), "vram0" (xe), "local0" (i915): the memory on the card. */
static bool is_vram(struct scan region)
{
    if (!take_prefix(&region, "vram") && !take_prefix(&region, "local"))
        return false;
    while (region.at < region.end && is_digit(*region.at))
        region.at++;
    return region.at == region.end;
}

/* "123 KiB", "123 MiB" or plain bytes. */
static bool parse_size(struct scan value, uint64_t *ret_bytes)
{
    uint64_t number;
    struct scan unit;
    unsigned shift = 0;

    if (!scan_u64(&value, &number))
        return false;
    if (scan_word(&value, &unit)) {
        if (scan_equals(&unit, "KiB"))
            shift = 10;
        else if (scan_equals(&unit, "MiB"))
            shift = 20;
        else
            return false;
    }
    if (number > (UINT64_MAX - 1) >> shift)
        return false;
    *ret_bytes = number << shift;
    return true;
}

static void take_memory(struct memory *memory, struct scan region, struct scan value)
{
    uint64_t bytes;

    memory->is_told = true;
    if (!is_vram(region))
        return;
    memory->has_vram = true;
    if (!parse_size(value, &bytes) || bytes > UINT64_MAX - 1 - memory->vram_bytes)
        memory->is_broken = true;
    else
        memory->vram_bytes += bytes;
}

static void take_pair(struct parse *parse, struct scan key, struct scan value)
{
    struct drm_pci ignored;
    struct scan word;

    if (scan_equals(&key, "drm-driver")) {
        parse->has_driver = scan_word(&value, &word);
    } else if (scan_equals(&key, "drm-pdev")) {
        if (scan_word(&value, &word) && drm_pci_parse(word, &ignored))
            (void)scan_copy(&word, parse->info.pci_address, sizeof parse->info.pci_address);
    } else if (scan_equals(&key, "drm-client-id")) {
        parse->has_client = scan_u64(&value, &parse->info.client_id);
    } else if (take_engine(&parse->info, key, value)) {
        return;
    } else if (take_prefix(&key, "drm-resident-")) {
        take_memory(&parse->memory[MEMORY_RESIDENT], key, value);
    } else if (take_prefix(&key, "drm-memory-")) {
        take_memory(&parse->memory[MEMORY_OLD_RESIDENT], key, value);
    } else if (take_prefix(&key, "drm-total-")) {
        take_memory(&parse->memory[MEMORY_TOTAL], key, value);
    }
}

static uint64_t best_vram(const struct memory *memory)
{
    bool is_told = false;
    bool is_broken = false;

    for (size_t i = 0; i < MEMORY_KINDS; i++) {
        if (memory[i].has_vram && !memory[i].is_broken)
            return memory[i].vram_bytes;
        is_told = is_told || memory[i].is_told;
        is_broken = is_broken || memory[i].is_broken;
    }
    return is_told && !is_broken ? 0 : COUNTER_UNKNOWN;
}

bool drm_fdinfo_parse(struct scan text, struct drm_fdinfo *ret_info)
{
    struct parse parse = {0};
    struct scan line;
    struct scan key;

    while (scan_line(&text, &line))
        if (scan_starts_with(&line, "drm-") && scan_until(&line, ':', &key))
            take_pair(&parse, key, line);
    if (!parse.has_driver || !parse.has_client || parse.info.pci_address[0] == '\0')
        return false;
    parse.info.vram_bytes = best_vram(parse.memory);
    *ret_info = parse.info;
    return true;
}

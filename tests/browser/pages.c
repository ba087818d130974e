/*
 * Makes the report pages that the browser tests look at, from runs that never were: the same bytes
 * every time. Usage: pages FOLDER
 */
#include "encode/report.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BYTES_PER_MIB 1048576.0
#define DEVICES_MAX 600

/* What a made-up host has, and how long the run took. */
struct scene {
    const char *file;
    const char *job;
    const char *second_phase; /* NULL: one phase */
    size_t samples;
    double interval_secs;
    size_t cores;
    size_t disks;
    size_t interfaces;
    size_t mounts;
    size_t gpus;
    double pace; /* how much more of everything the run takes */
    bool is_watched;
    bool has_hostile_names;
    int exit_code;
    int signal;
};

#define HOSTILE "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1>"

static uint64_t random_state = 88172645463325252u;

static double noise(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (double)(random_state >> 11) / 9007199254740992.0;
}

/* Up and down between 0 and 1. */
static double wave(double time, double period)
{
    double share = time / period - (double)(uint64_t)(time / period);

    return share < 0.5 ? share * 2 : 2 - share * 2;
}

struct world {
    const struct scene *scene;
    struct sample sample;
    double per_core[1024];
    struct rows rows[DEVICE_COUNT];
    char names[DEVICE_COUNT][DEVICES_MAX][160];
};

static const size_t *count_of(const struct scene *scene, enum device_list list)
{
    const size_t *counts[DEVICE_COUNT] = {&scene->interfaces, &scene->disks, &scene->mounts,
                                          &scene->gpus};

    return counts[list];
}

static void name_devices(struct world *world)
{
    static const char *const prefixes[DEVICE_COUNT] = {"eth", "nvme", "/mnt/data-", "GPU-"};
    static const enum field_id fields_of[DEVICE_COUNT] = {FIELD_NET_INTERFACE, FIELD_DISK_DEVICE,
                                                          FIELD_MOUNT_POINT, FIELD_GPU_UUID};

    for (int list = 0; list < DEVICE_COUNT; list++) {
        size_t count = *count_of(world->scene, (enum device_list)list);
        rows_init(&world->rows[list], (enum device_list)list);
        if (rows_resize(&world->rows[list], count) < 0)
            abort();
        for (size_t i = 0; i < count; i++) {
            char *name = world->names[list][i];
            snprintf(name, sizeof world->names[list][i], "%s%zu%s", prefixes[list], i,
                     world->scene->has_hostile_names ? HOSTILE : "");
            cells_clear(rows_cell(&world->rows[list], i, world->rows[list].info->first),
                        (enum device_list)list);
            rows_cell(&world->rows[list], i, fields_of[list])->text = name;
        }
        world->sample.rows[list] = &world->rows[list];
    }
    for (size_t i = 0; i < world->scene->disks; i++) {
        rows_cell(&world->rows[DEVICE_DISK], i, FIELD_DISK_MODEL)->text = "Samsung PM9A3";
        rows_cell(&world->rows[DEVICE_DISK], i, FIELD_DISK_MOUNTS)->nested =
            (struct row_range){0, i == 0 ? (uint32_t)world->scene->mounts : 0};
    }
    for (size_t i = 0; i < world->scene->mounts; i++)
        rows_cell(&world->rows[DEVICE_MOUNT], i, FIELD_MOUNT_FILESYSTEM)->text = "ext4";
    for (size_t i = 0; i < world->scene->gpus; i++)
        rows_cell(&world->rows[DEVICE_GPU], i, FIELD_GPU_NAME)->text = "NVIDIA H200";
}

static void set_devices(struct world *world, double time, double busy)
{
    const struct scene *scene = world->scene;

    for (size_t i = 0; i < scene->disks; i++) {
        double share = busy * noise() / (double)(i + 1);
        rows_cell(&world->rows[DEVICE_DISK], i, FIELD_DISK_READ_RATE)->number = 3e8 * share;
        rows_cell(&world->rows[DEVICE_DISK], i, FIELD_DISK_WRITE_RATE)->number =
            1e8 * share * noise();
        rows_cell(&world->rows[DEVICE_DISK], i, FIELD_DISK_BUSY)->number = 100 * share;
    }
    for (size_t i = 0; i < scene->interfaces; i++) {
        double share = wave(time, 500 + 90 * (double)i) * noise();
        rows_cell(&world->rows[DEVICE_NETWORK], i, FIELD_NET_RX_RATE)->number = 2e7 * share;
        rows_cell(&world->rows[DEVICE_NETWORK], i, FIELD_NET_TX_RATE)->number = 4e6 * share;
    }
    for (size_t i = 0; i < scene->mounts; i++) {
        double used = 1e11 + 1e6 * time / (double)(i + 1);
        rows_cell(&world->rows[DEVICE_MOUNT], i, FIELD_MOUNT_TOTAL)->counter = 500000000000u;
        rows_cell(&world->rows[DEVICE_MOUNT], i, FIELD_MOUNT_USED)->counter = (uint64_t)used;
        rows_cell(&world->rows[DEVICE_MOUNT], i, FIELD_MOUNT_AVAILABLE)->counter =
            500000000000u - (uint64_t)used;
        rows_cell(&world->rows[DEVICE_MOUNT], i, FIELD_MOUNT_USED_PCT)->number = used / 5e9;
    }
    for (size_t i = 0; i < scene->gpus; i++) {
        double use = busy * (0.75 + 0.25 * noise()) * (i % 4 == 3 ? 0.3 : 1);
        rows_cell(&world->rows[DEVICE_GPU], i, FIELD_GPU_UTILIZATION)->number = 100 * use;
        rows_cell(&world->rows[DEVICE_GPU], i, FIELD_GPU_PROCESS_UTILIZATION)->number = 90 * use;
        rows_cell(&world->rows[DEVICE_GPU], i, FIELD_GPU_POWER)->number = 90 + 550 * use;
        rows_cell(&world->rows[DEVICE_GPU], i, FIELD_GPU_TEMPERATURE)->number = 34 + 35 * use;
        rows_cell(&world->rows[DEVICE_GPU], i, FIELD_GPU_VRAM_TOTAL)->counter = 150754820096u;
        rows_cell(&world->rows[DEVICE_GPU], i, FIELD_GPU_VRAM_USED)->counter =
            (uint64_t)(1.1e11 * (use > 0.05 ? 1 : 0.02));
        rows_cell(&world->rows[DEVICE_GPU], i, FIELD_GPU_VRAM_USED_PCT)->number =
            use > 0.05 ? 73 : 1.5;
    }
}

static void set_tree(struct world *world, double time, double busy)
{
    const struct scene *scene = world->scene;
    double *value = world->sample.value;
    double cores = (double)scene->cores * 0.8 * busy * scene->pace;

    value[METRIC_PROCESS_CORES_USED] = cores;
    value[METRIC_PROCESS_UTIME] = cores * 0.9 * scene->interval_secs;
    value[METRIC_PROCESS_STIME] = cores * 0.1 * scene->interval_secs;
    value[METRIC_PROCESS_CHILD_COUNT] = (double)(uint64_t)(cores + 1);
    value[METRIC_PROCESS_THREADS] = (double)(uint64_t)(cores * 3 + 2);
    value[METRIC_PROCESS_RSS] = scene->pace * (900 + 4000 * wave(time, 900) + 60 * noise());
    value[METRIC_PROCESS_PSS] = value[METRIC_PROCESS_RSS] * 0.86;
    value[METRIC_PROCESS_PEAK_RSS] = value[METRIC_PROCESS_RSS];
    value[METRIC_PROCESS_DISK_READ] = 1.2e8 * busy * noise() * scene->interval_secs;
    value[METRIC_PROCESS_DISK_WRITE] = 4e7 * busy * noise() * scene->interval_secs;
    if (scene->gpus > 0) {
        value[METRIC_PROCESS_GPU_USAGE] = (double)scene->gpus * 0.7 * busy;
        value[METRIC_PROCESS_GPU_VRAM] = (double)scene->gpus * 100000 * (busy > 0.05 ? 1 : 0);
    }
}

static void set_sample(struct world *world, size_t i)
{
    const struct scene *scene = world->scene;
    double *value = world->sample.value;
    double time = (double)i * scene->interval_secs;
    double whole = (double)scene->samples * scene->interval_secs;
    double busy =
        time < whole * 0.15 ? 0.12 + 0.1 * noise() : 0.62 + 0.3 * wave(time, whole / 6) * noise();

    sample_reset(&world->sample);
    for (int list = 0; list < DEVICE_COUNT; list++)
        world->sample.rows[list] = &world->rows[list];
    value[METRIC_TIMESTAMP_SECS] = 1794720000 + time;
    value[METRIC_CPU_UTILIZATION] = (double)scene->cores * (0.1 + 0.8 * busy);
    value[METRIC_CPU_PROCESS_COUNT] = 312;
    value[METRIC_MEMORY_TOTAL] = 64 * 1024;
    value[METRIC_MEMORY_USED] = 9000 + 6000 * wave(time, 900);
    value[METRIC_MEMORY_AVAILABLE] = 54000 - value[METRIC_MEMORY_USED];
    value[METRIC_TOTAL_DISK_READ] = 1.6e8 * busy * noise() * scene->interval_secs;
    value[METRIC_TOTAL_DISK_WRITE] = 7e7 * busy * noise() * scene->interval_secs;
    value[METRIC_TOTAL_NET_RECV] = 2e7 * wave(time, 500) * noise() * scene->interval_secs;
    value[METRIC_TOTAL_NET_SENT] = 4e6 * wave(time, 700) * noise() * scene->interval_secs;
    if (scene->gpus > 0) {
        value[METRIC_TOTAL_GPU_USAGE] = (double)scene->gpus * 0.8 * busy;
        value[METRIC_TOTAL_GPU_VRAM] = (double)scene->gpus * 104000 * (busy > 0.05 ? 1 : 0.02);
        value[METRIC_TOTAL_GPU_UTILIZED] = (double)scene->gpus;
    }
    for (size_t core = 0; core < scene->cores; core++)
        world->per_core[core] = 100 * busy * (core % 5 == 4 ? 0.2 : 0.8 + 0.2 * noise());
    world->sample.per_core = world->per_core;
    world->sample.per_core_count = scene->cores;
    set_devices(world, time, busy);
    if (!scene->is_watched)
        set_tree(world, time, busy);
}

static void describe(struct digest *digest, const struct scene *scene)
{
    static char *const command[] = {"python", "train.py",    "--epochs", "12",
                                    "--data", "/mnt/data-0", NULL};
    static char *const hostile_command[] = {"sh", "-c", HOSTILE, NULL};
    struct tag tags[] = {{"dataset", "imagenet-1k"}, {"commit", "4f2a91c"}, {HOSTILE, HOSTILE}};
    struct run run = {
        .job_name = scene->job,
        .project_name = "vision",
        .stage_name = scene->has_hostile_names ? HOSTILE : "train",
        .team = "research",
        .tags = tags,
        .tag_count = scene->has_hostile_names ? 3 : 2,
        .command = scene->is_watched          ? NULL
                   : scene->has_hostile_names ? hostile_command
                                              : command,
    };
    struct run_end end = {.has_command = !scene->is_watched,
                          .has_exit_code = scene->signal == 0,
                          .exit_code = scene->exit_code,
                          .signal = scene->signal};
    struct host host;

    host_reset(&host);
    snprintf(host.name, sizeof host.name, "%s", scene->has_hostile_names ? HOSTILE : "gpu-node-17");
    snprintf(host.cpu_model, sizeof host.cpu_model, "AMD EPYC 9654");
    snprintf(host.cloud_vendor_id, sizeof host.cloud_vendor_id, "aws");
    snprintf(host.cloud_instance_type, sizeof host.cloud_instance_type, "p5.48xlarge");
    snprintf(host.cloud_region_id, sizeof host.cloud_region_id, "eu-north-1");
    host.vcpus = (double)scene->cores;
    host.memory_mib = 64 * 1024;
    if (scene->gpus > 0) {
        host.gpu_count = (double)scene->gpus;
        host.gpu_vram_mib = (double)scene->gpus * 143771;
        snprintf(host.gpu_model, sizeof host.gpu_model, "NVIDIA H200");
    }
    if (digest_set_run(digest, &run) < 0)
        abort();
    digest_set_host(digest, &host);
    digest_set_end(digest, &end);
}

static void play(struct digest *digest, const struct scene *scene)
{
    struct world *world = calloc(1, sizeof *world);

    if (world == NULL || digest_init(digest, true) < 0)
        abort();
    world->scene = scene;
    name_devices(world);
    describe(digest, scene);
    for (size_t i = 0; i < scene->samples; i++) {
        if (scene->second_phase != NULL && (i == 0 || i == scene->samples * 15 / 100))
            digest_phase(digest, i == 0 ? "prepare" : scene->second_phase);
        set_sample(world, i);
        digest_add(digest, &world->sample, scene->interval_secs);
    }
    for (int list = 0; list < DEVICE_COUNT; list++)
        rows_free(&world->rows[list]);
    free(world);
}

static void save(const char *file, const struct digest *const *digests, size_t count)
{
    struct buf page;
    FILE *out = fopen(file, "w");

    if (out == NULL || buf_init(&page, 1 << 20, REPORT_BYTES_MAX) < 0 ||
        report_write(digests, count, &page) < 0 ||
        fwrite(page.data, 1, page.size, out) != page.size || fclose(out) != 0) {
        perror(file);
        exit(1);
    }
    buf_free(&page);
}

/* The samples of "large" make as many points as there can be: 720 of 128. */
static const struct scene scenes[] = {
    {"plain.html", "train-resnet", "train", 1200, 1, 8, 2, 2, 3, 0, 1, false, false, 0, 0},
    {"gpus.html", "finetune-70b", NULL, 3600, 1, 32, 2, 1, 3, 16, 1, false, false, 0, 0},
    {"hostile.html", HOSTILE, HOSTILE, 120, 1, 4, 2, 2, 3, 1, 1, false, true, 3, 0},
    {"large.html", "everything", "train", 92160, 10, 256, 40, 40, 500, 16, 1, false, false, 0, 9},
    {"week.html", "soak", NULL, 604800, 1, 16, 2, 2, 4, 0, 1, false, false, 0, 0},
    {"watched.html", NULL, NULL, 300, 1, 4, 1, 1, 2, 0, 1, true, false, 0, 0},
    {"one.html", "quick", NULL, 1, 0.02, 2, 1, 1, 1, 0, 1, false, false, 0, 0},
    {"empty.html", "nothing", NULL, 0, 1, 2, 1, 1, 1, 0, 1, false, false, 127, 0},
};

static const struct scene later = {
    "", "train-resnet, batch 64", NULL, 900, 1, 8, 2, 2, 3, 0, 1.3, false, false, 1, 0};
static const struct scene third = {
    "", "train-resnet, bf16", NULL, 600, 1, 8, 2, 2, 3, 0, 0.7, false, false, 0, 0};

int main(int argc, char **argv)
{
    static struct digest first;
    static struct digest digests[2];

    if (argc != 2 || chdir(argv[1]) < 0) {
        fprintf(stderr, "usage: pages FOLDER\n");
        return 2;
    }
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
        const struct digest *one[] = {&first};
        play(&first, &scenes[i]);
        save(scenes[i].file, one, 1);
        digest_free(&first);
    }
    play(&first, &scenes[0]);
    play(&digests[0], &later);
    play(&digests[1], &third);
    const struct digest *all[] = {&first, &digests[0], &digests[1]};
    save("compared.html", all, 3);
    digest_free(&first);
    digest_free(&digests[0]);
    digest_free(&digests[1]);
    return 0;
}

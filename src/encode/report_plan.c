#include "encode/report_plan.h"

#include "base/array.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

const char *report_run_style(size_t run)
{
    static const char *const styles[] = {"job", "out", "in", "third", "fourth", "host"};

    return styles[run % COUNT(styles)];
}

bool report_has_gpu(const struct digest *digest)
{
    const struct statistic *use = &digest->metrics[METRIC_TOTAL_GPU_USAGE];
    const struct statistic *memory = &digest->metrics[METRIC_TOTAL_GPU_VRAM];

    /* Without a GPU both are 0, not unknown. */
    return digest->lists[DEVICE_GPU].count > 0 || use->max > 0 || memory->max > 0;
}

/* --- adding to a plan --- */

static struct report_chart *add_chart(struct report_plan *plan, const char *key, const char *title,
                                      const char *unit)
{
    struct report_chart *charts =
        array_grow(plan->charts, &plan->chart_capacity, plan->chart_count + 1, sizeof *charts);
    if (charts == NULL)
        return NULL;
    plan->charts = charts;
    struct report_chart *chart = &charts[plan->chart_count];
    *chart = (struct report_chart){
        .key = key, .title = title, .unit = unit, .first_line = plan->line_count};
    snprintf(chart->id, sizeof chart->id, "chart-%zu", plan->chart_count);
    plan->chart_count++;
    return chart;
}

/* To the chart that was added last. */
static int add_line(struct report_plan *plan, struct report_line line)
{
    struct report_line *lines =
        array_grow(plan->lines, &plan->line_capacity, plan->line_count + 1, sizeof *lines);
    if (lines == NULL)
        return -ENOMEM;
    plan->lines = lines;
    lines[plan->line_count++] = line;
    plan->charts[plan->chart_count - 1].line_count++;
    return 0;
}

/* --- one run: the job against its host --- */

/* Which of the digest's series a chart has, those of the tree and those of the host. */
struct members {
    size_t tree[DIGEST_SERIES_COUNT];
    size_t tree_count;
    size_t host[DIGEST_SERIES_COUNT];
    size_t host_count;
};

static struct members find_members(const struct digest *digest, enum digest_chart chart)
{
    struct members found = {.tree_count = 0};

    for (size_t i = 0; i < DIGEST_SERIES_COUNT; i++) {
        if (digest_series[i].chart != chart ||
            !statistic_is_known(&digest->metrics[digest_series[i].metric]))
            continue;
        if (digest_series[i].is_tree)
            found.tree[found.tree_count++] = i;
        else
            found.host[found.host_count++] = i;
    }
    return found;
}

static int add_series(struct report_plan *plan, size_t run, size_t which, const char *label,
                      const char *style)
{
    const struct digest *digest = plan->digests[run];
    const struct digest_series *series = &digest_series[which];

    return add_line(plan, (struct report_line){.run = run,
                                               .series = &digest->series[which],
                                               .statistic = &digest->metrics[series->metric],
                                               .scale = series->scale,
                                               .label = label,
                                               .style = style});
}

/* Reading and writing of the job and of the host: a chart for each, so that blue is the job. */
static int add_pairs(struct report_plan *plan, const struct digest_chart_info *info,
                     const struct members *members)
{
    for (size_t i = 0; i < members->tree_count && i < members->host_count; i++) {
        struct report_chart *chart = add_chart(plan, info->id, info->title, info->unit);
        if (chart == NULL)
            return -ENOMEM;
        chart->note = digest_series[members->host[i]].label;
        if (add_series(plan, 0, members->tree[i], "job", "job") < 0 ||
            add_series(plan, 0, members->host[i], "host", "host") < 0)
            return -ENOMEM;
    }
    return 0;
}

static int add_members(struct report_plan *plan, const struct digest_chart_info *info,
                       const struct members *members)
{
    static const char *const tree_styles[] = {"job", "third", "fourth"};
    static const char *const host_styles[] = {"in", "out", "fourth"};

    if (members->tree_count + members->host_count == 0)
        return 0;
    if (add_chart(plan, info->id, info->title, info->unit) == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < members->tree_count; i++) {
        size_t which = members->tree[i];
        if (add_series(plan, 0, which, digest_series[which].label,
                       tree_styles[i % COUNT(tree_styles)]) < 0)
            return -ENOMEM;
    }
    for (size_t i = 0; i < members->host_count; i++) {
        size_t which = members->host[i];
        bool is_alone = members->host_count == 1;
        if (add_series(plan, 0, which, digest_series[which].label,
                       is_alone ? "host" : host_styles[i % COUNT(host_styles)]) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int plan_charts(struct report_plan *plan)
{
    const struct digest *digest = plan->digests[0];

    for (int id = 0; id < CHART_COUNT; id++) {
        struct members members = find_members(digest, (enum digest_chart)id);
        if ((id == CHART_GPU || id == CHART_VRAM) && !report_has_gpu(digest))
            continue;
        /* A host's hundreds of processes would make a flat line of the job's. */
        if (id == CHART_PROCESSES && members.tree_count > 0)
            members.host_count = 0;
        bool is_paired = members.tree_count > 1 && members.host_count > 1;
        int error = is_paired ? add_pairs(plan, &digest_charts[id], &members)
                              : add_members(plan, &digest_charts[id], &members);
        if (error < 0)
            return error;
    }
    return 0;
}

/* --- devices --- */

/* How much there is to see of a device: the share its peak would have in a chart of all. */
static double busyness(const struct digest_device *device)
{
    double mean = statistic_mean(&device->statistics[0]);
    double other = statistic_mean(&device->statistics[1]);

    return (mean > 0 ? mean : 0) + (other > 0 ? other : 0);
}

/* A disk or interface that nothing ever went through: a chart would show nothing. */
static bool is_idle(enum device_list id, const struct digest_device *device)
{
    return id != DEVICE_GPU && !(device->statistics[0].max > 0) && !(device->statistics[1].max > 0);
}

/* The busiest devices that have series, in the order of the list. */
static size_t choose_devices(enum device_list id, const struct digest_list *list,
                             size_t chosen[REPORT_DEVICES_MAX])
{
    size_t count = 0;

    for (size_t i = 0; i < list->count; i++) {
        if (list->devices[i].series == NULL || is_idle(id, &list->devices[i]))
            continue;
        if (count < REPORT_DEVICES_MAX) {
            chosen[count++] = i;
            continue;
        }
        size_t idlest = 0;
        for (size_t j = 1; j < count; j++)
            if (busyness(&list->devices[chosen[j]]) < busyness(&list->devices[chosen[idlest]]))
                idlest = j;
        if (busyness(&list->devices[i]) <= busyness(&list->devices[chosen[idlest]]))
            continue;
        memmove(&chosen[idlest], &chosen[idlest + 1], (count - idlest - 1) * sizeof chosen[0]);
        chosen[count - 1] = i;
    }
    return count;
}

static bool is_job_field(enum field_id field)
{
    return field == FIELD_GPU_PROCESS_UTILIZATION || field == FIELD_GPU_PROCESS_VRAM;
}

/* Whether an earlier figure of the device has this unit, and so shares its chart. */
static bool is_charted(const struct digest_fields *kept, size_t field)
{
    for (size_t i = 0; i < field; i++)
        if (strcmp(fields[kept->fields[i].field].unit, fields[kept->fields[field].field].unit) == 0)
            return true;
    return false;
}

/* All figures of a device that have the unit of `first`. */
static int add_device_chart(struct report_plan *plan, enum device_list list, size_t index,
                            size_t first)
{
    const struct digest_fields *kept = &digest_fields[list];
    const struct digest_device *device = &plan->digests[0]->lists[list].devices[index];
    const char *unit = fields[kept->fields[first].field].unit;
    struct report_chart *chart = NULL;
    size_t drawn = 0;

    for (size_t i = first; i < kept->series_count; i++) {
        enum field_id field = kept->fields[i].field;
        if (strcmp(fields[field].unit, unit) != 0 || !statistic_is_known(&device->statistics[i]))
            continue;
        if (chart == NULL) {
            chart = add_chart(plan, devices[list].key, kept->fields[i].label, unit);
            if (chart == NULL)
                return -ENOMEM;
            chart->is_of_device = true;
            chart->list = list;
            chart->device = index;
        }
        const char *style = is_job_field(field)            ? "job"
                            : strcmp(unit, "bytes/s") == 0 ? (drawn == 0 ? "in" : "out")
                                                           : "host";
        if (add_line(plan, (struct report_line){.series = &device->series[i],
                                                .statistic = &device->statistics[i],
                                                .scale = 1,
                                                .label = kept->fields[i].label,
                                                .style = style}) < 0)
            return -ENOMEM;
        drawn++;
    }
    return 0;
}

static int plan_devices(struct report_plan *plan)
{
    static const enum device_list order[] = {DEVICE_GPU, DEVICE_DISK, DEVICE_NETWORK};
    size_t chosen[REPORT_DEVICES_MAX];

    for (size_t i = 0; i < COUNT(order); i++) {
        const struct digest_fields *kept = &digest_fields[order[i]];
        size_t count = choose_devices(order[i], &plan->digests[0]->lists[order[i]], chosen);
        for (size_t device = 0; device < count; device++)
            for (size_t field = 0; field < kept->series_count; field++)
                if (!is_charted(kept, field) &&
                    add_device_chart(plan, order[i], chosen[device], field) < 0)
                    return -ENOMEM;
    }
    return 0;
}

/* --- several runs --- */

static bool any_has_tree(const struct report_plan *plan)
{
    for (size_t run = 0; run < plan->run_count; run++)
        if (digest_has_tree(plan->digests[run]))
            return true;
    return false;
}

/* Where jobs are compared, the host's share of the same is of no interest; its network is. */
static bool is_compared(enum digest_chart chart, bool is_tree, bool has_tree)
{
    return chart == CHART_NETWORK || is_tree == has_tree;
}

static int plan_comparison(struct report_plan *plan)
{
    bool has_tree = any_has_tree(plan);

    for (size_t i = 0; i < DIGEST_SERIES_COUNT; i++) {
        const struct digest_series *series = &digest_series[i];
        const struct digest_chart_info *info = &digest_charts[series->chart];
        struct report_chart *chart = NULL;
        for (size_t run = 0; run < plan->run_count; run++) {
            const struct digest *digest = plan->digests[run];
            bool is_gpu = series->chart == CHART_GPU || series->chart == CHART_VRAM;
            if (!is_compared(series->chart, series->is_tree, has_tree) || !digest->has_series ||
                !statistic_is_known(&digest->metrics[series->metric]) ||
                (is_gpu && !report_has_gpu(digest)))
                continue;
            if (chart == NULL) {
                chart = add_chart(plan, info->id, info->title, info->unit);
                if (chart == NULL)
                    return -ENOMEM;
                chart->note = series->label;
            }
            if (add_series(plan, run, i, digest_name(digest), report_run_style(run)) < 0)
                return -ENOMEM;
        }
    }
    return 0;
}

int report_plan_init(struct report_plan *plan, const struct digest *const *digests, size_t count)
{
    *plan = (struct report_plan){.digests = digests, .run_count = count};
    for (size_t run = 0; run < count; run++) {
        const struct axis *axis = &digests[run]->axis;
        if (axis->count > 0 && axis->end_secs[axis->count - 1] > plan->duration_secs)
            plan->duration_secs = axis->end_secs[axis->count - 1];
    }
    /* A broken recording may say that it took for ever. */
    if (!(plan->duration_secs > 0) || !isfinite(plan->duration_secs))
        return 0;
    if (count > 1)
        return plan_comparison(plan);
    int error = digests[0]->has_series ? plan_charts(plan) : 0;
    return error < 0 ? error : plan_devices(plan);
}

void report_plan_free(struct report_plan *plan)
{
    free(plan->lines);
    free(plan->charts);
    *plan = (struct report_plan){.digests = NULL};
}

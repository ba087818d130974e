/*
 * The top of a report: what ran, where, and how it ended.
 */
#include "encode/html.h"
#include "encode/human.h"
#include "encode/report_parts.h"

#include <math.h>

#define BYTES_PER_MIB (1024.0 * 1024.0)
/* Of a command line with ten thousand arguments the first ones are enough. */
#define COMMAND_BYTES_MAX 4096

const char *report_title(const struct digest *digest)
{
    const char *name = digest_name(digest);

    return name[0] != '\0' ? name : "resource-tracker";
}

void report_badge(const struct digest *digest, struct buf *out)
{
    const struct run_end *end = &digest->end;

    if (!digest->has_end)
        return; /* a recording does not tell */
    if (!end->has_command) {
        buf_text(out, "<span class=\"badge plain\">watched</span>");
    } else if (end->signal != 0) {
        buf_text(out, "<span class=\"badge bad\">ended by signal ");
        buf_u64(out, (uint64_t)end->signal);
        buf_text(out, "</span>");
    } else if (end->has_exit_code) {
        buf_text(out, end->exit_code == 0 ? "<span class=\"badge good\">exit "
                                          : "<span class=\"badge bad\">exit ");
        buf_fixed(out, end->exit_code, 0);
        buf_text(out, "</span>");
    } else {
        buf_text(out, "<span class=\"badge plain\">end not known</span>");
    }
}

static void put_command(const struct digest *digest, struct buf *out)
{
    if (digest->run.command == NULL)
        return;
    buf_text(out, "<p class=\"command\"><code>");
    size_t start = out->size;
    for (size_t i = 0; digest->run.command[i] != NULL; i++) {
        if (out->size - start > COMMAND_BYTES_MAX) {
            buf_text(out, " …");
            break;
        }
        if (i > 0)
            buf_char(out, ' ');
        html_text(out, digest->run.command[i]);
    }
    buf_text(out, "</code></p>");
}

static void open_fact(struct buf *out, const char *name)
{
    buf_text(out, "<div><dt>");
    buf_text(out, name);
    buf_text(out, "</dt><dd>");
}

static void close_fact(struct buf *out)
{
    buf_text(out, "</dd></div>");
}

static void put_text_fact(struct buf *out, const char *name, const char *text)
{
    if (text == NULL || text[0] == '\0')
        return;
    open_fact(out, name);
    html_text(out, text);
    close_fact(out);
}

static void put_machine(const struct digest *digest, struct buf *out)
{
    double cpus = digest_cpu_count(digest);
    const struct statistic *memory = &digest->metrics[METRIC_MEMORY_TOTAL];
    double memory_mib = statistic_is_known(memory) ? memory->max : digest->host.memory_mib;

    if (!isfinite(cpus) && !isfinite(memory_mib))
        return;
    open_fact(out, "Machine");
    if (isfinite(cpus)) {
        human_number(out, cpus);
        buf_text(out, cpus > 1 ? " CPUs" : " CPU");
    }
    if (isfinite(memory_mib)) {
        buf_text(out, isfinite(cpus) ? ", " : "");
        human_quantity(out, memory_mib * BYTES_PER_MIB, "bytes");
    }
    if (digest->host.gpu_count > 0) {
        buf_text(out, ", ");
        human_number(out, digest->host.gpu_count);
        buf_text(out, " × ");
        html_text(out, digest->host.gpu_model[0] != '\0' ? digest->host.gpu_model : "GPU");
    }
    close_fact(out);
}

static void put_cloud(const struct host *host, struct buf *out)
{
    const char *parts[] = {host->cloud_vendor_id, host->cloud_instance_type, host->cloud_region_id};
    bool first = true;

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (parts[i][0] == '\0')
            continue;
        if (first)
            open_fact(out, "Cloud");
        else
            buf_text(out, ", ");
        first = false;
        html_text(out, parts[i]);
    }
    if (!first)
        close_fact(out);
}

void report_header(const struct digest *digest, struct buf *out)
{
    buf_text(out, "<header><div class=\"title\"><h1><bdi>");
    html_text(out, report_title(digest));
    buf_text(out, "</bdi></h1>");
    report_badge(digest, out);
    buf_text(out, "</div>");
    put_command(digest, out);
    buf_text(out, "<dl class=\"facts\">");
    open_fact(out, "Duration");
    human_duration(out, digest->duration_secs);
    close_fact(out);
    if (isfinite(digest->start_unix_secs)) {
        open_fact(out, "Started");
        human_date(out, digest->start_unix_secs);
        close_fact(out);
    }
    put_text_fact(out, "Host", digest->host.name);
    put_machine(digest, out);
    put_cloud(&digest->host, out);
    put_text_fact(out, "Stage", digest->run.stage_name);
    open_fact(out, "Samples");
    buf_u64(out, digest->sample_count);
    close_fact(out);
    buf_text(out, "</dl></header>\n");
}

void report_phases(const struct digest *digest, struct buf *out)
{
    if (digest->phase_count < 2)
        return;
    buf_text(out, "<ol class=\"phases\" aria-label=\"Phases\">");
    for (size_t i = 0; i < digest->phase_count; i++) {
        buf_text(out, "<li>");
        human_clock(out, digest->phases[i].elapsed_secs);
        buf_text(out, " <b>");
        html_text(out, digest->phases[i].text);
        buf_text(out, "</b></li>");
    }
    buf_text(out, "</ol>");
}

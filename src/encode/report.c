#include "encode/report.h"

#include "encode/html.h"
#include "encode/report_chart.h"
#include "encode/report_data.h"
#include "encode/report_page.h"
#include "encode/report_parts.h"
#include "version.h"

#include <errno.h>
#include <string.h>

/* --- head --- */

/*
 * Nothing is fetched and nothing runs but our own script, known by its hash: even if some text were
 * to become markup after all, it could do nothing.
 */
static void put_policy(struct buf *out)
{
    buf_text(out, "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                  "script-src '");
    buf_text(out, report_script_hash);
    buf_text(out, "'; style-src '");
    buf_text(out, report_style_hash);
    buf_text(out, "'; img-src data:; base-uri 'none'; form-action 'none'\">\n");
}

static int put_head(const struct digest *const *digests, size_t count, struct buf *out)
{
    buf_text(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    put_policy(out);
    buf_text(out, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                  "<meta name=\"color-scheme\" content=\"light dark\">\n"
                  "<meta name=\"referrer\" content=\"no-referrer\">\n"
                  "<meta name=\"generator\" content=\"resource-tracker " TRACKER_VERSION "\">\n"
                  "<title>");
    if (count == 1)
        html_text(out, report_title(digests[0]));
    else
        buf_text(out, "Runs compared");
    buf_text(out, " – resource-tracker</title>\n<style>");
    int error = report_page_style(out);
    buf_text(out, "</style>\n</head>\n");
    return error;
}

/* --- charts --- */

/* Shown by the script only: without it there is nothing to press them for. */
static void put_tools(const struct report_plan *plan, struct buf *out)
{
    buf_text(out, "<div class=\"tools\" role=\"toolbar\" aria-label=\"Charts\" hidden>"
                  "<button type=\"button\" data-do=\"in\" aria-label=\"Zoom in\">+</button>"
                  "<button type=\"button\" data-do=\"out\" aria-label=\"Zoom out\">−</button>"
                  "<button type=\"button\" data-do=\"earlier\" aria-label=\"Earlier\">←</button>"
                  "<button type=\"button\" data-do=\"later\" aria-label=\"Later\">→</button>"
                  "<button type=\"button\" data-do=\"reset\">Whole run</button>");
    for (size_t run = 0; run < plan->run_count; run++) {
        buf_text(out, "<button type=\"button\" data-do=\"csv\" data-run=\"");
        buf_u64(out, run);
        buf_text(out, "\">CSV");
        if (plan->run_count > 1) {
            buf_text(out, " of ");
            html_text(out, report_title(plan->digests[run]));
        }
        buf_text(out, "</button>");
    }
    buf_text(out, "<span class=\"when\"></span></div>\n");
}

/* The cores belong beside the CPU, unless they need all the room there is. */
static void put_cores(const struct report_plan *plan, bool is_wide, struct buf *out)
{
    for (size_t run = 0; run < plan->run_count; run++)
        if ((plan->digests[run]->cores.count > REPORT_CORES_NARROW_MAX) == is_wide)
            report_heat(plan, run, out);
}

static void put_general_charts(const struct report_plan *plan, struct buf *out)
{
    buf_text(out, "<h2>Over time</h2>\n");
    if (plan->run_count == 1)
        report_phases(plan->digests[0], out);
    buf_text(out, "<div class=\"charts\">\n");
    for (size_t i = 0; i < plan->chart_count; i++) {
        if (plan->charts[i].is_of_device)
            continue;
        report_chart(plan, &plan->charts[i], out);
        if (plan->run_count == 1 && strcmp(plan->charts[i].key, "cpu") == 0)
            put_cores(plan, false, out);
    }
    if (plan->run_count > 1)
        put_cores(plan, false, out);
    put_cores(plan, true, out);
    buf_text(out, "</div>\n");
}

static void put_list_head(const struct report_plan *plan, enum device_list list, size_t charted,
                          struct buf *out)
{
    static const char *const heads[DEVICE_COUNT] = {
        [DEVICE_GPU] = "GPUs", [DEVICE_DISK] = "Disks", [DEVICE_NETWORK] = "Network interfaces"};
    size_t count = plan->digests[0]->lists[list].count;

    buf_text(out, "<h2>");
    buf_text(out, heads[list]);
    if (charted < count) {
        buf_text(out, " <small>the busiest ");
        buf_u64(out, charted);
        buf_text(out, " of ");
        buf_u64(out, count);
        buf_text(out, "; all are in the tables below</small>");
    }
    buf_text(out, "</h2>\n");
}

static size_t count_charted(const struct report_plan *plan, enum device_list list)
{
    size_t count = 0;

    for (size_t i = 0; i < plan->chart_count; i++) {
        const struct report_chart *chart = &plan->charts[i];
        bool is_same = i > 0 && chart[-1].is_of_device && chart[-1].list == list &&
                       chart[-1].device == chart->device;
        count += chart->is_of_device && chart->list == list && !is_same;
    }
    return count;
}

static void put_device_charts(const struct report_plan *plan, struct buf *out)
{
    bool is_open = false;

    for (size_t i = 0; i < plan->chart_count; i++) {
        const struct report_chart *chart = &plan->charts[i];
        if (!chart->is_of_device)
            continue;
        bool is_new_list = !is_open || chart[-1].list != chart->list;
        /* A GPU has so many that each gets a row. */
        bool is_new_row = chart->list == DEVICE_GPU && is_open && chart[-1].device != chart->device;
        if (is_new_list || is_new_row)
            buf_text(out, is_open ? "</div>\n" : "");
        if (is_new_list)
            put_list_head(plan, chart->list, count_charted(plan, chart->list), out);
        if (is_new_list || is_new_row)
            buf_text(out, chart->list == DEVICE_GPU ? "<div class=\"charts small device\">\n"
                                                    : "<div class=\"charts small\">\n");
        is_open = true;
        report_chart(plan, chart, out);
    }
    buf_text(out, is_open ? "</div>\n" : "");
}

/* --- body --- */

static void put_one(const struct digest *digest, struct buf *out)
{
    report_header(digest, out);
    buf_text(out, "<main id=\"main\">\n");
    report_cards(digest, out);
    report_advice(digest, out);
}

/* Of each run what a comparison has no room for. */
static void put_details(const struct digest *const *digests, size_t count, struct buf *out)
{
    buf_text(out, "<h2>Each run</h2>\n");
    for (size_t i = 0; i < count; i++) {
        buf_text(out, "<details class=\"panel\"><summary>");
        html_text(out, report_title(digests[i]));
        buf_text(out, "</summary>\n");
        report_cards(digests[i], out);
        report_advice(digests[i], out);
        buf_text(out, "</details>\n");
    }
}

static int put_body(const struct report_plan *plan, struct buf *out)
{
    buf_text(out, "<body>\n<a class=\"skip\" href=\"#main\">To the figures</a>\n");
    if (plan->run_count == 1) {
        put_one(plan->digests[0], out);
    } else {
        report_comparison(plan->digests, plan->run_count, out);
        buf_text(out, "<main id=\"main\">\n");
    }
    if (plan->chart_count > 0)
        put_tools(plan, out);
    if (plan->chart_count > 0)
        put_general_charts(plan, out);
    put_device_charts(plan, out);
    if (plan->run_count == 1)
        report_tables(plan->digests[0], out);
    else
        put_details(plan->digests, plan->run_count, out);
    buf_text(out,
             "</main>\n<footer>Lines are means; the pale band reaches from the smallest to the "
             "largest sample. Made by resource-tracker " TRACKER_VERSION ".</footer>\n");
    int error = report_data(plan, out);
    buf_text(out, "<script>");
    if (error == 0)
        error = report_page_script(out);
    buf_text(out, "</script>\n</body>\n</html>\n");
    return error;
}

int report_write(const struct digest *const *digests, size_t count, struct buf *out)
{
    struct report_plan plan;
    int error = report_plan_init(&plan, digests, count);

    if (error == 0)
        error = put_head(digests, count, out);
    if (error == 0)
        error = put_body(&plan, out);
    report_plan_free(&plan);
    if (out->overflow)
        return -EOVERFLOW;
    return error;
}

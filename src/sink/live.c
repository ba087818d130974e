/*
 * One line on the terminal that says how the run is doing, and is gone when it ends. Where the
 * cursor is we do not know, and the line it is on is the command's: ours is the one below, and the
 * cursor goes back to where it was. So all that the command wrote stays. What it writes when it
 * comes to our line stands where it would stand anyway, at worst with a rest of ours behind it.
 */
#include "base/clock.h"
#include "base/fmt.h"
#include "encode/human.h"
#include "sink/sink.h"
#include "sink/terminal.h"
#include "sink/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define UPDATE_NS (NS_PER_SEC / 2)
#define LINE_BYTES 512
#define WIDTH_ASSUMED 80
#define BYTES_PER_MIB (1024.0 * 1024.0)
/*
 * To the line below, which is then empty. On the last line of the screen there is none: "index"
 * scrolls in that case, keeps the column, and what is remembered is a place that does not move any
 * more.
 */
#define GO_BELOW                                                                                   \
    "\033D\033[A"                                                                                  \
    "\0337"                                                                                        \
    "\r\n\033[K"
#define GO_BACK "\0338"
/* Whoever takes the line away writes at the cursor next: a rest of our line may be there too. */
#define TO_END_OF_LINE "\033[K"

struct live {
    struct writer writer;
    struct buf line;
    uint64_t start_ns;
    uint64_t next_ns;
    bool is_shown;
    bool is_over;
};

static bool live_close(void *state)
{
    struct live *live = state;

    writer_close(&live->writer);
    buf_free(&live->line);
    free(live);
    return true;
}

static int live_open(const struct sink_options *options, void **ret_state)
{
    if (!options->live)
        return -ENODEV;

    struct live *live = calloc(1, sizeof *live);
    if (live == NULL)
        return -ENOMEM;
    int error = writer_open_fd(&live->writer, STDERR_FILENO);
    if (error == 0)
        error = buf_init(&live->line, LINE_BYTES, LINE_BYTES);
    if (error < 0) {
        (void)live_close(live);
        return error;
    }
    *ret_state = live;
    return 0;
}

static void live_begin(void *state)
{
    struct live *live = state;

    live->start_ns = clock_monotonic_ns();
}

static double first_known(double a, double b)
{
    return isfinite(a) ? a : b;
}

static void put_part(struct buf *out, double value, const char *unit, const char *what)
{
    if (!isfinite(value))
        return;
    buf_text(out, "  ");
    human_quantity(out, value, unit);
    buf_text(out, what);
}

/* Of the tree where there is one, else of the host. ASCII, so bytes are columns. */
static void put_figures(struct buf *out, const struct sample *sample)
{
    const double *value = sample->value;
    double memory = first_known(value[METRIC_PROCESS_PSS], value[METRIC_MEMORY_USED]);
    double vram = first_known(value[METRIC_PROCESS_GPU_VRAM], value[METRIC_TOTAL_GPU_VRAM]);

    put_part(out, first_known(value[METRIC_PROCESS_CORES_USED], value[METRIC_CPU_UTILIZATION]),
             "cores", "");
    put_part(out, memory * BYTES_PER_MIB, "bytes", " memory");
    if (sample->rows[DEVICE_GPU] == NULL || sample->rows[DEVICE_GPU]->count == 0)
        return;
    put_part(out, first_known(value[METRIC_PROCESS_GPU_USAGE], value[METRIC_TOTAL_GPU_USAGE]),
             "GPUs", "");
    put_part(out, vram * BYTES_PER_MIB, "bytes", " VRAM");
}

/* What a slow terminal has not taken of an older state need not be shown any more. */
static void write_now(struct live *live)
{
    writer_flush(&live->writer);
    if (live->writer.pending.size == 0 && !live->line.overflow)
        writer_line(&live->writer, &live->line);
}

static void live_hide(void *state)
{
    struct live *live = state;

    if (!live->is_shown)
        return;
    live->is_shown = false;
    buf_reset(&live->line);
    buf_text(&live->line, TO_END_OF_LINE GO_BELOW GO_BACK);
    if (terminal_is_ours(STDERR_FILENO))
        write_now(live);
}

static void live_sample(void *state, const struct sample *sample)
{
    struct live *live = state;
    uint64_t now_ns = clock_monotonic_ns();
    size_t width = terminal_width(STDERR_FILENO);

    if (live->is_over || now_ns < live->next_ns || !terminal_is_ours(STDERR_FILENO))
        return;
    live->next_ns = now_ns + UPDATE_NS;
    buf_reset(&live->line);
    buf_text(&live->line, GO_BELOW);
    uint64_t elapsed_secs = (now_ns - live->start_ns) / NS_PER_SEC;
    human_clock(&live->line, (double)elapsed_secs);
    put_figures(&live->line, sample);
    /* A full line would wrap on some terminals, and scroll the place we go back to away. */
    size_t room = (width > 0 ? width : WIDTH_ASSUMED) - 1 + strlen(GO_BELOW);
    if (live->line.size > room)
        live->line.size = room;
    buf_text(&live->line, GO_BACK);
    write_now(live);
    live->is_shown = true;
}

/* What would be shown for an instant only is not shown at all: a short run leaves no trace. */
static void live_expect_last(void *state)
{
    struct live *live = state;

    live->is_over = true;
}

static void live_end(void *state, const struct run_end *how)
{
    (void)how;
    live_hide(state);
}

const struct sink live_sink = {
    .name = "live",
    .open = live_open,
    .begin = live_begin,
    .expect_last = live_expect_last,
    .sample = live_sample,
    .end = live_end,
    .hide = live_hide,
    .close = live_close,
};

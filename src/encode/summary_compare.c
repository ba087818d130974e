/*
 * Several runs side by side: a column each, as many beside each other as the terminal has room for.
 */
#include "encode/human.h"
#include "encode/summary_figures.h"
#include "encode/summary_parts.h"
#include "model/advice.h"

#define LABEL_COLUMN 26
#define RUN_COLUMN 20
#define RUN_GAP 2
#define CHANGE_COLUMN 10

/* The runs of one block; with exactly two runs in all, how the second differs is a column too. */
struct block {
    struct table *table;
    const struct digest *const *digests;
    size_t count;
    bool has_change;
};

static size_t column_end(size_t run)
{
    return LABEL_COLUMN + (run + 1) * RUN_COLUMN;
}

/* Begins a line: "job   CPU mean". */
static void begin(const struct block *block, const char *group, const char *label, const char *part)
{
    struct table *table = block->table;

    table_begin(table);
    table_paint(table, PAINT_DIM);
    table_text(table, group);
    table_paint(table, PAINT_NONE);
    table_to(table, 6);
    table_text(table, label);
    table_text(table, part);
}

/* "+12 %": from the first to the second. */
static void put_change(const struct block *block, double before, double after)
{
    struct buf *cell = &block->table->cell;

    if (!block->has_change || !(before > 0) || !isfinite(after))
        return;
    double change = 100 * (after - before) / before;
    if (change > 0)
        buf_char(cell, '+');
    buf_fixed(cell, change, 0);
    buf_text(cell, " %");
    table_flush_right(block->table, column_end(1) + CHANGE_COLUMN);
}

enum part { PART_MEAN, PART_PEAK, PART_TOTAL };

static double value_of(const struct summary_figure *figure, const struct digest *digest,
                       enum part part)
{
    struct figure_values values = summary_figure_values(figure, digest);

    return part == PART_MEAN ? values.mean : part == PART_PEAK ? values.peak : values.total;
}

static void put_part(const struct block *block, const struct summary_figure *figure, enum part part)
{
    static const char *const names[] = {", mean", ", peak", ", total"};
    double values[2] = {NAN, NAN};

    begin(block, figure->is_tree ? "job" : "host", figure->label, names[part]);
    for (size_t i = 0; i < block->count; i++) {
        double value = value_of(figure, block->digests[i], part);
        if (isnan(value))
            table_right(block->table, column_end(i), "-");
        else
            table_quantity(block->table, column_end(i), value,
                           part == PART_TOTAL ? figure->total_unit : figure->unit);
        if (i < 2)
            values[i] = value;
    }
    put_change(block, values[0], values[1]);
    table_end(block->table);
}

static void put_figure(const struct block *block, const struct summary_figure *figure)
{
    bool is_shown = false;

    for (size_t i = 0; i < block->count; i++)
        is_shown = is_shown || summary_figure_is_shown(figure, block->digests[i]);
    if (!is_shown)
        return;
    if (figure->when != FIGURE_IF_SPIKE)
        put_part(block, figure, PART_MEAN);
    put_part(block, figure, PART_PEAK);
    if (figure->total_unit != NULL)
        put_part(block, figure, PART_TOTAL);
}

static void put_head(const struct block *block)
{
    struct table *table = block->table;
    struct summary_style narrow = {.width = RUN_COLUMN - RUN_GAP};
    struct buf name;

    if (buf_init(&name, 64, 4096) < 0)
        return;
    table_begin(table);
    table_paint(table, PAINT_BOLD);
    for (size_t i = 0; i < block->count; i++) {
        struct table cut = {.style = &narrow, .out = &name};
        const char *text = digest_name(block->digests[i]);
        table_text(&cut, text[0] != '\0' ? text : "(no name)");
        buf_char(&name, '\0');
        table_right(table, column_end(i), name.overflow ? "?" : name.data);
        buf_reset(&name);
    }
    if (block->has_change)
        table_right(table, column_end(1) + CHANGE_COLUMN, "change");
    table_end(table);
    buf_free(&name);
}

static void put_durations(const struct block *block)
{
    begin(block, "", "duration", "");
    for (size_t i = 0; i < block->count; i++) {
        human_duration(&block->table->cell, block->digests[i]->duration_secs);
        table_flush_right(block->table, column_end(i));
    }
    if (block->count == 2)
        put_change(block, block->digests[0]->duration_secs, block->digests[1]->duration_secs);
    table_end(block->table);
}

static void put_exits(const struct block *block)
{
    bool is_known = false;

    for (size_t i = 0; i < block->count; i++)
        is_known = is_known || (block->digests[i]->has_end && block->digests[i]->end.has_command);
    if (!is_known)
        return;
    begin(block, "", "exit", "");
    for (size_t i = 0; i < block->count; i++) {
        put_exit_text(&block->table->cell, block->digests[i]);
        table_flush_right(block->table, column_end(i));
    }
    table_end(block->table);
}

static const struct demand *demand_of(const struct advice *advice, size_t which)
{
    const struct demand *demands[] = {&advice->cpus, &advice->memory, &advice->gpus, &advice->vram};

    return demands[which];
}

static void put_demands(const struct block *block)
{
    static const char *const names[] = {"cpus", "memory", "gpus", "vram"};
    struct advice advice;

    for (size_t which = 0; which < sizeof names / sizeof names[0]; which++) {
        begin(block, "ask", names[which], "");
        for (size_t i = 0; i < block->count; i++) {
            advise(block->digests[i], &advice);
            const struct demand *demand = demand_of(&advice, which);
            if (demand->is_known)
                put_amount(&block->table->cell, demand->amount, which % 2 == 1);
            else
                buf_char(&block->table->cell, '-');
            table_flush_right(block->table, column_end(i));
        }
        table_end(block->table);
    }
}

static void put_hints(const struct block *block)
{
    struct advice advice;

    for (size_t i = 0; i < block->count; i++) {
        advise(block->digests[i], &advice);
        for (size_t k = 0; k < advice.hint_count; k++) {
            table_begin(block->table);
            table_text(block->table, digest_name(block->digests[i]));
            table_text(block->table, ": ");
            table_paint(block->table, advice.hints[k].is_note ? PAINT_NONE : PAINT_WARN);
            table_text(block->table, advice.hints[k].text);
            table_end(block->table);
        }
    }
}

static void put_block(const struct block *block)
{
    put_head(block);
    put_durations(block);
    put_exits(block);
    for (size_t i = 0; i < summary_figure_count; i++)
        put_figure(block, &summary_figures[i]);
    put_demands(block);
    put_hints(block);
}

void summary_compare(struct table *table, const struct digest *const *digests, size_t count)
{
    size_t width = table->style->width;
    size_t room = width > LABEL_COLUMN ? (width - LABEL_COLUMN) / RUN_COLUMN : 0;
    size_t beside = width == 0 ? count : room > 0 ? room : 1;

    for (size_t first = 0; first < count; first += beside) {
        struct block block = {
            .table = table,
            .digests = digests + first,
            .count = count - first < beside ? count - first : beside,
        };
        block.has_change = count == 2 && block.count == 2 &&
                           (width == 0 || column_end(1) + CHANGE_COLUMN <= width);
        if (first > 0)
            table_line(table, "");
        put_block(&block);
    }
}

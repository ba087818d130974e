#include "encode/summary_parts.h"

#include "encode/human.h"
#include "encode/printable.h"

#include <signal.h>

#define CELL_INITIAL 256
/* A job's name of a megabyte is cut anyway, but first it must be looked at. */
#define CELL_MAX (1024 * 1024)
#define LINE_COLUMNS_MAX 1000
#define MIB_PER_GIB 1024.0

bool table_init(struct table *table, const struct summary_style *style, struct buf *out)
{
    *table = (struct table){.style = style, .out = out};
    return buf_init(&table->cell, CELL_INITIAL, CELL_MAX) == 0;
}

void table_free(struct table *table)
{
    buf_free(&table->cell);
}

/* --- lines --- */

void table_begin(struct table *table)
{
    table->column = 0;
}

void table_end(struct table *table)
{
    table_paint(table, PAINT_NONE);
    buf_char(table->out, '\n');
    table->column = 0;
}

void table_line(struct table *table, const char *text)
{
    table_begin(table);
    table_text(table, text);
    table_end(table);
}

void table_paint(struct table *table, enum paint paint)
{
    static const char *const codes[] = {
        [PAINT_NONE] = "\033[0m",  [PAINT_BOLD] = "\033[1m",  [PAINT_DIM] = "\033[2m",
        [PAINT_WARN] = "\033[33m", [PAINT_GOOD] = "\033[32m", [PAINT_BAD] = "\033[31m",
    };

    if (!table->style->colour || (paint == PAINT_NONE && !table->is_painted))
        return;
    buf_text(table->out, codes[paint]);
    table->is_painted = paint != PAINT_NONE;
}

static size_t columns_left(const struct table *table)
{
    size_t width = table->style->width > 0 ? table->style->width : LINE_COLUMNS_MAX;

    return width > table->column ? width - table->column : 0;
}

void table_text(struct table *table, const char *text)
{
    size_t left = columns_left(table);

    if (left > 0)
        table->column += printable_text(table->out, text, left);
}

void table_to(struct table *table, size_t column)
{
    bool has_text = table->column > 0;

    while (columns_left(table) > 0 && (table->column < column || has_text)) {
        buf_char(table->out, ' ');
        table->column++;
        has_text = false;
    }
}

void table_right(struct table *table, size_t end_column, const char *text)
{
    size_t columns = printable_columns(text);

    table_to(table, end_column > columns ? end_column - columns : 0);
    table_text(table, text);
}

void table_flush_right(struct table *table, size_t end_column)
{
    buf_char(&table->cell, '\0');
    table_right(table, end_column, table->cell.overflow ? "?" : table->cell.data);
    buf_reset(&table->cell);
}

void table_flush(struct table *table)
{
    buf_char(&table->cell, '\0');
    table_text(table, table->cell.overflow ? "?" : table->cell.data);
    buf_reset(&table->cell);
}

/* --- values --- */

void table_count(struct table *table, uint64_t value)
{
    buf_u64(&table->cell, value);
    table_flush(table);
}

void table_number(struct table *table, double value, const char *unit)
{
    human_quantity(&table->cell, value, unit);
    table_flush(table);
}

void table_duration(struct table *table, double secs)
{
    human_duration(&table->cell, secs);
    table_flush(table);
}

void table_quantity(struct table *table, size_t end_column, double value, const char *unit)
{
    human_quantity(&table->cell, value, unit);
    table_flush_right(table, end_column);
}

void table_clock(struct table *table, size_t end_column, double elapsed_secs)
{
    /* A clock has no parts of seconds, and a short run happens in them. */
    if (elapsed_secs < 60)
        human_quantity(&table->cell, elapsed_secs, "s");
    else
        human_clock(&table->cell, elapsed_secs);
    table_flush_right(table, end_column);
}

void put_exit_text(struct buf *out, const struct digest *digest)
{
    if (!digest->has_end || !digest->end.has_command) {
        buf_char(out, '-');
    } else if (digest->end.signal != 0) {
        buf_text(out, "signal ");
        buf_u64(out, (uint64_t)digest->end.signal);
    } else if (digest->end.has_exit_code) {
        buf_u64(out, (uint64_t)digest->end.exit_code);
    } else {
        buf_text(out, "not known");
    }
}

/* Those that usually end a program; sigabbrev_np() is too new to be everywhere. */
static const char *signal_name(int number)
{
    static const struct {
        int number;
        const char *name;
    } names[] = {
        {SIGHUP, "SIGHUP"},   {SIGINT, "SIGINT"},   {SIGQUIT, "SIGQUIT"}, {SIGILL, "SIGILL"},
        {SIGTRAP, "SIGTRAP"}, {SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},
        {SIGKILL, "SIGKILL"}, {SIGUSR1, "SIGUSR1"}, {SIGSEGV, "SIGSEGV"}, {SIGUSR2, "SIGUSR2"},
        {SIGPIPE, "SIGPIPE"}, {SIGALRM, "SIGALRM"}, {SIGTERM, "SIGTERM"}, {SIGXCPU, "SIGXCPU"},
        {SIGXFSZ, "SIGXFSZ"}, {SIGSYS, "SIGSYS"},
    };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].number == number)
            return names[i].name;
    return NULL;
}

void table_exit(struct table *table, const struct digest *digest)
{
    bool is_fine = digest->end.has_exit_code && digest->end.exit_code == 0;
    const char *name = signal_name(digest->end.signal);

    table_paint(table, is_fine ? PAINT_GOOD : PAINT_BAD);
    put_exit_text(&table->cell, digest);
    table_flush(table);
    if (name != NULL) {
        table_text(table, " (");
        table_text(table, name);
        table_text(table, ")");
    }
    table_paint(table, PAINT_NONE);
}

void put_amount(struct buf *out, double amount, bool is_memory)
{
    bool is_gib = is_memory && amount >= MIB_PER_GIB &&
                  amount / MIB_PER_GIB == (double)(uint64_t)(amount / MIB_PER_GIB);

    buf_fixed(out, is_gib ? amount / MIB_PER_GIB : amount, 0);
    buf_text(out, is_gib ? " GiB" : is_memory ? " MiB" : "");
}

/*
 * Lines of a summary: text at columns, cut at the width of the terminal, coloured when that is
 * wanted. All text goes through printable_text().
 */
#ifndef ENCODE_SUMMARY_PARTS_H
#define ENCODE_SUMMARY_PARTS_H

#include "encode/summary.h"

enum paint { PAINT_NONE, PAINT_BOLD, PAINT_DIM, PAINT_WARN, PAINT_GOOD, PAINT_BAD };

struct table {
    const struct summary_style *style;
    struct buf *out;
    struct buf cell; /* a value on its way; table_flush() puts it */
    size_t column;   /* of the line so far */
    bool is_painted;
};

/* False when out of memory. */
bool table_init(struct table *table, const struct summary_style *style, struct buf *out);
void table_free(struct table *table);

void table_begin(struct table *table);
void table_end(struct table *table);
/* All three at once. */
void table_line(struct table *table, const char *text);

void table_paint(struct table *table, enum paint paint);
void table_text(struct table *table, const char *text);

/* Blanks up to a column, at least one if there is text before. */
void table_to(struct table *table, size_t column);
/* Text that ends before a column. */
void table_right(struct table *table, size_t end_column, const char *text);

/* What is in the cell, as text; then it is empty. */
void table_flush(struct table *table);
void table_flush_right(struct table *table, size_t end_column);

void table_count(struct table *table, uint64_t value);
void table_number(struct table *table, double value, const char *unit);
void table_duration(struct table *table, double secs);

void table_quantity(struct table *table, size_t end_column, double value, const char *unit);
/* When in the run something was; as short as the run allows. */
void table_clock(struct table *table, size_t end_column, double elapsed_secs);

/* How the command ended. */
void put_exit_text(struct buf *out, const struct digest *digest);
void table_exit(struct table *table, const struct digest *digest);

/* An amount to ask for, which is round: "3", "384 MiB", "12 GiB". MiB when `is_memory`. */
void put_amount(struct buf *out, double amount, bool is_memory);

/* Several runs side by side. */
void summary_compare(struct table *table, const struct digest *const *digests, size_t count);

#endif

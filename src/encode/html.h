/*
 * Text into HTML. Everything that is not ours goes through html_text, which gives valid UTF-8 and
 * no markup whatever it is given, in elements and in quoted attributes alike. Pure.
 */
#ifndef ENCODE_HTML_H
#define ENCODE_HTML_H

#include "base/buf.h"

/* Whether a mark is next that turns the order of the text beside it, as U+202E does; in UTF-8. */
bool html_turns_text(const char *text);

/* NULL is nothing. Control characters, which HTML does not allow, become U+FFFD. */
void html_text(struct buf *out, const char *text);

/* <th scope="row">text</th> */
void html_row_head(struct buf *out, const char *text);

/* <td class="text">text</td>; nothing in it for NULL. */
void html_text_cell(struct buf *out, const char *text);

/* 3.12 cores, 4 min 05 s; a dash for what is not known. */
void html_quantity(struct buf *out, double value, const char *unit);

/* The same within <td>. */
void html_quantity_cell(struct buf *out, double value, const char *unit);

#endif

#include "encode/html.h"

#include "encode/human.h"
#include "encode/utf8.h"

#include <math.h>

#define MINUTE_SECS 60

static const char *entity(unsigned char c)
{
    switch (c) {
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '&':
        return "&amp;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f ? UTF8_REPLACEMENT : NULL;
    }
}

bool html_turns_text(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;

    if (at[0] == 0xd8)
        return at[1] == 0x9c;
    if (at[0] != 0xe2)
        return false;
    return at[1] == 0x80 ? (at[2] >= 0x8e && at[2] <= 0x8f) || (at[2] >= 0xaa && at[2] <= 0xae)
                         : at[1] == 0x81 && at[2] >= 0xa6 && at[2] <= 0xa9;
}

void html_text(struct buf *out, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;

    while (at != NULL && *at != '\0') {
        const char *replaced = entity(*at);
        size_t length = utf8_length(at);
        if (replaced != NULL || length == 0) {
            buf_text(out, replaced != NULL ? replaced : UTF8_REPLACEMENT);
            at++;
        } else if (html_turns_text((const char *)at)) {
            buf_text(out, UTF8_REPLACEMENT);
            at += length;
        } else {
            buf_bytes(out, (const char *)at, length);
            at += length;
        }
    }
}

void html_row_head(struct buf *out, const char *text)
{
    buf_text(out, "<th scope=\"row\">");
    html_text(out, text);
    buf_text(out, "</th>");
}

void html_text_cell(struct buf *out, const char *text)
{
    buf_text(out, "<td class=\"text\">");
    html_text(out, text);
    buf_text(out, "</td>");
}

void html_quantity(struct buf *out, double value, const char *unit)
{
    if (!isfinite(value))
        buf_text(out, "–");
    else if (value >= MINUTE_SECS && strcmp(unit, "s") == 0)
        human_duration(out, value);
    else
        human_quantity(out, value, unit);
}

void html_quantity_cell(struct buf *out, double value, const char *unit)
{
    buf_text(out, "<td>");
    html_quantity(out, value, unit);
    buf_text(out, "</td>");
}

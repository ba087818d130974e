#include "encode/printable.h"

#include "encode/utf8.h"

#define ELLIPSIS "..."

struct range {
    uint32_t first;
    uint32_t last;
};

/* Controls, marks that turn or hide what stands beside them, and what is no character. */
static const struct range hostile[] = {
    {0x0000, 0x001f}, {0x007f, 0x009f}, {0x00ad, 0x00ad},    {0x061c, 0x061c}, {0x180e, 0x180e},
    {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},    {0xd800, 0xf8ff}, {0xfeff, 0xfeff},
    {0xfff0, 0xfffb}, {0xfffe, 0xffff}, {0xe0000, 0x10ffff},
};

/* Marks on the letter before them. */
static const struct range narrow[] = {
    {0x0300, 0x036f}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff},
    {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f},
};

/* Chinese, Japanese and Korean, and pictures. */
static const struct range wide[] = {
    {0x1100, 0x115f}, {0x2e80, 0x303e},   {0x3041, 0xa4cf},   {0xa960, 0xa97c},
    {0xac00, 0xd7a3}, {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},
    {0xffe0, 0xffe6}, {0x1f300, 0x1faff}, {0x20000, 0x3fffd},
};

static bool is_in(uint32_t point, const struct range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (point >= ranges[i].first && point <= ranges[i].last)
            return true;
    return false;
}
#define IS_IN(point, ranges) is_in(point, ranges, sizeof(ranges) / sizeof(ranges)[0])

/* Of a well-formed sequence. */
static uint32_t code_point(const unsigned char *at, size_t length)
{
    static const unsigned char lead_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t point = at[0] & lead_bits[length];

    for (size_t i = 1; i < length; i++)
        point = point << 6 | (at[i] & 0x3f);
    return point;
}

/* One character: what is shown for it and how wide that is. */
struct glyph {
    const char *bytes;
    size_t size;   /* of what is shown */
    size_t length; /* of what it stands for */
    size_t columns;
};

static struct glyph next_glyph(const unsigned char *at)
{
    size_t length = utf8_length(at);
    uint32_t point = length > 0 ? code_point(at, length) : 0;

    if (length == 0 || IS_IN(point, hostile))
        return (struct glyph){"?", 1, length > 0 ? length : 1, 1};
    return (struct glyph){
        .bytes = (const char *)at,
        .size = length,
        .length = length,
        .columns = IS_IN(point, narrow) ? 0
                   : IS_IN(point, wide) ? 2
                                        : 1,
    };
}

size_t printable_columns(const char *text)
{
    size_t columns = 0;

    for (const unsigned char *at = (const unsigned char *)text; *at != '\0';) {
        struct glyph glyph = next_glyph(at);
        columns += glyph.columns;
        at += glyph.length;
    }
    return columns;
}

size_t printable_text(struct buf *out, const char *text, size_t columns_max)
{
    if (text == NULL)
        return 0;
    bool is_cut = columns_max > 0 && printable_columns(text) > columns_max;
    size_t dots = !is_cut ? 0 : columns_max < strlen(ELLIPSIS) ? columns_max : strlen(ELLIPSIS);
    size_t columns = 0;

    for (const unsigned char *at = (const unsigned char *)text; *at != '\0';) {
        struct glyph glyph = next_glyph(at);
        if (is_cut && columns + glyph.columns > columns_max - dots)
            break;
        buf_bytes(out, glyph.bytes, glyph.size);
        columns += glyph.columns;
        at += glyph.length;
    }
    buf_bytes(out, ELLIPSIS, dots);
    return columns + dots;
}

/*
 * The use of every core as a picture: a bitmap of one byte per core and moment, whose bytes are
 * percentages, so that the script can read figures out of the picture the reader sees. A bitmap
 * (BMP) because it needs no compression or checksum, and every browser shows it.
 */
#include "encode/html.h"
#include "encode/human.h"
#include "encode/report_chart.h"

#include <math.h>

/* Bytes of a picture: 1,024 cores then have 195 columns. */
#define PICTURE_MAX 200000
#define HEADER_SIZE 54
#define PALETTE_SIZE 256
#define PALETTE_BYTES (PALETTE_SIZE * 4)
#define UNKNOWN 255
#define KNOWN_SHARE 1e-6

/* --- base64 --- */

struct base64 {
    struct buf *out;
    uint32_t bits;
    unsigned held;
};

static void base64_byte(struct base64 *writer, unsigned char byte)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    writer->bits = writer->bits << 8 | byte;
    if (++writer->held < 3)
        return;
    for (int shift = 18; shift >= 0; shift -= 6)
        buf_char(writer->out, letters[writer->bits >> shift & 63]);
    writer->bits = 0;
    writer->held = 0;
}

/* Pads with bytes, not with "=": a bitmap may be followed by anything. */
static void base64_end(struct base64 *writer)
{
    while (writer->held != 0)
        base64_byte(writer, 0);
}

static void base64_number(struct base64 *writer, uint32_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        base64_byte(writer, (unsigned char)(value >> 8 * i));
}

/* --- the picture --- */

struct picture {
    const struct digest *digest;
    size_t cores;
    size_t columns;
    double secs; /* time of a column */
};

/* From nearly nothing to deep blue. In dark mode page.css turns the picture's lightness around. */
static const unsigned char ramp[][3] = {{0xee, 0xf2, 0xf6},
                                        {0xb5, 0xd5, 0xee},
                                        {0x5a, 0xa7, 0xdf},
                                        {0x00, 0x67, 0xb8},
                                        {0x00, 0x2d, 0x58}};
enum { RAMP_STEPS = sizeof ramp / sizeof ramp[0] - 1 };
static const unsigned char unknown_colour[3] = {0xc4, 0xb8, 0xa8};

static unsigned char ramp_colour(unsigned percent, size_t channel)
{
    unsigned step =
        percent * RAMP_STEPS / 100 < RAMP_STEPS ? percent * RAMP_STEPS / 100 : RAMP_STEPS - 1;
    int into = (int)(percent * RAMP_STEPS - step * 100);

    return (unsigned char)(ramp[step][channel] +
                           (ramp[step + 1][channel] - ramp[step][channel]) * into / 100);
}

static void put_header(struct base64 *writer, const struct picture *picture)
{
    size_t stride = (picture->columns + 3) & ~(size_t)3;

    base64_byte(writer, 'B');
    base64_byte(writer, 'M');
    base64_number(writer, (uint32_t)(HEADER_SIZE + PALETTE_BYTES + stride * picture->cores), 4);
    base64_number(writer, 0, 4);
    base64_number(writer, HEADER_SIZE + PALETTE_BYTES, 4);
    base64_number(writer, 40, 4); /* size of the rest of the header */
    base64_number(writer, (uint32_t)picture->columns, 4);
    base64_number(writer, (uint32_t)picture->cores, 4);
    base64_number(writer, 1, 2); /* planes */
    base64_number(writer, 8, 2); /* bits a pixel */
    for (int i = 0; i < 6; i++)  /* not compressed; sizes and counts follow from the rest */
        base64_number(writer, 0, 4);
}

/* Blue, green, red and an unused byte. */
static void put_palette(struct base64 *writer)
{
    for (unsigned i = 0; i < PALETTE_SIZE; i++) {
        for (size_t channel = 3; channel-- > 0;)
            base64_byte(writer, i <= 100 ? ramp_colour(i, channel) : unknown_colour[channel]);
        base64_byte(writer, 0);
    }
}

/* Time that a point and a column have in common. */
static double overlap_secs(const struct axis *axis, size_t point, double begin, double end)
{
    double from = point > 0 ? axis->end_secs[point - 1] : 0;
    double to = axis->end_secs[point];

    return (to < end ? to : end) - (from > begin ? from : begin);
}

/* Mean of a core in a column: each point counts with the time it has there. */
static unsigned char column_use(const struct picture *picture, size_t core, size_t column,
                                size_t *point)
{
    const struct axis *axis = &picture->digest->axis;
    const float *means = picture->digest->cores.means + core * DIGEST_POINTS_MAX;
    double end = (double)(column + 1) * picture->secs;
    double sum = 0;
    double known_secs = 0;

    for (;; ++*point) {
        double secs = overlap_secs(axis, *point, (double)column * picture->secs, end);
        if (isfinite(means[*point]) && secs > 0) {
            sum += (double)means[*point] * secs;
            known_secs += secs;
        }
        if (axis->end_secs[*point] > end || *point + 1 >= axis->count)
            break;
    }
    /* Less is a rounding error at the border to a point that is known. */
    if (!(known_secs > KNOWN_SHARE * picture->secs))
        return UNKNOWN;
    double mean = sum / known_secs;
    return (unsigned char)(mean < 0 ? 0 : mean > 100 ? 100 : mean + 0.5);
}

static void put_pixels(struct base64 *writer, const struct picture *picture)
{
    /* From the bottom up, and each row a multiple of four bytes. */
    for (size_t core = picture->cores; core-- > 0;) {
        size_t point = 0;
        for (size_t column = 0; column < picture->columns; column++)
            base64_byte(writer, column_use(picture, core, column, &point));
        for (size_t column = picture->columns; column % 4 != 0; column++)
            base64_byte(writer, 0);
    }
}

static void put_picture(const struct picture *picture, struct buf *out)
{
    struct base64 writer = {.out = out};

    buf_text(out, "<img alt=\"Use of each core over time; the figures are in the table of cores\" "
                  "src=\"data:image/bmp;base64,");
    put_header(&writer, picture);
    put_palette(&writer);
    put_pixels(&writer, picture);
    base64_end(&writer);
    buf_text(out, "\">");
}

/* --- around it --- */

static size_t busiest_core(const struct digest_cores *cores)
{
    size_t busiest = 0;

    for (size_t i = 1; i < cores->count; i++)
        if (statistic_mean(&cores->statistics[i]) > statistic_mean(&cores->statistics[busiest]))
            busiest = i;
    return busiest;
}

static void put_ramp(struct buf *out)
{
    static const char hex[] = "0123456789abcdef";

    buf_text(out, "<li>0 % <svg class=\"ramp\" aria-hidden=\"true\" viewBox=\"0 0 5 1\" "
                  "preserveAspectRatio=\"none\">");
    for (size_t i = 0; i <= RAMP_STEPS; i++) {
        buf_text(out, "<path fill=\"#");
        for (size_t channel = 0; channel < 3; channel++) {
            buf_char(out, hex[ramp[i][channel] >> 4]);
            buf_char(out, hex[ramp[i][channel] & 15]);
        }
        buf_text(out, "\" d=\"M");
        buf_u64(out, i);
        buf_text(out, " 0h1v1h-1z\"/>");
    }
    buf_text(out, "</svg> 100 %</li>");
}

static void put_caption(const struct report_plan *plan, size_t run, struct buf *out)
{
    const struct digest_cores *cores = &plan->digests[run]->cores;
    size_t busiest = busiest_core(cores);

    buf_text(out, "<figcaption><h3>Each core");
    if (plan->run_count > 1) {
        buf_text(out, ": ");
        html_text(out, digest_name(plan->digests[run]));
    }
    buf_text(out, "</h3><ul class=\"keys\">");
    put_ramp(out);
    buf_text(out, "<li><b>busiest: core ");
    buf_u64(out, busiest);
    buf_text(out, ", mean ");
    human_quantity(out, statistic_mean(&cores->statistics[busiest]), "%");
    buf_text(out, "</b></li></ul><p class=\"says\" id=\"cores-");
    buf_u64(out, run);
    buf_text(out, "-says\">One row per core, time to the right.</p></figcaption>");
}

void report_heat(const struct report_plan *plan, size_t run, struct buf *out)
{
    const struct digest *digest = plan->digests[run];
    struct picture picture = {.digest = digest, .cores = digest->cores.count};

    if (picture.cores == 0 || digest->cores.means == NULL || digest->axis.count == 0)
        return;
    size_t fitting = PICTURE_MAX / picture.cores;
    picture.columns = digest->axis.count < fitting ? digest->axis.count : fitting;
    picture.secs = digest->axis.end_secs[digest->axis.count - 1] / (double)picture.columns;
    buf_text(out, picture.cores > REPORT_CORES_NARROW_MAX
                      ? "<figure class=\"chart heat wide\" id=\"cores-"
                      : "<figure class=\"chart heat\" id=\"cores-");
    buf_u64(out, run);
    buf_text(out, "\">");
    put_caption(plan, run, out);
    buf_text(out, "<div class=\"plot\"><div class=\"y-axis\" aria-hidden=\"true\"><span>core ");
    buf_u64(out, picture.cores - 1);
    buf_text(out, picture.cores > 1 ? "</span><span>core 0</span></div>" : "</span></div>");
    buf_text(out, "<div class=\"strip\">");
    put_picture(&picture, out);
    buf_text(out, "</div>");
    report_time_axis(digest->axis.end_secs[digest->axis.count - 1], out);
    buf_text(out, "</div></figure>\n");
}

/*
 * Foreign bytes as a JSON text, and as the names and figures of a whole sample: always one line of
 * JSON in well-formed UTF-8, and a text that was well-formed comes out as it went in.
 */
#include "support.h"

static struct buf out;

/* Undoes the escapes that json_text writes; returns the number of bytes. */
static size_t unescape(const char *json, size_t size, char *text)
{
    size_t length = 0;

    for (size_t i = 1; i + 1 < size; i++) {
        unsigned code;
        if (json[i] != '\\') {
            text[length++] = json[i];
        } else if (json[i + 1] == 'u') {
            char digits[5] = {json[i + 2], json[i + 3], json[i + 4], json[i + 5], '\0'};
            FUZZ_CHECK(sscanf(digits, "%4x", &code) == 1 && code < 0x80);
            text[length++] = (char)code;
            i += 5;
        } else {
            text[length++] = json[++i];
        }
    }
    return length;
}

static bool is_utf8(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    const unsigned char *end = at + strlen(text);

    while (at < end) {
        size_t length = json_check_utf8(at, end);
        if (length == 0)
            return false;
        at += length;
    }
    return true;
}

static void check_text(const char *text)
{
    buf_reset(&out);
    json_text(text, &out);
    FUZZ_CHECK(!out.overflow);
    FUZZ_CHECK(out.size >= 2 && out.data[0] == '"' && out.data[out.size - 1] == '"');
    FUZZ_CHECK(is_json(out.data, out.size));
    FUZZ_CHECK(memchr(out.data, '\n', out.size) == NULL);
    if (is_utf8(text)) {
        char *back = malloc(out.size);
        FUZZ_CHECK(back != NULL);
        size_t length = unescape(out.data, out.size, back);
        FUZZ_CHECK(length == strlen(text) && memcmp(back, text, length) == 0);
        free(back);
    }
}

/* Takes numbers from the bytes, and the same ones again when they have run out. */
struct source {
    const uint8_t *data;
    size_t size;
    size_t at;
};

static uint64_t next_u64(struct source *source)
{
    uint64_t value = 0;

    for (size_t i = 0; i < sizeof value && source->size > 0; i++)
        value = value << 8 | source->data[source->at++ % source->size];
    return value;
}

static double next_number(struct source *source)
{
    uint64_t bits = next_u64(source);
    double number;

    memcpy(&number, &bits, sizeof number);
    return number;
}

static const struct text_map *next_map(struct source *source, const char *text)
{
    static struct text_map map;

    map.count = next_u64(source) % (TEXT_MAP_MAX + 1);
    for (size_t i = 0; i < map.count; i++)
        map.pairs[i] = (struct text_pair){"key", i % 2 == 0 ? text : NULL};
    return next_u64(source) % 3 == 0 ? NULL : &map;
}

static void fill_rows(struct rows *rows, enum device_list list, size_t count, struct source *source,
                      const char *text)
{
    rows_init(rows, list);
    FUZZ_CHECK(rows_resize(rows, count) == 0);
    for (size_t row = 0; row < count; row++)
        for (size_t i = 0; i < rows->info->field_count; i++) {
            enum field_id id = (enum field_id)((size_t)rows->info->first + i);
            union cell *cell = rows_cell(rows, row, id);
            if (fields[id].type == TYPE_TEXT)
                cell->text = next_u64(source) % 3 == 0 ? NULL : text;
            else if (fields[id].type == TYPE_NUMBER)
                cell->number = next_number(source);
            else if (fields[id].type == TYPE_COUNTER)
                cell->counter = next_u64(source);
            else if (fields[id].type == TYPE_MAP)
                cell->map = next_map(source, text);
            else
                cell->nested = (struct row_range){(uint32_t)row, 1};
        }
}

static void check_sample(const uint8_t *data, size_t size, const char *text)
{
    struct source source = {data, size, 0};
    struct run run = {.job_name = text};
    struct sample sample;
    double cores[4];
    struct rows rows[3];

    sample_reset(&sample);
    for (size_t i = 0; i < METRIC_COUNT; i++)
        sample.value[i] = next_number(&source);
    for (size_t i = 0; i < 4; i++)
        cores[i] = next_number(&source);
    sample.per_core = cores;
    sample.per_core_count = size % 5;
    size_t count = 1 + size % 3;
    fill_rows(&rows[0], DEVICE_NETWORK, count, &source, text);
    fill_rows(&rows[1], DEVICE_DISK, count, &source, text);
    fill_rows(&rows[2], DEVICE_MOUNT, count, &source, text);
    for (size_t i = 0; i < 3; i++)
        sample.rows[i] = &rows[i];

    buf_reset(&out);
    json_sample(&run, &sample, &out);
    FUZZ_CHECK(!out.overflow);
    FUZZ_CHECK(is_json(out.data, out.size));
    FUZZ_CHECK(memchr(out.data, '\n', out.size) == out.data + out.size - 1);
    for (size_t i = 0; i < 3; i++)
        rows_free(&rows[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    FUZZ_CHECK(text != NULL);
    if (out.data == NULL)
        FUZZ_CHECK(buf_init(&out, 65536, 64 << 20) == 0);
    memcpy(text, data, size);
    text[size] = '\0';
    check_text(text);
    check_sample(data, size, text);
    free(text);
    return 0;
}

/*
 * A line of recorded JSON: whatever it holds, the sample is one that can be printed, and what was
 * printed reads back as itself. What is JSON by a reading of the standard of its own is JSON here.
 */
#include "support.h"

#include "read/json_in.h"
#include "read/jsonl.h"

static struct jsonl jsonl;
static struct buf out;
static struct buf again;

static char *copy(const void *data, size_t size)
{
    char *text = malloc(size > 0 ? size : 1);

    FUZZ_CHECK(text != NULL);
    if (size > 0)
        memcpy(text, data, size);
    return text;
}

static void check_lists(const struct sample *sample)
{
    for (size_t list = 0; list < DEVICE_COUNT; list++) {
        const struct rows *rows = sample->rows[list];
        for (size_t row = 0; rows != NULL && row < rows->count; row++)
            for (size_t i = 0; i < rows->info->field_count; i++) {
                enum field_id id = (enum field_id)((size_t)rows->info->first + i);
                const union cell *cell = rows_cell(rows, row, id);
                if (fields[id].type == TYPE_NUMBER)
                    FUZZ_CHECK(isnan(cell->number) || isfinite(cell->number));
                else
                    fuzz_check_cell(sample, id, cell);
            }
    }
}

static void check_sample(const struct sample *sample)
{
    FUZZ_CHECK(sample->value[METRIC_TIMESTAMP_SECS] >= 0);
    for (size_t id = 0; id < METRIC_COUNT; id++)
        FUZZ_CHECK(isnan(sample->value[id]) ||
                   (sample->value[id] >= 0 && sample->value[id] < 1e18));
    for (size_t i = 0; i < sample->per_core_count; i++)
        FUZZ_CHECK(isnan(sample->per_core[i]) || sample->per_core[i] >= 0);
    check_lists(sample);
    fuzz_check_encoded(sample);
}

static void print(const struct sample *sample, struct buf *to)
{
    struct run run = {.job_name = jsonl.job_name};

    buf_reset(to);
    json_sample(&run, sample, to);
    FUZZ_CHECK(!to->overflow);
}

static void check_round_trip(const struct sample *sample)
{
    struct sample second;
    size_t at;

    print(sample, &out);
    char *line = copy(out.data, out.size - 1);
    FUZZ_CHECK(jsonl_read(&jsonl, line, out.size - 1, &second, &at) == 0);
    FUZZ_CHECK(jsonl.wrong.list[0] == '\0');
    print(&second, &again);
    FUZZ_CHECK(again.size == out.size && memcmp(again.data, out.data, out.size) == 0);
    free(line);
}

/* Numbers that no double is near are not for us, nor depths that no sample has. */
static bool is_ordinary(const char *text, size_t size)
{
    size_t depth = 0;
    size_t digits = 0;

    for (size_t i = 0; i < size; i++) {
        depth += text[i] == '[' || text[i] == '{';
        if (digits > 0 && (text[i] == 'e' || text[i] == 'E'))
            return false;
        digits = is_digit(text[i]) ? digits + 1 : 0;
        if (digits > 200)
            return false;
    }
    return depth < JSON_IN_DEPTH_MAX;
}

static void check_standard(const char *data, size_t size)
{
    char *text = copy(data, size);
    struct json_in in = json_in_over(text, size);

    json_in_skip(&in);
    bool is_done = json_in_is_done(&in);
    FUZZ_CHECK(is_done || !is_ordinary(data, size) || !is_json(data, size));
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sample sample;
    size_t at = 0;

    if (out.data == NULL) {
        FUZZ_CHECK(buf_init(&out, 65536, 64 << 20) == 0);
        FUZZ_CHECK(buf_init(&again, 65536, 64 << 20) == 0);
        jsonl_init(&jsonl);
    }
    check_standard((const char *)data, size);
    char *line = copy(data, size);
    int result = jsonl_read(&jsonl, line, size, &sample, &at);
    FUZZ_CHECK(result == 0 || result == -EBADMSG || result == -ENODATA);
    FUZZ_CHECK(at <= size);
    FUZZ_CHECK(strlen(jsonl.unknown.list) < NAMES_LIST_MAX);
    FUZZ_CHECK(strlen(jsonl.wrong.list) < NAMES_LIST_MAX);
    if (result == 0) {
        check_sample(&sample);
        check_round_trip(&sample);
    }
    free(line);
    return 0;
}

/*
 * The cursor: a program of steps (first part) over a text (the rest). Every step stays inside,
 * moves forward, and stays put when it fails.
 */
#include "base/scan.h"
#include "support.h"

static void check_inside(const struct scan *part, const struct scan *whole)
{
    FUZZ_CHECK(part->at >= whole->at && part->at <= part->end && part->end <= whole->end);
}

static void step_number(struct scan *scan)
{
    uint64_t value = 12345;
    struct scan digits = *scan;
    unsigned __int128 wanted = 0;
    bool fits = true;

    scan_blanks(&digits);
    const char *start = digits.at;
    for (; digits.at < digits.end && *digits.at >= '0' && *digits.at <= '9'; digits.at++) {
        if (fits)
            wanted = wanted * 10 + (unsigned)(*digits.at - '0');
        fits = fits && wanted <= UINT64_MAX;
    }
    bool found = scan_u64(scan, &value);
    FUZZ_CHECK(found == (fits && digits.at > start));
    FUZZ_CHECK(value == (found ? (uint64_t)wanted : 12345));
    FUZZ_CHECK(!found || scan->at == digits.at);
}

static void step_copy(const struct scan *scan, unsigned argument)
{
    char out[64];
    size_t size = 1 + argument % (sizeof out - 1);

    memset(out, 'x', sizeof out);
    bool whole = scan_copy(scan, out, size);
    size_t copied = whole ? scan_left(scan) : size - 1;
    FUZZ_CHECK(whole == (scan_left(scan) < size));
    FUZZ_CHECK(memcmp(out, scan->at, copied) == 0 && out[copied] == '\0');
    FUZZ_CHECK(copied + 1 == sizeof out || out[copied + 1] == 'x');
}

static bool step(struct scan *scan, uint8_t code, struct scan *part)
{
    unsigned argument = code / 8;

    switch (code % 8) {
    case 0:
        return scan_line(scan, part);
    case 1:
        return scan_word(scan, part);
    case 2:
        return scan_skip_words(scan, argument % 5);
    case 3:
        return scan_until(scan, ":= -\n"[argument % 5], part);
    case 4:
        return scan_char(scan, "0a:. \n"[argument % 6]);
    case 5:
        scan_blanks(scan);
        return true;
    case 6:
        step_copy(scan, argument);
        return true;
    default: {
        const char *at = scan->at;
        step_number(scan);
        return scan->at != at;
    }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_part rest = {(const char *)data, size};
    struct fuzz_part program = fuzz_next_part(&rest);
    char *text = malloc(rest.size > 0 ? rest.size : 1); /* nothing lies behind it */

    FUZZ_CHECK(text != NULL);
    memcpy(text, rest.data, rest.size);
    struct scan scan = scan_over(text, rest.size);
    for (size_t i = 0; i < program.size; i++) {
        struct scan before = scan;
        struct scan part = {text, text};
        bool done = step(&scan, (uint8_t)program.data[i], &part);
        check_inside(&scan, &before);
        FUZZ_CHECK(scan.end == before.end);
        FUZZ_CHECK(done || scan.at == before.at);
        if (done && part.at != text)
            check_inside(&part, &before);
        if (done && part.at != part.end)
            FUZZ_CHECK(!scan_equals(&part, "") && scan_starts_with(&part, ""));
    }
    free(text);
    return 0;
}

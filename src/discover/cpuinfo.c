#include "discover/cpuinfo.h"

#include "discover/arm_parts.h"

#include <stdio.h>
#include <string.h>

/* No machine is known to mix more than three. */
#define ARM_KINDS_MAX 8

/*
 * Where a model may be named, best first: x86 and LoongArch; POWER and SPARC; MIPS; RISC-V (its
 * instruction set when there is nothing better); s390, and an x86 CPU without a name. "Hardware"
 * and "Model" on ARM name the board, "model" on POWER the machine.
 */
static const char *const model_keys[] = {
    "model name", "Model Name", "cpu", "cpu model", "uarch", "isa", "vendor_id",
};
#define MODEL_KEYS (sizeof model_keys / sizeof model_keys[0])

struct parser {
    uint64_t count;
    struct scan models[MODEL_KEYS]; /* the first value of each key; at is NULL before */
    bool has_implementer;
    uint32_t implementer;
    char arm_names[ARM_KINDS_MAX][ARM_PART_NAME_MAX];
    size_t arm_count;
};

static void trim_end(struct scan *text)
{
    while (text->end > text->at && (text->end[-1] == ' ' || text->end[-1] == '\t'))
        text->end--;
}

/* "0xd0c", alone; up to 32 bits. */
static bool parse_hex(struct scan text, uint32_t *ret_value)
{
    static const char digits[] = "0123456789abcdef";
    uint32_t value = 0;

    scan_blanks(&text);
    if (!scan_starts_with(&text, "0x"))
        return false;
    text.at += strlen("0x");
    if (scan_left(&text) == 0 || scan_left(&text) > 2 * sizeof value)
        return false;
    for (; text.at < text.end; text.at++) {
        char lower = *text.at >= 'A' && *text.at <= 'F' ? (char)(*text.at - 'A' + 'a') : *text.at;
        const char *digit = memchr(digits, lower, sizeof digits - 1);
        if (digit == NULL)
            return false;
        value = value << 4 | (uint32_t)(digit - digits);
    }
    *ret_value = value;
    return true;
}

static void add_arm_part(struct parser *parser, uint32_t part)
{
    char name[ARM_PART_NAME_MAX];

    arm_part_name(parser->implementer, part, name, sizeof name);
    for (size_t i = 0; i < parser->arm_count; i++)
        if (strcmp(parser->arm_names[i], name) == 0)
            return;
    if (parser->arm_count < ARM_KINDS_MAX)
        memcpy(parser->arm_names[parser->arm_count++], name, sizeof name);
}

/* "processor : 0"; s390 writes "processor 0: version = …". */
static bool is_processor(struct scan key)
{
    struct scan word;
    uint64_t number;

    if (!scan_word(&key, &word) || !scan_equals(&word, "processor"))
        return false;
    scan_blanks(&key);
    return scan_left(&key) == 0 || (scan_u64(&key, &number) && scan_left(&key) == 0);
}

static void parse_line(struct parser *parser, struct scan line)
{
    struct scan key;
    uint32_t part;

    if (!scan_until(&line, ':', &key))
        return;
    trim_end(&key);
    trim_end(&line);
    scan_blanks(&line);
    if (is_processor(key))
        parser->count++;
    else if (scan_equals(&key, "CPU implementer"))
        parser->has_implementer = parse_hex(line, &parser->implementer);
    else if (scan_equals(&key, "CPU part") && parser->has_implementer && parse_hex(line, &part))
        add_arm_part(parser, part);
    for (size_t i = 0; i < MODEL_KEYS; i++)
        if (parser->models[i].at == NULL && scan_left(&line) > 0 &&
            scan_equals(&key, model_keys[i]))
            parser->models[i] = line;
}

/*
 * Old Xeons pad their names with blanks in the middle. Bytes that are not printable ASCII count as
 * blanks.
 */
static void copy_tidy(struct scan text, char *out, size_t size)
{
    size_t length = 0;
    bool blank = false;

    for (; text.at < text.end; text.at++) {
        if (*text.at <= ' ' || *text.at > '~') {
            blank = length > 0;
            continue;
        }
        if (length + blank + 1 >= size)
            break;
        if (blank)
            out[length++] = ' ';
        out[length++] = *text.at;
        blank = false;
    }
    out[length] = '\0';
}

/* What does not fit is left out whole. */
static void join_arm_names(const struct parser *parser, char *out, size_t size)
{
    size_t length = 0;

    for (size_t i = 0; i < parser->arm_count; i++) {
        const char *separator = i > 0 ? " + " : "";
        const char *name = parser->arm_names[i];
        size_t needed = strlen(separator) + strlen(name);
        if (needed >= size - length)
            return;
        snprintf(out + length, size - length, "%s%s", separator, name);
        length += needed;
    }
}

void cpuinfo_parse(struct scan text, struct cpuinfo *ret_info)
{
    struct parser parser = {0};
    struct scan line;

    while (scan_line(&text, &line))
        parse_line(&parser, line);
    *ret_info = (struct cpuinfo){.count = parser.count};
    /* 32-bit ARM has a "model name" too, but that is only "ARMv7 Processor rev 4 (v7l)". */
    join_arm_names(&parser, ret_info->model, sizeof ret_info->model);
    for (size_t i = 0; i < MODEL_KEYS && ret_info->model[0] == '\0'; i++)
        if (parser.models[i].at != NULL)
            copy_tidy(parser.models[i], ret_info->model, sizeof ret_info->model);
}

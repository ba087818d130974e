/*
 * The TOML reader: any bytes. What it hands on must be strings of the kind it says, and what it
 * returns must be a line of the text.
 */
#include "app/toml.h"
#include "support.h"

struct seen {
    size_t count;
    uint64_t hash;
};

static void add(struct seen *seen, const char *text)
{
    for (;; text++) {
        seen->hash = (seen->hash ^ (unsigned char)*text) * 1099511628211u;
        if (*text == '\0')
            return;
    }
}

static void visit(void *context, const char *table, const char *key, enum toml_type type,
                  const char *text)
{
    struct seen *seen = context;
    size_t length = strlen(text);

    switch (type) {
    case TOML_STRING:
        break;
    case TOML_INTEGER:
        FUZZ_CHECK(length > 0 && strspn(text, "0123456789-") == length);
        FUZZ_CHECK(strrchr(text, '-') == NULL || (strrchr(text, '-') == text && length > 1));
        break;
    case TOML_FLOAT:
        FUZZ_CHECK(length > 1 && strspn(text, "0123456789-.eE") == length);
        break;
    case TOML_BOOLEAN:
        FUZZ_CHECK(strcmp(text, "true") == 0 || strcmp(text, "false") == 0);
        break;
    }
    seen->count++;
    add(seen, table);
    add(seen, key);
    add(seen, text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct seen first = {0};
    struct seen second = {0};
    long lines = 1;

    for (size_t i = 0; i < size; i++)
        lines += data[i] == '\n';
    long result = toml_parse((const char *)data, size, visit, &first);
    FUZZ_CHECK(result >= 0 && result <= lines);
    FUZZ_CHECK(toml_parse((const char *)data, size, visit, &second) == result);
    FUZZ_CHECK(first.count == second.count && first.hash == second.hash);
    return 0;
}

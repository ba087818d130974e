/*
 * /proc/cpuinfo of any architecture, with nothing behind its end.
 */
#include "support.h"

#include "discover/cpuinfo.h"

static void check_model(const char *model)
{
    size_t length = strnlen(model, CPUINFO_MODEL_MAX);

    FUZZ_CHECK(length < CPUINFO_MODEL_MAX);
    for (size_t i = 0; i < length; i++) {
        FUZZ_CHECK(model[i] >= ' ' && model[i] <= '~');
        FUZZ_CHECK(model[i] != ' ' || (i > 0 && i + 1 < length && model[i + 1] != ' '));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cpuinfo info;
    char *exact = malloc(size > 0 ? size : 1);

    FUZZ_CHECK(exact != NULL);
    if (size > 0)
        memcpy(exact, data, size);
    memset(&info, 'x', sizeof info);
    cpuinfo_parse(scan_over(exact, size), &info);
    free(exact);
    /* "processor:" is the shortest entry. */
    FUZZ_CHECK(info.count <= size / strlen("processor:"));
    check_model(info.model);
    return 0;
}

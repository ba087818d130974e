#include "encode/run_json.h"

#include "encode/json.h"

#include <string.h>

void json_run_tags(const struct run *run, struct buf *out)
{
    buf_char(out, '{');
    for (size_t i = 0; i < run->tag_count; i++) {
        if (i > 0)
            buf_char(out, ',');
        json_text(run->tags[i].key, out);
        buf_char(out, ':');
        json_text(run->tags[i].value, out);
    }
    buf_char(out, '}');
}

void json_run_command(char *const *words, size_t size_max, struct buf *out)
{
    size_t size = 0;

    buf_char(out, '[');
    for (size_t i = 0; words[i] != NULL && size <= size_max; i++) {
        size += strlen(words[i]) + 1;
        if (i > 0)
            buf_char(out, ',');
        json_text(size <= size_max ? words[i] : "…", out);
    }
    buf_char(out, ']');
}

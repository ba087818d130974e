#include "encode/registration.h"

#include "encode/json.h"
#include "encode/run_json.h"

#include <errno.h>

#define TEXT_INITIAL 1024
#define TEXT_MAX (1024 * 1024)
/* Of a command line, which may have megabytes; docs/streaming.md names it. */
#define WORDS_MAX (64 * 1024)

static void put_key(const char *key, struct buf *out)
{
    buf_text(out, ",\"");
    buf_text(out, key);
    buf_text(out, "\":");
}

/* What nobody said is left out. */
static void put_facts(const struct run *run, struct buf *out)
{
    for (size_t i = 0; i < run_fact_count; i++) {
        const char *text = run_text(run, &run_facts[i]);
        if (text == NULL)
            continue;
        put_key(run_facts[i].key, out);
        json_text(text, out);
    }
}

/* A text that holds a JSON array. */
static int put_words_as_text(char *const *words, struct buf *out)
{
    struct buf text;

    if (buf_init(&text, TEXT_INITIAL, TEXT_MAX) < 0)
        return -ENOMEM;
    json_run_command(words, WORDS_MAX, &text);
    buf_char(&text, '\0');
    int error = text.overflow ? -ENOMEM : 0;
    if (error == 0)
        json_text(text.data, out);
    buf_free(&text);
    return error;
}

/* ["key=value", …] */
static int put_tag_list(const struct run *run, struct buf *out)
{
    struct buf text;

    if (buf_init(&text, TEXT_INITIAL, TEXT_MAX) < 0)
        return -ENOMEM;
    buf_char(out, '[');
    for (size_t i = 0; i < run->tag_count && !text.overflow; i++) {
        buf_reset(&text);
        buf_text(&text, run->tags[i].key);
        buf_char(&text, '=');
        buf_text(&text, run->tags[i].value);
        buf_char(&text, '\0');
        if (i > 0)
            buf_char(out, ',');
        if (!text.overflow)
            json_text(text.data, out);
    }
    buf_char(out, ']');
    int error = text.overflow ? -ENOMEM : 0;
    buf_free(&text);
    return error;
}

int json_registration(const struct run *run, pid_t pid, struct host *host, enum host_names names,
                      struct buf *out)
{
    bool is_deployed = names == HOST_NAMES_DEPLOYED;
    int error = 0;

    buf_char(out, '{');
    json_host_members(host, names, out);
    put_facts(run, out);
    if (run->tag_count > 0) {
        put_key("tags", out);
        if (is_deployed)
            error = put_tag_list(run, out);
        else
            json_run_tags(run, out);
    }
    if (error == 0 && run->command != NULL) {
        put_key("command", out);
        if (is_deployed)
            error = put_words_as_text(run->command, out);
        else
            json_run_command(run->command, WORDS_MAX, out);
    }
    if (pid > 0 && !is_deployed) {
        put_key("pid", out);
        buf_u64(out, (uint64_t)pid);
    }
    buf_char(out, '}');
    return error == 0 && out->overflow ? -ENOMEM : error;
}

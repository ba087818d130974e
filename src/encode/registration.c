#include "encode/registration.h"

#include "encode/json.h"

#include <errno.h>

#define TEXT_INITIAL 1024
#define TEXT_MAX (1024 * 1024)
#define WORDS_MAX (64 * 1024)

struct run_fact {
    const char *key;
    size_t offset;
};

#define FACT(name)                                                                                 \
    {                                                                                              \
#name, offsetof(struct run, name)                                                          \
    }

static const struct run_fact run_facts[] = {
    FACT(job_name),
    FACT(project_name),
    FACT(stage_name),
    FACT(task_name),
    FACT(team),
    FACT(env),
    FACT(language),
    FACT(orchestrator),
    FACT(executor),
    FACT(external_run_id),
    FACT(container_image),
};

static void put_key(const char *key, struct buf *out)
{
    buf_text(out, ",\"");
    buf_text(out, key);
    buf_text(out, "\":");
}

/* What nobody said is left out. */
static void put_facts(const struct run *run, struct buf *out)
{
    for (size_t i = 0; i < sizeof run_facts / sizeof run_facts[0]; i++) {
        const char *text = *(const char *const *)((const char *)run + run_facts[i].offset);
        if (text == NULL)
            continue;
        put_key(run_facts[i].key, out);
        json_text(text, out);
    }
}

/* A command line may have megabytes: what is beyond the first words of it is left out. */
static void put_words(char *const *words, struct buf *out)
{
    size_t size = 0;

    buf_char(out, '[');
    for (size_t i = 0; words[i] != NULL && size <= WORDS_MAX; i++) {
        size += strlen(words[i]) + 1;
        if (i > 0)
            buf_char(out, ',');
        json_text(size <= WORDS_MAX ? words[i] : "…", out);
    }
    buf_char(out, ']');
}

/* A text that holds a JSON array. */
static int put_words_as_text(char *const *words, struct buf *out)
{
    struct buf text;

    if (buf_init(&text, TEXT_INITIAL, TEXT_MAX) < 0)
        return -ENOMEM;
    put_words(words, &text);
    buf_char(&text, '\0');
    int error = text.overflow ? -ENOMEM : 0;
    if (error == 0)
        json_text(text.data, out);
    buf_free(&text);
    return error;
}

static void put_tag_object(const struct run *run, struct buf *out)
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
            put_tag_object(run, out);
    }
    if (error == 0 && run->command != NULL) {
        put_key("command", out);
        if (is_deployed)
            error = put_words_as_text(run->command, out);
        else
            put_words(run->command, out);
    }
    if (pid > 0 && !is_deployed) {
        put_key("pid", out);
        buf_u64(out, (uint64_t)pid);
    }
    buf_char(out, '}');
    return error == 0 && out->overflow ? -ENOMEM : error;
}

#include "app/streaming.h"

#include "base/env.h"
#include "base/log.h"

#include <stdlib.h>

/* The peers' own guides name the second one. */
static const char *find_token(const char **ret_name)
{
    *ret_name = "SENTINEL_API_TOKEN";
    const char *token = env_text(*ret_name);
    if (token == NULL) {
        *ret_name = "SENTINEL_API_KEY";
        token = env_text(*ret_name);
    }
    return token;
}

#ifndef TRACKER_NET

void streaming_open(const struct config *config, const struct sysroot *root,
                    char *const *environment, struct streaming **ret_streaming)
{
    const char *name;

    (void)config;
    (void)root;
    (void)environment;
    *ret_streaming = NULL;
    if (find_token(&name) != NULL)
        log_say("%s: nothing is streamed: built without the libraries for it", name);
}

const struct stream_options *streaming_options(const struct streaming *streaming)
{
    (void)streaming;
    return NULL;
}

void streaming_set_pid(struct streaming *streaming, pid_t pid)
{
    (void)streaming;
    (void)pid;
}

void streaming_close(struct streaming *streaming)
{
    (void)streaming;
}

#else

#include "app/host_lookup.h"
#include "discover/host_facts.h"
#include "discover/orchestrator.h"
#include "net/api.h"
#include "net/url.h"
#include "sink/stream.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define URL_DEFAULT "https://api.sentinel.sparecores.net"
#define TEMPORARY_DEFAULT "/tmp"

struct streaming {
    struct stream_options options;
    const struct sysroot *root;
    char *const *environment;
    struct run run;
    char beside_output[PATH_MAX];
    char started_in[PATH_MAX];
};

/* --- what is found out, on the uploader's thread --- */

static void discover(void *context, struct http *http, struct host *host)
{
    const struct streaming *streaming = context;

    host_discover(streaming->root, host);
    host_discover_address(host);
    host_lookup_cloud(http, host);
}

static void conclude(void *context, const struct stream_look *look, struct host *host)
{
    const struct streaming *streaming = context;

    host_lookup_allocation(streaming->root, look->others_cores, look->cpus, host);
    memcpy(host->gpu_model, look->gpus.gpu_model, sizeof host->gpu_model);
    host->gpu_count = look->gpus.gpu_count;
    host->gpu_vram_mib = look->gpus.gpu_vram_mib;
    host_lookup_override(streaming->environment, false, host);
}

/* --- what the environment says --- */

static bool is_fine(const char *name, const char *problem)
{
    if (problem != NULL)
        log_say("%s %s; nothing is streamed", name, problem);
    return problem == NULL;
}

static bool is_read_on_its_way(const char *address)
{
    struct url url;
    bool is_local = url_parse(address, &url) == 0 && url_is_this_machine(&url);

    return strncasecmp(address, "http:", 5) == 0 && !is_local;
}

static bool take_addresses(struct stream_options *options)
{
    const char *url = env_text("SENTINEL_API_URL");

    options->url = url != NULL ? url : URL_DEFAULT;
    if (!is_fine("SENTINEL_API_URL", api_url_problem(options->url)))
        return false;
    if (is_read_on_its_way(options->url))
        log_say("SENTINEL_API_URL is not https: the token can be read on its way");
    options->s3_endpoint = env_text("AWS_ENDPOINT_URL_S3");
    return options->s3_endpoint == NULL ||
           is_fine("AWS_ENDPOINT_URL_S3", api_url_problem(options->s3_endpoint));
}

/* Also one that is not there yet; not /dev/stdout, even where that leads to one. */
static bool is_plain_file(const char *path)
{
    struct stat info;

    return strncmp(path, "/dev/", 5) != 0 && strncmp(path, "/proc/", 6) != 0 &&
           (stat(path, &info) < 0 || S_ISREG(info.st_mode));
}

/* False: that is where the run was started. */
static bool find_beside_output(const char *output, char *out, size_t size)
{
    const char *slash = output != NULL && is_plain_file(output) ? strrchr(output, '/') : NULL;

    if (slash == NULL || (size_t)(slash - output) >= size)
        return false;
    snprintf(out, size, "%.*s", slash > output ? (int)(slash - output) : 1, output);
    return true;
}

/* Beside the output, where its owner looks; where the run was started; where there is room. */
static void find_folders(struct streaming *streaming, const char *output)
{
    const char **folder = streaming->options.folders;
    const char *temporary = env_text("TMPDIR");

    if (find_beside_output(output, streaming->beside_output, sizeof streaming->beside_output))
        *folder++ = streaming->beside_output;
    if (getcwd(streaming->started_in, sizeof streaming->started_in) != NULL)
        *folder++ = streaming->started_in;
    *folder = temporary != NULL ? temporary : TEMPORARY_DEFAULT;
}

static bool fill(struct streaming *streaming, const struct config *config, const char *token)
{
    struct stream_options *options = &streaming->options;

    if (!take_addresses(options))
        return false;
    streaming->run = config->run;
    if (!config->no_detect)
        orchestrator_detect(&streaming->run, streaming->environment);
    find_folders(streaming, config->quiet ? NULL : config->output);
    options->run = &streaming->run;
    options->token = token;
    options->interval_ns = config->upload_interval_ns;
    options->discover = discover;
    options->conclude = conclude;
    options->context = streaming;
    return true;
}

void streaming_open(const struct config *config, const struct sysroot *root,
                    char *const *environment, struct streaming **ret_streaming)
{
    const char *name;
    const char *token = find_token(&name);

    *ret_streaming = NULL;
    if (token == NULL || !is_fine(name, api_token_problem(token)))
        return;
    struct streaming *streaming = calloc(1, sizeof *streaming);
    if (streaming == NULL)
        return;
    /* Said now: what is found later is found on a thread that has no voice. */
    struct host nobody;
    host_reset(&nobody);
    host_lookup_override(environment, true, &nobody);
    streaming->root = root;
    streaming->environment = environment;
    if (fill(streaming, config, token))
        *ret_streaming = streaming;
    else
        free(streaming);
}

const struct stream_options *streaming_options(const struct streaming *streaming)
{
    return streaming != NULL ? &streaming->options : NULL;
}

void streaming_set_pid(struct streaming *streaming, pid_t pid)
{
    if (streaming != NULL)
        streaming->options.pid = pid;
}

void streaming_close(struct streaming *streaming)
{
    free(streaming);
}

#endif

/*
 * What one invocation is to do, gathered from the command line, the environment and the TOML file,
 * in this order of precedence. Owned by main; texts stay valid until config_free.
 */
#ifndef APP_CONFIG_H
#define APP_CONFIG_H

#include "model/run.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum config_action {
    ACTION_RUN,
    ACTION_HELP,
    ACTION_VERSION,
    ACTION_LIST_METRICS,
    ACTION_HOST_INFO
};

struct config {
    enum config_action action;
    char *const *command; /* NULL: none */
    pid_t pid;            /* 0: none */
    uint64_t interval_ns;
    uint64_t upload_interval_ns;
    const char *config_path;
    int format;      /* enum output_format */
    int csv_columns; /* enum csv_columns */
    const char *output;
    bool quiet;
    int summary;        /* enum summary_mode */
    const char *report; /* NULL: none */
    const char **from;  /* files with recorded samples, in the place of a run */
    size_t from_count;
    bool verbose;
    bool cgroup;
    bool no_gpu;
    bool no_detect;
    bool gpu_detail;
    int pss;            /* enum pss_mode */
    const char *procfs; /* NULL: the usual place */
    const char *sysfs;
    struct run run;

    unsigned char *ranks; /* source that set each option so far */
    unsigned char *tag_ranks;
    size_t tag_capacity;
    size_t from_capacity;
    char **owned; /* texts we allocated */
    size_t owned_count;
    size_t owned_capacity;
};

/*
 * 0, or a negative errno after having said on stderr which option, variable or file is wrong.
 * `environment` is in the form of environ.
 */
int config_load(struct config *config, int argc, char **argv, char *const *environment);
void config_free(struct config *config);

#endif

#include "app/options.h"

#include "app/config.h"

#define AT(member) offsetof(struct config, member)

/* A metadata field has the same name everywhere: --stage-name, TRACKER_STAGE_NAME, stage_name. */
#define METADATA(name, letter, key, member, help)                                                  \
    {                                                                                              \
        name, letter, OPTION_TEXT, "TEXT", "job", key, NULL, NULL, AT(run.member), help            \
    }

const struct option_row options[] = {
    {"pid", 'p', OPTION_PID, "PID", "job", "pid", NULL, NULL, AT(pid),
     "track the tree of this process instead of starting a command"},
    {"interval", 'i', OPTION_SECONDS, "SECS", "tracker", "interval_secs", "1", NULL,
     AT(interval_ns), "time between samples; decimals are allowed (0.05)"},
    {"config", 'c', OPTION_TEXT, "FILE", NULL, NULL, "resource-tracker.toml", NULL, AT(config_path),
     "TOML file with settings; a missing or broken one is passed over"},
    {"format", 'f', OPTION_CHOICE, "FORMAT", "tracker", "format", "json", "json|csv", AT(format),
     "json (one object a line) or csv"},
    {"csv-columns", 0, OPTION_CHOICE, "SET", "tracker", "csv_columns", "basic", "basic|full",
     AT(csv_columns), "basic (21 machine-wide columns) or full (with those of the process tree)"},
    {"output", 'o', OPTION_TEXT, "FILE", "tracker", "output", NULL, NULL, AT(output),
     "write samples to FILE, - for standard output; by default standard error with a command, "
     "standard output without one"},
    {"quiet", 0, OPTION_FLAG, NULL, "tracker", "quiet", NULL, NULL, AT(quiet),
     "write no samples, not even to --output"},
    {"summary", 0, OPTION_SWITCH, "FORMAT", "tracker", "summary", "auto", "auto|text|json|none",
     AT(summary),
     "say at the end what the run used, on standard error: text, json or none; auto is text when "
     "that is a terminal and samples go elsewhere, with a status line until then"},
    {"report", 0, OPTION_TEXT, "FILE", "tracker", "report", NULL, NULL, AT(report),
     "write a report of the run to FILE: one HTML page that needs nothing else"},
    {"from", 0, OPTION_FILES, "FILE", NULL, NULL, NULL, NULL, AT(from),
     "make summary and report from recorded samples (JSON Lines or CSV) instead of a run; several "
     "files (--from *.jsonl) stand side by side"},

    {"upload-interval", 0, OPTION_SECONDS, "SECS", "tracker", "upload_interval_secs", "60", NULL,
     AT(upload_interval_ns), "time between uploads when the run is streamed"},

    METADATA("job-name", 'n', "name", job_name, "name of the job; stands in every JSON sample"),
    METADATA("project-name", 0, "project_name", project_name, "project the job belongs to"),
    METADATA("stage-name", 0, "stage_name", stage_name, "stage or step of the job"),
    METADATA("task-name", 0, "task_name", task_name, "task within the stage"),
    METADATA("team", 0, "team", team, "team that runs the job"),
    METADATA("env", 0, "env", env, "environment, such as dev or prod"),
    METADATA("language", 0, "language", language, "language of the job, such as python or r"),
    METADATA("orchestrator", 0, "orchestrator", orchestrator, "orchestrator, such as metaflow"),
    METADATA("executor", 0, "executor", executor, "executor, such as k8s"),
    METADATA("external-run-id", 0, "external_run_id", external_run_id,
             "the orchestrator's own number of the run"),
    METADATA("container-image", 0, "container_image", container_image, "container image and tag"),
    {"tag", 0, OPTION_TAG, "KEY=VALUE", "job.tags", NULL, NULL, NULL, AT(run.tags),
     "any other fact about the run; may be given several times"},

    {"no-detect", 0, OPTION_FLAG, NULL, "tracker", "no_detect", NULL, NULL, AT(no_detect),
     "do not guess orchestrator, executor, run number and image from the environment"},

    {"pss", 0, OPTION_CHOICE, "WHEN", "tracker", "pss", "auto", "auto|always|never", AT(pss),
     "read the proportional memory of the tree: auto (within 0.5 % of the time), always or never"},
    {"cgroup", 0, OPTION_FLAG, NULL, "tracker", "cgroup", NULL, NULL, AT(cgroup),
     "run the command in a cgroup (v2) of its own, for exact CPU time whoever waits for whom"},
    {"no-gpu", 0, OPTION_FLAG, NULL, "tracker", "no_gpu", NULL, NULL, AT(no_gpu),
     "do not look for GPUs; their drivers' libraries are not loaded"},
    {"gpu-detail", 0, OPTION_FLAG, NULL, "tracker", "gpu_detail", NULL, NULL, AT(gpu_detail),
     "also read what takes GPU drivers long: PCIe and NVLink throughput, energy"},
    {"procfs", 0, OPTION_TEXT, "DIR", "tracker", "procfs", NULL, NULL, AT(procfs),
     "read DIR instead of /proc, such as the host's inside a container"},
    {"sysfs", 0, OPTION_TEXT, "DIR", "tracker", "sysfs", NULL, NULL, AT(sysfs),
     "read DIR instead of /sys"},

    {"verbose", 0, OPTION_FLAG, NULL, "tracker", "verbose", NULL, NULL, AT(verbose),
     "say what is passed over in silence otherwise"},
    {"host-info", 0, OPTION_ACTION, NULL, NULL, NULL, NULL, NULL, ACTION_HOST_INFO,
     "print what is found about this host and its cloud, as JSON"},
    {"list-metrics", 0, OPTION_ACTION, NULL, NULL, NULL, NULL, NULL, ACTION_LIST_METRICS,
     "print every metric with its unit, source and meaning"},
    {"help", 'h', OPTION_ACTION, NULL, NULL, NULL, NULL, NULL, ACTION_HELP, "print this help"},
    {"version", 'V', OPTION_ACTION, NULL, NULL, NULL, NULL, NULL, ACTION_VERSION,
     "print the version"},
};

const size_t option_count = sizeof options / sizeof options[0];

const struct option_section option_sections[] = {
    {"Sampling and output", "pid"},
    {"About the run", "job-name"},
    {"Where to look", "pss"},
    {"Other", "verbose"},
};

const size_t option_section_count = sizeof option_sections / sizeof option_sections[0];

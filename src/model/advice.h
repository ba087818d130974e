/*
 * What follows from a run: what to ask for next time, and where it was bound. Only from what was
 * measured; what was not gives no advice and no hint. Pure. Texts may hold foreign bytes (mount
 * points): whoever prints them escapes them.
 */
#ifndef MODEL_ADVICE_H
#define MODEL_ADVICE_H

#include "model/digest.h"

#define ADVICE_TEXT_MAX 200
#define ADVICE_HINTS_MAX 16

/* How much to ask for, and the rule that says so, with the figure it was applied to. */
struct demand {
    bool is_known;
    double amount; /* CPUs, MiB, GPUs, MiB */
    char rule[ADVICE_TEXT_MAX];
};

/* In the order in which they are told. */
enum hint_kind {
    HINT_KILLED,        /* by SIGKILL, when memory had run low: the kernel's doing, most likely */
    HINT_CPU_FULL,      /* the job used all CPUs it may use */
    HINT_HOST_CPU_FULL, /* others did */
    HINT_STEAL,         /* the hypervisor gave CPU time to others */
    HINT_IOWAIT,        /* CPUs were idle because a disk was slow */
    HINT_MEMORY_LIMIT,  /* near the limit of the cgroup */
    HINT_MEMORY_LOW,    /* the host's memory was nearly gone */
    HINT_SWAPPING,      /* memory went to disk */
    HINT_DISK_FULL,     /* a file system was nearly full */
    HINT_DISK_BUSY,     /* a disk was at work all the time */
    HINT_GPU_FULL,
    HINT_GPU_THROTTLED, /* heat or power held its clock down */
    HINT_VRAM_FULL,
    HINT_GPU_SILENT, /* the driver did not answer */
    HINT_PSS_OLD     /* the memory figure is older or coarser than it looks */
};
enum { HINT_COUNT = HINT_PSS_OLD + 1 };

/* "cpu_full" and so on, for machines. */
extern const char *const hint_ids[HINT_COUNT];

struct hint {
    enum hint_kind kind;
    bool is_note;               /* a remark on a figure rather than a limit that was hit */
    char text[ADVICE_TEXT_MAX]; /* a sentence with the evidence in it */
};

struct advice {
    bool is_of_tree; /* else what to ask for comes from the host's figures */
    struct demand cpus;
    struct demand memory; /* MiB */
    struct demand gpus;   /* known and 0: none was used */
    struct demand vram;   /* MiB, of all GPUs together */
    struct hint hints[ADVICE_HINTS_MAX];
    size_t hint_count;
};

void advise(const struct digest *digest, struct advice *advice);

/*
 * 1.2 times `peak_mib`, rounded up: to the next whole GiB above 1 GiB, to the next 128 MiB below.
 * 10 GiB give 12 GiB.
 */
double advice_memory_mib(double peak_mib);

/* The most memory the job had at once, in MiB; NaN: not known. See advice.c for what it is. */
double advice_peak_memory_mib(const struct digest *digest);

#endif

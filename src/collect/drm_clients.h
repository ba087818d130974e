/*
 * What a process tree has of DRM devices. Each open file of a DRM device belongs to a client, which
 * several descriptors and processes may share; a client is counted once.
 *
 * DRM files are told by the names that the links in /proc/PID/fd show. Asking the files themselves
 * (stat) would wait for the server of any network file system that a member has a file of. The look
 * through all descriptors of all members is dear, so it takes at most 0.5 % of a CPU: one that took
 * 1 ms is followed by 200 ms without. What it found is read at every reading.
 *
 * Other people's processes cannot be looked into. Then, and whenever else a part is missing, the
 * use of every device is unavailable: a sum without them would be wrong.
 *
 * Owned by one thread. No descriptor stays open; memory only grows, to the most that was needed.
 */
#ifndef COLLECT_DRM_CLIENTS_H
#define COLLECT_DRM_CLIENTS_H

#include "collect/drm_card.h"
#include "collect/drm_fdinfo.h"
#include "collect/gpu.h"

#define DRM_FDS_MAX 16384
#define DRM_CLIENTS_MAX 4096

/* A descriptor of a DRM device, as of the last look. */
struct drm_fd {
    pid_t pid;
    uint32_t number;
    char node[DRM_NAME_SIZE]; /* "renderD128" */
    bool is_mute;             /* its driver does not tell what we ask for */
};

struct drm_engine_use {
    char name[DRM_ENGINE_NAME_SIZE];
    uint64_t busy;
    uint64_t total_cycles;
    double share; /* busy share of the time since the last reading, 0 to 1 or more; NAN: unknown */
};

struct drm_client {
    char pci_address[DRM_PCI_SIZE];
    uint64_t id;
    uint64_t reading; /* the last one that saw it */
    uint64_t read_ns; /* when that was */
    pid_t holder;     /* the first process that was seen with it then */
    uint64_t vram_bytes;
    size_t engine_count;
    struct drm_engine_use engines[DRM_ENGINES_MAX];
};

struct drm_clients {
    int proc_fd;
    struct drm_fd *fds;
    size_t fd_count;
    size_t fd_capacity;
    struct drm_client *list;
    size_t count;
    size_t capacity;

    uint64_t reading; /* 1 in the first */
    uint64_t read_ns;
    uint64_t elapsed_ns;  /* between the last two readings */
    uint64_t newcomer_ns; /* what is new has come within this time; 0: nobody knows */
    uint64_t searched_ns;
    uint64_t next_search_ns;
    bool search_failed; /* some members' descriptors could not be seen */
    bool read_failed;   /* what some descriptors stand for could not be read */
    bool has_kfd;       /* a member has AMD's compute device open */
};

/* `proc_fd` is the /proc that the tree's PIDs are of. */
void drm_clients_init(struct drm_clients *clients, int proc_fd);
void drm_clients_close(struct drm_clients *clients);

void drm_clients_read(struct drm_clients *clients, const struct gpu_request *request);

struct drm_use {
    double utilization_pct; /* of the busiest class of engines; NAN in the first reading */
    uint64_t vram_bytes;    /* memory that clients share is in each one's figure */
};

/* What was read of one card. */
struct drm_use drm_clients_use(const struct drm_clients *clients, const struct drm_card *card);

/* The part of it that is this process's; what it shares is the first one's that was found. */
uint64_t drm_clients_vram_of(const struct drm_clients *clients, const struct drm_card *card,
                             pid_t pid);

#endif

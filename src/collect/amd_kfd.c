#include "collect/amd_kfd.h"

#include "base/cleanup.h"
#include "base/dir.h"
#include "base/file.h"
#include "collect/drm_card.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define NODES "class/kfd/kfd/topology/nodes"
#define PROCESSES "class/kfd/kfd/proc"

/* The text of a node's properties has about 1 KiB. */
#define PROPERTIES_MAX 4096

struct node_search {
    int nodes_fd;
    struct drm_pci wanted;
    struct kfd_gpu *gpu;
};

/* "location_id 768": names and numbers, one pair a line. */
static bool find_property(struct scan text, const char *name, uint64_t *ret_value)
{
    struct scan line;
    struct scan word;

    while (scan_line(&text, &line))
        if (scan_word(&line, &word) && scan_equals(&word, name))
            return scan_u64(&line, ret_value);
    return false;
}

/*
 * location_id is bus, slot and function as PCI packs them: 8, 5 and 3 bits. A card that is divided
 * has the number of the part in place of the function, which is 0 on every card. Older kernels
 * know no domain and have only the first.
 */
static bool is_wanted(struct scan properties, const struct drm_pci *wanted)
{
    uint64_t location;
    uint64_t domain = 0;

    (void)find_property(properties, "domain", &domain);
    return find_property(properties, "location_id", &location) && domain == wanted->domain &&
           location >> 3 == (wanted->bus << 5 | wanted->slot);
}

static bool visit_node(void *context, const struct dirent64 *entry)
{
    struct node_search *search = context;
    char text[PROPERTIES_MAX];
    uint64_t id;

    if (!is_digit(entry->d_name[0]))
        return true;
    cleanup_fd int fd = openat(search->nodes_fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ssize_t length = file_read_text(fd, "properties", text, sizeof text);
    /* Nodes without a GPU, which are the CPUs, have the number 0. */
    if (length > 0 && is_wanted(scan_over(text, (size_t)length), &search->wanted) &&
        file_read_u64(fd, "gpu_id", &id) == 0 && id != 0)
        search->gpu->ids[search->gpu->count++] = id;
    return search->gpu->count < KFD_PARTS_MAX;
}

void kfd_find_gpu(int sys_fd, const char *pci_address, struct kfd_gpu *ret_gpu)
{
    struct node_search search = {.gpu = ret_gpu};

    ret_gpu->count = 0;
    if (!drm_pci_parse(scan_over(pci_address, strlen(pci_address)), &search.wanted))
        return;
    cleanup_fd int fd = openat(sys_fd, NODES, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    search.nodes_fd = fd;
    if (fd >= 0)
        (void)dir_each(fd, visit_node, &search);
}

struct process_search {
    const struct gpu_request *request;
    struct kfd_processes *processes;
    bool is_full;
};

static bool visit_process(void *context, const struct dirent64 *entry)
{
    struct process_search *search = context;
    struct kfd_processes *processes = search->processes;
    struct scan name = scan_over(entry->d_name, strlen(entry->d_name));
    uint64_t pid;

    if (!scan_u64(&name, &pid) || name.at != name.end || pid > INT_MAX ||
        !gpu_request_has(search->request, (pid_t)pid))
        return true;
    search->is_full = processes->count == KFD_PROCESSES_MAX;
    if (!search->is_full)
        processes->pids[processes->count++] = (pid_t)pid;
    return !search->is_full;
}

int kfd_find_processes(int sys_fd, const struct gpu_request *request,
                       struct kfd_processes *ret_processes)
{
    struct process_search search = {.request = request, .processes = ret_processes};

    ret_processes->count = 0;
    cleanup_fd int fd = openat(sys_fd, PROCESSES, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int error = dir_each(fd, visit_process, &search);
    return search.is_full ? -EOVERFLOW : error;
}

uint64_t kfd_vram_of(int sys_fd, const struct kfd_gpu *gpu, pid_t pid)
{
    char path[96];
    uint64_t sum = 0;
    uint64_t bytes;

    for (size_t i = 0; i < gpu->count; i++) {
        snprintf(path, sizeof path, PROCESSES "/%d/vram_%" PRIu64, (int)pid, gpu->ids[i]);
        int error = file_read_u64(sys_fd, path, &bytes);
        if (error == -ENOENT || error == -ENODEV)
            continue;
        if (error < 0 || bytes >= COUNTER_UNKNOWN - sum)
            return COUNTER_UNKNOWN;
        sum += bytes;
    }
    return sum;
}

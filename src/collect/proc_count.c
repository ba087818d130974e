#include "collect/proc_count.h"

#include "base/clock.h"
#include "base/dir.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* The fixed part changes when a module adds a directory to /proc: look again this often. */
#define RECHECK_NS (300 * NS_PER_SEC)

struct listing {
    uint64_t processes;
    uint64_t directories; /* that are not processes */
};

void proc_count_init(struct proc_count *count, int proc_fd, bool is_procfs)
{
    *count = (struct proc_count){.proc_fd = proc_fd, .is_procfs = is_procfs};
}

static bool count_entry(void *context, const struct dirent64 *entry)
{
    struct listing *listing = context;

    if (entry->d_name[0] != '0' && entry->d_name[strspn(entry->d_name, "0123456789")] == '\0')
        listing->processes++;
    else if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
        listing->directories++;
    return true;
}

static int64_t link_count(int proc_fd)
{
    struct stat status;

    return fstat(proc_fd, &status) < 0 ? -errno : (int64_t)status.st_nlink;
}

/*
 * The shortcut holds when what is left of the link count is the fixed directories and the root's
 * own two links. In another PID namespace the rest also holds the host's processes, kernel threads
 * at the least; with hidepid, the hidden ones. A process that came or went between the two looks
 * spoils the proof only until the next sample.
 */
static void prove(struct proc_count *count, const struct listing *listing, uint64_t now_ns)
{
    int64_t links = link_count(count->proc_fd);

    count->fixed = listing->directories + 2;
    count->shortcut = count->is_procfs && links == (int64_t)(listing->processes + count->fixed);
    count->checked_ns = now_ns;
}

int64_t proc_count_read(struct proc_count *count, uint64_t now_ns)
{
    if (count->shortcut && now_ns - count->checked_ns < RECHECK_NS) {
        int64_t links = link_count(count->proc_fd);
        return links > (int64_t)count->fixed ? links - (int64_t)count->fixed : -EIO;
    }

    struct listing listing = {0};
    int error = dir_each(count->proc_fd, count_entry, &listing);
    if (error < 0)
        return error;
    prove(count, &listing, now_ns);
    return (int64_t)listing.processes;
}

#include "collect/perf_clock.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

int perf_clock_open(pid_t pid)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attr,
        .config = PERF_COUNT_SW_TASK_CLOCK,
        .inherit = 1,
        /* Without this, ordinary users are refused; the clock counts kernel time all the same. */
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };
    long fd = syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);

    return fd < 0 ? -errno : (int)fd;
}

bool perf_clock_read(int fd, uint64_t *ret_ns)
{
    return fd >= 0 && read(fd, ret_ns, sizeof *ret_ns) == (ssize_t)sizeof *ret_ns;
}

/*
 * options -> config -> tracker_run() or from_run() -> exit status; nothing else.
 */
#include "app/config.h"
#include "app/from.h"
#include "app/host_info.h"
#include "app/show.h"
#include "app/tracker.h"

#include <fcntl.h>
#include <unistd.h>

#define STATUS_USAGE 2

/*
 * A caller may have closed 0, 1 or 2. The files we open would then take their place, and messages
 * would go into them. A placeholder holds each; exec closes it, so the command finds it closed.
 */
static void hold_standard_fds(void)
{
    int fd;

    do {
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO)
        close(fd);
}

int main(int argc, char **argv)
{
    struct config config;
    int status;

    hold_standard_fds();
    if (config_load(&config, argc, argv, environ) < 0)
        status = STATUS_USAGE;
    else if (config.action == ACTION_HOST_INFO)
        status = host_info(&config, environ);
    else if (config.action != ACTION_RUN)
        status = show(config.action);
    else if (config.from_count > 0)
        status = from_run(&config);
    else
        status = tracker_run(&config, environ);
    config_free(&config);
    return status;
}

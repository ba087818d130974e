/*
 * options -> config -> tracker_run() -> exit status; nothing else.
 */
#include "app/config.h"
#include "app/help.h"
#include "app/tracker.h"
#include "base/log.h"
#include "encode/catalog.h"
#include "version.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define STATUS_USAGE 2
#define TEXT_BYTES_MAX (1024 * 1024)

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

static void print_version(struct buf *out)
{
    buf_text(out, "resource-tracker " TRACKER_VERSION "\n");
}

/* Prints a text on stdout; a reader that left (`| head`) is no error. */
static int print_text(void (*print)(struct buf *out))
{
    struct buf text;
    int status = 0;

    if (buf_init(&text, 4096, TEXT_BYTES_MAX) < 0)
        return STATUS_CANNOT_START;
    print(&text);
    for (size_t done = 0; done < text.size;) {
        ssize_t wrote = write(STDOUT_FILENO, text.data + done, text.size - done);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0) {
            log_say("cannot write to standard output: %s", strerror(errno));
            status = STATUS_CANNOT_START;
            break;
        }
        done += (size_t)wrote;
    }
    buf_free(&text);
    return status;
}

static int act(const struct config *config)
{
    switch (config->action) {
    case ACTION_HELP:
        return print_text(help_print);
    case ACTION_VERSION:
        return print_text(print_version);
    case ACTION_LIST_METRICS:
        return print_text(catalog_print);
    case ACTION_RUN:
        break;
    }
    return tracker_run(config);
}

int main(int argc, char **argv)
{
    struct config config;

    hold_standard_fds();
    int status = config_load(&config, argc, argv, environ) < 0 ? STATUS_USAGE : act(&config);
    config_free(&config);
    return status;
}

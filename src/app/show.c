#include "app/show.h"

#include "app/help.h"
#include "app/tracker.h"
#include "base/log.h"
#include "encode/catalog.h"
#include "version.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define TEXT_BYTES_MAX (1024 * 1024)

static void print(enum config_action action, struct buf *out)
{
    switch (action) {
    case ACTION_HELP:
        help_print(out);
        break;
    case ACTION_VERSION:
        buf_text(out, "resource-tracker " TRACKER_VERSION "\n");
        break;
    case ACTION_LIST_METRICS:
        catalog_print(out);
        break;
    case ACTION_HOST_INFO:
    case ACTION_RUN:
        break;
    }
}

static int write_all(const struct buf *text)
{
    for (size_t done = 0; done < text->size;) {
        ssize_t wrote = write(STDOUT_FILENO, text->data + done, text->size - done);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return wrote < 0 ? -errno : -EIO;
        done += (size_t)wrote;
    }
    return 0;
}

int show_text(const struct buf *text)
{
    int error = write_all(text);

    if (error < 0)
        log_say("cannot write to standard output: %s", strerror(-error));
    return error < 0 ? STATUS_CANNOT_START : 0;
}

int show(enum config_action action)
{
    struct buf text;

    if (buf_init(&text, 4096, TEXT_BYTES_MAX) < 0)
        return STATUS_CANNOT_START;
    print(action, &text);
    int status = show_text(&text);
    buf_free(&text);
    return status;
}

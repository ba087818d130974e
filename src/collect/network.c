/*
 * Network interfaces: byte counters from /proc/net/dev at every sample, facts from
 * /sys/class/net when an interface is new and every 30 s after that (a link can go down, a speed
 * can be renegotiated; a netlink socket would tell, but we open no sockets).
 */
#include "base/array.h"
#include "base/clock.h"
#include "base/file.h"
#include "collect/collector.h"
#include "collect/names.h"
#include "collect/net_role.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

/* A line has about 120 bytes; 1 MiB is some 8,000 interfaces. */
#define DEV_INITIAL (4 * 1024)
#define DEV_MAX (1024 * 1024)
#define FACTS_REFRESH_NS (30 * NS_PER_SEC)
#define RX_TO_TX_FIELDS 7

struct interface {
    struct device_name name; /* first: names_find looks here */
    uint64_t rx_bytes;
    uint64_t tx_bytes;
    uint64_t rx_growth;
    uint64_t tx_growth;
    uint64_t seen_ns; /* reading in which it was last listed */
    enum net_role role;
    char mac[64]; /* InfiniBand addresses have 59 bytes */
    char driver[64];
    char operstate[32];
    double speed_mbps;
    double mtu;
};

struct network {
    int class_fd; /* /sys/class/net, or -1 */
    struct file dev;
    struct interface *list;
    size_t count;
    size_t capacity;
    struct rows rows;
    bool changed; /* an interface came or went: look up facts, lay the rows anew */
    uint64_t facts_ns;
};

static struct interface *add_interface(struct network *network, const struct scan *name)
{
    struct interface *list =
        array_grow(network->list, &network->capacity, network->count + 1, sizeof *list);
    if (list == NULL)
        return NULL;
    network->list = list;
    struct interface *interface = &network->list[network->count];
    *interface = (struct interface){.speed_mbps = -1, .mtu = NAN};
    if (!scan_copy(name, interface->name.text, sizeof interface->name.text))
        return NULL;
    network->count++;
    network->changed = true;
    return interface;
}

/* One line. Counters of an interface that is new, or went backwards, are a baseline only. */
static void read_line(struct network *network, struct scan line, size_t *hint, uint64_t now_ns)
{
    struct scan name;
    uint64_t rx;
    uint64_t tx;

    scan_blanks(&line);
    if (!scan_until(&line, ':', &name) || !name_is_plausible(&name) || scan_equals(&name, "lo"))
        return;
    if (!scan_u64(&line, &rx) || !scan_skip_words(&line, RX_TO_TX_FIELDS) || !scan_u64(&line, &tx))
        return;

    size_t index = names_find(network->list, sizeof *network->list, network->count, *hint, &name);
    bool is_new = index == network->count;
    struct interface *interface = is_new ? add_interface(network, &name) : &network->list[index];
    if (interface == NULL)
        return;
    interface->rx_growth = is_new ? 0 : counter_growth(rx, interface->rx_bytes);
    interface->tx_growth = is_new ? 0 : counter_growth(tx, interface->tx_bytes);
    interface->rx_bytes = rx;
    interface->tx_bytes = tx;
    interface->seen_ns = now_ns;
    *hint = index + 1;
}

static void drop_departed(struct network *network, uint64_t now_ns)
{
    size_t kept = 0;

    for (size_t i = 0; i < network->count; i++)
        if (network->list[i].seen_ns == now_ns) {
            if (kept != i)
                network->list[kept] = network->list[i];
            kept++;
        }
    if (kept != network->count)
        network->changed = true;
    network->count = kept;
}

static void read_driver(int interface_fd, char *out, size_t size)
{
    char target[PATH_MAX];

    out[0] = '\0';
    ssize_t length = readlinkat(interface_fd, "device/driver", target, sizeof target);
    if (length <= 0)
        return;
    const char *slash = memrchr(target, '/', (size_t)length);
    struct scan name = scan_over(target, (size_t)length);
    name.at = slash != NULL ? slash + 1 : target;
    (void)scan_copy(&name, out, size);
}

/* "-1", "4294967295" and an error all mean that the link has no speed to report. */
static double read_speed(int interface_fd)
{
    uint64_t speed;

    if (file_read_u64(interface_fd, "speed", &speed) < 0 || speed >= INT32_MAX)
        return -1;
    return (double)speed;
}

static void read_text_or_none(int dir_fd, const char *path, char *out, size_t size)
{
    if (file_read_text(dir_fd, path, out, size) < 0)
        out[0] = '\0';
}

/* dummy sends nowhere, and ifb sees again what another interface has received. */
static bool is_idle_kind(const char *name)
{
    return strncmp(name, "dummy", strlen("dummy")) == 0 || strncmp(name, "ifb", strlen("ifb")) == 0;
}

static void read_facts(struct network *network, struct interface *interface)
{
    uint64_t mtu;
    struct device_name name = name_in_sysfs(&interface->name);
    int fd = openat(network->class_fd, name.text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    read_text_or_none(fd, "address", interface->mac, sizeof interface->mac);
    read_text_or_none(fd, "operstate", interface->operstate, sizeof interface->operstate);
    read_driver(fd, interface->driver, sizeof interface->driver);
    interface->speed_mbps = read_speed(fd);
    interface->mtu = file_read_u64(fd, "mtu", &mtu) == 0 ? (double)mtu : NAN;
    interface->role = is_idle_kind(interface->name.text) ? NET_STACKED : net_role_of(fd);
    if (fd >= 0)
        close(fd);
}

/* The cells that stay the same between looks at the facts. */
static void lay_rows(struct network *network)
{
    struct rows *rows = &network->rows;

    if (rows_resize(rows, network->count) < 0) {
        rows->count = 0;
        return;
    }
    for (size_t i = 0; i < network->count; i++) {
        const struct interface *interface = &network->list[i];
        rows_cell(rows, i, FIELD_NET_INTERFACE)->text = interface->name.text;
        rows_cell(rows, i, FIELD_NET_MAC)->text = text_or_null(interface->mac);
        rows_cell(rows, i, FIELD_NET_DRIVER)->text = text_or_null(interface->driver);
        rows_cell(rows, i, FIELD_NET_OPERSTATE)->text = text_or_null(interface->operstate);
        rows_cell(rows, i, FIELD_NET_SPEED)->number = interface->speed_mbps;
        rows_cell(rows, i, FIELD_NET_MTU)->number = interface->mtu;
    }
}

static void network_describe(void *state)
{
    struct network *network = state;

    for (size_t i = 0; i < network->count; i++)
        read_facts(network, &network->list[i]);
    lay_rows(network);
    network->changed = false;
    network->facts_ns = clock_monotonic_ns();
}

static void store_rows(struct network *network, const struct tick *tick)
{
    for (size_t i = 0; i < network->rows.count; i++) {
        const struct interface *interface = &network->list[i];
        rows_cell(&network->rows, i, FIELD_NET_RX_RATE)->number =
            per_second(interface->rx_growth, tick->elapsed_ns);
        rows_cell(&network->rows, i, FIELD_NET_TX_RATE)->number =
            per_second(interface->tx_growth, tick->elapsed_ns);
        rows_cell(&network->rows, i, FIELD_NET_RX_TOTAL)->counter = interface->rx_bytes;
        rows_cell(&network->rows, i, FIELD_NET_TX_TOTAL)->counter = interface->tx_bytes;
    }
}

/* Each byte once: at the hardware where there is any, else at the interfaces that lead outside. */
static void store_totals(const struct network *network, struct sample *sample)
{
    uint64_t received = 0;
    uint64_t sent = 0;
    enum net_role counted = NET_STACKED;

    for (size_t i = 0; i < network->count; i++)
        if (network->list[i].role < counted)
            counted = network->list[i].role;
    for (size_t i = 0; i < network->count && counted < NET_STACKED; i++)
        if (network->list[i].role == counted) {
            received += network->list[i].rx_growth;
            sent += network->list[i].tx_growth;
        }
    sample->value[METRIC_TOTAL_NET_RECV] = (double)received;
    sample->value[METRIC_TOTAL_NET_SENT] = (double)sent;
}

static void network_read(void *state, const struct tick *tick, struct sample *sample)
{
    struct network *network = state;
    size_t hint = 0;
    struct scan line;

    if (file_read(&network->dev) < 0)
        return;
    for (struct scan text = file_scan(&network->dev); scan_line(&text, &line);)
        read_line(network, line, &hint, tick->now_ns);
    drop_departed(network, tick->now_ns);
    if (tick->priming)
        return;

    if (network->changed || tick->now_ns - network->facts_ns > FACTS_REFRESH_NS)
        network_describe(network);
    store_rows(network, tick);
    store_totals(network, sample);
    sample->rows[DEVICE_NETWORK] = &network->rows;
}

static void network_close(void *state)
{
    struct network *network = state;

    file_close(&network->dev);
    if (network->class_fd >= 0)
        close(network->class_fd);
    rows_free(&network->rows);
    free(network->list);
    free(network);
}

/*
 * /proc/net is the reader's own network namespace. Who names another /proc wants the host's: that
 * of its process 1.
 */
static int open_dev(struct network *network, const struct sysroot *root)
{
    if (root->proc_is_foreign &&
        file_open(&network->dev, root->proc_fd, "1/net/dev", DEV_INITIAL, DEV_MAX) == 0)
        return 0;
    return file_open(&network->dev, root->proc_fd, "net/dev", DEV_INITIAL, DEV_MAX);
}

static int network_open(const struct collect_context *context, void **ret_state)
{
    const struct sysroot *root = context->root;
    struct network *network = calloc(1, sizeof *network);
    if (network == NULL)
        return -ENOMEM;
    rows_init(&network->rows, DEVICE_NETWORK);
    network->class_fd = openat(root->sys_fd, "class/net", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int error = open_dev(network, root);
    if (error < 0) {
        network_close(network);
        return error;
    }
    *ret_state = network;
    return 0;
}

const struct collector network_collector = {
    .name = "network",
    .open = network_open,
    .read = network_read,
    .describe = network_describe,
    .close = network_close,
};

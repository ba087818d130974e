#include "collect/drm_clients.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/dir.h"
#include "collect/pid_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The next search waits this many times as long as the last one took: 0.5 % of a CPU. */
#define SEARCH_PAUSE 200
/* How long a client is remembered that was not seen in a reading with gaps. */
#define REMEMBER_NS (60 * NS_PER_SEC)

void drm_clients_init(struct drm_clients *clients, int proc_fd)
{
    *clients = (struct drm_clients){.proc_fd = proc_fd};
}

void drm_clients_close(struct drm_clients *clients)
{
    free(clients->fds);
    free(clients->list);
    *clients = (struct drm_clients){.proc_fd = -1};
}

static bool is_ended(int proc_fd, pid_t pid)
{
    char text[PID_FILE_MAX];
    struct pid_stat stat;

    ssize_t size = pid_file_read(proc_fd, pid, "stat", text);
    if (size == -ENOENT || size == -ESRCH)
        return true;
    return size > 0 && pid_stat_parse(scan_over(text, (size_t)size), &stat) &&
           !pid_stat_is_alive(stat.state, stat.threads);
}

/*
 * Whether an error says that a process or descriptor went away while we looked; any other leaves a
 * gap. The files of a process that has ended but was not waited for are root's, whoever's it was.
 */
static bool means_gone(const struct drm_clients *clients, pid_t pid, int error)
{
    if (error == -ENOENT || error == -ESRCH)
        return true;
    return (error == -EACCES || error == -EPERM) && is_ended(clients->proc_fd, pid);
}

/* --- searching for descriptors --- */

struct search {
    struct drm_clients *clients;
    pid_t pid;
    int fd_dir;
};

static bool is_numbered(struct scan name, const char *prefix)
{
    if (!scan_starts_with(&name, prefix))
        return false;
    name.at += strlen(prefix);
    bool has_digits = name.at < name.end;
    while (name.at < name.end && is_digit(*name.at))
        name.at++;
    return has_digits && name.at == name.end;
}

/* "/dev/dri/renderD128" by its last part, also when the node was removed since. */
static bool is_drm_node(struct scan target, struct scan *ret_name)
{
    static const char folder[] = "/dri/";
    static const char removed[] = " (deleted)";
    size_t tail = strlen(removed);

    if (scan_left(&target) > tail && memcmp(target.end - tail, removed, tail) == 0)
        target.end -= tail;
    const char *slash = memrchr(target.at, '/', scan_left(&target));
    struct scan path = {.at = target.at, .end = slash != NULL ? slash + 1 : target.at};
    size_t length = strlen(folder);
    if (scan_left(&path) < length || memcmp(path.end - length, folder, length) != 0)
        return false;
    *ret_name = (struct scan){.at = path.end, .end = target.end};
    return scan_left(ret_name) < DRM_NAME_SIZE &&
           (is_numbered(*ret_name, "renderD") || is_numbered(*ret_name, "card"));
}

static void add_fd(struct search *search, uint32_t number, const struct scan *node)
{
    struct drm_clients *clients = search->clients;
    struct drm_fd *grown = NULL;

    if (clients->fd_count < DRM_FDS_MAX)
        grown = array_grow(clients->fds, &clients->fd_capacity, clients->fd_count + 1,
                           sizeof *clients->fds);
    if (grown == NULL) {
        clients->search_failed = true;
        return;
    }
    clients->fds = grown;
    struct drm_fd *fd = &clients->fds[clients->fd_count++];
    *fd = (struct drm_fd){.pid = search->pid, .number = number};
    (void)scan_copy(node, fd->node, sizeof fd->node);
}

static bool visit_fd(void *context, const struct dirent64 *entry)
{
    struct search *search = context;
    struct scan number_text = scan_over(entry->d_name, strlen(entry->d_name));
    char target[256];
    uint64_t number;

    if (!scan_u64(&number_text, &number) || number_text.at != number_text.end ||
        number > UINT32_MAX)
        return true;
    ssize_t length = readlinkat(search->fd_dir, entry->d_name, target, sizeof target);
    if (length < 0 && !means_gone(search->clients, search->pid, -errno))
        search->clients->search_failed = true;
    /* A path that fills the buffer was cut: too long for a device. */
    if (length <= 0 || (size_t)length >= sizeof target || target[0] != '/')
        return true;
    struct scan path = scan_over(target, (size_t)length);
    struct scan node;
    if (scan_equals(&path, "/dev/kfd"))
        search->clients->has_kfd = true;
    else if (is_drm_node(path, &node))
        add_fd(search, (uint32_t)number, &node);
    return true;
}

static void search_process(struct drm_clients *clients, pid_t pid)
{
    struct search search = {.clients = clients, .pid = pid};

    cleanup_fd int fd = pid_file_open(clients->proc_fd, pid, "fd");
    int error = fd;
    search.fd_dir = fd;
    if (fd >= 0)
        error = dir_each(fd, visit_fd, &search);
    if (error < 0 && !means_gone(clients, pid, error))
        clients->search_failed = true;
}

static void search_all(struct drm_clients *clients, const struct gpu_request *request)
{
    /* Time on the CPU: being kept waiting costs nobody anything. */
    uint64_t start_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

    clients->fd_count = 0;
    clients->search_failed = false;
    clients->has_kfd = false;
    for (size_t i = 0; i < request->pid_count; i++)
        search_process(clients, request->pids[i]);
    uint64_t took_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - start_ns;
    clients->searched_ns = request->now_ns;
    clients->next_search_ns = request->now_ns + SEARCH_PAUSE * took_ns;
}

/* --- reading what they stand for --- */

static struct drm_client *find_client(struct drm_clients *clients, const struct drm_fdinfo *info)
{
    for (size_t i = 0; i < clients->count; i++)
        if (clients->list[i].id == info->client_id &&
            strcmp(clients->list[i].pci_address, info->pci_address) == 0)
            return &clients->list[i];
    return NULL;
}

static struct drm_client *add_client(struct drm_clients *clients, const struct drm_fdinfo *info)
{
    struct drm_client *grown = NULL;

    if (clients->count < DRM_CLIENTS_MAX)
        grown = array_grow(clients->list, &clients->capacity, clients->count + 1,
                           sizeof *clients->list);
    if (grown == NULL) {
        clients->read_failed = true;
        return NULL;
    }
    clients->list = grown;
    struct drm_client *client = &clients->list[clients->count++];
    *client = (struct drm_client){.id = info->client_id};
    memcpy(client->pci_address, info->pci_address, sizeof client->pci_address);
    return client;
}

static struct drm_engine_use *engine_use(struct drm_client *client, const char *name,
                                         bool *ret_is_new)
{
    for (size_t i = 0; i < client->engine_count; i++)
        if (strcmp(client->engines[i].name, name) == 0) {
            *ret_is_new = false;
            return &client->engines[i];
        }
    if (client->engine_count == DRM_ENGINES_MAX)
        return NULL;
    struct drm_engine_use *use = &client->engines[client->engine_count++];
    *use = (struct drm_engine_use){0};
    memcpy(use->name, name, sizeof use->name);
    *ret_is_new = true;
    return use;
}

/* Growth of a counter that may have gone backwards, which counts nothing. */
static double growth(uint64_t now, uint64_t before)
{
    return now > before ? (double)(now - before) : 0;
}

/*
 * Of an engine that was not told of before, all busy time is new: drivers leave out what was not
 * used. Cycles need a second look, as there is no telling how many have passed since the first.
 */
static double engine_share(const struct drm_engine *engine, const struct drm_engine_use *before,
                           bool is_new, uint64_t elapsed_ns)
{
    double whole = (double)elapsed_ns;
    double part = growth(engine->busy, before->busy);

    if (part == 0)
        return 0;
    if (engine->has_total_cycles)
        whole = is_new ? 0 : growth(engine->total_cycles, before->total_cycles);
    return whole > 0 ? part / whole / (double)engine->capacity : NAN;
}

static void account_engines(struct drm_client *client, const struct drm_fdinfo *info,
                            uint64_t elapsed_ns)
{
    for (size_t i = 0; i < client->engine_count; i++)
        client->engines[i].share = 0;
    for (size_t i = 0; i < info->engine_count; i++) {
        const struct drm_engine *engine = &info->engines[i];
        bool is_new;
        struct drm_engine_use *use =
            engine->has_busy ? engine_use(client, engine->name, &is_new) : NULL;
        if (use == NULL)
            continue;
        use->share = engine_share(engine, use, is_new, elapsed_ns);
        use->busy = engine->busy;
        use->total_cycles = engine->total_cycles;
    }
}

static void account_client(struct drm_clients *clients, const struct drm_fd *fd,
                           const struct drm_fdinfo *info)
{
    struct drm_client *client = find_client(clients, info);
    uint64_t elapsed_ns = clients->newcomer_ns;

    if (client != NULL)
        elapsed_ns = clients->read_ns > client->read_ns ? clients->read_ns - client->read_ns : 0;
    else
        client = add_client(clients, info);
    if (client == NULL || client->reading == clients->reading)
        return;
    client->reading = clients->reading;
    client->read_ns = clients->read_ns;
    client->holder = fd->pid;
    client->vram_bytes = info->vram_bytes;
    account_engines(client, info, elapsed_ns);
}

/* False when the descriptor is no longer there. */
static bool read_fd(struct drm_clients *clients, struct drm_fd *fd)
{
    char name[32];
    char text[PID_FILE_MAX];
    struct drm_fdinfo info;

    snprintf(name, sizeof name, "fdinfo/%u", fd->number);
    ssize_t size = pid_file_read(clients->proc_fd, fd->pid, name, text);
    if (size < 0) {
        bool is_there = !means_gone(clients, fd->pid, (int)size);
        clients->read_failed = clients->read_failed || is_there;
        return is_there;
    }
    fd->is_mute = !drm_fdinfo_parse(scan_over(text, (size_t)size), &info);
    if (!fd->is_mute)
        account_client(clients, fd, &info);
    return true;
}

static void read_fds(struct drm_clients *clients, const struct gpu_request *request,
                     bool is_searched)
{
    size_t kept = 0;
    pid_t last_pid = 0;
    bool is_member = is_searched;

    for (size_t i = 0; i < clients->fd_count; i++) {
        struct drm_fd fd = clients->fds[i];
        if (!is_searched && fd.pid != last_pid)
            is_member = gpu_request_has(request, fd.pid);
        last_pid = fd.pid;
        if (is_member && read_fd(clients, &fd))
            clients->fds[kept++] = fd;
    }
    clients->fd_count = kept;
}

/*
 * Who is not seen has left, unless the reading had gaps. Such a client would come back as a new one
 * whose busy time, all of it, looked like that of one interval.
 */
static void drop_departed(struct drm_clients *clients)
{
    bool had_gaps = clients->search_failed || clients->read_failed;
    size_t kept = 0;

    for (size_t i = 0; i < clients->count; i++) {
        const struct drm_client *client = &clients->list[i];
        bool is_seen = client->reading == clients->reading;
        if (!is_seen && !(had_gaps && clients->read_ns - client->read_ns < REMEMBER_NS))
            continue;
        if (kept != i)
            clients->list[kept] = *client;
        kept++;
    }
    clients->count = kept;
}

/*
 * A client that was not there at the last search came since, and so did all its busy time. That
 * search may have been several readings ago; the use is taken to have been even since. In the first
 * reading, and after one with gaps, what is new to us may have been there for long.
 */
static uint64_t newcomer_time(const struct drm_clients *clients, bool is_search_due)
{
    if (clients->reading == 0 || clients->search_failed || clients->read_failed)
        return 0;
    return is_search_due ? clients->read_ns - clients->searched_ns : clients->elapsed_ns;
}

void drm_clients_read(struct drm_clients *clients, const struct gpu_request *request)
{
    bool is_first = clients->reading == 0;
    bool is_search_due = is_first || request->now_ns >= clients->next_search_ns;

    clients->elapsed_ns =
        !is_first && request->now_ns > clients->read_ns ? request->now_ns - clients->read_ns : 0;
    clients->read_ns = request->now_ns;
    clients->newcomer_ns = newcomer_time(clients, is_search_due);
    clients->reading++;
    clients->read_failed = false;
    if (is_search_due)
        search_all(clients, request);
    read_fds(clients, request, is_search_due);
    drop_departed(clients);
}

/* --- the use of one card --- */

struct class_sums {
    size_t count;
    struct {
        const char *name;
        double share;
    } classes[DRM_ENGINES_MAX];
};

static void add_share(struct class_sums *sums, const struct drm_engine_use *use)
{
    for (size_t i = 0; i < sums->count; i++)
        if (strcmp(sums->classes[i].name, use->name) == 0) {
            sums->classes[i].share += use->share;
            return;
        }
    if (sums->count == DRM_ENGINES_MAX)
        return;
    sums->classes[sums->count].name = use->name;
    sums->classes[sums->count++].share = use->share;
}

/* NAN when a part of any class is not known: that one may be the busiest. */
static double busiest(const struct class_sums *sums)
{
    double share = 0;

    for (size_t i = 0; i < sums->count; i++) {
        if (isnan(sums->classes[i].share))
            return NAN;
        if (sums->classes[i].share > share)
            share = sums->classes[i].share;
    }
    return share < 1 ? share : 1;
}

static bool has_mute_fd(const struct drm_clients *clients, const struct drm_card *card)
{
    for (size_t i = 0; i < clients->fd_count; i++)
        if (clients->fds[i].is_mute && (strcmp(clients->fds[i].node, card->id.node) == 0 ||
                                        strcmp(clients->fds[i].node, card->render_node) == 0))
            return true;
    return false;
}

static bool is_of_card(const struct drm_client *client, const struct drm_card *card)
{
    return strcmp(client->pci_address, card->id.pci_address) == 0;
}

static uint64_t add_bytes(uint64_t sum, uint64_t bytes)
{
    bool fits = sum != COUNTER_UNKNOWN && bytes != COUNTER_UNKNOWN && bytes < UINT64_MAX - sum;

    return fits ? sum + bytes : COUNTER_UNKNOWN;
}

struct drm_use drm_clients_use(const struct drm_clients *clients, const struct drm_card *card)
{
    struct drm_use use = {.utilization_pct = NAN, .vram_bytes = COUNTER_UNKNOWN};
    struct class_sums sums = {0};
    uint64_t vram_bytes = 0;

    if (clients->search_failed || clients->read_failed || has_mute_fd(clients, card))
        return use;
    for (size_t i = 0; i < clients->count; i++) {
        const struct drm_client *client = &clients->list[i];
        if (!is_of_card(client, card) || client->reading != clients->reading)
            continue;
        vram_bytes = add_bytes(vram_bytes, client->vram_bytes);
        for (size_t j = 0; j < client->engine_count; j++)
            add_share(&sums, &client->engines[j]);
    }
    use.vram_bytes = vram_bytes;
    if (clients->elapsed_ns > 0)
        use.utilization_pct = 100 * busiest(&sums);
    return use;
}

uint64_t drm_clients_vram_of(const struct drm_clients *clients, const struct drm_card *card,
                             pid_t pid)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < clients->count; i++)
        if (clients->list[i].holder == pid && clients->list[i].reading == clients->reading &&
            is_of_card(&clients->list[i], card))
            bytes = add_bytes(bytes, clients->list[i].vram_bytes);
    return bytes;
}

#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIXTURES "tests/fixtures"
#define ASKED_MAX 64
#define DIRS_MAX 8
#define SPACE_MAX 16384

static struct {
    char dir[64]; /* "" when no host is open */
    char name[64];
    unsigned moment;
    char dev[PATH_MAX];
    struct sysroot root;
    int dirs[DIRS_MAX];
    size_t dir_count;

    char asked[ASKED_MAX][256];
    size_t asked_count;

    const struct collector *collector;
    void *state;
    struct sample sample;
    uint64_t now_ns;
} host;

/* --- files --- */

__attribute__((format(printf, 2, 3))) static void make_path(char *out, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    int length = vsnprintf(out, PATH_MAX, format, arguments);
    va_end(arguments);
    if (length < 0 || length >= PATH_MAX)
        fail_msg("a path is too long: %s", format);
}

static void make_parents(const char *path)
{
    char folder[PATH_MAX];

    make_path(folder, "%s", path);
    for (char *at = folder + 1; *at != '\0'; at++)
        if (*at == '/') {
            *at = '\0';
            if (mkdir(folder, 0755) < 0 && errno != EEXIST)
                fail_msg("mkdir %s: %s", folder, strerror(errno));
            *at = '/';
        }
}

/* In place: whoever has the file open sees the new content. */
static void write_file(const char *path, const void *bytes, size_t size)
{
    make_parents(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0)
        fail_msg("open %s: %s", path, strerror(errno));
    for (size_t done = 0; done < size;) {
        ssize_t written = write(fd, (const char *)bytes + done, size - done);
        if (written < 0) {
            close(fd);
            fail_msg("write %s: %s", path, strerror(errno));
        }
        done += (size_t)written;
    }
    close(fd);
}

char *support_slurp(const char *path, size_t *ret_size)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) < 0)
        fail_msg("open %s: %s", path, strerror(errno));

    size_t size = (size_t)status.st_size;
    char *text = malloc(size + 1);
    if (text == NULL || read(fd, text, size) != (ssize_t)size) {
        close(fd);
        free(text);
        fail_msg("read %s: %s", path, strerror(errno));
        return NULL;
    }
    close(fd);
    text[size] = '\0';
    *ret_size = size;
    return text;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status;
    (void)kind;
    (void)where;
    return remove(path);
}

static int remove_tree(const char *path)
{
    return nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* --- moments --- */

static size_t source_prefix; /* length of the folder that is being copied */

static int copy_entry(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status;
    (void)where;
    if (kind == FTW_D || strcmp(path + source_prefix, "/GONE") == 0)
        return 0;

    char target[PATH_MAX];
    make_path(target, "%s%s", host.dir, path + source_prefix);
    if (kind == FTW_SL) {
        char link[PATH_MAX];
        ssize_t length = readlink(path, link, sizeof link - 1);
        if (length < 0)
            return -1;
        link[length] = '\0';
        make_parents(target);
        (void)unlink(target);
        return symlink(link, target);
    }

    size_t size;
    char *content = support_slurp(path, &size);
    write_file(target, content, size);
    free(content);
    return 0;
}

static void remove_gone(const char *moment)
{
    char path[PATH_MAX];
    size_t size;

    make_path(path, "%s/GONE", moment);
    if (access(path, F_OK) < 0)
        return;
    char *list = support_slurp(path, &size);
    for (char *rest = list, *line; (line = strsep(&rest, "\n")) != NULL;)
        if (line[0] != '\0')
            support_remove(line);
    free(list);
}

static void copy_moment(const char *moment)
{
    source_prefix = strlen(moment);
    if (nftw(moment, copy_entry, 16, FTW_PHYS) != 0)
        fail_msg("cannot copy %s: %s", moment, strerror(errno));
}

unsigned support_moments(const char *name)
{
    char moment[PATH_MAX];
    unsigned count = 0;

    do {
        make_path(moment, FIXTURES "/%s/t%u", name, count++);
    } while (access(moment, F_OK) == 0);
    return count - 1;
}

void support_step(void)
{
    char moment[PATH_MAX];

    make_path(moment, FIXTURES "/%s/t%u", host.name, ++host.moment);
    if (access(moment, F_OK) < 0)
        fail_msg("%s is not there", moment);
    remove_gone(moment);
    copy_moment(moment);
}

/* --- space --- */

static bool decode_and_compare(const char *escaped, const char *mount_point)
{
    for (; *escaped != '\0'; escaped++, mount_point++) {
        char c = *escaped;
        if (c == '\\') {
            c = (char)((escaped[1] - '0') * 64 + (escaped[2] - '0') * 8 + (escaped[3] - '0'));
            escaped += 3;
        }
        if (c != *mount_point)
            return false;
    }
    return *mount_point == '\0';
}

static int space_from_file(const char *mount_point, struct fs_space *ret_space)
{
    char path[PATH_MAX];
    char text[SPACE_MAX];

    if (host.asked_count < ASKED_MAX)
        snprintf(host.asked[host.asked_count++], sizeof host.asked[0], "%s", mount_point);
    make_path(path, "%s/space", host.dir);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t size = read(fd, text, sizeof text - 1);
    close(fd);
    text[size > 0 ? size : 0] = '\0';

    for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL;) {
        char *number = strchr(line, ' ');
        if (number == NULL)
            continue;
        *number++ = '\0';
        if (!decode_and_compare(line, mount_point))
            continue;
        ret_space->total_bytes = strtoull(number, &number, 10);
        ret_space->free_bytes = strtoull(number, &number, 10);
        ret_space->available_bytes = strtoull(number, &number, 10);
        return 0;
    }
    return -ENOENT;
}

bool support_was_asked(const char *mount_point)
{
    bool found = false;

    for (size_t i = 0; i < host.asked_count; i++)
        found = found || strcmp(host.asked[i], mount_point) == 0;
    return found;
}

/* --- hosts --- */

static int open_subfolder(const char *name)
{
    char path[PATH_MAX];

    make_path(path, "%s/%s", host.dir, name);
    if (mkdir(path, 0755) < 0 && errno != EEXIST)
        fail_msg("mkdir %s: %s", path, strerror(errno));
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void make_folder(void)
{
    const char *place = getenv("TMPDIR");

    memset(&host, 0, sizeof host);
    int length = snprintf(host.dir, sizeof host.dir, "%s/tracker-host-XXXXXX",
                          place != NULL ? place : "/tmp");
    if (length >= (int)sizeof host.dir || mkdtemp(host.dir) == NULL) {
        host.dir[0] = '\0';
        fail_msg("no temporary directory: %s", strerror(errno));
    }
    host.now_ns = clock_monotonic_ns();
}

static void open_root(void)
{
    make_path(host.dev, "%s/dev", host.dir);
    host.root = (struct sysroot){
        .proc_fd = open_subfolder("proc"),
        .sys_fd = open_subfolder("sys"),
        .dev = host.dev,
        .space = space_from_file,
    };
}

void support_open_empty(void)
{
    make_folder();
    open_root();
}

void support_open(const char *name)
{
    char moment[PATH_MAX];

    make_folder();
    snprintf(host.name, sizeof host.name, "%s", name);
    make_path(moment, FIXTURES "/%s/t0", name);
    copy_moment(moment);
    open_root();
}

int support_teardown(void **state)
{
    (void)state;
    if (host.dir[0] == '\0')
        return 0;
    if (host.state != NULL)
        host.collector->close(host.state);
    for (size_t i = 0; i < host.dir_count; i++)
        close(host.dirs[i]);
    sysroot_close(&host.root);
    int result = remove_tree(host.dir);
    memset(&host, 0, sizeof host);
    return result;
}

void support_write_bytes(const char *path, const void *bytes, size_t size)
{
    char target[PATH_MAX];

    make_path(target, "%s/%s", host.dir, path);
    write_file(target, bytes, size);
}

void support_write(const char *path, const char *text)
{
    support_write_bytes(path, text, strlen(text));
}

void support_link(const char *path, const char *target)
{
    char link[PATH_MAX];

    make_path(link, "%s/%s", host.dir, path);
    make_parents(link);
    if (symlink(target, link) < 0)
        fail_msg("symlink %s: %s", link, strerror(errno));
}

void support_remove(const char *path)
{
    char target[PATH_MAX];

    make_path(target, "%s/%s", host.dir, path);
    if (remove_tree(target) != 0)
        fail_msg("remove %s: %s", target, strerror(errno));
}

void support_cut(const char *path, size_t size)
{
    char target[PATH_MAX];

    make_path(target, "%s/%s", host.dir, path);
    if (truncate(target, (off_t)size) < 0)
        fail_msg("truncate %s: %s", target, strerror(errno));
}

struct sysroot *support_root(void)
{
    return &host.root;
}

int support_dir(const char *path)
{
    char target[PATH_MAX];

    make_path(target, "%s/%s", host.dir, path);
    int fd = open(target, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || host.dir_count == DIRS_MAX)
        fail_msg("open %s: %s", target, strerror(errno));
    host.dirs[host.dir_count++] = fd;
    return fd;
}

/* --- one collector --- */

int support_start_only(const struct collector *collector)
{
    host.collector = collector;
    struct collect_context context = {.root = &host.root};

    return collector->open(&context, &host.state);
}

static void take_reading(const struct tick *tick)
{
    sample_reset(&host.sample);
    host.collector->read(host.state, tick, &host.sample);
}

void support_prime(void)
{
    take_reading(&(struct tick){.now_ns = host.now_ns, .priming = true});
    if (host.collector->describe != NULL)
        host.collector->describe(host.state);
}

void support_start(const struct collector *collector)
{
    assert_int_equal(support_start_only(collector), 0);
    support_prime();
}

const struct sample *support_read(uint64_t elapsed_ns)
{
    host.now_ns += elapsed_ns;
    host.asked_count = 0;
    take_reading(&(struct tick){
        .now_ns = host.now_ns,
        .elapsed_ns = elapsed_ns,
        .due_ns = host.now_ns,
    });
    return &host.sample;
}

const struct sample *support_step_and_read(void)
{
    support_step();
    return support_read(SECOND);
}

uint64_t support_now_ns(void)
{
    return host.now_ns;
}

/* --- what a sample says --- */

size_t support_row(const struct rows *rows, enum field_id name_field, const char *name)
{
    for (size_t row = 0; rows != NULL && row < rows->count; row++) {
        const char *text = rows_cell(rows, row, name_field)->text;
        if (text != NULL && strcmp(text, name) == 0)
            return row;
    }
    return ROW_NONE;
}

const union cell *support_cell(const struct sample *sample, const char *name, enum field_id field)
{
    const struct rows *rows = sample->rows[fields[field].list];
    size_t row = support_row(rows, devices[fields[field].list].first, name);

    if (row == ROW_NONE)
        fail_msg("no %s named %s", devices[fields[field].list].key, name);
    return rows_cell(rows, row, field);
}

void support_assert_number(double actual, double wanted, const char *file, int line)
{
    bool equal = isnan(wanted) ? isnan(actual)
                               : fabs(actual - wanted) <= 1e-12 * fmax(fabs(actual), fabs(wanted));

    if (!equal) {
        print_error("%.17g is not %.17g\n", actual, wanted);
        _fail(file, line);
    }
}

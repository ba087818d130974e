#include "discover/host_facts.h"

#include "base/file.h"
#include "discover/cpuinfo.h"
#include "discover/host_ip.h"
#include "discover/storage.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* An x86 CPU takes up to 2 KB of cpuinfo; the kernel's limit of 8,192 of them fits. */
#define CPUINFO_INITIAL (64 * 1024)
#define CPUINFO_MAX (16 * 1024 * 1024)
/* The CPUs come first in stat; the rest of it may be cut. */
#define STAT_INITIAL (16 * 1024)
#define STAT_MAX (2 * 1024 * 1024)
#define MEMINFO_INITIAL (4 * 1024)
#define MEMINFO_MAX (64 * 1024)
#define KIB_PER_MIB 1024

#define EC2_DIGITS_MIN 8
#define EC2_DIGITS_MAX 17
#define MACHINE_ID_DIGITS 32

/* --- id --- */

static size_t hex_digits(const char *text)
{
    return strspn(text, "0123456789abcdefABCDEF");
}

/* EC2 (all but its oldest machines) has the instance's id where others have an inventory number. */
static bool read_ec2_id(int sys_fd, char *out)
{
    char text[HOST_TEXT_MAX];

    if (file_read_text(sys_fd, "class/dmi/id/board_asset_tag", text, sizeof text) < 0 ||
        strncmp(text, "i-", 2) != 0)
        return false;
    size_t digits = hex_digits(text + 2);
    if (digits < EC2_DIGITS_MIN || digits > EC2_DIGITS_MAX || text[2 + digits] != '\0')
        return false;
    snprintf(out, HOST_TEXT_MAX, "%s", text);
    return true;
}

/* 32 digits that are not all 0. An image that was never started has "uninitialized", or nothing. */
static bool read_machine_id(int dir_fd, const char *path, char *out)
{
    char text[HOST_TEXT_MAX];

    if (file_read_text(dir_fd, path, text, sizeof text) != MACHINE_ID_DIGITS ||
        hex_digits(text) != MACHINE_ID_DIGITS || strspn(text, "0") == MACHINE_ID_DIGITS)
        return false;
    snprintf(out, HOST_TEXT_MAX, "%s", text);
    return true;
}

/*
 * With --procfs the host is another than ours, and /etc another's: process 1 there has the right
 * one, if we may look into its root. Ours would be wrong, so without it the id stays unknown.
 */
static void find_id(const struct sysroot *root, struct host *host)
{
    if (read_ec2_id(root->sys_fd, host->id))
        return;
    if (root->proc_is_foreign)
        (void)read_machine_id(root->proc_fd, "1/root/etc/machine-id", host->id);
    else
        (void)read_machine_id(AT_FDCWD, "/etc/machine-id", host->id);
}

/* --- name --- */

/* "(none)" is what the kernel starts with. */
static bool use_name(struct scan word, char *out)
{
    if (scan_left(&word) >= HOST_TEXT_MAX || scan_equals(&word, "(none)"))
        return false;
    return scan_copy(&word, out, HOST_TEXT_MAX);
}

/* The first line that is not a comment: hostname(5). */
static bool read_name(int dir_fd, const char *path, char *out)
{
    char text[1024];
    struct scan line;
    struct scan word;

    ssize_t length = file_read_text(dir_fd, path, text, sizeof text);
    if (length < 0)
        return false;
    for (struct scan scan = scan_over(text, (size_t)length); scan_line(&scan, &line);)
        if (scan_word(&line, &word) && *word.at != '#')
            return use_name(word, out);
    return false;
}

/*
 * sys/kernel/hostname is that of the reader's own UTS namespace, whichever proc it is read from. So
 * with --procfs the file of the host goes first; a container that shares the host's network has the
 * host's name as well.
 */
static void find_name(const struct sysroot *root, struct host *host)
{
    char name[HOST_TEXT_MAX] = "";

    if (root->proc_is_foreign) {
        if (!read_name(root->proc_fd, "1/root/etc/hostname", host->name))
            (void)read_name(root->proc_fd, "sys/kernel/hostname", host->name);
    } else if (gethostname(name, sizeof name - 1) == 0 && name[0] != '\0') {
        (void)use_name(scan_over(name, strlen(name)), host->name);
    }
}

/* --- processors and memory --- */

/* Opens and reads a file below proc; the caller closes it in any case. */
static bool read_proc(const struct sysroot *root, const char *name, size_t initial, size_t max,
                      struct file *file)
{
    *file = (struct file){.fd = -1};
    return file_open(file, root->proc_fd, name, initial, max) == 0 && file_read(file) == 0;
}

/* Lines "cpu0 …" of stat; the one without a number is the sum. */
static uint64_t count_in_stat(const struct sysroot *root)
{
    struct file file;
    struct scan line;
    uint64_t count = 0;

    if (read_proc(root, "stat", STAT_INITIAL, STAT_MAX, &file))
        for (struct scan text = file_scan(&file); scan_line(&text, &line);)
            count += scan_starts_with(&line, "cpu") && scan_left(&line) > strlen("cpu") &&
                     is_digit(line.at[strlen("cpu")]);
    file_close(&file);
    return count;
}

/* Some architectures do not list their CPUs in cpuinfo, and some sandboxes have no proc at all. */
static double count_otherwise(const struct sysroot *root, double unknown)
{
    uint64_t count = count_in_stat(root);

    if (count > 0)
        return (double)count;
    long online = root->proc_is_foreign ? -1 : sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (double)online : unknown;
}

static void find_processors(const struct sysroot *root, struct host *host)
{
    struct file file;
    struct cpuinfo info = {0};

    if (read_proc(root, "cpuinfo", CPUINFO_INITIAL, CPUINFO_MAX, &file))
        cpuinfo_parse(file_scan(&file), &info);
    file_close(&file);
    if (info.model[0] != '\0')
        snprintf(host->cpu_model, sizeof host->cpu_model, "%s", info.model);
    host->vcpus = info.count > 0 ? (double)info.count : count_otherwise(root, host->vcpus);
}

static void find_memory(const struct sysroot *root, struct host *host)
{
    struct file file;
    struct scan line;
    uint64_t kib;

    if (read_proc(root, "meminfo", MEMINFO_INITIAL, MEMINFO_MAX, &file))
        for (struct scan text = file_scan(&file); scan_line(&text, &line);) {
            if (!scan_starts_with(&line, "MemTotal:"))
                continue;
            line.at += strlen("MemTotal:");
            if (scan_u64(&line, &kib) && kib > 0) {
                uint64_t whole_mib = kib / KIB_PER_MIB;
                host->memory_mib = (double)whole_mib;
            }
            break;
        }
    file_close(&file);
}

/* --- all --- */

static void find_storage(const struct sysroot *root, struct host *host)
{
    double total_gb = storage_total_gb(root->sys_fd);

    if (!isnan(total_gb))
        host->storage_gb = total_gb;
}

void host_discover_address(struct host *host)
{
    char ip[INET_ADDRSTRLEN];

    if (host_ip_find(ip))
        snprintf(host->ip, sizeof host->ip, "%s", ip);
}

void host_discover(const struct sysroot *root, struct host *host)
{
    find_id(root, host);
    find_name(root, host);
    find_processors(root, host);
    find_memory(root, host);
    find_storage(root, host);
}

#include "collect/drm_clients.h"

#include "support.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAVI "0000:03:00.0"
#define VEGA "0000:09:00.0"
#define GRAPHICS "/dev/dri/renderD128"
#define MIB (UINT64_C(1) << 20)
#define NOBODY 65534

static struct drm_clients clients;
static uint64_t now_ns;

static const struct drm_card navi = {.id = {.node = "card0", .pci_address = NAVI},
                                     .render_node = "renderD128"};
static const struct drm_card vega = {.id = {.node = "card1", .pci_address = VEGA},
                                     .render_node = "renderD129"};

static int open_host(void **state)
{
    (void)state;
    support_open_empty();
    drm_clients_init(&clients, support_root()->proc_fd);
    now_ns = 1000 * SECOND;
    return 0;
}

/* What a test has forbidden would keep the host from being removed. */
static int allow_all(void)
{
    static const char *const folders[] = {"1/fd", "2/fd"};
    int proc_fd = support_root()->proc_fd;
    int result = 0;

    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        if (faccessat(proc_fd, folders[i], F_OK, 0) == 0)
            result |= fchmodat(proc_fd, folders[i], 0755, 0);
    return result;
}

static int close_host(void **state)
{
    int result = allow_all();

    drm_clients_close(&clients);
    return result | support_teardown(state);
}

static void write_info(unsigned pid, unsigned fd, const char *text)
{
    char path[64];

    snprintf(path, sizeof path, "proc/%u/fdinfo/%u", pid, fd);
    support_write(path, text);
}

static void open_fd(unsigned pid, unsigned fd, const char *target, const char *text)
{
    char path[64];

    snprintf(path, sizeof path, "proc/%u/fd/%u", pid, fd);
    support_link(path, target);
    write_info(pid, fd, text);
}

static void close_fd_of(unsigned pid, unsigned fd)
{
    char path[64];

    snprintf(path, sizeof path, "proc/%u/fd/%u", pid, fd);
    support_remove(path);
    snprintf(path, sizeof path, "proc/%u/fdinfo/%u", pid, fd);
    support_remove(path);
}

/* The text of a client with one busy engine and some memory. Valid until the next one. */
static const char *client(const char *card, unsigned id, uint64_t busy_ms, unsigned mib)
{
    static char text[512];

    snprintf(text, sizeof text,
             "drm-driver:\tamdgpu\ndrm-client-id:\t%u\ndrm-pdev:\t%s\n"
             "drm-resident-vram:\t%u MiB\ndrm-engine-gfx:\t%llu ns\n",
             id, card, mib, (unsigned long long)(busy_ms * NS_PER_MS));
    return text;
}

static const char *cycles(unsigned id, uint64_t busy, uint64_t total)
{
    static char text[512];

    snprintf(text, sizeof text,
             "drm-driver:\txe\ndrm-client-id:\t%u\ndrm-pdev:\t" NAVI "\ndrm-resident-vram0:\t0\n"
             "drm-cycles-rcs:\t%llu\ndrm-total-cycles-rcs:\t%llu\n",
             id, (unsigned long long)busy, (unsigned long long)total);
    return text;
}

/* A reading of processes 1 to `count` a second after the last. */
static void read_tree(size_t count)
{
    pid_t pids[64];

    for (size_t i = 0; i < count; i++)
        pids[i] = (pid_t)(i + 1);
    now_ns += SECOND;
    drm_clients_read(&clients,
                     &(struct gpu_request){.now_ns = now_ns, .pids = pids, .pid_count = count});
}

static void assert_use(const struct drm_card *card, double utilization_pct, uint64_t vram_bytes)
{
    struct drm_use use = drm_clients_use(&clients, card);

    assert_number(use.utilization_pct, utilization_pct);
    assert_int_equal(use.vram_bytes, vram_bytes);
}

/* --- what is counted --- */

static void test_use_is_growth_over_the_elapsed_time(void **state)
{
    (void)state;
    open_fd(1, 5, GRAPHICS, client(NAVI, 7, 90000, 10));
    read_tree(1);
    assert_use(&navi, NAN, 10 * MIB);
    write_info(1, 5, client(NAVI, 7, 90250, 20));
    read_tree(1);
    assert_use(&navi, 25, 20 * MIB);
    assert_use(&vega, 0, 0);
    now_ns += SECOND;
    write_info(1, 5, client(NAVI, 7, 90750, 20));
    read_tree(1);
    assert_use(&navi, 25, 20 * MIB);
}

static void test_a_client_counts_once(void **state)
{
    (void)state;
    read_tree(2);
    for (unsigned fd = 3; fd < 6; fd++)
        open_fd(1, fd, GRAPHICS, client(NAVI, 7, 300, 10));
    open_fd(2, 3, "/dev/dri/card0", client(NAVI, 7, 300, 10));
    read_tree(2);
    assert_use(&navi, 30, 10 * MIB);
    assert_int_equal(drm_clients_vram_of(&clients, &navi, 1), 10 * MIB);
    assert_int_equal(drm_clients_vram_of(&clients, &navi, 2), 0);
}

/* The first holder leaves; the client goes on with the other one. */
static void test_a_shared_client_outlives_its_first_holder(void **state)
{
    (void)state;
    open_fd(1, 3, GRAPHICS, client(NAVI, 7, 300, 10));
    open_fd(2, 3, GRAPHICS, client(NAVI, 7, 300, 10));
    read_tree(2);
    support_remove("proc/1");
    write_info(2, 3, client(NAVI, 7, 700, 10));
    read_tree(2);
    assert_use(&navi, 40, 10 * MIB);
    assert_int_equal(drm_clients_vram_of(&clients, &navi, 2), 10 * MIB);
}

static void test_the_same_number_on_another_card_is_another_client(void **state)
{
    (void)state;
    read_tree(1);
    open_fd(1, 3, GRAPHICS, client(NAVI, 7, 100, 10));
    open_fd(1, 4, "/dev/dri/renderD129", client(VEGA, 7, 200, 30));
    read_tree(1);
    assert_use(&navi, 10, 10 * MIB);
    assert_use(&vega, 20, 30 * MIB);
}

static void test_clients_add_up_but_not_beyond_all(void **state)
{
    (void)state;
    read_tree(1);
    open_fd(1, 3, GRAPHICS, client(NAVI, 7, 600, 10));
    open_fd(1, 4, GRAPHICS, client(NAVI, 8, 300, 10));
    read_tree(1);
    assert_use(&navi, 90, 20 * MIB);
    write_info(1, 3, client(NAVI, 7, 1300, 10));
    write_info(1, 4, client(NAVI, 8, 900, 10));
    read_tree(1);
    assert_use(&navi, 100, 20 * MIB);
}

/* Each engine on its own may be busy all the time. */
static void test_the_busiest_class_of_engines_counts(void **state)
{
    (void)state;
    open_fd(1, 3, GRAPHICS, client(NAVI, 7, 0, 1));
    read_tree(1);
    write_info(1, 3,
               "drm-driver: i915\ndrm-client-id: 7\ndrm-pdev: " NAVI "\n"
               "drm-resident-local0: 1 MiB\ndrm-engine-gfx: 300000000 ns\n"
               "drm-engine-video: 800000000 ns\ndrm-engine-capacity-video: 2\n");
    read_tree(1);
    assert_use(&navi, 40, MIB);
}

/* --- coming and going --- */

static void test_all_of_a_new_client_is_new(void **state)
{
    (void)state;
    read_tree(1);
    assert_use(&navi, NAN, 0);
    open_fd(1, 3, GRAPHICS, client(NAVI, 7, 450, 10));
    read_tree(1);
    assert_use(&navi, 45, 10 * MIB);
    close_fd_of(1, 3);
    read_tree(1);
    assert_use(&navi, 0, 0);
    assert_int_equal(clients.count, 0);
}

static void test_a_descriptor_that_becomes_another_client(void **state)
{
    (void)state;
    open_fd(1, 3, GRAPHICS, client(NAVI, 7, 99000, 10));
    read_tree(1);
    write_info(1, 3, client(NAVI, 8, 100, 20));
    read_tree(1);
    assert_use(&navi, 10, 20 * MIB);
}

static void test_time_that_goes_backwards_counts_nothing(void **state)
{
    (void)state;
    open_fd(1, 3, GRAPHICS, client(NAVI, 7, 500, 10));
    read_tree(1);
    write_info(1, 3, client(NAVI, 7, 100, 10));
    read_tree(1);
    assert_use(&navi, 0, 10 * MIB);
    write_info(1, 3, client(NAVI, 7, 300, 10));
    read_tree(1);
    assert_use(&navi, 20, 10 * MIB);
    now_ns -= 2 * SECOND;
    read_tree(1);
    assert_use(&navi, NAN, 10 * MIB);
}

/* amdgpu leaves out engines that were not used; xe all while the device sleeps. */
static void test_engines_that_come_and_go(void **state)
{
    static const char bare[] =
        "drm-driver: x\ndrm-client-id: 7\ndrm-pdev: " NAVI "\ndrm-memory-vram: 0 KiB\n";

    (void)state;
    open_fd(1, 3, GRAPHICS, bare);
    read_tree(1);
    write_info(1, 3, client(NAVI, 7, 200, 0));
    read_tree(1);
    assert_use(&navi, 20, 0);
    write_info(1, 3, bare);
    read_tree(1);
    assert_use(&navi, 0, 0);
    write_info(1, 3, client(NAVI, 7, 230, 0));
    read_tree(1);
    assert_use(&navi, 3, 0);
}

/* --- cycles --- */

static void test_cycles_are_a_share_of_all_cycles(void **state)
{
    (void)state;
    open_fd(1, 3, GRAPHICS, cycles(7, 1000, 100000));
    read_tree(1);
    write_info(1, 3, cycles(7, 4000, 110000));
    read_tree(1);
    assert_use(&navi, 30, 0);
    write_info(1, 3, cycles(7, 4000, 110000));
    read_tree(1);
    assert_use(&navi, 0, 0);
    write_info(1, 3, cycles(7, 5000, 110000));
    read_tree(1);
    assert_use(&navi, NAN, 0);
    write_info(1, 3, cycles(7, 99000, 110001));
    read_tree(1);
    assert_use(&navi, 100, 0);
}

/* How many cycles there were in its time is not known. */
static void test_cycles_of_a_new_client_need_a_second_look(void **state)
{
    (void)state;
    read_tree(1);
    open_fd(1, 3, GRAPHICS, cycles(7, 500, 100000));
    open_fd(1, 4, GRAPHICS, cycles(8, 0, 100000));
    read_tree(1);
    assert_use(&navi, NAN, 0);
    write_info(1, 3, cycles(7, 1500, 110000));
    read_tree(1);
    assert_use(&navi, 10, 0);
}

/* --- what cannot be seen --- */

static void test_processes_that_are_gone_are_skipped(void **state)
{
    (void)state;
    open_fd(2, 3, GRAPHICS, client(NAVI, 7, 500, 10));
    read_tree(5);
    read_tree(5);
    assert_use(&navi, 0, 10 * MIB);
}

static void set_mode(const char *path, mode_t mode)
{
    assert_int_equal(fchmodat(support_root()->proc_fd, path, mode, 0), 0);
}

/* Root may read everything: a reading as somebody else. */
static void read_tree_as_nobody(size_t count)
{
    bool is_root = geteuid() == 0;

    if (is_root)
        assert_int_equal(seteuid(NOBODY), 0);
    read_tree(count);
    if (is_root)
        assert_int_equal(seteuid(0), 0);
}

/* What its stat file says: who has none has left. */
static void set_state(unsigned pid, char letter)
{
    char path[64];
    char text[128];

    snprintf(path, sizeof path, "proc/%u/stat", pid);
    snprintf(text, sizeof text, "%u (job) %c 1 2 2 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0 1\n", pid,
             letter);
    support_write(path, text);
}

static void forbid(const char *path)
{
    /* The host's own folder is only its owner's. */
    set_mode("..", 0755);
    set_mode(path, 0);
}

static void test_a_process_of_somebody_else_makes_all_unknown(void **state)
{
    (void)state;
    open_fd(1, 3, GRAPHICS, client(NAVI, 7, 500, 10));
    open_fd(2, 3, "/dev/null", "pos:\t0\n");
    set_state(2, 'S');
    read_tree(2);
    forbid("2/fd");
    write_info(1, 3, client(NAVI, 7, 700, 10));
    read_tree_as_nobody(2);
    assert_use(&navi, NAN, COUNTER_UNKNOWN);
    assert_use(&vega, NAN, COUNTER_UNKNOWN);
    set_mode("2/fd", 0755);
    write_info(1, 3, client(NAVI, 7, 900, 10));
    read_tree(2);
    assert_use(&navi, 20, 10 * MIB);
}

/* Its files are root's until it was waited for, but there is nothing in them any more. */
static void test_a_zombie_has_nothing(void **state)
{
    (void)state;
    open_fd(1, 3, "/dev/null", "pos:\t0\n");
    set_state(1, 'Z');
    forbid("1/fd");
    read_tree_as_nobody(1);
    read_tree_as_nobody(1);
    assert_use(&navi, 0, 0);
}

/*
 * A client out of sight for a while is still the same one afterwards; one that comes into sight
 * then may have been there for long.
 */
static void test_gaps_do_not_make_clients_new(void **state)
{
    (void)state;
    open_fd(1, 3, GRAPHICS, client(NAVI, 7, 90000, 10));
    open_fd(2, 3, GRAPHICS, client(VEGA, 8, 90000, 10));
    set_state(1, 'S');
    set_state(2, 'S');
    forbid("2/fd");
    read_tree_as_nobody(2);
    set_mode("1/fd", 0);
    read_tree_as_nobody(2);
    assert_int_equal(clients.count, 1);
    assert_use(&navi, NAN, COUNTER_UNKNOWN);
    set_mode("1/fd", 0755);
    set_mode("2/fd", 0755);
    write_info(1, 3, client(NAVI, 7, 90400, 10));
    read_tree_as_nobody(2);
    assert_use(&navi, 20, 10 * MIB);
    assert_use(&vega, NAN, 10 * MIB);
    write_info(2, 3, client(VEGA, 8, 90100, 10));
    read_tree_as_nobody(2);
    assert_use(&vega, 10, 10 * MIB);
}

static void test_clients_out_of_sight_are_forgotten_in_the_end(void **state)
{
    (void)state;
    open_fd(1, 3, GRAPHICS, client(NAVI, 7, 90000, 10));
    set_state(1, 'S');
    read_tree(1);
    forbid("1/fd");
    now_ns += 30 * SECOND;
    read_tree_as_nobody(1);
    assert_int_equal(clients.count, 1);
    now_ns += 30 * SECOND;
    read_tree_as_nobody(1);
    assert_int_equal(clients.count, 0);
}

static void test_text_of_a_descriptor_that_may_not_be_read(void **state)
{
    (void)state;
    open_fd(1, 3, GRAPHICS, client(NAVI, 7, 100, 10));
    set_state(1, 'S');
    read_tree(1);
    forbid("1/fdinfo/3");
    read_tree_as_nobody(1);
    assert_use(&navi, NAN, COUNTER_UNKNOWN);
}

/* A kernel whose driver does not tell: only that card is unknown. */
static void test_a_driver_that_tells_nothing(void **state)
{
    (void)state;
    open_fd(1, 3, GRAPHICS, "pos:\t0\n");
    read_tree(1);
    read_tree(1);
    assert_use(&navi, NAN, COUNTER_UNKNOWN);
    assert_use(&vega, 0, 0);
    write_info(1, 3, "pos:\t0\ndrm-driver:\tamdgpu\ndrm-pdev:\t" NAVI "\n");
    read_tree(1);
    assert_use(&navi, NAN, COUNTER_UNKNOWN);
}

static void test_memory_that_nothing_is_said_about(void **state)
{
    (void)state;
    open_fd(1, 3, GRAPHICS,
            "drm-driver: i915\ndrm-client-id: 1\ndrm-pdev: " NAVI "\ndrm-engine-gfx: 5 ns\n");
    open_fd(1, 4, GRAPHICS, client(NAVI, 2, 0, 10));
    read_tree(1);
    read_tree(1);
    assert_use(&navi, 0, COUNTER_UNKNOWN);
}

/* --- which descriptors are looked at --- */

static void test_links_that_are_no_drm_files(void **state)
{
    static const char *const targets[] = {
        "/dev/null",
        "socket:[1]",
        "anon_inode:[eventfd]",
        "/dev/dri/renderD",
        "/dev/dri/card0-DP-1",
        "/dev/dri/by-path",
        "/srv/me/card0",
        "/dri",
        "/",
        "/dri/renderD12345678901234567890",
        "pipe:[/dri/renderD128",
    };
    char path[512];

    (void)state;
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++)
        open_fd(1, (unsigned)i, targets[i], client(NAVI, (unsigned)i, 0, 1));
    snprintf(path, sizeof path, "/%0300d/dri/renderD128", 0);
    open_fd(1, 90, path, client(NAVI, 90, 0, 1));
    support_link("proc/1/fd/x", GRAPHICS);
    support_link("proc/1/fd/99999999999", GRAPHICS);
    support_write("proc/1/fd/91", "not a link");
    read_tree(1);
    assert_int_equal(clients.fd_count, 0);
    assert_false(clients.has_kfd);
}

static void test_links_that_are_drm_files(void **state)
{
    (void)state;
    open_fd(1, 1, "/dev/dri/card17", client(NAVI, 1, 0, 1));
    open_fd(1, 2, "/host/dev/dri/renderD128", client(NAVI, 2, 0, 2));
    open_fd(1, 3, "/dev/dri/renderD128 (deleted)", client(NAVI, 3, 0, 4));
    open_fd(1, 4, "/dev/kfd", "pos:\t0\n");
    read_tree(1);
    assert_int_equal(clients.fd_count, 3);
    assert_use(&navi, NAN, 7 * MIB);
    assert_true(clients.has_kfd);
}

/* --- the budget of the search --- */

static void test_between_searches_only_known_descriptors_are_read(void **state)
{
    (void)state;
    open_fd(1, 3, GRAPHICS, client(NAVI, 7, 1000, 10));
    read_tree(1);
    assert_true(clients.next_search_ns >= now_ns);
    clients.next_search_ns = now_ns + 3 * SECOND;
    open_fd(1, 4, GRAPHICS, client(NAVI, 8, 900, 20));
    write_info(1, 3, client(NAVI, 7, 1100, 10));
    read_tree(1);
    assert_use(&navi, 10, 10 * MIB);
    read_tree(1);
    assert_use(&navi, 0, 10 * MIB);
    /* Found three seconds after the last search: 900 ms in that time, not in the last second. */
    read_tree(1);
    assert_use(&navi, 30, 30 * MIB);
}

static void test_between_searches_who_left_is_left_out(void **state)
{
    (void)state;
    open_fd(1, 3, GRAPHICS, client(NAVI, 7, 0, 10));
    open_fd(2, 3, GRAPHICS, client(NAVI, 8, 0, 20));
    read_tree(2);
    clients.next_search_ns = now_ns + 10 * SECOND;
    read_tree(1);
    assert_use(&navi, 0, 10 * MIB);
    close_fd_of(1, 3);
    read_tree(1);
    assert_use(&navi, 0, 0);
}

static void test_what_is_there_is_not_allocated_again(void **state)
{
    (void)state;
    for (unsigned fd = 0; fd < 40; fd++)
        open_fd(1 + fd % 3, fd, GRAPHICS, client(NAVI, fd, 0, 1));
    read_tree(3);
    const void *fds = clients.fds;
    const void *list = clients.list;
    size_t capacity = clients.capacity;
    for (int i = 0; i < 5; i++)
        read_tree(3);
    assert_use(&navi, 0, 40 * MIB);
    assert_ptr_equal(clients.fds, fds);
    assert_ptr_equal(clients.list, list);
    assert_int_equal(clients.capacity, capacity);
}

static int count_open_fds(void)
{
    int count = 0;

    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static void test_no_descriptor_stays_open(void **state)
{
    (void)state;
    int before = count_open_fds();
    for (unsigned fd = 0; fd < 10; fd++)
        open_fd(1, fd, GRAPHICS, client(NAVI, fd, 0, 1));
    read_tree(1);
    read_tree(1);
    assert_int_equal(count_open_fds(), before);
}

/* The kernel's own /proc, with ourselves as the tree: nothing here has a DRM file. */
static void test_the_real_proc(void **state)
{
    (void)state;
    struct sysroot root;
    const char *culprit;
    pid_t self = getpid();

    assert_int_equal(sysroot_open(&root, NULL, NULL, &culprit), 0);
    drm_clients_init(&clients, root.proc_fd);
    for (int i = 0; i < 2; i++) {
        now_ns += SECOND;
        drm_clients_read(&clients,
                         &(struct gpu_request){.now_ns = now_ns, .pids = &self, .pid_count = 1});
    }
    sysroot_close(&root);
    assert_use(&navi, 0, 0);
}

/* A child that has ended and was not waited for, seen by an ordinary user. */
static void test_a_real_zombie(void **state)
{
    (void)state;
    struct sysroot root;
    const char *culprit;
    siginfo_t ended;
    bool is_root = geteuid() == 0;

    pid_t child = fork();
    if (child == 0)
        _exit(0);
    assert_true(child > 0);
    assert_int_equal(waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT), 0);
    assert_int_equal(sysroot_open(&root, NULL, NULL, &culprit), 0);
    drm_clients_init(&clients, root.proc_fd);
    if (is_root)
        assert_int_equal(seteuid(NOBODY), 0);
    for (int i = 0; i < 2; i++) {
        now_ns += SECOND;
        drm_clients_read(&clients,
                         &(struct gpu_request){.now_ns = now_ns, .pids = &child, .pid_count = 1});
    }
    if (is_root)
        assert_int_equal(seteuid(0), 0);
    sysroot_close(&root);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_use(&navi, 0, 0);
}

#define CLIENT_TEST(function) cmocka_unit_test_setup_teardown(function, open_host, close_host)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLIENT_TEST(test_use_is_growth_over_the_elapsed_time),
        CLIENT_TEST(test_a_client_counts_once),
        CLIENT_TEST(test_a_shared_client_outlives_its_first_holder),
        CLIENT_TEST(test_the_same_number_on_another_card_is_another_client),
        CLIENT_TEST(test_clients_add_up_but_not_beyond_all),
        CLIENT_TEST(test_the_busiest_class_of_engines_counts),
        CLIENT_TEST(test_all_of_a_new_client_is_new),
        CLIENT_TEST(test_a_descriptor_that_becomes_another_client),
        CLIENT_TEST(test_time_that_goes_backwards_counts_nothing),
        CLIENT_TEST(test_engines_that_come_and_go),
        CLIENT_TEST(test_cycles_are_a_share_of_all_cycles),
        CLIENT_TEST(test_cycles_of_a_new_client_need_a_second_look),
        CLIENT_TEST(test_processes_that_are_gone_are_skipped),
        CLIENT_TEST(test_a_process_of_somebody_else_makes_all_unknown),
        CLIENT_TEST(test_a_zombie_has_nothing),
        CLIENT_TEST(test_gaps_do_not_make_clients_new),
        CLIENT_TEST(test_clients_out_of_sight_are_forgotten_in_the_end),
        CLIENT_TEST(test_text_of_a_descriptor_that_may_not_be_read),
        CLIENT_TEST(test_a_driver_that_tells_nothing),
        CLIENT_TEST(test_memory_that_nothing_is_said_about),
        CLIENT_TEST(test_links_that_are_no_drm_files),
        CLIENT_TEST(test_links_that_are_drm_files),
        CLIENT_TEST(test_between_searches_only_known_descriptors_are_read),
        CLIENT_TEST(test_between_searches_who_left_is_left_out),
        CLIENT_TEST(test_what_is_there_is_not_allocated_again),
        CLIENT_TEST(test_no_descriptor_stays_open),
        CLIENT_TEST(test_the_real_proc),
        CLIENT_TEST(test_a_real_zombie),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

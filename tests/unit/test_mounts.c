#include "collect/mounts.h"

#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct mounts table;

static int close_table(void **state)
{
    mounts_close(&table);
    return support_teardown(state);
}

#define MOUNTS_TEST(function) cmocka_unit_test_teardown(function, close_table)

static void open_host(const char *host)
{
    support_open(host);
    assert_int_equal(mounts_open(&table, support_root()), 0);
    assert_true(mounts_read(&table));
}

/* An empty host whose mount table is `text`. */
static void open_text(const char *text)
{
    support_open_empty();
    support_write("proc/self/mountinfo", text);
    assert_int_equal(mounts_open(&table, support_root()), 0);
    assert_true(mounts_read(&table));
}

static const struct mount *find(const char *mount_point)
{
    for (size_t i = 0; i < table.count; i++)
        if (strcmp(mounts_text(&table, table.list[i].mount_point), mount_point) == 0)
            return &table.list[i];
    return NULL;
}

static void assert_points(const char *const *points)
{
    size_t count = 0;

    for (; points[count] != NULL; count++)
        if (find(points[count]) == NULL)
            fail_msg("%s is missing", points[count]);
    assert_int_equal(table.count, count);
}

/* Bind mounts and subvolumes once, nothing that is not local. */
static void test_one_entry_per_local_file_system(void **state)
{
    static const char *const points[] = {
        "/",        "/boot",        "/boot/efi",    "/data", "/srv/my files",
        "/scratch", "/snap/core/1", "/snap/tool/2", "/tank", "/tank/home",
        "/tank/vm", NULL,
    };

    (void)state;
    open_host("storage");
    assert_points(points);
}

static void test_parts_of_an_entry(void **state)
{
    (void)state;
    open_host("storage");
    const struct mount *root = find("/");
    assert_int_equal(root->major, 253);
    assert_int_equal(root->minor, 1);
    assert_string_equal(mounts_text(&table, root->root), "/");
    assert_string_equal(mounts_text(&table, root->filesystem), "ext4");
    assert_string_equal(mounts_text(&table, root->source), "/dev/mapper/vg0-root");

    const struct mount *data = find("/data");
    assert_int_equal(data->major, 0);
    assert_int_equal(data->minor, 45);
    assert_string_equal(mounts_text(&table, data->root), "/@data");
    assert_string_equal(mounts_text(&table, data->source), "/dev/mapper/vg0-pool");
}

static void test_a_container_sees_its_file_system_through_a_bind_mount(void **state)
{
    static const char *const points[] = {"/etc/hosts", NULL};

    (void)state;
    open_host("container");
    assert_points(points);
    assert_int_equal(find("/etc/hosts")->major, 8);
    assert_int_equal(find("/etc/hosts")->minor, 1);
}

static void test_the_whole_file_system_is_preferred_to_a_part(void **state)
{
    static const char *const points[] = {"/a/long/path/to/all/of/it", NULL};

    (void)state;
    open_text("1 0 8:1 /part /p rw - ext4 /dev/sda1 rw\n"
              "2 0 8:1 / /a/long/path/to/all/of/it rw - ext4 /dev/sda1 rw\n"
              "3 0 8:1 /other /o rw - ext4 /dev/sda1 rw\n");
    assert_points(points);
}

static void test_the_shorter_path_is_preferred(void **state)
{
    static const char *const points[] = {"/mnt", NULL};

    (void)state;
    open_text("1 0 8:1 / /mnt/again rw - ext4 /dev/sda1 rw\n"
              "2 0 8:1 / /mnt rw - ext4 /dev/sda1 rw\n"
              "3 0 8:1 / /mnt/more rw - ext4 /dev/sda1 rw\n");
    assert_points(points);
}

static void test_of_equal_mounts_the_first_stays(void **state)
{
    static const char *const points[] = {"/b", NULL};

    (void)state;
    open_text("1 0 8:1 / /b rw - ext4 /dev/sda1 rw\n2 0 8:1 / /a rw - ext4 /dev/sda1 rw\n"
              "3 0 8:1 / /c rw - ext4 /dev/sda1 rw\n");
    assert_points(points);
}

static void test_what_is_mounted_over_a_mount_hides_it(void **state)
{
    static const char *const points[] = {"/mnt", NULL};

    (void)state;
    open_text("1 0 8:1 / /mnt rw - ext4 /dev/sda1 rw\n2 1 8:2 / /mnt rw - xfs /dev/sda2 rw\n"
              "3 0 8:3 / /hidden rw - xfs /dev/sda3 rw\n4 3 0:9 / /hidden rw - tmpfs tmpfs rw\n");
    assert_points(points);
    assert_int_equal(find("/mnt")->minor, 2);
}

/* The mount that hides another may itself be elsewhere too. */
static void test_a_hidden_mount_is_found_in_its_other_place(void **state)
{
    static const char *const points[] = {"/elsewhere/it/is", "/x", NULL};

    (void)state;
    open_text(
        "1 0 8:1 / /x rw - ext4 /dev/sda1 rw\n2 0 8:1 / /elsewhere/it/is rw - ext4 /dev/sda1 rw\n"
        "3 1 8:2 / /x rw - ext4 /dev/sda2 rw\n");
    assert_points(points);
}

static void test_escapes_are_decoded(void **state)
{
    static const char *const points[] = {
        "/a b",      "/tab\there", "/line\nend", "/back\\slash",
        "/\xc3\xa9", "/odd\\08",   "/end\\04",   NULL,
    };

    (void)state;
    open_text("1 0 8:1 / /a\\040b rw - ext4 /dev/sda1 rw\n"
              "2 0 8:2 / /tab\\011here rw - ext4 /dev/sda2 rw\n"
              "3 0 8:3 / /line\\012end rw - ext4 /dev/sda3 rw\n"
              "4 0 8:4 / /back\\134slash rw - ext4 /dev/sda4 rw\n"
              "5 0 8:5 / /\xc3\xa9 rw - ext4 /dev/sda5 rw\n"
              "6 0 8:6 / /odd\\08 rw - ext4 /dev/sda6 rw\n"
              "7 0 8:7 / /end\\04 rw - ext4 /dev/sda7 rw\n");
    assert_points(points);
}

static void test_optional_fields_are_passed_over(void **state)
{
    static const char *const points[] = {"/none", "/one", "/three", NULL};

    (void)state;
    open_text("1 0 8:1 / /none rw - ext4 /dev/sda1 rw\n"
              "2 0 8:2 / /one rw shared:1 - ext4 /dev/sda2 rw\n"
              "3 0 8:3 / /three rw shared:1 master:2 unbindable - ext4 /dev/sda3 rw\n");
    assert_points(points);
}

static void test_servers_memory_and_fuse_are_left_out(void **state)
{
    (void)state;
    open_text("1 0 0:40 / /nfs rw - nfs4 server:/dev/export rw\n"
              "2 0 0:41 / /cifs rw - cifs //server/dev rw\n"
              "3 0 0:42 / /tmp rw - tmpfs tmpfs rw\n"
              "4 0 0:6 / /dev rw - devtmpfs /dev/none rw\n"
              "5 0 8:1 / /ntfs rw - fuseblk /dev/sda1 rw\n"
              "6 0 0:43 / /ssh rw - fuse.sshfs /dev/null rw\n"
              "7 0 0:44 / /o rw - overlay overlay rw\n");
    assert_int_equal(table.count, 0);
}

/* --- changes --- */

static void test_an_unchanged_table_is_told(void **state)
{
    (void)state;
    open_host("storage");
    assert_false(mounts_read(&table));
    support_step();
    assert_false(mounts_read(&table)); /* t1 has the same mounts */
    support_step();
    assert_true(mounts_read(&table));
    assert_null(find("/scratch"));
    assert_null(find("/snap/tool/2"));
    assert_int_equal(find("/media/usb stick")->major, 8);
    assert_false(mounts_read(&table));
}

static void test_everything_may_be_unmounted(void **state)
{
    (void)state;
    open_text("1 0 8:1 / / rw - ext4 /dev/sda1 rw\n");
    assert_int_equal(table.count, 1);
    support_write("proc/self/mountinfo", "");
    assert_true(mounts_read(&table));
    assert_int_equal(table.count, 0);
    assert_false(mounts_read(&table));
}

/* On a real procfs poll() tells changes; nothing is mounted between two looks at it. */
static void test_the_real_table_is_read_once(void **state)
{
    struct sysroot root;
    const char *culprit;

    (void)state;
    assert_int_equal(sysroot_open(&root, NULL, NULL, &culprit), 0);
    assert_int_equal(mounts_open(&table, &root), 0);
    assert_true(root.proc_is_procfs);
    assert_true(mounts_read(&table));
    size_t count = table.count;
    assert_false(mounts_read(&table));
    assert_int_equal(table.count, count);
    sysroot_close(&root);
}

/* --- ugly files --- */

static void test_without_the_file_there_is_no_table(void **state)
{
    (void)state;
    support_open_empty();
    assert_true(mounts_open(&table, support_root()) < 0);
    assert_false(mounts_read(&table));
    assert_int_equal(table.count, 0);
}

static void test_an_empty_file_is_an_empty_table(void **state)
{
    (void)state;
    open_text("");
    assert_int_equal(table.count, 0);
}

static void test_broken_lines_are_passed_over(void **state)
{
    static const char *const points[] = {"/good", NULL};

    (void)state;
    open_text(
        "\n1\n1 2\n1 2 8\n1 2 8: / /x rw - ext4 /dev/sda1 rw\n1 2 8:1\n1 2 8:1 /\n1 2 8:1 / /x\n"
        "1 2 8:1 / /x rw\n1 2 8:1 / /x rw -\n1 2 8:1 / /x rw - ext4\n"
        "1 2 x:1 / /x rw - ext4 /dev/sda1 rw\n"
        "1 2 4294967296:1 / /x rw - ext4 /dev/sda1 rw\n"
        "1 2 8:99999999999999999999 / /x rw - ext4 /dev/sda1 rw\n"
        "\xff\xfe\n"
        "9 0 8:1 / /good rw - ext4 /dev/sda1 rw\n");
    assert_points(points);
}

static void test_a_file_cut_anywhere_is_read(void **state)
{
    static const char text[] = "1 0 8:1 / /a rw - ext4 /dev/sda1 rw\n"
                               "2 0 8:2 / /b\\040c rw shared:1 - ext4 /dev/sda2 rw\n";
    (void)state;
    open_text("");
    for (size_t size = 1; size < sizeof text; size++) {
        support_write_bytes("proc/self/mountinfo", text, size);
        assert_true(mounts_read(&table));
        assert_true(table.count <= 2);
    }
    assert_int_equal(table.count, 2);
}

static void test_bytes_that_are_no_text(void **state)
{
    static const char text[] = "1 0 8:1 / /a\0b rw - ext4 /dev/sda1 rw\n"
                               "2 0 8:2 / /nul\\000x rw - ext4 /dev/sda2 rw\n";
    (void)state;
    support_open_empty();
    support_write_bytes("proc/self/mountinfo", text, sizeof text - 1);
    assert_int_equal(mounts_open(&table, support_root()), 0);
    assert_true(mounts_read(&table));
    assert_int_equal(table.count, 2);
    assert_non_null(find("/a"));
    assert_non_null(find("/nul"));
}

static void test_a_huge_mount_point(void **state)
{
    enum { SIZE = 200000 };
    char *text = malloc(SIZE + 128);

    (void)state;
    assert_non_null(text);
    char *end = stpcpy(text, "1 0 8:1 / /");
    memset(end, 'x', SIZE);
    stpcpy(end + SIZE, " rw - ext4 /dev/sda1 rw\n2 0 8:2 / /b rw - ext4 /dev/sda2 rw\n");
    open_text(text);
    free(text);
    assert_int_equal(table.count, 2);
    assert_non_null(find("/b"));
    assert_int_equal(strlen(mounts_text(&table, table.list[0].mount_point)), SIZE + 1);
}

static void test_thousands_of_bind_mounts_are_one_file_system(void **state)
{
    enum { COUNT = 5000 };
    char *text = malloc(COUNT * 80);
    char *end = text;

    (void)state;
    assert_non_null(text);
    for (int i = 0; i < COUNT; i++)
        end += sprintf(end, "%d 1 8:1 /sub/%d /run/%d rw - ext4 /dev/sda1 rw\n", i + 10, i, i);
    open_text(text);
    free(text);
    assert_int_equal(table.count, 1);
    assert_non_null(find("/run/0"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MOUNTS_TEST(test_one_entry_per_local_file_system),
        MOUNTS_TEST(test_parts_of_an_entry),
        MOUNTS_TEST(test_a_container_sees_its_file_system_through_a_bind_mount),
        MOUNTS_TEST(test_the_whole_file_system_is_preferred_to_a_part),
        MOUNTS_TEST(test_the_shorter_path_is_preferred),
        MOUNTS_TEST(test_of_equal_mounts_the_first_stays),
        MOUNTS_TEST(test_what_is_mounted_over_a_mount_hides_it),
        MOUNTS_TEST(test_a_hidden_mount_is_found_in_its_other_place),
        MOUNTS_TEST(test_escapes_are_decoded),
        MOUNTS_TEST(test_optional_fields_are_passed_over),
        MOUNTS_TEST(test_servers_memory_and_fuse_are_left_out),
        MOUNTS_TEST(test_an_unchanged_table_is_told),
        MOUNTS_TEST(test_everything_may_be_unmounted),
        MOUNTS_TEST(test_the_real_table_is_read_once),
        MOUNTS_TEST(test_without_the_file_there_is_no_table),
        MOUNTS_TEST(test_an_empty_file_is_an_empty_table),
        MOUNTS_TEST(test_broken_lines_are_passed_over),
        MOUNTS_TEST(test_a_file_cut_anywhere_is_read),
        MOUNTS_TEST(test_bytes_that_are_no_text),
        MOUNTS_TEST(test_a_huge_mount_point),
        MOUNTS_TEST(test_thousands_of_bind_mounts_are_one_file_system),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

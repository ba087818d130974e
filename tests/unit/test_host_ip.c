#include "support.h"

#include "discover/host_ip.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <string.h>

#define ENTRIES_MAX 8
#define UP IFF_UP

static struct {
    struct ifaddrs entries[ENTRIES_MAX];
    struct sockaddr_in addresses[ENTRIES_MAX];
    size_t count;
} list;

static struct ifaddrs *add_entry(const char *name, unsigned flags)
{
    struct ifaddrs *entry = &list.entries[list.count];

    assert_true(list.count < ENTRIES_MAX);
    *entry = (struct ifaddrs){.ifa_name = (char *)(uintptr_t)name, .ifa_flags = flags};
    if (list.count > 0)
        list.entries[list.count - 1].ifa_next = entry;
    list.count++;
    return entry;
}

static void add(const char *name, unsigned flags, const char *ip)
{
    struct sockaddr_in *address = &list.addresses[list.count];

    *address = (struct sockaddr_in){.sin_family = AF_INET};
    assert_int_equal(inet_pton(AF_INET, ip, &address->sin_addr), 1);
    add_entry(name, flags)->ifa_addr = (struct sockaddr *)address;
}

/* And empties the list. */
static void assert_chosen(const char *wanted)
{
    char ip[INET_ADDRSTRLEN] = "before";
    bool found = host_ip_choose(list.count > 0 ? list.entries : NULL, ip);

    list.count = 0;
    assert_int_equal(found, wanted != NULL);
    assert_string_equal(ip, wanted != NULL ? wanted : "before");
}

static void test_the_first_ordinary_address(void **state)
{
    (void)state;
    add("lo", UP | IFF_LOOPBACK, "127.0.0.1");
    add("eth0", UP, "10.0.0.5");
    add("eth0", UP, "10.0.0.6");
    add("eth1", UP, "192.168.1.5");
    assert_chosen("10.0.0.5");
}

static void test_no_address(void **state)
{
    (void)state;
    assert_chosen(NULL);
    add("lo", UP | IFF_LOOPBACK, "127.0.0.1");
    assert_chosen(NULL);
    add("eth0", 0, "10.0.0.5");
    assert_chosen(NULL);
    add("eth0", UP, "0.0.0.0");
    assert_chosen(NULL);
}

static void test_loopback_by_any_name(void **state)
{
    (void)state;
    add("lo", UP | IFF_LOOPBACK, "10.255.255.1");
    add("odd", UP, "127.3.2.1");
    add("eth0", UP, "128.0.0.1");
    assert_chosen("128.0.0.1");
}

static void test_what_is_down_has_no_say(void **state)
{
    (void)state;
    add("eth0", 0, "10.0.0.5");
    add("docker0", UP, "172.17.0.1");
    assert_chosen("172.17.0.1");
}

static void test_other_kinds_of_address_are_passed_over(void **state)
{
    static struct sockaddr_in6 six = {.sin6_family = AF_INET6};
    static struct sockaddr packet = {.sa_family = AF_PACKET};

    (void)state;
    add_entry("eth0", UP)->ifa_addr = NULL;
    add_entry("eth0", UP)->ifa_addr = &packet;
    add_entry("eth0", UP)->ifa_addr = (struct sockaddr *)&six;
    assert_chosen(NULL);
    add_entry("eth0", UP)->ifa_addr = (struct sockaddr *)&six;
    add(NULL, UP, "10.0.0.4");
    add("eth0", UP, "10.0.0.5");
    assert_chosen("10.0.0.5");
}

static void test_bridges_of_containers_come_behind(void **state)
{
    static const char *const names[] = {
        "docker0",    "veth1a2b", "br-0f1e2d3c", "virbr0", "cni0", "flannel.1",
        "kube-ipvs0", "lxdbr0",   "podman0",     "vnet3",  "tap0", "cali12345",
    };

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        add(names[i], UP, "172.17.0.1");
        add("ens5", UP, "10.0.0.5");
        assert_chosen("10.0.0.5");
        add(names[i], UP, "172.17.0.1");
        assert_chosen("172.17.0.1");
    }
    /* Made by hand: it often has the host's own address. */
    add("br0", UP, "10.0.0.1");
    add("eth0", UP, "10.0.0.5");
    assert_chosen("10.0.0.1");
}

static void test_link_local_comes_last(void **state)
{
    (void)state;
    add("eth0", UP, "169.254.7.8");
    add("docker0", UP, "172.17.0.1");
    assert_chosen("172.17.0.1");
    add("docker0", UP, "169.254.1.1");
    add("eth0", UP, "169.254.7.8");
    add("eth1", UP, "169.254.7.9");
    assert_chosen("169.254.7.8");
    add("docker0", UP, "169.254.1.1");
    assert_chosen("169.254.1.1");
    add("eth0", UP, "169.254.255.255");
    add("eth1", UP, "169.255.0.1");
    assert_chosen("169.255.0.1");
}

static void test_here(void **state)
{
    char ip[INET_ADDRSTRLEN] = "before";
    struct in_addr address;

    (void)state;
    if (host_ip_find(ip))
        assert_int_equal(inet_pton(AF_INET, ip, &address), 1);
    else
        assert_string_equal(ip, "before");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_first_ordinary_address),
        cmocka_unit_test(test_no_address),
        cmocka_unit_test(test_loopback_by_any_name),
        cmocka_unit_test(test_what_is_down_has_no_say),
        cmocka_unit_test(test_other_kinds_of_address_are_passed_over),
        cmocka_unit_test(test_bridges_of_containers_come_behind),
        cmocka_unit_test(test_link_local_comes_last),
        cmocka_unit_test(test_here),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

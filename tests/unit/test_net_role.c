#include "collect/net_role.h"

#include "support.h"

/* Each interface of the network host, by what carries its bytes. */
static void test_roles_on_a_host_with_hardware(void **state)
{
    static const struct {
        const char *folder;
        enum net_role wanted;
    } cases[] = {
        {"sys/class/net/eno1", NET_PHYSICAL},  {"sys/class/net/eno3", NET_PHYSICAL},
        {"sys/class/net/bond0", NET_STACKED},  {"sys/class/net/br0", NET_STACKED},
        {"sys/class/net/veth0a", NET_STACKED}, {"sys/class/net/bond0.100", NET_STACKED},
        {"sys/class/net/tun0", NET_TUNNEL},    {"sys/class/net/wg0", NET_TUNNEL},
    };

    (void)state;
    support_open("network");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(net_role_of(support_dir(cases[i].folder)), cases[i].wanted);
}

static void test_the_end_of_a_veth_in_a_container_leads_outside(void **state)
{
    (void)state;
    support_open("container");
    assert_int_equal(net_role_of(support_dir("sys/class/net/eth0")), NET_UPLINK);
}

static void test_unknown_interfaces_lead_outside(void **state)
{
    (void)state;
    assert_int_equal(net_role_of(-1), NET_UPLINK);
    support_open_empty();
    assert_int_equal(net_role_of(support_dir("sys")), NET_UPLINK);
}

static enum net_role role_by_devtype(const char *uevent)
{
    support_write("sys/if/uevent", uevent);
    return net_role_of(support_dir("sys/if"));
}

static void test_macvlan_and_ipvlan_in_a_container_lead_outside(void **state)
{
    (void)state;
    support_open_empty();
    support_write("sys/if/type", "1\n");
    assert_int_equal(role_by_devtype("DEVTYPE=macvlan\nINTERFACE=eth0\n"), NET_UPLINK);
    assert_int_equal(role_by_devtype("INTERFACE=eth0\nDEVTYPE=macvtap\n"), NET_UPLINK);
    assert_int_equal(role_by_devtype("DEVTYPE=ipvlan\n"), NET_UPLINK);
    /* On the host the same interface has its card below it. */
    support_link("sys/if/lower_eno1", "../eno1");
    assert_int_equal(role_by_devtype("DEVTYPE=macvlan\n"), NET_STACKED);
}

static void test_a_uevent_without_use_leads_outside(void **state)
{
    (void)state;
    support_open_empty();
    assert_int_equal(role_by_devtype(""), NET_UPLINK);
    assert_int_equal(role_by_devtype("\xff\xfe\n"), NET_UPLINK);
    assert_int_equal(role_by_devtype("XDEVTYPE=bridge\n"), NET_UPLINK);
    assert_int_equal(role_by_devtype("DEVTYPE=bridge\n"), NET_STACKED);
}

/* 32 is InfiniBand, 776 a 6in4 tunnel, 778 GRE. */
static void test_tunnels_are_known_by_their_hardware_type(void **state)
{
    static const struct {
        const char *type;
        enum net_role wanted;
    } cases[] = {
        {"1\n", NET_UPLINK},   {"32\n", NET_UPLINK},    {"776\n", NET_TUNNEL},
        {"778\n", NET_TUNNEL}, {"65534\n", NET_TUNNEL}, {"none\n", NET_UPLINK},
        {"", NET_UPLINK},
    };

    (void)state;
    support_open_empty();
    support_write("sys/if/mtu", "1500\n");
    int fd = support_dir("sys/if");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        support_write("sys/if/type", cases[i].type);
        assert_int_equal(net_role_of(fd), cases[i].wanted);
    }
}

/* A hypervisor's fast card has the synthetic one as its master, and both are hardware. */
static void test_a_paired_card_is_counted_by_its_master(void **state)
{
    (void)state;
    support_open_empty();
    support_link("sys/eth0/device/driver", "../drivers/hv_netvsc");
    support_link("sys/eth0/lower_enP1", "../enP1");
    support_link("sys/enP1/device/driver", "../drivers/mlx5_core");
    support_link("sys/enP1/master", "../eth0");
    assert_int_equal(net_role_of(support_dir("sys/eth0")), NET_PHYSICAL);
    assert_int_equal(net_role_of(support_dir("sys/enP1")), NET_STACKED);
}

/* The ports of a switch chip are hardware that sends through a card which is not their slave. */
static void test_a_switch_port_is_counted_by_its_card(void **state)
{
    (void)state;
    support_open_empty();
    support_link("sys/eth0/device/driver", "../drivers/mvneta");
    support_link("sys/lan1/device/driver", "../drivers/dsa");
    support_link("sys/lan1/lower_eth0", "../eth0");
    support_link("sys/lan1/master", "../br0");
    support_write("sys/br0/type", "1\n");
    assert_int_equal(net_role_of(support_dir("sys/eth0")), NET_PHYSICAL);
    assert_int_equal(net_role_of(support_dir("sys/lan1")), NET_STACKED);
}

static void test_a_card_in_a_bond_is_counted_itself(void **state)
{
    (void)state;
    support_open("network");
    assert_int_equal(net_role_of(support_dir("sys/class/net/eno2")), NET_PHYSICAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_roles_on_a_host_with_hardware),
        TEST(test_the_end_of_a_veth_in_a_container_leads_outside),
        TEST(test_unknown_interfaces_lead_outside),
        TEST(test_macvlan_and_ipvlan_in_a_container_lead_outside),
        TEST(test_a_uevent_without_use_leads_outside),
        TEST(test_tunnels_are_known_by_their_hardware_type),
        TEST(test_a_paired_card_is_counted_by_its_master),
        TEST(test_a_switch_port_is_counted_by_its_card),
        TEST(test_a_card_in_a_bond_is_counted_itself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

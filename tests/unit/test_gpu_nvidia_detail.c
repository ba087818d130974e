/* What is read of NVIDIA devices with --gpu-detail only, over a fake NVML. */
#include "fake_nvml.h"

static const enum field_id detail_fields[] = {FIELD_GPU_PCIE_RX, FIELD_GPU_PCIE_TX,
                                              FIELD_GPU_NVLINK_RX, FIELD_GPU_NVLINK_TX,
                                              FIELD_GPU_ENERGY};
enum { DETAIL_COUNT = sizeof detail_fields / sizeof detail_fields[0] };

static void read_all(void)
{
    read_gpus();
    read_detail();
}

static void test_details_are_read_only_when_asked_for(void **state)
{
    (void)state;
    start_gpus();
    read_gpus();
    for (size_t i = 0; i < DETAIL_COUNT; i++)
        assert_unknown(0, detail_fields[i]);
}

static void test_energy_and_pcie(void **state)
{
    (void)state;
    say("gpus=2\ngpu0.energy=1234567\ngpu1.energy=8000\ngpu0.pcie_rx=70\ngpu0.pcie_tx=9\n"
        "gpu1.pcie_rx=0\ngpu1.pcie_tx=4000000000\n");
    start_gpus();
    read_all();
    assert_number(number(0, FIELD_GPU_ENERGY), 1234.567);
    assert_number(number(1, FIELD_GPU_ENERGY), 8);
    assert_number(number(0, FIELD_GPU_PCIE_RX), 70e3);
    assert_number(number(0, FIELD_GPU_PCIE_TX), 9e3);
    assert_number(number(1, FIELD_GPU_PCIE_RX), 0);
    assert_number(number(1, FIELD_GPU_PCIE_TX), 4e12);
}

static void test_nvlink_is_a_rate_over_the_time_since_the_last_reading(void **state)
{
    (void)state;
    say("gpus=2\ngpu0.nvlink_rx=1000\ngpu0.nvlink_tx=2000\ngpu1.nvlink_rx=5\ngpu1.nvlink_tx=5\n");
    start_gpus();
    read_all();
    assert_unknown(0, FIELD_GPU_NVLINK_RX);
    assert_unknown(0, FIELD_GPU_NVLINK_TX);

    say("gpus=2\ngpu0.nvlink_rx=1010\ngpu0.nvlink_tx=2030\ngpu1.nvlink_rx=5\ngpu1.nvlink_tx=6\n");
    gpu.now_ns += SECOND; /* read_gpus() adds another */
    read_all();
    assert_number(number(0, FIELD_GPU_NVLINK_RX), 10 * 1024 / 2.0);
    assert_number(number(0, FIELD_GPU_NVLINK_TX), 30 * 1024 / 2.0);
    assert_number(number(1, FIELD_GPU_NVLINK_RX), 0);
    assert_number(number(1, FIELD_GPU_NVLINK_TX), 1024 / 2.0);
}

static void test_nvlink_that_goes_backwards_is_0(void **state)
{
    (void)state;
    say("gpu0.nvlink_rx=1000\ngpu0.nvlink_tx=1000\n");
    start_gpus();
    read_all();
    say("gpu0.nvlink_rx=10\ngpu0.nvlink_tx=1001\n");
    read_all();
    assert_number(number(0, FIELD_GPU_NVLINK_RX), 0);
    assert_number(number(0, FIELD_GPU_NVLINK_TX), 1024);
}

/* A device without NVLink says so, or counts no data for ever. */
static void test_errors_make_details_unavailable(void **state)
{
    static const struct {
        const char *function;
        enum field_id told[2];
    } calls[] = {
        {"nvmlDeviceGetPcieThroughput", {FIELD_GPU_PCIE_RX, FIELD_GPU_PCIE_TX}},
        {"nvmlDeviceGetFieldValues", {FIELD_GPU_NVLINK_RX, FIELD_GPU_NVLINK_TX}},
        {"nvmlDeviceGetTotalEnergyConsumption", {FIELD_GPU_ENERGY, FIELD_GPU_ENERGY}},
    };
    static const int codes[] = {3, 4, 13, 15, 999};

    (void)state;
    for (size_t call = 0; call < 3; call++)
        for (size_t code = 0; code < sizeof codes / sizeof codes[0]; code++) {
            say("fail=%s:%d\n", calls[call].function, codes[code]);
            start_gpus();
            read_all();
            read_all();
            for (size_t i = 0; i < DETAIL_COUNT; i++) {
                bool is_told = detail_fields[i] == calls[call].told[0] ||
                               detail_fields[i] == calls[call].told[1];
                assert_int_equal(is_known(0, detail_fields[i]), !is_told);
            }
            close_gpus();
        }
}

static void test_functions_may_be_missing(void **state)
{
    (void)state;
    hide("nvmlDeviceGetPcieThroughput");
    hide("nvmlDeviceGetFieldValues");
    hide("nvmlDeviceGetTotalEnergyConsumption");
    start_gpus();
    read_all();
    read_all();
    for (size_t i = 0; i < DETAIL_COUNT; i++)
        assert_unknown(0, detail_fields[i]);
}

static void test_a_gap_is_bridged(void **state)
{
    (void)state;
    say("gpu0.nvlink_rx=1000\ngpu0.nvlink_tx=1000\n");
    start_gpus();
    read_all();
    say("fail=nvmlDeviceGetFieldValues:999\n");
    read_all();
    assert_unknown(0, FIELD_GPU_NVLINK_RX);
    say("gpu0.nvlink_rx=1020\ngpu0.nvlink_tx=1000\n");
    read_all();
    assert_number(number(0, FIELD_GPU_NVLINK_RX), 10 * 1024);
}

static void test_parts_have_no_details(void **state)
{
    (void)state;
    say("gpu0.mig=1\n");
    start_gpus();
    read_all();
    read_all();
    assert_true(is_known(0, FIELD_GPU_ENERGY));
    for (size_t i = 0; i < DETAIL_COUNT; i++)
        assert_unknown(1, detail_fields[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GPU_TEST(test_details_are_read_only_when_asked_for),
        GPU_TEST(test_energy_and_pcie),
        GPU_TEST(test_nvlink_is_a_rate_over_the_time_since_the_last_reading),
        GPU_TEST(test_nvlink_that_goes_backwards_is_0),
        GPU_TEST(test_errors_make_details_unavailable),
        GPU_TEST(test_functions_may_be_missing),
        GPU_TEST(test_a_gap_is_bridged),
        GPU_TEST(test_parts_have_no_details),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

"""Figures of GPUs, from a library that says what the test wants."""
import os
import re
import subprocess

import pytest

from gpuhost import (GIB, MIB, GpuHost, Samples, command_pid, descriptors, end, gpu_of, has_figures,
                     has_loaded_library, only_without_driver, threads, tracked, watched)
from helpers import (IS_ASAN, PATIENCE, ROOT, children_of, csv_of, run, samples_of, split_stderr,
                     started)
from test_schedule import assert_on_schedule

DETAILS = ["pcie_rx_bytes_per_sec", "pcie_tx_bytes_per_sec", "nvlink_rx_bytes_per_sec",
           "nvlink_tx_bytes_per_sec", "energy_joules"]
SUMS = ["gpu_usage", "gpu_vram_mib", "gpu_utilized"]
TREE = ["process_utilization_pct", "process_vram_bytes"]
TEXTS = ["uuid", "name", "device_type", "host_id", "throttle_reasons"]


@pytest.fixture
def host(tmp_path):
    return GpuHost(tmp_path)


def first_figures(host, *arguments):
    with watched(host, *arguments) as tracker:
        sample = Samples(tracker.stdout).until(has_figures, "figures of all GPUs")
        end(tracker)
    return sample


# --- no GPU ---

@only_without_driver
def test_t_gpu_01_host_without_a_gpu_has_an_empty_list_and_says_nothing(tmp_path):
    host = GpuHost(tmp_path, has_driver=False)
    done = run("-i", "0.1", "--verbose", *host.arguments, "--", "sleep", "0.35", env=host.env)
    assert done.returncode == 0
    output, messages = split_stderr(done.stderr)
    assert messages == b""
    samples = samples_of(output)
    assert len(samples) >= 2
    for sample in samples:
        assert sample["gpu"] == []
        assert [sample["total"][key] for key in SUMS] == [0, 0, 0]
        assert sample["tracker"]["gpu_read_us"] is None
        assert sample["tracker"]["gpu_stall_secs"] is None


@only_without_driver
def test_t_gpu_01_host_without_a_gpu_costs_no_thread_and_no_library(tmp_path):
    host = GpuHost(tmp_path, has_driver=False)
    with watched(host) as tracker:
        Samples(tracker.stdout).take(3)
        assert threads(tracker.pid) == [str(tracker.pid)]
        assert not has_loaded_library(tracker.pid)
        end(tracker)
    assert not host.log.exists()


def test_no_gpu_at_all_is_asked_for(host):
    with watched(host, "--no-gpu") as tracker:
        samples = Samples(tracker.stdout).take(3)
        assert threads(tracker.pid) == [str(tracker.pid)]
        assert not has_loaded_library(tracker.pid)
        end(tracker)
    assert not host.log.exists()
    for sample in samples:
        assert sample["gpu"] == []
        assert sample["tracker"]["gpu_read_us"] is None


def test_a_driver_without_devices(host):
    host.say("gpus=0")
    with watched(host) as tracker:
        samples = Samples(tracker.stdout)
        sample = samples.until(lambda sample: sample["total"]["gpu_usage"] is not None, "sums")
        end(tracker)
    assert sample["gpu"] == []
    assert sample["total"]["gpu_usage"] == sample["total"]["gpu_vram_mib"] == 0
    assert sample["total"]["gpu_utilized"] == 0


# --- every field ---

def test_fields_are_those_that_are_listed(host):
    listed = re.findall(r"^gpu\[\]\.(\w+)", run("--list-metrics").stdout.decode(), re.M)
    assert {*DETAILS, *TREE, *TEXTS} < set(listed)
    assert list(first_figures(host)["gpu"][0]) == listed


def test_figures_of_eight_gpus_are_not_mixed_up(host):
    host.say("gpus=8")
    sample = first_figures(host)
    assert len(sample["gpu"]) == 8
    for i, gpu in enumerate(sample["gpu"]):
        for name in TEXTS:
            assert isinstance(gpu[name], str)
        assert isinstance(gpu["detail"], dict)
        assert all(isinstance(value, str) for value in gpu["detail"].values())
        assert gpu["uuid"] == f"GPU-00000000-0000-0000-0000-{i:012}"
        assert gpu["name"] == f"Fake GPU {i}"
        assert gpu["device_type"] == "GPU"
        assert f":{i + 1:02x}:00.0" in gpu["host_id"].lower()
        assert gpu["detail"]["driver_version"] == "580.0"
        assert gpu["detail"]["node"] == f"nvidia{i}"
        assert gpu["utilization_pct"] == 10 + 3 * i
        assert gpu["memory_utilization_pct"] == 5 + 2 * i
        assert gpu["vram_total_bytes"] == (16 + i) * GIB
        assert gpu["vram_used_bytes"] == (1 + i) * GIB + i
        assert gpu["vram_used_pct"] == pytest.approx(100 * (1 + i) / (16 + i), abs=0.006)
        assert gpu["temperature_celsius"] == 40 + i
        assert gpu["power_watts"] == pytest.approx(100.123 + i)
        assert gpu["power_limit_watts"] == 300 + i
        assert gpu["frequency_mhz"] == 1200 + i
        assert gpu["memory_frequency_mhz"] == 5000 + i
        assert gpu["core_count"] == 6912 + 128 * i
        assert gpu["fan_pct"] == 30 + i
        assert gpu["throttle_reasons"] == "idle"
        assert (gpu["ecc_corrected"], gpu["ecc_uncorrected"]) == (200 + i, i)
        assert (gpu["pcie_generation"], gpu["pcie_width"]) == (3 + i % 3, 8 if i % 2 else 16)
        assert [gpu[name] for name in DETAILS + TREE] == [None] * 7


def test_t_gpu_02_03_04_shares_stay_within_bounds(host):
    host.say("gpus=3", "gpu0.util=250", "gpu0.total=0", "gpu0.used=0", "gpu0.reserved=0",
             "gpu1.util=100", "gpu1.total=1000", "gpu1.used=2000", "gpu2.util=0")
    sample = first_figures(host)
    assert gpu_of(sample, "utilization_pct") == [None, 100, 0]
    assert gpu_of(sample, "vram_used_bytes") == [0, None, 3 * GIB + 2]
    assert gpu_of(sample, "vram_used_pct")[:2] == [0, None]
    assert sample["total"]["gpu_usage"] == 1
    assert sample["total"]["gpu_utilized"] == 1


def test_sums_are_those_of_the_gpus(host):
    host.say("gpus=4", "gpu0.util=50", "gpu1.util=0", "gpu2.util=100", "gpu3.util=7",
             f"gpu0.used={3 * MIB}", f"gpu1.used={MIB // 2}", "gpu2.used=0",
             f"gpu3.used={20 * GIB}", f"gpu3.total={40 * GIB}")
    total = first_figures(host)["total"]
    assert total["gpu_usage"] == pytest.approx(1.57)
    assert total["gpu_vram_mib"] == pytest.approx(3.5 + 20 * 1024)
    assert total["gpu_utilized"] == 3


def test_csv_has_the_sums(host):
    host.say("gpus=3", "gpu0.util=50", "gpu1.util=0", "gpu2.util=8",
             f"gpu0.used={3 * MIB}", f"gpu1.used={MIB}", f"gpu2.used={GIB}")
    done = run("-i", "0.1", "-f", "csv", *host.arguments, "--", "sleep", "0.6", env=host.env)
    header, rows = csv_of(done.stderr)
    assert len(rows) >= 3
    row = dict(zip(header, rows[-1]))
    assert float(row["gpu_usage"]) == pytest.approx(0.58)
    assert float(row["gpu_vram"]) == pytest.approx(1028)
    assert row["gpu_utilized"] == "2"


def test_a_figure_that_cannot_be_read_is_null_and_not_0(host):
    host.say("gpus=2", "fail=nvmlDeviceGetUtilizationRates:999 nvmlDeviceGetMemoryInfo*:4 "
             "nvmlDeviceGetPowerUsage:3")
    sample = first_figures(host)
    for name in ("utilization_pct", "vram_used_bytes", "vram_used_pct", "power_watts"):
        assert gpu_of(sample, name) == [None, None]
    assert sample["total"]["gpu_usage"] is None
    assert sample["total"]["gpu_vram_mib"] is None


def test_names_with_hostile_bytes_make_proper_json(host):
    host.say(r"gpus=3", r'gpu0.name=\xff\xfe"\\\x01\x7f{', r"gpu1.name=\xe2\x82",
             "gpu2.name=" + "w" * 300, r"gpu0.uuid=\xc0\x80", r"driver=\x1b[31m\xff")
    sample = first_figures(host) # read strictly
    assert len(sample["gpu"]) == 3
    assert sample["gpu"][2]["name"].startswith("w" * 60)


def test_mig_instances_are_listed_and_not_summed_twice(host):
    host.say("gpus=2", "gpu0.mig=2", f"gpu0.used={5 * GIB}", f"gpu0.mig0.total={10 * GIB}",
             f"gpu0.mig0.used={2 * GIB}", f"gpu0.mig1.used={3 * GIB}",
             f"gpu1.used={GIB}", "gpu1.util=40")
    with watched(host) as tracker:
        sample = Samples(tracker.stdout).until(
            lambda sample: len(sample["gpu"]) == 4 and sample["gpu"][3]["fan_pct"] is not None,
            "two GPUs and two instances")
        end(tracker)
    assert gpu_of(sample, "device_type") == ["GPU", "MIG", "MIG", "GPU"]
    assert gpu_of(sample, "utilization_pct") == [None, None, None, 40]
    assert gpu_of(sample, "vram_used_bytes") == [5 * GIB, 2 * GIB, 3 * GIB, GIB]
    assert sample["gpu"][1]["vram_used_pct"] == 20
    assert all(gpu["uuid"].startswith("MIG-") for gpu in sample["gpu"][1:3])
    assert sample["total"]["gpu_vram_mib"] == 6 * 1024
    assert sample["total"]["gpu_usage"] == pytest.approx(0.4)


# --- the tracked tree ---

def process_figures(sample):
    return [sample["cpu"][f"process_{key}"] for key in SUMS]


def test_without_a_tree_there_are_no_figures_of_one(host):
    host.say(f"gpu0.compute={os.getpid()}:1000", f"gpu0.util_samples={os.getpid()}:50")
    with watched(host) as tracker:
        samples = Samples(tracker.stdout)
        taken = [samples.until(has_figures, "figures"), *samples.take(3)]
        end(tracker)
    for sample in taken:
        assert process_figures(sample) == [None, None, None]
        assert [sample["gpu"][0][name] for name in TREE] == [None, None]


def test_figures_of_a_tree_come_and_go_with_its_processes(host):
    stranger = os.getpid()
    with tracked(host, ["sh", "-c", "sleep 50 & wait"]) as tracker:
        samples = Samples(tracker.stderr)
        sample = samples.until(has_figures, "figures")
        assert process_figures(sample) == [0, 0, 0]
        shell = command_pid(tracker)
        [child] = children_of(shell)

        host.say(f"gpu0.compute={shell}:{3 * MIB} {stranger}:{900 * MIB} {child}:{2 * MIB}",
                 f"gpu0.util_samples={shell}:10 {stranger}:60 {child}:20")
        sample = samples.until(lambda sample: sample["cpu"]["process_gpu_vram_mib"] == 5 and
                               sample["cpu"]["process_gpu_usage"] > 0, "its figures")
        assert process_figures(sample) == [pytest.approx(0.3), 5, 1]
        assert [sample["gpu"][0][name] for name in TREE] == [30, 5 * MIB]

        host.say(f"gpu0.compute={stranger}:{900 * MIB}", f"gpu0.util_samples={stranger}:60")
        sample = samples.until(lambda sample: process_figures(sample) == [0, 0, 0], "nothing")
        assert sample["gpu"][0]["utilization_pct"] == 10
        tracker.terminate()
        assert tracker.wait(PATIENCE) == 128 + 15


def test_a_tree_on_several_gpus(host):
    host.say("gpus=3")
    with tracked(host, ["sh", "-c", "sleep 50 & wait"]) as tracker:
        samples = Samples(tracker.stderr)
        samples.until(has_figures, "figures")
        shell = command_pid(tracker)
        [child] = children_of(shell)
        host.say("gpus=3", f"gpu0.compute={shell}:{5 * MIB}", f"gpu0.util_samples={shell}:30",
                 f"gpu1.graphics={child}:{7 * MIB}", f"gpu1.util_samples={child}:0",
                 f"gpu2.compute={child}:{MIB} {shell}:{MIB}", f"gpu2.graphics={child}:{2 * MIB}",
                 f"gpu2.util_samples={child}:10 {shell}:15")
        sample = samples.until(
            lambda sample: gpu_of(sample, "process_utilization_pct") == [30, 0, 25],
            "utilisation of the tree")
        assert gpu_of(sample, "process_vram_bytes") == [5 * MIB, 7 * MIB, 3 * MIB]
        assert process_figures(sample) == [pytest.approx(0.55), 15, 2]
        tracker.terminate()
        tracker.wait(PATIENCE)


def test_a_tree_of_which_the_driver_does_not_tell(host):
    """No permission, or memory that is not available: null, not 0."""
    host.say("gpu0.procs=4")
    done = run("-i", "0.1", *host.arguments, "--", "sleep", "0.6", env=host.env)
    sample = samples_of(done.stderr)[-1]
    assert process_figures(sample) == [None, None, None]
    assert [sample["gpu"][0][name] for name in TREE] == [None, None]
    assert sample["total"]["gpu_utilized"] == 1


def test_an_attached_process_has_figures(host):
    with subprocess.Popen(["sleep", "60"]) as process:
        host.say(f"gpu0.compute={process.pid}:{64 * MIB}", f"gpu0.util_samples={process.pid}:12")
        with started("-i", "0.1", *host.arguments, "-p", str(process.pid), env=host.env) as tracker:
            sample = Samples(tracker.stdout).until(
                lambda sample: sample["cpu"]["process_gpu_usage"], "its figures")
            end(tracker)
        process.kill()
    assert process_figures(sample) == [pytest.approx(0.12), 64, 1]


# --- --gpu-detail ---

def test_details_appear_when_asked_for(host):
    host.say("gpus=2", "gpu1.energy=5000")
    with watched(host, "--gpu-detail") as tracker:
        sample = Samples(tracker.stdout).until(
            lambda sample: sample["gpu"] and all(None not in [gpu[name] for name in DETAILS]
                                                 for gpu in sample["gpu"]), "details")
        end(tracker)
    assert gpu_of(sample, "pcie_tx_bytes_per_sec") == [100e3, 101e3]
    assert gpu_of(sample, "pcie_rx_bytes_per_sec") == [500e3, 501e3]
    assert sample["gpu"][1]["energy_joules"] == 5
    # The fake's counters grow by a KiB a millisecond and GPU, twice that on the way in.
    for i, gpu in enumerate(sample["gpu"]):
        assert gpu["nvlink_tx_bytes_per_sec"] == pytest.approx((i + 1) * 1024e3, rel=0.2)
        assert gpu["nvlink_rx_bytes_per_sec"] == pytest.approx((i + 1) * 2048e3, rel=0.2)


def test_details_that_hang_do_not_touch_the_rest(host):
    """They become null, and it is said for how long the driver has not answered."""
    with watched(host, "--gpu-detail") as tracker:
        samples = Samples(tracker.stdout)
        samples.until(lambda sample: sample["gpu"] and sample["gpu"][0]["pcie_rx_bytes_per_sec"], "details")
        host.say("hang=nvmlDeviceGetPcieThroughput")
        sample = samples.until(lambda sample: sample["gpu"][0]["pcie_rx_bytes_per_sec"] is None, "null", limit=60)
        assert has_figures(sample)
        sample = samples.until(lambda sample: sample["tracker"]["gpu_stall_secs"] > 1, "a stall", limit=60)
        assert has_figures(sample)
        end(tracker)


# --- cost ---

def test_sixteen_gpus_twenty_times_a_second(host):
    host.say("gpus=16")
    done = run("-i", "0.05", *host.arguments, "--", "sleep", "2", env=host.env)
    assert done.returncode == 0
    samples = samples_of(done.stderr)
    assert len(samples) >= 20
    assert_on_schedule(samples[:-1], 50)
    for sample in samples[10:]:
        assert len(sample["gpu"]) == 16
        assert gpu_of(sample, "frequency_mhz") == [1200 + i for i in range(16)]
        assert sample["tracker"]["gpu_stall_secs"] == 0


@pytest.mark.parametrize("detail", [[], ["--gpu-detail"]])
def test_descriptors_and_threads_stay_the_same(host, detail):
    host.say("gpus=4")
    with watched(host, *detail, interval=0.02) as tracker:
        samples = Samples(tracker.stdout)
        samples.until(has_figures, "figures")
        samples.take(20)
        before = descriptors(tracker.pid), threads(tracker.pid)
        # The fake's own log and script are open for a moment each.
        log = host.log.stat().st_size
        samples.take(100)
        assert host.log.stat().st_size > log
        after = descriptors(tracker.pid), threads(tracker.pid)
        assert len(before[1]) == (3 if detail else 2)
        assert after[1] == before[1]
        assert len(after[0]) <= len(before[0]) + 4
        end(tracker)


@pytest.mark.skipif(IS_ASAN, reason="the sanitizer has an allocator of its own")
def test_samples_with_gpus_allocate_nothing(host, tmp_path):
    """As many allocations in a run of 50 samples as in one of 10."""
    counts = []
    host.say("gpus=4")
    for seconds in ("0.4", "1.5"):
        count = tmp_path / "count"
        done = run("-i", "0.03", *host.arguments, "-o", str(tmp_path / "out"),
                   "--", "sleep", seconds,
                   env={**host.env, "LD_PRELOAD": str(ROOT / "build" / "fakes" / "countalloc.so"),
                        "COUNTALLOC_FILE": str(count)})
        assert done.returncode == 0
        counts.append(int(count.read_text()))
    assert counts[0] == counts[1]


def test_facts_are_asked_for_once(host):
    host.say("gpus=2")
    with watched(host, interval=0.05) as tracker:
        samples = Samples(tracker.stdout)
        samples.until(has_figures, "figures")
        samples.take(20)
        end(tracker)
    calls = host.log.read_text().split()
    assert calls.count("nvmlInit_v2") == 1
    assert calls.count("nvmlDeviceGetCount_v2") == 1
    assert calls.count("nvmlDeviceGetName") == calls.count("nvmlDeviceGetUUID") == 2
    assert calls.count("nvmlDeviceGetUtilizationRates") >= 20
    assert "nvmlDeviceGetPcieThroughput" not in calls
    assert "nvmlDeviceGetProcessUtilization" not in calls

"""The JSON sample: names, order and the numbers' ranges, on this host and on a made-up one."""
import os
import time

import pytest

from helpers import (MEMINFO, diskstats_text, make_procfs, make_sysfs, net_dev_text, run,
                     sample_of, samples_of, stat_text, watch_samples)

TOP = ["timestamp_secs", "job_name", "cpu", "memory", "network", "disk", "gpu"]
TAIL = ["tracked_pid", "actual_interval_ms", "resource-tracker-version"]
CPU = ["utilization_pct", "per_core_pct", "utime_secs", "stime_secs", "process_count",
       "process_cores_used", "process_child_count", "process_utime_secs", "process_stime_secs",
       "process_pss_mib", "process_rss_mib", "process_disk_read_bytes", "process_disk_write_bytes",
       "process_gpu_usage", "process_gpu_vram_mib", "process_gpu_utilized"]
MEMORY = ["total_mib", "free_mib", "available_mib", "used_mib", "used_pct", "buffers_mib",
          "cached_mib", "swap_total_mib", "swap_used_mib", "swap_used_pct", "active_mib",
          "inactive_mib"]
NETWORK = ["interface", "mac_address", "driver", "operstate", "speed_mbps", "mtu",
           "rx_bytes_per_sec", "tx_bytes_per_sec", "rx_bytes_total", "tx_bytes_total"]
DISK = ["device", "model", "vendor", "serial", "device_type", "capacity_bytes", "mounts",
        "read_bytes_per_sec", "write_bytes_per_sec", "read_bytes_total", "write_bytes_total"]
MOUNT = ["mount_point", "filesystem", "total_bytes", "available_bytes", "used_bytes", "used_pct"]
TRACKER = ["cpu_secs", "rss_mib", "sample_us"]

TICKS = os.sysconf("SC_CLK_TCK")


def begins_with(record, names):
    assert list(record)[:len(names)] == names


@pytest.fixture(name="host")
def made_up_host(tmp_path):
    return make_procfs(tmp_path / "proc"), make_sysfs(tmp_path / "sys")


def sample_after(host, name, text):
    """The sample of a run in which /proc/NAME changed to `text` after the baselines were taken."""
    procfs, sysfs = host
    done = run("-i", "60", "--procfs", procfs, "--sysfs", sysfs, "--", "sh", "-c",
               'printf %s "$1" > "$2"', "sh", text, f"{procfs}/{name}")
    assert done.returncode == 0
    [sample] = samples_of(done.stderr)
    return sample


def test_keys_and_their_order(live_samples):
    for sample in live_samples:
        begins_with(sample, TOP)
        assert list(sample)[-3:] == TAIL
        begins_with(sample["cpu"], CPU)
        begins_with(sample["memory"], MEMORY)
        assert list(sample["memory"]) == MEMORY
        begins_with(sample["tracker"], TRACKER)


def test_keys_of_devices_and_their_order(host):
    procfs, sysfs = host
    [sample] = samples_of(run("--procfs", procfs, "--sysfs", sysfs, "--", "true").stderr)
    assert [list(row) for row in sample["network"]] == [NETWORK] * 2
    for disk in sample["disk"]:
        begins_with(disk, DISK)
    assert len(sample["disk"]) == 3


def test_keys_of_mounts_and_their_order(live_samples, tmp_path):
    """On a made-up disk that holds the file system of our own temporary directory."""
    procfs = make_procfs(tmp_path / "proc", **{
        "self/mountinfo": f"30 1 8:1 / {tmp_path} rw,relatime - ext4 /dev/sda1 rw\n"})
    [sample] = samples_of(run("--procfs", procfs, "--sysfs", make_sysfs(tmp_path / "sys"), "--",
                              "true").stderr)
    [mount] = [mount for disk in sample["disk"] for mount in disk["mounts"]]
    assert list(mount) == MOUNT
    assert mount["mount_point"] == str(tmp_path) and mount["filesystem"] == "ext4"
    for disk in live_samples[0]["disk"]:
        for real in disk["mounts"]:
            assert list(real) == MOUNT


def test_tracker_tells_its_own_cost(live_samples):
    for sample in live_samples:
        cost = sample["tracker"]
        assert cost["cpu_secs"] > 0 and cost["rss_mib"] > 0 and cost["sample_us"] > 0
    assert live_samples[-1]["tracker"]["cpu_secs"] > live_samples[0]["tracker"]["cpu_secs"]


def test_t_cpu_01_utilization_is_within_the_number_of_cores(live_samples):
    for sample in live_samples:
        cores = len(sample["cpu"]["per_core_pct"])
        assert 0 <= sample["cpu"]["utilization_pct"] <= cores * 1.001
        for share in sample["cpu"]["per_core_pct"]:
            assert 0 <= share <= 100


def test_t_cpu_02_one_share_per_cpu(live_samples):
    online = os.sysconf("SC_NPROCESSORS_ONLN")
    for sample in live_samples:
        assert len(sample["cpu"]["per_core_pct"]) == online


def test_t_cpu_03_nothing_tracked_gives_no_process_figures(live_samples):
    for sample in live_samples:
        for name in CPU[5:]:
            assert sample["cpu"][name] is None
        assert sample["tracked_pid"] is None


def test_t_cpu_05_at_least_one_process(live_samples):
    for sample in live_samples:
        count = sample["cpu"]["process_count"]
        assert isinstance(count, int) and count >= 1


def test_process_count_is_that_of_proc():
    """Processes come and go on a busy host: the count lies between two of ours at some point."""
    for _ in range(20):
        before = sum(name.isdigit() for name in os.listdir("/proc"))
        [sample] = samples_of(run("--", "true").stderr)
        after = sum(name.isdigit() for name in os.listdir("/proc"))
        # The tracker is one more than we see; `true` has ended but may not be reaped yet.
        low, high = min(before, after), max(before, after) + 2
        if low <= sample["cpu"]["process_count"] <= high:
            return
        time.sleep(0.2)
    pytest.fail(f"process_count {sample['cpu']['process_count']} is not within {low} to {high}")


def test_t_cpu_06_counters_since_boot_are_no_first_sample(host):
    """The first reading is a baseline; with counters standing still every growth is 0."""
    procfs, sysfs = host
    [sample] = samples_of(run("--procfs", procfs, "--sysfs", sysfs, "--", "true").stderr)
    cpu = sample["cpu"]
    for name in ("utilization_pct", "utime_secs", "stime_secs", "iowait_secs", "steal_secs",
                 "context_switches"):
        assert cpu[name] == 0, name
    assert cpu["per_core_pct"] == [0, 0]
    assert cpu["process_count"] == 3
    for row in sample["network"]:
        assert row["rx_bytes_per_sec"] == 0 and row["tx_bytes_per_sec"] == 0
    for row in sample["disk"]:
        assert row["read_bytes_per_sec"] == 0 and row["write_bytes_per_sec"] == 0
    for name in ("disk_read_bytes", "disk_write_bytes", "net_recv_bytes", "net_sent_bytes"):
        assert sample["total"][name] == 0


def test_cpu_figures_of_known_ticks(host):
    """300 user, 200 system and 500 idle ticks on two CPUs."""
    sample = sample_after(host, "stat", stat_text(user=1300, system=1200, idle=80500,
                                                  switches=7877))
    cpu = sample["cpu"]
    assert cpu["utilization_pct"] == pytest.approx(2 * 500 / 1000)
    assert cpu["utime_secs"] == pytest.approx(300 / TICKS)
    assert cpu["stime_secs"] == pytest.approx(200 / TICKS)
    assert cpu["context_switches"] == 100
    assert cpu["per_core_pct"] == [100, 100]
    assert cpu["load_1m"] == 0.52


def test_counters_that_go_backwards_give_no_huge_numbers(host):
    sample = sample_after(host, "stat", stat_text(user=1, system=1, idle=1, switches=1))
    assert sample["cpu"]["utime_secs"] == 0 and sample["cpu"]["context_switches"] == 0
    sample = sample_after(host, "net/dev", net_dev_text(received=5, sent=5))
    assert sample["total"]["net_recv_bytes"] == 0 and sample["total"]["net_sent_bytes"] == 0
    sample = sample_after(host, "diskstats", diskstats_text(read=1, written=1))
    assert sample["total"]["disk_read_bytes"] == 0 and sample["total"]["disk_write_bytes"] == 0


def test_t_mem_01_parts_do_not_exceed_the_whole(live_samples):
    for sample in live_samples:
        memory = sample["memory"]
        parts = [memory[name] for name in ("free_mib", "used_mib", "buffers_mib", "cached_mib")]
        assert sum(parts) <= memory["total_mib"]
        assert all(isinstance(part, int) for part in parts)


def test_t_mem_02_used_share_is_a_percentage(live_samples):
    for sample in live_samples:
        memory = sample["memory"]
        assert 0 <= memory["used_pct"] <= 100
        assert memory["used_pct"] == pytest.approx(
            100 * memory["used_mib"] / memory["total_mib"], abs=0.02)


def test_t_mem_03_no_swap_is_no_swap_used(tmp_path):
    procfs = make_procfs(tmp_path, meminfo=MEMINFO.format(swap_total=0, swap_free=0))
    [sample] = samples_of(run("--procfs", procfs, "--", "true").stderr)
    memory = sample["memory"]
    assert (memory["swap_total_mib"], memory["swap_used_mib"], memory["swap_used_pct"]) == (0, 0, 0)


def test_t_mem_04_available_is_within_total(live_samples):
    for sample in live_samples:
        assert 0 <= sample["memory"]["available_mib"] <= sample["memory"]["total_mib"]


def test_memory_figures_of_a_known_meminfo(host):
    procfs, sysfs = host
    [sample] = samples_of(run("--procfs", procfs, "--sysfs", sysfs, "--", "true").stderr)
    assert sample["memory"] == {
        "total_mib": 16000, "free_mib": 4000, "available_mib": 10000,
        "used_mib": 16000 - 4000 - 250 - 2100, "used_pct": 60.31, "buffers_mib": 250,
        "cached_mib": 2100, "swap_total_mib": 2000, "swap_used_mib": 1000, "swap_used_pct": 50.0,
        "active_mib": 3000, "inactive_mib": 1000}


def test_t_net_01_rates_are_not_negative(live_samples):
    for sample in live_samples:
        for row in sample["network"]:
            assert row["rx_bytes_per_sec"] >= 0 and row["tx_bytes_per_sec"] >= 0


def test_t_net_02_totals_do_not_decrease(live_samples):
    for before, after in zip(live_samples, live_samples[1:]):
        earlier = {row["interface"]: row for row in before["network"]}
        for row in after["network"]:
            if row["interface"] in earlier:
                for name in ("rx_bytes_total", "tx_bytes_total"):
                    assert row[name] >= earlier[row["interface"]][name]


def test_t_net_03_no_loopback(live_samples, host):
    procfs, sysfs = host
    [made_up] = samples_of(run("--procfs", procfs, "--sysfs", sysfs, "--", "true").stderr)
    for sample in [*live_samples, made_up]:
        assert "lo" not in [row["interface"] for row in sample["network"]]
    assert [row["interface"] for row in made_up["network"]] == ["eth0", "br0"]


def test_interfaces_are_those_of_this_host(live_samples):
    with open("/proc/net/dev", encoding="ascii") as file:
        names = {line.split(":")[0].strip() for line in file.readlines()[2:]} - {"lo"}
    assert {row["interface"] for row in live_samples[-1]["network"]} == names


def test_network_bytes_count_once_and_rates_follow(host):
    sample = sample_after(host, "net/dev", net_dev_text(62743715 + 5000, 159439 + 700))
    card, bridge = sample["network"]
    assert card["rx_bytes_total"] == bridge["rx_bytes_total"] == 62743715 + 5000
    assert card["tx_bytes_total"] == 159439 + 700
    assert card["rx_bytes_per_sec"] > card["tx_bytes_per_sec"] > 0
    assert sample["total"]["net_recv_bytes"] == 5000
    assert sample["total"]["net_sent_bytes"] == 700
    assert card["speed_mbps"] == 1000 and card["mtu"] == 1500
    assert card["mac_address"] == "02:00:00:aa:bb:cc" and card["operstate"] == "up"
    assert bridge["speed_mbps"] == -1 and bridge["driver"] is None


def test_t_dsk_01_rates_are_not_negative(live_samples):
    for sample in live_samples:
        for row in sample["disk"]:
            for name in ("read_bytes_per_sec", "write_bytes_per_sec"):
                assert row[name] is None or row[name] >= 0


def test_t_dsk_02_used_and_available_are_within_total(live_samples):
    for sample in live_samples:
        for row in sample["disk"]:
            for mount in row["mounts"]:
                if mount["total_bytes"] is not None:
                    assert mount["used_bytes"] + mount["available_bytes"] <= mount["total_bytes"]


def test_t_dsk_03_capacity_is_positive(live_samples, host):
    procfs, sysfs = host
    [made_up] = samples_of(run("--procfs", procfs, "--sysfs", sysfs, "--", "true").stderr)
    for sample in [*live_samples, made_up]:
        for row in sample["disk"]:
            assert row["capacity_bytes"] is None or row["capacity_bytes"] > 0
    assert made_up["disk"][0]["capacity_bytes"] == 2000000 * 512


def test_disk_bytes_are_512_a_sector_and_count_once(host):
    sample = sample_after(host, "diskstats", diskstats_text(read=10000 + 8, written=20000 + 100))
    assert [row["device"] for row in sample["disk"]] == ["sda", "dm-0", "loop0"]
    disk = sample["disk"][0]
    assert disk["read_bytes_total"] == 10008 * 512 and disk["write_bytes_total"] == 20100 * 512
    assert disk["device_type"] == "ssd" and disk["model"] == "Disk of tests"
    assert disk["vendor"] == "ACME" and disk["serial"] == "naa.5000"
    assert sample["total"]["disk_read_bytes"] == 8 * 512
    assert sample["total"]["disk_write_bytes"] == 100 * 512


def test_t_out_01_every_line_is_json(live_samples):
    done = run("-i", "0.05", "--", "sleep", "0.3")
    assert len(samples_of(done.stderr)) >= 2
    assert len(live_samples) == 5


def test_t_out_02_timestamp_is_a_positive_integer(live_samples):
    for sample in live_samples:
        assert type(sample["timestamp_secs"]) is int
        assert abs(sample["timestamp_secs"] - time.time()) < 3600


def test_t_out_03_version_is_in_every_sample(live_samples):
    version = run("--version").stdout.decode().split()[-1]
    for sample in live_samples:
        assert sample["resource-tracker-version"] == version


def test_t_out_04_timestamps_do_not_decrease(live_samples):
    stamps = [sample["timestamp_secs"] for sample in live_samples]
    assert stamps == sorted(stamps)


def test_actual_interval_is_told_from_the_second_sample(live_samples):
    assert live_samples[0]["actual_interval_ms"] is None
    for sample in live_samples[1:]:
        assert sample["actual_interval_ms"] > 0


def test_missing_is_null_not_zero(tmp_path):
    (tmp_path / "proc").mkdir()
    (tmp_path / "sys").mkdir()
    done = run("--procfs", str(tmp_path / "proc"), "--sysfs", str(tmp_path / "sys"), "--", "true")
    assert done.returncode == 0
    [sample] = samples_of(done.stderr)
    for group in ("cpu", "memory"):
        for name, value in sample[group].items():
            if name not in ("per_core_pct", "process_count"):
                assert value is None or name.startswith("process_"), name
    assert sample["cpu"]["process_count"] == 0
    assert sample["network"] == [] and sample["disk"] == [] and sample["gpu"] == []
    for name in ("disk_read_bytes", "disk_space_total_gb", "net_recv_bytes"):
        assert sample["total"][name] is None


@pytest.mark.parametrize("name", [b"plain", b"\"quotes\" and \\back\\slashes\\",
                                  b"\x01\x02\x1f\x7f",
                                  b"line\nfeed\ttab\rreturn", b"\xff\xfe\xc3\x28\xed\xa0\x80",
                                  "Zürich 東京 🚀".encode(), b"</script><!--", b"\xf4\x90\x80\x80",
                                  b"\xc3", b"\xe2\x28\xa1", b"{}[],:"])
def test_hostile_job_names_stay_valid_json(name):
    done = run(b"--job-name", name, b"--", b"true")
    assert done.returncode == 0
    [sample] = samples_of(done.stderr)
    try:
        assert sample["job_name"] == name.decode("utf-8")
    except UnicodeDecodeError:
        assert "\ufffd" in sample["job_name"]


def test_job_name_of_100_kilobytes(tmp_path):
    name = "".join(chr(0x20 + i % 0x5f) for i in range(100_000))
    out = tmp_path / "out.jsonl"
    assert run("-n", name, "-o", str(out), "--", "true").returncode == 0
    assert sample_of(out.read_bytes()[:-1])["job_name"] == name


def test_job_name_is_in_every_sample():
    for sample in watch_samples(3, "-i", "0.02", "-n", "label"):
        assert sample["job_name"] == "label"

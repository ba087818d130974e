"""CSV: header, columns and their agreement with JSON and with the kernel's counters."""
import os
from decimal import Decimal

import pytest

from helpers import (BASIC_HEADER, csv_of, diskstats_text, make_procfs, make_sysfs, net_dev_text,
                     run, samples_of, stat_text, write_files)

FULL_HEADER = (
    "timestamp,system_processes,system_utime,system_stime,system_cpu_usage,system_memory_free_mib,"
    "system_memory_used_mib,system_memory_buffers_mib,system_memory_cached_mib,"
    "system_memory_active_mib,system_memory_inactive_mib,system_disk_read_bytes,"
    "system_disk_write_bytes,system_disk_space_total_gb,system_disk_space_used_gb,"
    "system_disk_space_free_gb,system_net_recv_bytes,system_net_sent_bytes,system_gpu_usage,"
    "system_gpu_vram_mib,system_gpu_utilized,process_pid,process_children,process_utime,"
    "process_stime,process_cpu_usage,process_memory_mib,process_disk_read_bytes,"
    "process_disk_write_bytes,process_gpu_usage,process_gpu_vram_mib,process_gpu_utilized")

# Column: where it stands in JSON, and its decimals.
COLUMNS = {
    "processes": ("cpu", "process_count", 0), "utime": ("cpu", "utime_secs", 3),
    "stime": ("cpu", "stime_secs", 3), "cpu_usage": ("cpu", "utilization_pct", 4),
    "memory_free": ("memory", "free_mib", 0), "memory_used": ("memory", "used_mib", 0),
    "memory_buffers": ("memory", "buffers_mib", 0), "memory_cached": ("memory", "cached_mib", 0),
    "memory_active": ("memory", "active_mib", 0), "memory_inactive": ("memory", "inactive_mib", 0),
    "disk_read_bytes": ("total", "disk_read_bytes", 0),
    "disk_write_bytes": ("total", "disk_write_bytes", 0),
    "disk_space_total_gb": ("total", "disk_space_total_gb", 6),
    "disk_space_used_gb": ("total", "disk_space_used_gb", 6),
    "disk_space_free_gb": ("total", "disk_space_free_gb", 6),
    "net_recv_bytes": ("total", "net_recv_bytes", 0),
    "net_sent_bytes": ("total", "net_sent_bytes", 0),
    "gpu_usage": ("total", "gpu_usage", 4), "gpu_vram": ("total", "gpu_vram_mib", 4),
    "gpu_utilized": ("total", "gpu_utilized", 0),
}


def known_run(folder, *options):
    """A run on a made-up host whose counters grow by known amounts while the command runs."""
    procfs = make_procfs(folder / "proc")
    sysfs = make_sysfs(folder / "sys")
    write_files(folder / "next", {"stat": stat_text(user=1100, system=1070, idle=80330),
                                  "diskstats": diskstats_text(read=10016, written=20240),
                                  "dev": net_dev_text(62743715 + 12345, 159439 + 678)})
    done = run("-i", "60", "--no-gpu", "--procfs", procfs, "--sysfs", sysfs, *options, "--", "sh", "-c",
               'cat next/stat > proc/stat; cat next/diskstats > proc/diskstats; '
               'cat next/dev > proc/net/dev', cwd=folder)
    assert done.returncode == 0
    return done.stderr


def test_t_csv_01_header_once_and_first(live_csv):
    lines = live_csv.decode().split("\n")
    assert lines[0] == BASIC_HEADER
    assert live_csv.count(b"timestamp") == 1
    assert len(lines) >= 4


def test_full_header():
    done = run("-f", "csv", "--csv-columns", "full", "--", "true")
    assert done.stderr.split(b"\n")[0].decode() == FULL_HEADER
    assert len(done.stderr.split(b"\n")[1].split(b",")) == 32


def test_t_csv_02_rows_have_as_many_columns_as_the_header(live_csv):
    header, rows = csv_of(live_csv)
    assert len(header) == 21 and len(rows) >= 2
    for row in rows:
        assert len(row) == len(header)


def test_t_csv_03_columns_are_the_figures_of_json(tmp_path):
    [sample] = samples_of(known_run(tmp_path / "json"))
    header, [row] = csv_of(known_run(tmp_path / "csv", "-f", "csv"))
    cells = dict(zip(header, row))
    for name, (group, key, decimals) in COLUMNS.items():
        assert cells[name] == f"{sample[group][key]:.{decimals}f}", name
    # 100 user, 70 system and 330 idle ticks on two CPUs
    assert cells["cpu_usage"] == "0.6800"
    ticks = os.sysconf("SC_CLK_TCK")
    assert cells["utime"] == f"{100 / ticks:.3f}" and cells["stime"] == f"{70 / ticks:.3f}"
    assert cells["disk_read_bytes"] == str(16 * 512)
    assert cells["disk_write_bytes"] == str(240 * 512)
    assert cells["net_recv_bytes"] == "12345" and cells["net_sent_bytes"] == "678"


def test_t_csv_04_used_space_is_total_less_free(live_csv):
    header, rows = csv_of(live_csv)
    total, used, free = (header.index(f"disk_space_{name}_gb")
                         for name in ("total", "used", "free"))
    for row in rows:
        assert Decimal(row[used]) == Decimal(row[total]) - Decimal(row[free])
        for column in (total, used, free):
            assert len(row[column].partition(".")[2]) == 6


def test_t_csv_05_the_same_figures_give_the_same_bytes(tmp_path):
    first, second = (known_run(tmp_path / name, "-f", "csv").decode().split("\n")
                     for name in ("one", "two"))
    assert first[0] == second[0]
    assert first[1].partition(",")[2] == second[1].partition(",")[2]


def test_t_csv_06_no_quotes_and_no_trailing_commas(live_csv):
    for line in live_csv.decode("ascii").split("\n")[:-1]:
        assert not line.endswith(",")
        assert not set(line) & set("\"' \t\r;")
    for row in csv_of(live_csv)[1]:
        for cell in row:
            Decimal(cell)


def test_sums_over_no_gpu_are_zeros(tmp_path):
    row = known_run(tmp_path, "-f", "csv").decode().split("\n")[1]
    assert row.endswith(",0.0000,0.0000,0")


def test_full_columns_agree_with_basic_ones(tmp_path):
    _, [basic] = csv_of(known_run(tmp_path / "basic", "-f", "csv"))
    _, [full] = csv_of(known_run(tmp_path / "full", "-f", "csv", "--csv-columns", "full"))
    assert full[1:21] == basic[1:21]


def test_full_names_the_tracked_process(tmp_path):
    done = run("-f", "csv", "--csv-columns", "full", "--", "sh", "-c", "echo $$")
    header, rows = csv_of(done.stderr)
    assert rows[-1][header.index("process_pid")] == done.stdout.decode().strip()


def test_hostile_job_name_does_not_reach_csv():
    done = run("-f", "csv", "-n", "a,b\n\"c\"", "--", "true")
    header, rows = csv_of(done.stderr)
    assert len(rows) == 1 and len(rows[0]) == len(header)


def test_missing_figures_are_empty_cells(tmp_path):
    (tmp_path / "proc").mkdir()
    done = run("-f", "csv", "--procfs", str(tmp_path / "proc"), "--sysfs", str(tmp_path / "proc"),
               "--", "true")
    header, [row] = csv_of(done.stderr)
    cells = dict(zip(header, row))
    for name in ("utime", "cpu_usage", "memory_free", "disk_read_bytes", "net_recv_bytes"):
        assert cells[name] == ""
    assert row[-1] == "0"


def test_disk_bytes_add_up_to_the_counters(tmp_path):
    """Over all samples but the first: what the first counts began before it."""
    scratch = tmp_path / "written"
    stacked = ("dm-", "md", "zd", "drbd", "bcache", "loop", "zram", "ram")
    samples = samples_of(run("-i", "0.05", "--", "sh", "-c",
                             f"for i in 1 2 3 4 5 6 7 8; do dd if=/dev/zero of={scratch} bs=64k "
                             "count=20 conv=fsync 2>/dev/null; sleep 0.05; done").stderr)
    assert len(samples) >= 2
    counted = {row["device"] for row in samples[0]["disk"]
               if not row["device"].startswith(stacked) and row["read_bytes_total"] is not None}
    if not counted:
        pytest.skip("this machine has no disk")
    for column in ("read", "write"):
        first, last = (sum(row[f"{column}_bytes_total"] for row in sample["disk"]
                           if row["device"] in counted) for sample in (samples[0], samples[-1]))
        told = sum(sample["total"][f"disk_{column}_bytes"] for sample in samples[1:])
        assert told == last - first


def test_network_bytes_add_up_to_the_counters(live_samples):
    names = [row["interface"] for row in live_samples[0]["network"]]
    cards = [name for name in names if os.path.exists(f"/sys/class/net/{name}/device")
             and not os.path.exists(f"/sys/class/net/{name}/master")]
    counted = cards or (names if len(names) == 1 else [])
    if not counted:
        pytest.skip("this machine has no network card of its own")
    for column, total in (("rx", "net_recv_bytes"), ("tx", "net_sent_bytes")):
        first, last = (sum(row[f"{column}_bytes_total"] for row in sample["network"]
                           if row["interface"] in counted)
                       for sample in (live_samples[0], live_samples[-1]))
        assert sum(sample["total"][total] for sample in live_samples[1:]) == last - first


def test_bytes_add_up_on_a_made_up_host(tmp_path):
    """The counters grow a little with every loop; the sums over all rows are all of it."""
    procfs = make_procfs(tmp_path / "proc")
    sysfs = make_sysfs(tmp_path / "sys")
    steps = 8
    for step in range(1, steps + 1):
        write_files(tmp_path / "next", {
            f"dev{step}": net_dev_text(received=62743715 + 1001 * step, sent=159439 + 7 * step),
            f"disk{step}": diskstats_text(read=10000 + 3 * step, written=20000 + 11 * step)})
    done = run("-i", "0.03", "-f", "csv", "--procfs", procfs, "--sysfs", sysfs, "--", "sh", "-c",
               f"for i in $(seq {steps}); do mv next/dev$i now; dd if=now of=proc/net/dev bs=64k "
               "conv=notrunc 2>/dev/null; mv next/disk$i now; dd if=now of=proc/diskstats bs=64k "
               "conv=notrunc 2>/dev/null; sleep 0.05; done", cwd=tmp_path)
    assert done.returncode == 0
    header, rows = csv_of(done.stderr)
    sums = {name: sum(int(row[header.index(name)]) for row in rows)
            for name in ("net_recv_bytes", "net_sent_bytes", "disk_read_bytes", "disk_write_bytes")}
    assert sums == {"net_recv_bytes": 1001 * steps, "net_sent_bytes": 7 * steps,
                    "disk_read_bytes": 3 * steps * 512, "disk_write_bytes": 11 * steps * 512}

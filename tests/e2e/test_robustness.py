"""Hostile surroundings: no descriptors, masses of processes, and nonsense in /proc and /sys."""
import random
import resource
import subprocess

import pytest

from helpers import (Lines, csv_of, diskstats_text, make_procfs, make_sysfs, net_dev_text, python,
                     run, sample_of, samples_of, started, stat_text, wait_until, write_files)

PROC_FILES = ["stat", "meminfo", "net/dev", "diskstats", "self/mountinfo", "loadavg"]
MOUNTINFO = (
    "22 1 0:21 / /proc rw - proc proc rw\n"
    "25 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
    "26 25 8:1 /sub /tmp rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
    "27 25 0:45 / /tank\\040of\\011water rw - zfs tank/home rw\n"
    "28 25 0:46 / /data rw - btrfs /dev/mapper/vg-root rw\n")


def few_files():
    resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16))


def test_works_with_16_descriptors():
    done = run("-i", "0.05", "--", "sh", "-c", "sleep 0.2; exit 3", step=few_files)
    assert done.returncode == 3
    samples = samples_of(done.stderr)
    assert len(samples) >= 2
    assert samples[-1]["tracked_pid"] > 0


def test_writes_a_file_with_16_descriptors(tmp_path):
    out = tmp_path / "out.jsonl"
    done = run("-o", str(out), "--", "sh", "-c", "exit 3", step=few_files)
    assert done.returncode == 3
    assert len(samples_of(out.read_bytes())) == 1


@pytest.mark.parametrize("count", range(4, 16))
def test_too_few_descriptors_never_hang_or_crash(count):
    """Either the command runs and its status comes back, or the tracker says it cannot start."""
    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, count))

    done = run("--", "sh", "-c", "exit 3", step=limit)
    assert done.returncode in (3, 125)
    if done.returncode == 125:
        assert done.stderr.startswith(b"resource-tracker: ")


def test_storm_of_2000_short_processes():
    """Each of them an orphan that the tracker has to reap."""
    done = run("-i", "0.02", "--", "sh", "-c",
               "i=0; while [ $i -lt 2000 ]; do ( : & ); i=$((i+1)); done; exit 9")
    assert done.returncode == 9
    assert len(samples_of(done.stderr)) >= 2


CROWD = """
import os, sys
read, write = os.pipe()
for _ in range(500):
    if os.fork() == 0:
        os.close(write)
        os.read(read, 1)  # until the parent is gone
        os._exit(0)
print("ready", flush=True)
sys.stdin.readline()
sys.exit(8)
"""


def test_500_living_processes():
    with started("-i", "0.05", "--", *python(CROWD), stdin=subprocess.PIPE) as tracker:
        assert tracker.stdout.readline() == b"ready\n"
        lines = Lines(tracker.stderr)
        wait_until(lambda: sample_of(lines.next())["cpu"]["process_count"] > 500, "the crowd")
        tracker.stdin.write(b"\n")
        tracker.stdin.flush()
        assert tracker.wait(30) == 8


# --- nonsense to read ---

def garble(text, choose):
    """Bytes swapped, inserted, doubled, or cut off."""
    data = bytearray(text.encode())
    for _ in range(choose.randint(1, 12)):
        at = choose.randrange(len(data) + 1)
        what = choose.randrange(6)
        if what == 0:
            data[at:at] = bytes(choose.randrange(256) for _ in range(choose.randint(1, 9)))
        elif what == 1:
            del data[at:at + choose.randint(1, 9)]
        elif what == 2:
            data[at:at + 1] = choose.choice([b"\0", b"\xff", b"\n", b" ", b":", b"-", b"\x80"])
        elif what == 3:
            data[at:at] = choose.choice([b"18446744073709551615", b"18446744073709551616",
                                         b"9" * 60, b"-1", b"0x10", b"1e9", b"nan"])
        elif what == 4:
            data[at:at] = data[max(0, at - 200):at]
        else:
            del data[at:]
    return bytes(data)


def noise(choose):
    kind = choose.randrange(4)
    if kind == 0:
        return b""
    size = choose.choice([1, 100, 5000, 70000])
    if kind == 1:
        return bytes(choose.randrange(256) for _ in range(min(size, 5000)))
    if kind == 2:
        return b"\n" * size
    return choose.choice([b"9", b" ", b"a", b"\xff", b"cpu0 1 2 3 4\n"]) * size


def texts(choose, grown):
    bonus = choose.randrange(10**6) if grown else 0
    return {"stat": stat_text(user=1000 + bonus, system=1000 + bonus, idle=80000 + bonus),
            "meminfo": "MemTotal: 16384000 kB\nMemFree: 4096000 kB\nBuffers: 1 kB\nCached: 2 kB\n"
                       "SwapTotal: 5 kB\nSwapFree: 9 kB\n",
            "net/dev": net_dev_text(received=62743715 + bonus, sent=159439 + bonus),
            "diskstats": diskstats_text(read=10000 + bonus, written=20000 + bonus),
            "self/mountinfo": MOUNTINFO, "loadavg": "0.52 0.58 0.59 3/602 1274\n"}


def hostile_files(choose, grown=False):
    """Each file as it should be, garbled, or noise."""
    files = {}
    for name, text in texts(choose, grown).items():
        what = choose.randrange(5)
        files[name] = text.encode() if what == 0 else noise(choose) if what == 1 \
            else garble(text, choose)
    return files


@pytest.mark.parametrize("seed", range(30))
def test_nonsense_in_proc_gives_valid_output(seed, tmp_path):
    """Two states of the files, one after the other, both with fixed seeds."""
    choose = random.Random(seed)
    make_procfs(tmp_path / "proc", **hostile_files(choose))
    make_sysfs(tmp_path / "sys")
    write_files(tmp_path / "next", {name.replace("/", "-"): data
                                    for name, data in hostile_files(choose, True).items()})
    copies = "; ".join(f"cat next/{name.replace('/', '-')} > proc/{name}" for name in PROC_FILES)
    for form in ("json", "csv"):
        done = run("-i", "0.02", "-f", form, "--procfs", "proc", "--sysfs", "sys", "--", "sh", "-c",
                   f"sleep 0.05; {copies}; sleep 0.03; exit 3", cwd=tmp_path)
        assert done.returncode == 3, done.stderr[-2000:]
        if form == "json":
            assert len(samples_of(done.stderr)) >= 1
        else:
            header, rows = csv_of(done.stderr)
            assert rows and all(len(row) == len(header) for row in rows)


@pytest.mark.parametrize("seed", range(8))
def test_nonsense_in_sys_gives_valid_output(seed, tmp_path):
    choose = random.Random(1000 + seed)
    make_procfs(tmp_path / "proc")
    make_sysfs(tmp_path / "sys")
    for path in sorted((tmp_path / "sys").rglob("*")):
        if path.is_file():
            path.write_bytes(choose.choice([noise(choose), garble(path.read_text(), choose)]))
    done = run("--procfs", "proc", "--sysfs", "sys", "--", "sh", "-c", "exit 3", cwd=tmp_path)
    assert done.returncode == 3, done.stderr[-2000:]
    [sample] = samples_of(done.stderr)
    assert [row["interface"] for row in sample["network"]] == ["eth0", "br0"]


def test_folders_in_the_place_of_files(tmp_path):
    for name in PROC_FILES:
        (tmp_path / "proc" / name).mkdir(parents=True)
    (tmp_path / "sys").write_text("")
    done = run("--procfs", "proc", "--", "sh", "-c", "exit 3", cwd=tmp_path)
    assert done.returncode == 3
    assert len(samples_of(done.stderr)) == 1


def test_largest_counters_are_told_exactly(tmp_path):
    """Beyond 2^53 a floating-point number would be off."""
    large = 2**63 + 1
    make_procfs(tmp_path / "proc", **{"net/dev": net_dev_text(received=large, sent=large - 2),
                                      "diskstats": diskstats_text(read=2**54 + 1)})
    [sample] = samples_of(run("--procfs", "proc", "--sysfs", make_sysfs(tmp_path / "sys"), "--",
                              "true", cwd=tmp_path).stderr)
    assert sample["network"][0]["rx_bytes_total"] == large
    assert sample["network"][0]["tx_bytes_total"] == large - 2
    assert sample["disk"][0]["read_bytes_total"] == (2**54 + 1) * 512


def test_thousands_of_interfaces_and_disks(tmp_path):
    dev = net_dev_text() + "".join(f" veth{i:04}: {i} 0 0 0 0 0 0 0 {i} 0 0 0 0 0 0 0\n"
                                   for i in range(3000))
    disks = "".join(f" 8 {i} sd{chr(97 + i // 26 // 26 % 26)}{chr(97 + i // 26 % 26)}"
                    f"{chr(97 + i % 26)} 1 0 8 1 1 0 8 1 0 1 1\n" for i in range(1000))
    make_procfs(tmp_path / "proc", **{"net/dev": dev, "diskstats": disks})
    out = tmp_path / "out.jsonl"
    done = run("--procfs", "proc", "--sysfs", make_sysfs(tmp_path / "sys"), "-i", "0.2", "-o",
               str(out), "--", "sleep", "0.5", cwd=tmp_path)
    assert done.returncode == 0
    for sample in samples_of(out.read_bytes()):
        assert len(sample["network"]) == 3002
        assert len(sample["disk"]) == 1000


def test_devices_that_come_and_go(tmp_path):
    """Interfaces leave and another comes; what it has counted before we saw it is not traffic."""
    make_procfs(tmp_path / "proc")
    make_sysfs(tmp_path / "sys")
    head = net_dev_text().splitlines(keepends=True)[:3]
    write_files(tmp_path, {"gone": "".join(head),
                           "new": "".join(head) + " wlan0: 5000 1 0 0 0 0 0 0 600 1 0 0 0 0 0 0\n"})
    done = run("-i", "0.05", "--procfs", "proc", "--sysfs", "sys", "--", "sh", "-c",
               "sleep 0.2; cat gone > proc/net/dev; sleep 0.2; cat new > proc/net/dev; sleep 0.2",
               cwd=tmp_path)
    assert done.returncode == 0
    samples = samples_of(done.stderr)
    names = [[row["interface"] for row in sample["network"]] for sample in samples]
    assert names[-1] == ["wlan0"]
    assert sum(sample["total"]["net_recv_bytes"] for sample in samples) == 0
    assert ["eth0", "br0"] in names


def test_long_lines_and_many_mounts(tmp_path):
    mounts = MOUNTINFO + "".join(f"{i} 25 8:1 /x{i} /mnt/{'y' * 200}{i} rw - ext4 /dev/sda1 rw\n"
                                 for i in range(100, 3000))
    make_procfs(tmp_path / "proc", **{"self/mountinfo": mounts})
    done = run("--procfs", "proc", "--sysfs", make_sysfs(tmp_path / "sys"), "--", "true",
               cwd=tmp_path)
    [sample] = samples_of(done.stderr)
    sda = next(row for row in sample["disk"] if row["device"] == "sda")
    assert [mount["mount_point"] for mount in sda["mounts"]] == ["/"]
    assert any(mount["mount_point"] == "/tank of\twater"
               for row in sample["disk"] for mount in row["mounts"])

"""Ours and another tool on the same host at the same time: every column that both have, side by side.

The other one is the Python tool, or, where that cannot be had, a reader of our own that takes the same figures
out of /proc with nothing in common with the tracker's code.
"""
import contextlib
import csv
import os
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

import measure
import peers

ALLOWED = 0.05
TICKS = os.sysconf("SC_CLK_TCK")

# Keeps a CPU busy, writes to storage and reads it back, and has children, all of it steadily.
JOB = """
import os, sys, time
open(sys.argv[1] + '.part', 'w').write(str(os.getpid()))
os.rename(sys.argv[1] + '.part', sys.argv[1])
until = time.monotonic() + float(sys.argv[2])
if os.fork() == 0:
    held = bytearray(64 << 20)
    while time.monotonic() < until:
        sum(range(20000))
    os._exit(0)
block = os.urandom(1 << 18)
with open(sys.argv[3], 'wb+', buffering=0) as file:
    while time.monotonic() < until:
        file.seek(0)
        file.write(block)
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        file.seek(0)
        file.read()
        time.sleep(0.02)
os.wait()
"""


# --- the columns: their name, ours in a JSON sample, kind, what is no difference at all ---

def at(*path):
    def value(sample):
        for key in path:
            sample = sample[key]
        return sample
    return value


SUM, LEVEL = "sum", "mean"
SYSTEM = {
    "processes": (at("cpu", "process_count"), LEVEL, 3),
    "utime": (at("cpu", "utime_secs"), SUM, 0.05),
    "stime": (at("cpu", "stime_secs"), SUM, 0.05),
    "cpu_usage": (at("cpu", "utilization_pct"), LEVEL, 0.05),
    "memory_free_mib": (at("memory", "free_mib"), LEVEL, 4),
    "memory_used_mib": (at("memory", "used_mib"), LEVEL, 4),
    "memory_buffers_mib": (at("memory", "buffers_mib"), LEVEL, 4),
    "memory_cached_mib": (at("memory", "cached_mib"), LEVEL, 4),
    "memory_active_mib": (at("memory", "active_mib"), LEVEL, 4),
    "memory_inactive_mib": (at("memory", "inactive_mib"), LEVEL, 4),
    "disk_read_bytes": (at("total", "disk_read_bytes"), SUM, 1 << 20),
    "disk_write_bytes": (at("total", "disk_write_bytes"), SUM, 1 << 20),
    "disk_space_total_gb": (at("total", "disk_space_total_gb"), LEVEL, 0.01),
    "disk_space_used_gb": (at("total", "disk_space_used_gb"), LEVEL, 0.01),
    "disk_space_free_gb": (at("total", "disk_space_free_gb"), LEVEL, 0.01),
    "net_recv_bytes": (at("total", "net_recv_bytes"), SUM, 1 << 16),
    "net_sent_bytes": (at("total", "net_sent_bytes"), SUM, 1 << 16),
    "gpu_usage": (at("total", "gpu_usage"), LEVEL, 0.01),
    "gpu_vram_mib": (at("total", "gpu_vram_mib"), LEVEL, 1),
    "gpu_utilized": (at("total", "gpu_utilized"), LEVEL, 0.1),
}
PROCESS = {
    "children": (at("cpu", "process_child_count"), LEVEL, 0.1),
    "utime": (at("cpu", "process_utime_secs"), SUM, 0.05),
    "stime": (at("cpu", "process_stime_secs"), SUM, 0.05),
    "cpu_usage": (at("cpu", "process_cores_used"), LEVEL, 0.05),
    "memory_mib": (at("cpu", "process_pss_mib"), LEVEL, 1),
    "disk_read_bytes": (at("cpu", "process_disk_read_bytes"), SUM, 1 << 19),
    "disk_write_bytes": (at("cpu", "process_disk_write_bytes"), SUM, 1 << 19),
    "gpu_usage": (at("cpu", "process_gpu_usage"), LEVEL, 0.01),
    "gpu_vram_mib": (at("cpu", "process_gpu_vram_mib"), LEVEL, 1),
    "gpu_utilized": (at("cpu", "process_gpu_utilized"), LEVEL, 0.1),
}


# --- a reader of our own ---

def counters(pid):
    """What /proc says now, by the rules of the Python tool's documentation."""
    cpu = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    # total, used and free of each block device once
    spaces = {}
    for line in Path("/proc/mounts").read_text().splitlines():
        source, point = line.split()[:2]
        if source.startswith("/dev/") and source not in spaces:
            with contextlib.suppress(OSError):
                space = os.statvfs(point)
                spaces[source] = (space.f_blocks * space.f_frsize, space.f_bavail * space.f_frsize)
    memory = {line.split(":")[0]: int(line.split()[1]) / 1024 for line in open("/proc/meminfo", encoding="ascii")}
    disks = [line.split() for line in open("/proc/diskstats", encoding="ascii")]
    whole = [words for words in disks if Path(f"/sys/block/{words[2]}/device").exists() or
             words[2].startswith(("vd", "xvd"))]
    network = [line.split(":") for line in open("/proc/net/dev", encoding="ascii") if ":" in line]
    cards = [words.split() for name, words in network if Path(f"/sys/class/net/{name.strip()}/device").exists()]
    cached = memory["Cached"] + memory["SReclaimable"]
    return {
        "time": time.time(), "processes": measure.process_count(),
        "utime": (int(cpu[1]) + int(cpu[2])) / TICKS, "stime": int(cpu[3]) / TICKS,
        "busy": sum(int(cpu[i]) for i in (1, 2, 3, 6, 7, 8)) / TICKS,
        "memory_free_mib": memory["MemFree"], "memory_buffers_mib": memory["Buffers"], "memory_cached_mib": cached,
        "memory_used_mib": memory["MemTotal"] - memory["MemFree"] - memory["Buffers"] - cached,
        "memory_active_mib": memory["Active"], "memory_inactive_mib": memory["Inactive"],
        "disk_read_bytes": sum(int(words[5]) * 512 for words in whole),
        "disk_write_bytes": sum(int(words[9]) * 512 for words in whole),
        "disk_space_total_gb": sum(total for total, _ in spaces.values()) / 1e9,
        "disk_space_used_gb": sum(total - free for total, free in spaces.values()) / 1e9,
        "disk_space_free_gb": sum(free for _, free in spaces.values()) / 1e9,
        "net_recv_bytes": sum(int(words[0]) for words in cards),
        "net_sent_bytes": sum(int(words[8]) for words in cards),
        "tree": tree_counters(pid),
    }


def tree_counters(pid):
    totals = {"children": -1, "utime": 0.0, "stime": 0.0, "memory_mib": 0.0, "disk_read_bytes": 0, "disk_write_bytes": 0}
    for member in measure.descendants(pid):
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{member}/stat").read_bytes().rpartition(b")")[2].split()
            moved = dict(line.split(": ") for line in Path(f"/proc/{member}/io").read_text().splitlines())
            totals["children"] += 1
            totals["utime"] += int(words[11]) / TICKS
            totals["stime"] += int(words[12]) / TICKS
            totals["memory_mib"] += measure.memory_kib([member])[1] / 1024
            totals["disk_read_bytes"] += int(moved["read_bytes"])
            totals["disk_write_bytes"] += int(moved["write_bytes"])
    return totals


GROWING = ("utime", "stime", "disk_read_bytes", "disk_write_bytes", "net_recv_bytes", "net_sent_bytes")


def between(before, after):
    """One row of each kind out of two readings."""
    elapsed = after["time"] - before["time"]
    system = {key: value - before[key] if key in GROWING else value
              for key, value in after.items() if key not in ("tree", "busy")}
    system["cpu_usage"] = (after["busy"] - before["busy"]) / elapsed
    process = {key: value - before["tree"][key] if key in GROWING else value for key, value in after["tree"].items()}
    process["cpu_usage"] = (process["utime"] + process["stime"]) / elapsed
    return {"timestamp": after["time"], **system}, {"timestamp": after["time"], **process}


class OwnReader(threading.Thread):
    """Reads at every whole second until it is told to stop."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.rows, self.stopped = pid, [], threading.Event()

    def run(self):
        before = None
        while not self.stopped.wait(1 - time.time() % 1):
            with contextlib.suppress(OSError):
                now = counters(self.pid)
                if before:
                    self.rows.append(between(before, now))
                before = now


# --- running both ---

def rows_of(path):
    with open(path, encoding="utf-8") as rows:
        return list(csv.DictReader(rows))


@contextlib.contextmanager
def job_under(other, folder, seconds):
    """The job, alone or under the Python tool; gives its PID."""
    told = Path(folder) / "job"
    command = [sys.executable, "-S", "-c", JOB, str(told), str(seconds + 6), str(Path(folder) / "data")]
    if other is not None:
        command = peers.command_of(other, 1, Path(folder) / "theirs", command)
    process = measure.start(command, other)
    try:
        measure.wait_until(told.exists, "the job's start")
        yield int(told.read_text())
    finally:
        members = measure.descendants(int(told.read_text())) if told.exists() else []
        if other is None:
            measure.end_pids(members)
            measure.end(process)
        else:
            measure.end_with_job(process, members)


def run_both(ours, other, seconds):
    """(our samples, their system rows, their process rows)."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder: # on storage: /tmp may be memory
        out = Path(folder) / "ours"
        with job_under(other, folder, seconds) as pid:
            reader = OwnReader(pid) if other is None else None
            if reader:
                reader.start()
            # Both at whole seconds, so that they look at the same moments.
            time.sleep(1 - time.time() % 1)
            tracker = measure.start([ours, "-i", "1", "--pid", pid, "-o", out])
            time.sleep(seconds + 1.3)
            measure.end(tracker)
            if reader:
                reader.stopped.set()
                reader.join()
            system, process = (zip(*reader.rows) if reader else
                               (rows_of(Path(folder) / "theirs.system"), rows_of(Path(folder) / "theirs.process")))
        return peers.json_lines(out)[:-1], list(system), list(process)


# --- comparing ---

def second_of(row):
    return round(float(row["timestamp"]))


def shared(samples, rows):
    """Pairs of the same second. The first of each is left out: it covers another time."""
    theirs = {second_of(row): row for row in rows[1:]}
    # Ours begin up to a moment after the whole second and are stamped with it.
    return [(sample, theirs[sample["timestamp_secs"]]) for sample in samples[1:]
            if sample["timestamp_secs"] in theirs]


def shift(pairs):
    """By how much of a second the two looked at different moments, at worst."""
    return max(sample["tracker"]["late_ms"] / 1000 + abs(float(row["timestamp"]) - second_of(row))
               for sample, row in pairs) + 0.02


def explain(column, pairs, theirs):
    """Differences that are known, each shown to be what it is said to be."""
    if column == "memory_used_mib":
        unavailable = statistics.mean(sample["memory"]["total_mib"] - sample["memory"]["available_mib"]
                                      for sample, _ in pairs)
        if abs(unavailable - theirs) <= ALLOWED * theirs:
            return f"explained: theirs is total − available, which ours has too ({unavailable:.0f})"
    if column.startswith("disk_space"):
        sources = [line.split()[0] for line in open("/proc/mounts", encoding="utf-8")]
        if len(sources) > len({source for source in sources if source.startswith("/dev/")}):
            return "explained: theirs adds every mount point, memory and repeated ones too; ours each device once"
    if column == "cpu_usage":
        other = statistics.mean(float(row["utime"]) + float(row["stime"]) for _, row in pairs)
        if abs(other - theirs) <= ALLOWED * max(theirs, 0.1):
            return "explained: theirs leaves out interrupts and what the hypervisor took"
    return None


def compare_column(group, column, rule, pairs):
    ours_of, kind, nothing = rule
    usable = [(ours_of(sample), float(row[column] or 0)) for sample, row in pairs
              if row.get(column) is not None and ours_of(sample) is not None]
    if not usable:
        return None
    ours, theirs = (sum(values) if kind == SUM else statistics.mean(values) for values in zip(*usable))
    off = abs(ours - theirs)
    percent = 100 * off / abs(theirs) if theirs else (0.0 if off == 0 else float("inf"))
    # What came in the moments that only one of the two saw.
    edge = 2 * shift(pairs) * max(max(pair) for pair in usable) if kind == SUM else 0
    if percent <= 100 * ALLOWED:
        verdict = "same"
    elif off <= nothing:
        verdict = "same: too little of it to tell"
    elif off <= edge:
        verdict = f"same: they looked up to {shift(pairs) * 1000:.0f} ms apart"
    else:
        verdict = explain(column, pairs, theirs) or "DIFFERS"
    return {"column": f"{group} {column}", "ours": f"{ours:.6g}", "theirs": f"{theirs:.6g}",
            "difference": "–" if percent == float("inf") else f"{percent:.2g} %", "verdict": verdict}


def compare(samples, system, process):
    rows = []
    for group, rules, theirs in (("system", SYSTEM, system), ("process", PROCESS, process)):
        pairs = shared(samples, theirs)
        if len(pairs) < 3:
            raise RuntimeError(f"only {len(pairs)} seconds were seen by both")
        rows += [compare_column(group, column, rule, pairs) for column, rule in rules.items()]
    return [row for row in rows if row]


def python_tool():
    """The Python tool, or None and why."""
    peer = next(peer for peer in peers.PEERS if peer.name == "Python tool")
    path, reason = peers.locate(peer.name)
    return (peer, None) if path else (None, reason)

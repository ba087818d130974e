"""The loop that people write with psutil: psutil_loop.py SECS OUT -- COMMAND...

Each sample is a line of JSON with the host's figures and those of the command's tree.
"""
import contextlib
import json
import subprocess
import sys
import time

import psutil


def host_figures():
    return {"cpu": psutil.cpu_times()._asdict(), "memory": psutil.virtual_memory()._asdict(),
            "disk": psutil.disk_io_counters()._asdict(), "net": psutil.net_io_counters()._asdict(),
            "space": psutil.disk_usage("/")._asdict(), "processes": len(psutil.pids())}


def tree_figures(root, seen):
    """Memory and bytes of those alive, and by how much the CPU time of each has grown."""
    figures = {"members": 0, "rss": 0, "cpu_secs": 0.0, "read": 0, "written": 0}
    for process in [root, *root.children(recursive=True)]:
        with contextlib.suppress(psutil.Error), process.oneshot():
            times = process.cpu_times()
            used = times.user + times.system
            moved = process.io_counters()
            figures["members"] += 1
            figures["rss"] += process.memory_info().rss
            figures["cpu_secs"] += used - seen.get(process.pid, 0)
            figures["read"] += moved.read_bytes
            figures["written"] += moved.write_bytes
            seen[process.pid] = used
    return figures


def main():
    interval, out, _, *command = sys.argv[1:]
    interval = float(interval)
    job = subprocess.Popen(command)
    seen = {}
    due = time.monotonic()
    with open(out, "w", encoding="utf-8") as lines:
        while job.poll() is None:
            with contextlib.suppress(psutil.Error):
                sample = {**host_figures(), "tree": tree_figures(psutil.Process(job.pid), seen)}
                lines.write(json.dumps(sample) + "\n")
                lines.flush()
            due += interval
            with contextlib.suppress(subprocess.TimeoutExpired):
                job.wait(max(0, due - time.monotonic()))
    return job.returncode


sys.exit(main())

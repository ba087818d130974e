"""Measurements of ours alone: what no peer does, and what we hold ourselves to all the same."""
import contextlib
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import measure
import peers

TESTS = peers.ROOT / "tests"
LARGE_MIB = 2048
TRACKERS = 20


# --- proportional memory ---

def lines_of(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def large_process_cost(pss, seconds):
    """(CPU share of the interval, longest collection of a sample in ms) while a process of 2 GiB is tracked."""
    with tempfile.TemporaryDirectory() as folder:
        ready, out = Path(folder) / "ready", Path(folder) / "out"
        tracker = measure.start([peers.OURS, "-i", "1", "-o", out, "--pss", pss, "--",
                                 peers.PROGRAMS / "load", ready, 1, LARGE_MIB * 1024])
        try:
            measure.wait_until(ready.exists, "a large process")
            began, before = time.monotonic(), measure.cpu_ns([tracker.pid])
            time.sleep(seconds)
            used = (measure.cpu_ns([tracker.pid]) - before) / 1e9 / (time.monotonic() - began)
        finally:
            measure.end_with_job(tracker, [int(ready.read_text().split()[0])] if ready.exists() else [])
        return used, max(line["tracker"]["sample_us"] for line in lines_of(out)[1:]) / 1000


def measure_pss(plan):
    """Twice the time after which it is read again."""
    seconds = 5 if plan.quick else 20
    with_pss, longest = large_process_cost("auto", seconds)
    without, _ = large_process_cost("never", seconds)
    return {"mib": LARGE_MIB, "share": with_pss - without, "longest_ms": longest}


# --- ticks at one second ---

def missed_ticks(path):
    """(ticks, those of them that were not taken), by the intervals that the samples tell."""
    intervals = [line["actual_interval_ms"] for line in lines_of(path)[1:-1]]
    ticks = [max(1, round(interval / 1000)) for interval in intervals]
    return sum(ticks), sum(tick - 1 for tick in ticks)


def measure_ticks(plan):
    """Many trackers at once on a busy host: as many ticks as one has in a quarter of an hour."""
    seconds = 6 if plan.quick else 52
    with tempfile.TemporaryDirectory() as folder, measure.busy_host(4):
        outs = [Path(folder) / str(i) for i in range(TRACKERS)]
        trackers = []
        for out in outs:
            trackers.append(measure.start([peers.OURS, "-i", "1", "-o", out]))
            time.sleep(1 / TRACKERS)
        time.sleep(seconds)
        for tracker in trackers:
            measure.end(tracker)
        found = [missed_ticks(out) for out in outs]
        late = sorted(line["tracker"]["late_ms"] for out in outs for line in lines_of(out)[1:-1])
    return {"ticks": sum(ticks for ticks, _ in found), "missed": sum(missed for _, missed in found),
            "late_p99_ms": late[int(len(late) * 0.99)], "late_longest_ms": late[-1]}


# --- memory while streaming ---

def resident_kib(pid):
    text = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"^VmRSS:\s+(\d+)", text, re.M)[1]), int(re.search(r"^VmHWM:\s+(\d+)", text, re.M)[1])


def measure_streaming(plan):
    """With the API and the S3 of the tests, over TLS, and every certificate of this machine to choose from."""
    sys.path[:0] = [str(TESTS / "e2e"), str(TESTS / "fakes")]
    from certificates import Certificates
    from streamhost import StreamHost
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        certificates = Certificates(Path(tempfile.mkdtemp(dir=folder)))
        server = certificates.make("good", ["localhost"])
        host = StreamHost(tempfile.mkdtemp(dir=folder), tls=server, s3={"tls": server})
        stack.callback(host.close)
        bundle = Path(folder) / "bundle.pem"
        everybody = Path("/etc/ssl/certs/ca-certificates.crt")
        bundle.write_text((everybody.read_text() if everybody.exists() else "") +
                          Path(certificates.ca_file).read_text())
        host.binary = str(peers.OURS)
        host.arguments[host.arguments.index("-i") + 1] = "1"
        host.env |= {"SSL_CERT_FILE": str(bundle), "TRACKER_UPLOAD_INTERVAL": "5"}
        with host.started("sleep", "60") as job:
            time.sleep(8)
            readings = []
            until = time.monotonic() + (6 if plan.quick else 15)
            while time.monotonic() < until:
                readings.append(resident_kib(job.pid))
                time.sleep(0.02)
            libraries = {line.split()[-1] for line in Path(f"/proc/{job.pid}/maps").read_text().splitlines()
                         if ".so" in line}
            job.process.terminate()
            job.process.wait()
        resident = sorted(now for now, _ in readings)
        return {"median_kib": resident[len(resident) // 2], "largest_kib": resident[-1],
                "highest_kib": max(high for _, high in readings), "libraries": len(libraries),
                "batches": len(host.s3.objects)}


def measure_all(plan, _):
    found = {"pss": measure_pss(plan), "ticks": measure_ticks(plan)}
    try:
        found["streaming"] = measure_streaming(plan)
    except ImportError as fault: # pytest or botocore: the servers are those of the tests
        print(f"  streaming: {fault}; see tools/setup test", file=sys.stderr)
    return found


# --- the tools as jobs ---

def record(peer, seconds, folder):
    """Samples of ours of a tool that tracks ten sleepers."""
    ready, out = Path(folder) / "ready", Path(folder) / f"{peer.name}.jsonl"
    ready.unlink(missing_ok=True)
    job = [peers.PROGRAMS / "load", ready, 10, 0]
    argv = peers.command_of(peer, 1, Path(folder) / "out", job)
    tracker = measure.start([peers.OURS, "-i", "1", "-o", out, "--job-name", peer.name, "--", *argv], peer)
    try:
        measure.wait_until(ready.exists, f"the job of {peer.name}")
        time.sleep(seconds)
    finally:
        measure.end_with_job(tracker, [int(ready.read_text().split()[0])] if ready.exists() else [])
    return out


def measure_picture(plan, tools, names):
    """The chart of the job's CPU time in the report that compares these tools, as anybody would make it."""
    page = peers.PROGRAMS / "peers.html"
    with tempfile.TemporaryDirectory() as folder, measure.background(1000, 10):
        recordings = [record(peer, 6 if plan.quick else 20, folder) for peer in tools if peer.name in names]
        subprocess.run([peers.OURS, "--from", *recordings, "--report", page, "--summary=none"], check=True)
    return {"figure": re.search(r"<figure.*?</figure>", page.read_text(), re.S)[0]}

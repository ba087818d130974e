"""What is measured of a running tool, from outside and the same way for all: CPU time of all its processes
and threads, memory, system calls, when its samples come."""
import contextlib
import ctypes
import functools
import os
import re
import shutil
import signal
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import peers

PATIENCE = 60
TICK_NS = 10**9 // os.sysconf("SC_CLK_TCK")
CLONE_NEWNET = 0x40000000


# --- starting and ending ---

def environment_of(peer=None):
    """Nothing that would configure a tracker, and no token to send anything with."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("TRACKER_", "RESOURCE_TRACKER_", "SENTINEL_"))}
    return {**kept, **(peer.environment if peer else {})}


@functools.cache
def empty_network():
    """A network namespace with nothing in it, or None: for tools that would ask the network what machine
    this is. A measurement sends nothing anywhere."""
    if not shutil.which("unshare"):
        return None
    holder = subprocess.Popen(["unshare", "-n", "sh", "-c", "echo ready; read wait"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    is_made = holder.stdout.readline() == b"ready\n"
    network = os.open(f"/proc/{holder.pid}/ns/net", os.O_RDONLY) if is_made else None
    holder.communicate()
    return network


def enter_network(peer):
    """For preexec_fn. The same fork for all tools, whether they have to be kept from the network or not."""
    network = empty_network() if peer is not None and peer.offline else None
    libc = ctypes.CDLL(None)

    def enter():
        if network is not None:
            libc.setns(network, CLONE_NEWNET)
    return enter


def start(argv, peer=None, **options):
    options.setdefault("stdin", subprocess.DEVNULL)
    options.setdefault("stdout", subprocess.DEVNULL)
    options.setdefault("stderr", subprocess.DEVNULL)
    return subprocess.Popen([*map(str, argv)], env=environment_of(peer), preexec_fn=enter_network(peer), **options)


def end(process, number=signal.SIGTERM):
    """Asks first."""
    if process.poll() is None:
        process.send_signal(number)
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def end_pids(pids):
    """Of ours, by their numbers."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def began_at(pid):
    """Tells a process from another that has its number later; None when it has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[19]
    except OSError:
        return None


def end_with_job(tool, job_pids, number=signal.SIGTERM):
    """The job first: a tool that ends with it takes its helpers along. One that does not is asked, and whatever
    it leaves behind is ended."""
    helpers = {pid: began_at(pid) for pid in descendants(tool.pid, *job_pids) if pid != tool.pid}
    end_pids(job_pids)
    with contextlib.suppress(subprocess.TimeoutExpired):
        if job_pids:
            tool.wait(3)
    end(tool, number)
    end_pids(pid for pid, began in helpers.items() if began is not None and began_at(pid) == began)


def wait_until(condition, what):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(0.005)


def build(name, source=None):
    """One of our own programs."""
    peers.PROGRAMS.mkdir(parents=True, exist_ok=True)
    binary = peers.PROGRAMS / name
    subprocess.run(["gcc", "-O2", "-D_GNU_SOURCE", "-pthread", "-o", binary, source or peers.HERE / f"{name}.c"],
                   check=True)
    return str(binary)


# --- processes ---

def parents():
    """{pid: parent} of everybody."""
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError, ValueError):
                found[int(entry)] = int(Path(f"/proc/{entry}/stat").read_bytes().rpartition(b")")[2].split()[1])
    return found


def descendants(root, *without):
    """The process and all below it, but nothing from those in `without` on."""
    children = {}
    for pid, parent in parents().items():
        children.setdefault(parent, []).append(pid)
    found, todo = [], [root]
    while todo:
        pid = todo.pop()
        if pid in without:
            continue
        found.append(pid)
        todo += children.get(pid, [])
    return found


def name_of(pid):
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError: # it has ended
        return ""


def process_count():
    return sum(entry.isdigit() for entry in os.listdir("/proc"))


def cpu_ns(pids):
    """Of all threads, exact; and of the children they have waited for, in ticks."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            total += time.clock_gettime_ns((~pid << 3) | 2)
            words = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
            total += (int(words[13]) + int(words[14])) * TICK_NS
    return total


def memory_kib(pids):
    """(resident, proportional), summed."""
    sums = {"Rss": 0, "Pss": 0}
    for pid in pids:
        with contextlib.suppress(OSError):
            text = Path(f"/proc/{pid}/smaps_rollup").read_text()
            for name in sums:
                sums[name] += int(re.search(rf"^{name}:\s+(\d+)", text, re.M)[1])
    return sums["Rss"], sums["Pss"]


# --- a host with many processes ---

@contextlib.contextmanager
def background(wanted, tree):
    """So many sleepers that with the tree there are `wanted` processes on the host."""
    before = process_count()
    missing = wanted - before - tree
    if missing <= 0:
        yield
        return
    with tempfile.TemporaryDirectory() as folder:
        ready = Path(folder) / "ready"
        sleepers = start([peers.PROGRAMS / "load", ready, missing, 0])
        try:
            wait_until(ready.exists, "processes in the background")
            yield
        finally:
            sleepers.kill()
            sleepers.wait()
            # Others may have come meanwhile; thousands that are still ending would be measured with what follows.
            wait_until(lambda: process_count() < before + missing / 10 + 50, "the end of those in the background")


class Running:
    """A tool at work on a tree of sleepers."""

    def __init__(self, peer, process, job_pid, out, pids):
        self.peer = peer
        self.process = process
        self.job_pid = job_pid
        self.out = out
        self.pids_file = pids

    def pids(self):
        return descendants(self.process.pid, self.job_pid)

    def samples(self):
        return self.peer.count(self.out) if self.peer.count else None


@contextlib.contextmanager
def tracking(peer, seconds, tree, kib):
    """The tool and the tree that it tracks; None where it cannot be asked for that."""
    with tempfile.TemporaryDirectory() as folder:
        ready, out = Path(folder) / "ready", Path(folder) / "out"
        job = [peers.PROGRAMS / "load", ready, tree, kib]
        argv = peers.command_of(peer, seconds, out, job)
        alone = None
        if argv is None:
            alone = start(job)
            wait_until(ready.exists, "the job")
            argv = peers.watch_command_of(peer, seconds, out, ready)
        try:
            if argv is None:
                yield None
                return
            tool = start(argv, peer)
            try:
                wait_until(lambda: ready.exists() or tool.poll() is not None, f"the job of {peer.name}")
                if tool.poll() is not None:
                    raise RuntimeError(f"{peer.name} ended with {tool.returncode}: {argv}")
                job_pid = int(ready.read_text().split()[0])
                yield Running(peer, tool, job_pid, out, ready)
            finally:
                job_pids = [int(ready.read_text().split()[0])] if alone is None and ready.exists() else []
                end_with_job(tool, job_pids, signal.SIGINT if peer.watch else signal.SIGTERM)
        finally:
            if alone is not None:
                alone.kill()
                alone.wait()


# --- what it costs ---

def cost(peer, seconds, tree, settle, window, kib):
    """CPU microseconds a sample, resident and proportional KiB, samples a second; None: cannot be asked."""
    with tracking(peer, seconds, tree, kib) as running:
        if running is None:
            return None
        time.sleep(settle)
        pids = running.pids()
        began, samples_before, before = time.monotonic(), running.samples(), cpu_ns(pids)
        # By an absolute end: a whole number of intervals holds as many samples, wherever it begins.
        time.sleep(max(0, began + window - time.monotonic()))
        after, samples_after = cpu_ns(pids), running.samples()
        took = time.monotonic() - began
        taken = samples_after - samples_before if samples_after is not None else round(window / seconds)
        resident, proportional = memory_kib(pids)
        used_us = (after - before) / 1000
        if not peer.samples:
            return {"us": None, "rss_kib": resident, "pss_kib": proportional, "rate": None,
                    "cpu_share": used_us / 1e6 / took}
        return {"us": used_us / taken if taken else None, "rss_kib": resident, "pss_kib": proportional,
                "rate": taken / took, "cpu_share": used_us / 1e6 / took}


def parse_strace(text):
    """{system call: count} of a table of strace -c."""
    rows = re.findall(r"^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(\w+)$", text, re.M)
    return {name: int(count) for count, name in rows if name != "total"}


def calls(peer, seconds, tree, settle, window, kib):
    """{system call: count a sample} of all processes and threads of the tool."""
    with tracking(peer, seconds, tree, kib) as running, tempfile.NamedTemporaryFile() as table:
        if running is None or not peer.samples:
            return None
        time.sleep(settle)
        targets = [word for pid in running.pids() for word in ("-p", str(pid))]
        samples_before = running.samples()
        strace = start(["strace", "-c", "-f", "-qq", "-o", table.name, *targets])
        time.sleep(window)
        end(strace, signal.SIGINT)
        samples_after = running.samples()
        taken = samples_after - samples_before if samples_after is not None else round(window / seconds)
        counts = parse_strace(Path(table.name).read_text())
        return {name: count / taken for name, count in counts.items()} if taken else None


# --- when things happen ---

def latency(peer, seconds, stamp, run_ms):
    """Microseconds from exec of the tool to exec of its command, and from the command's end to the tool's."""
    with tempfile.TemporaryDirectory() as folder:
        told_by_job = Path(folder) / "job"
        job = [stamp, str(run_ms), told_by_job]
        argv = peers.command_of(peer, seconds, Path(folder) / "out", job) if peer else [stamp, "--", *job]
        if argv is None:
            return None
        tool = start([stamp, "--launch", *argv], peer, stdout=subprocess.PIPE)
        told, _ = tool.communicate()
        told += told_by_job.read_bytes() if told_by_job.exists() else b""
    ran = re.search(rb"ran (\d+) (\d+)", told)
    launched = re.search(rb"launched (\d+) (\d+)", told)
    if not ran or not launched:
        return None
    return (int(ran[1]) - int(launched[1])) / 1e3, (int(launched[2]) - int(ran[2])) / 1e3


def arrivals(peer, seconds, duration):
    """Seconds after the tool's start at which its samples were there to be read."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        argv = peers.command_of(peer, seconds, out, ["sleep", "600"])
        if argv is None or peer.count is None:
            return None
        began = time.monotonic()
        tool = start(argv, peer)
        seen, times = 0, []
        try:
            while (now := time.monotonic() - began) < duration:
                count = peer.count(out)
                times += [now] * (count - seen)
                seen = count
                # Half a millisecond tells enough, and asking more often would be a load of its own.
                time.sleep(0.0005)
        finally:
            end_with_job(tool, [pid for pid in descendants(tool.pid) if name_of(pid) == "sleep"])
    return times


@contextlib.contextmanager
def busy_host(burners):
    """So many processes that want a CPU each."""
    processes = [start(["sh", "-c", "while :; do :; done"]) for _ in range(burners)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


@contextlib.contextmanager
def first_in_line():
    """Whoever measures when others come must not be late itself; only where that is allowed."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO | getattr(os, "SCHED_RESET_ON_FORK", 0), os.sched_param(1))
    except OSError:
        yield False
        return
    try:
        yield True
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def jitter(times, seconds):
    """How far the intervals between samples are from what was asked: median, 99th percentile, longest (ms),
    and the share of samples that never came."""
    gaps = [abs(after - before - seconds) * 1e3 for before, after in zip(times[1:], times[2:])]
    if len(gaps) < 5:
        return None
    expected = round((times[-1] - times[1]) / seconds)
    missed = max(0, expected - len(gaps)) / expected if expected else 0
    gaps.sort()
    return {"median": statistics.median(gaps), "p99": gaps[min(len(gaps) - 1, int(len(gaps) * 0.99))],
            "longest": gaps[-1], "missed": missed}


# --- what becomes of the job ---

def job_time(peer, seconds, job):
    """(seconds by the clock, CPU seconds) that the job says it took, alone (None) or with a tool."""
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "told"
        command = ["sh", "-c", 'exec "$@" > "$0"', told, *job]
        argv = command
        watcher = None
        if peer is not None:
            argv = peers.command_of(peer, seconds, Path(folder) / "out", command)
        if argv is None:
            watcher, argv = peer, command
        process = start(argv, None if watcher else peer)
        tool = None
        if watcher:
            pids = Path(folder) / "pids"
            pids.write_text(f"{process.pid}\n")
            tool = start(peers.watch_command_of(peer, seconds, Path(folder) / "out", pids), peer)
        process.wait()
        if tool:
            end(tool, signal.SIGINT)
        wall_ns, used_ns = (int(word) for word in told.read_text().split())
    return wall_ns / 1e9, used_ns / 1e9


# --- whether it tells the truth ---

def attribution(peer, seconds, storm):
    """(CPU seconds that the tool told of the tree, those the tree really used)."""
    with tempfile.TemporaryDirectory() as folder:
        out, truth = Path(folder) / "out", Path(folder) / "truth"
        truth.touch()
        argv = peers.command_of(peer, seconds, out, storm(truth), for_truth=True)
        if argv is None or peer.cpu_secs is None:
            return None
        with open(out if peer.truth_wrap else os.devnull, "wb") as stdout:
            tool = start(argv, peer, stdout=stdout)
            tool.wait(PATIENCE * 2)
        true_secs = sum(float(line) for line in truth.read_text().split()) / 1e9
        try:
            told = peer.cpu_secs(out)
        except (OSError, KeyError, ValueError, IndexError):
            told = 0.0 # it has written nothing: it ended before its first sample
    return told, true_secs

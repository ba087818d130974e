"""The tools that ours is measured beside: where they come from, how they are started, what they say.

What is installed goes under build/bench-tools; packages of the distribution come by `tools/setup
bench`. A tool that cannot be had is named with the reason, never guessed.
"""
import csv
import functools
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Optional

ROOT = Path(__file__).resolve().parent.parent
HERE = ROOT / "bench"
TOOLS = ROOT / "build" / "bench-tools"
PROGRAMS = ROOT / "build" / "bench"
OURS = ROOT / "build" / "release" / "resource-tracker"


# --- where a tool is, and how it comes there ---

class Missing(Exception):
    """Why a tool is not here."""


def run_install(name, command, **environment):
    """Installs; what it says is kept beside the tools."""
    TOOLS.mkdir(parents=True, exist_ok=True)
    log = TOOLS / f"{name}.log"
    print(f"  installing {name}: {' '.join(map(str, command))}", file=sys.stderr, flush=True)
    with open(log, "w", encoding="utf-8") as out:
        done = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                              env={**os.environ, **environment})
    if done.returncode != 0:
        lines = [line for line in log.read_text(errors="replace").splitlines() if "error" in line.lower()]
        raise Missing(f"{command[0]} could not install it: {(lines or ['see its log'])[0].strip()}")


def from_path(name, package):
    def find():
        found = shutil.which(name) or next((path for path in (f"/usr/lib/sysstat/{name}", f"/usr/lib64/sa/{name}")
                                            if os.access(path, os.X_OK)), None)
        if not found:
            raise Missing(f"not on this machine ({package})")
        return found
    return find


def from_cargo(crate):
    """As published, with the versions of its dependencies that its authors tested."""
    def find():
        binary = TOOLS / "rust" / "bin" / crate
        if binary.exists():
            return str(binary)
        cargo = shutil.which("cargo", path=os.environ["PATH"] + ":" + os.path.expanduser("~/.cargo/bin"))
        if not cargo:
            raise Missing("cargo is not on this machine")
        run_install(crate, [cargo, "install", crate, "--locked", "--root", TOOLS / "rust"],
                    CARGO_HOME=str(TOOLS / "cargo"), CARGO_TARGET_DIR=str(TOOLS / "target"),
                    PATH=f"{os.path.dirname(cargo)}:{os.environ['PATH']}")
        return str(binary)
    return find


def from_pip(package):
    """A Python of its own, so that one tool's libraries do not change what another one does."""
    def find():
        home = TOOLS / f"python-{package}"
        python = home / "bin" / "python"
        if not (home / "installed").exists():
            run_install(f"venv-{package}", [sys.executable, "-m", "venv", "--clear", home])
            run_install(f"pip-{package}", [python, "-m", "pip", "install", "--retries", "1", "--timeout", "20", package])
            (home / "installed").touch()
        return str(python)
    return find


def from_file(path):
    def find():
        if not Path(path).exists():
            raise Missing("it was not built")
        return str(path)
    return find


# --- what a tool says ---

def lines_of(path):
    try:
        return Path(path).read_bytes().count(b"\n")
    except FileNotFoundError:
        return 0


def json_lines(path):
    samples = []
    for line in Path(path).read_text(errors="replace").splitlines():
        try:
            samples.append(json.loads(line))
        except ValueError: # the last one, of a tool that was cut short
            continue
    return samples


def cpu_of_ours(out):
    return sum(sample["cpu"]["process_utime_secs"] + sample["cpu"]["process_stime_secs"] for sample in json_lines(out))


def cpu_of_rust(out):
    return sum((sample["cpu"].get("process_utime_secs") or 0) + (sample["cpu"].get("process_stime_secs") or 0)
               for sample in json_lines(out))


def cpu_of_python(out):
    with open(f"{out}.process", encoding="utf-8") as rows:
        return sum(float(row["utime"]) + float(row["stime"]) for row in csv.DictReader(rows))


def cpu_of_psutil(out):
    return sum(sample["tree"]["cpu_secs"] for sample in json_lines(out))


def cpu_of_denet(out):
    """Percent of a core at each sample, times the time since the one before it."""
    total, before = 0.0, None
    for sample in json_lines(out):
        now = sample.get("ts_ms")
        told = sample.get("aggregated", sample).get("cpu_usage")
        if now is None or told is None:
            continue
        if before is not None:
            total += told / 100 * (now - before) / 1000
        before = now
    return total


def cpu_of_perf(out):
    rows = [line.split(",") for line in Path(out).read_text().splitlines() if "task-clock" in line]
    return sum(float(row[1]) for row in rows) / 1000


def cpu_of_time(out):
    return sum(float(word) for word in Path(out).read_text().split()[-2:])


def cpu_of_pidstat(out):
    """Milliseconds of the command and of whom it waited for, interval by interval."""
    rows = [line.split() for line in Path(out).read_text().splitlines() if re.match(r"\d\d:\d\d:\d\d", line)]
    return sum(float(row[3]) + float(row[4]) for row in rows) / 1000


def cpu_of_prmon(out):
    rows = [line.split() for line in Path(out).read_text().splitlines()]
    if len(rows) < 2:
        return 0.0
    last = dict(zip(rows[0], rows[-1]))
    return float(last["utime"]) + float(last["stime"])


# --- the table ---

@dataclass(frozen=True)
class Peer:
    name: str
    find: Callable[[], str]
    # argv of a tool that starts the job: (path, seconds, out, job)
    wrap: Optional[Callable] = None
    # argv of a tool that is pointed at processes that run: (path, seconds, out, file with their PIDs)
    watch: Optional[Callable] = None
    shortest: float = 0.001 # interval
    samples: bool = True # or it tells once, at the end
    count: Optional[Callable] = None # samples in `out` so far; None: it does not write each at once
    version: tuple = ("--version",)
    cpu_secs: Optional[Callable] = None # of the tree, summed over the run
    truth_wrap: Optional[Callable] = None # where that needs other options
    offline: bool = False # asks the network about the machine; not when it is measured
    what: str = ""
    environment: dict = field(default_factory=dict)


def whole(seconds):
    return str(int(seconds))


def milliseconds(seconds):
    return str(int(seconds * 1000))


def pid_list(pids):
    return ",".join(Path(pids).read_text().split())


def wrap_ours(*options):
    return lambda path, seconds, out, job: [path, "-i", str(seconds), "-o", out, *options, "--", *job]


CGROUP = "ours, --cgroup"

PEERS = (
    Peer("ours", from_file(OURS), wrap=wrap_ours(), count=lines_of, cpu_secs=cpu_of_ours,
         what="host, devices and tree; JSON"),
    Peer("ours, --pss never", from_file(OURS), wrap=wrap_ours("--pss", "never"), count=lines_of,
         what="the same without proportional memory"),
    Peer(CGROUP, from_file(OURS), wrap=wrap_ours("--cgroup"), count=lines_of, cpu_secs=cpu_of_ours,
         what="the same, the job in a cgroup of its own; for its truth only"),
    Peer("floor", from_file(PROGRAMS / "floor"), version=(), what="the kernel's price for the same reads",
         watch=lambda path, seconds, out, pids: [path, milliseconds(seconds), "1", pids, out]),
    Peer("floor without PSS", from_file(PROGRAMS / "floor"), version=(), what="the same without proportional memory",
         watch=lambda path, seconds, out, pids: [path, milliseconds(seconds), "0", pids, out]),
    Peer("Rust tool", from_cargo("resource-tracker"), shortest=1, count=lines_of, cpu_secs=cpu_of_rust, offline=True,
         wrap=lambda path, seconds, out, job: [path, "-i", whole(seconds), "-o", out, "--", *job],
         what="host, devices and tree; JSON"),
    Peer("Python tool", from_pip("resource-tracker"), cpu_secs=cpu_of_python,
         version=("-c", "from importlib.metadata import version; print(version('resource-tracker'))"),
         count=lambda out: max(0, lines_of(f"{out}.process") - 1),
         wrap=lambda path, seconds, out, job: [path, HERE / "python_tool.py", str(seconds), out, "--", *job],
         what="host and tree, in two processes; CSV"),
    Peer("psutil loop", from_pip("psutil"), count=lines_of, cpu_secs=cpu_of_psutil,
         version=("-c", "import psutil; print(psutil.__version__)"),
         wrap=lambda path, seconds, out, job: [path, HERE / "psutil_loop.py", str(seconds), out, "--", *job],
         what="host and tree; JSON"),
    Peer("denet", from_cargo("denet"), count=lines_of, cpu_secs=cpu_of_denet,
         wrap=lambda path, seconds, out, job: [path, "-i", milliseconds(seconds), "-m", milliseconds(seconds), "--json",
                                               "--quiet", "--out", out, "run", "--", *job],
         what="tree; JSON"),
    Peer("prmon", from_path("prmon", "in none of apt, cargo, pip and npm"), shortest=1, cpu_secs=cpu_of_prmon,
         wrap=lambda path, seconds, out, job: [path, "--interval", whole(seconds), "--filename", out,
                                               "--json-summary", f"{out}.json", "--", *job],
         what="tree"),
    Peer("pidstat", from_path("pidstat", "package sysstat"), shortest=1, version=("-V",), cpu_secs=cpu_of_pidstat,
         watch=lambda path, seconds, out, pids: [path, "-hurd", "-p", pid_list(pids), whole(seconds)],
         truth_wrap=lambda path, seconds, out, job: [path, "-h", "-u", "-T", "CHILD", whole(seconds), "-e", *job],
         what="the tree's processes, given by number", environment={"LC_ALL": "C", "S_TIME_FORMAT": "ISO"}),
    Peer("sadc", from_path("sadc", "package sysstat"), shortest=1, version=("-V",),
         watch=lambda path, seconds, out, pids: [path, "-S", "DISK", whole(seconds), out], what="host only; binary"),
    Peer("atop", from_path("atop", "package atop"), shortest=1, version=("-V",),
         watch=lambda path, seconds, out, pids: [path, "-w", out, whole(seconds)],
         what="host and every process; binary"),
    Peer("perf stat", from_path("perf", "package linux-perf"), cpu_secs=cpu_of_perf,
         wrap=lambda path, seconds, out, job: [path, "stat", "-I", milliseconds(seconds), "-e", "task-clock", "-x,",
                                               "-o", out, "--", *job],
         what="CPU time of the tree, nothing else"),
    Peer("GNU time", from_path("time", "package time"), samples=False, cpu_secs=cpu_of_time,
         wrap=lambda path, seconds, out, job: [path, "-f", "%U %S", "-o", out, *job], what="once, at the end"),
)


@functools.cache
def locate(name):
    """(path, None) or (None, why it is not here)."""
    peer = next(peer for peer in PEERS if peer.name == name)
    try:
        return peer.find(), None
    except (Missing, OSError) as reason:
        return None, str(reason)


def version_of(peer):
    path, _ = locate(peer.name)
    if path is None or not peer.version:
        return ""
    done = subprocess.run([path, *peer.version], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    found = re.search(r"\d+(\.\d+)+", done.stdout)
    return found[0] if found else ""


def present(peers=PEERS):
    return [peer for peer in peers if locate(peer.name)[0]]


def command_of(peer, seconds, out, job, for_truth=False):
    """argv of a tool that starts the job itself, or None."""
    wrap = peer.truth_wrap if for_truth and peer.truth_wrap else peer.wrap
    if wrap is None or seconds < peer.shortest:
        return None
    return [*map(str, wrap(locate(peer.name)[0], seconds, str(out), job))]


def watch_command_of(peer, seconds, out, pids):
    """argv of a tool that watches these processes, or None."""
    if peer.watch is None or seconds < peer.shortest:
        return None
    return [*map(str, peer.watch(locate(peer.name)[0], seconds, str(out), str(pids)))]

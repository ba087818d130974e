"""Process trees with ground truth, and the tracker run on them.

The programs (workload.c, randomtree.c, puppet.c, withoutperf.c) are compiled when first used.
TRACKER_LONG_TESTS=1 makes the tests that take minutes run.
"""
import contextlib
import ctypes
import functools
import os
import platform
import queue
import struct
import subprocess
import tempfile
import threading
from pathlib import Path

import pytest

from helpers import (BINARY, IS_ASAN, PATIENCE, Lines, before_exec, clean_environment, sample_of,
                     samples_of)

HERE = Path(__file__).resolve().parent
LONG = os.environ.get("TRACKER_LONG_TESTS", "") not in ("", "0")
TICK = 1 / os.sysconf("SC_CLK_TCK")
NOBODY = 65534

only_long = pytest.mark.skipif(not LONG, reason="takes long; TRACKER_LONG_TESTS=1 runs it")
only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")

_programs = tempfile.TemporaryDirectory(prefix="workloads-")
os.chmod(_programs.name, 0o755) # other users run them, too


@functools.cache
def program(name):
    binary = Path(_programs.name) / name
    subprocess.run([os.environ.get("CC", "gcc"), "-O1", "-D_GNU_SOURCE", "-pthread", "-o", binary,
                    HERE / f"{name}.c"], check=True)
    return str(binary)


# --- what the host allows ---

@functools.cache
def has_perf():
    """Whether a clock that children inherit may be opened, asked without the tracker."""
    numbers = {"x86_64": 298, "aarch64": 241}
    if platform.machine() not in numbers:
        return False
    inherit, exclude_kernel, exclude_hypervisor = 1 << 1, 1 << 5, 1 << 6
    software, task_clock = 1, 1
    attributes = struct.pack("IIQQQQQQQ", software, 64, task_clock, 0, 0, 0,
                             inherit | exclude_kernel | exclude_hypervisor, 0, 0)
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(numbers[platform.machine()], attributes, 0, -1, -1, 0)
    if fd < 0:
        return False
    os.close(fd)
    return True


@functools.cache
def has_cgroup():
    """Whether a process may be put in a new cgroup (v2) below ours, asked without the tracker."""
    mounts = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    points = [fields[4] for fields in mounts if fields[fields.index("-") + 1] == "cgroup2"]
    own = [line[3:] for line in Path("/proc/self/cgroup").read_text().splitlines()
           if line.startswith("0::")]
    if not points or not own:
        return False
    place = Path(points[0] + own[0]) / f"probe-{os.getpid()}"
    try:
        place.mkdir()
    except OSError:
        return False
    sleeper = subprocess.Popen(["sleep", "60"])
    try:
        (place / "cgroup.procs").write_text(str(sleeper.pid))
        return (place / "cpu.stat").exists()
    except OSError:
        return False
    finally:
        sleeper.kill()
        sleeper.wait()
        place.rmdir()


def require(source):
    if source == "perf" and not has_perf():
        pytest.skip("perf events are not allowed here")
    if source == "cgroup" and not has_cgroup():
        pytest.skip("no cgroup (v2) may be made here")


def tracker_command(source, *arguments):
    """The tracker told where to take CPU time from: proc alone, perf where it helps, or cgroup."""
    return {
        "proc": [program("withoutperf"), BINARY, *arguments],
        "perf": [BINARY, *arguments],
        "cgroup": [BINARY, "--cgroup", *arguments],
    }[source]


# --- a whole run ---

class Run:
    """A tracked command that has ended."""

    def __init__(self, samples, usage, told):
        self.samples = samples
        self.told = told
        self.truth = told / 1e9
        self.counted = counted_cpu(samples)
        # The tracker waits for the command and for orphans, so the kernel has it all in its
        # account; less what the tracker itself says it used.
        self.kernel_truth = (usage.ru_utime + usage.ru_stime -
                             samples[-1]["tracker"]["cpu_secs"])

    @property
    def error(self):
        return self.counted - self.truth


def counted_cpu(samples):
    return sum(sample["cpu"]["process_utime_secs"] + sample["cpu"]["process_stime_secs"]
               for sample in samples)


def truth_of(path):
    """Sum of the lines that the processes of a workload left: nanoseconds, or bytes."""
    return sum(float(line) for line in path.read_text().split())


def track(tmp_path, source, interval, command, *options, step=None):
    """Runs a command whose first argument is to be the path for its truth."""
    require(source)
    out, truth = tmp_path / "samples", tmp_path / "truth"
    truth.write_text("")
    truth.chmod(0o666)
    arguments = ["-i", str(interval), "-o", str(out), *options, "--", command[0], str(truth),
                 *map(str, command[1:])]
    environment = clean_environment()
    if IS_ASAN: # looking for leaks takes time that is not in the samples
        environment["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    with subprocess.Popen(tracker_command(source, *arguments), cwd="/", env=environment,
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, preexec_fn=before_exec(step)) as tracker:
        messages = tracker.stderr.read()
        _, status, usage = os.wait4(tracker.pid, 0)
        tracker.returncode = os.waitstatus_to_exitcode(status)
    assert (tracker.returncode, messages) == (0, b"")
    return Run(samples_of(out.read_bytes()), usage, truth_of(truth))


def allowed_error(truth, source):
    return max(0.005 * truth, 0.02) if source == "cgroup" else max(0.02 * truth, 0.05)


def stolen(samples):
    """Seconds the hypervisor took. The perf clock of a process runs on meanwhile."""
    return sum(sample["cpu"]["steal_secs"] or 0 for sample in samples)


def check_bounds(samples):
    """Never more than there are CPUs, and never less than nothing."""
    for sample in samples:
        cpu = sample["cpu"]
        assert cpu["process_utime_secs"] >= 0 and cpu["process_stime_secs"] >= 0
        assert 0 <= cpu["process_cores_used"] <= len(cpu["per_core_pct"]) + 1e-4


def excess_over_host(samples):
    """By how many seconds the tree is said to have used more than the whole host, at most. The
    first and the last interval are left out: one has no length in the sample, the other is short.
    """
    worst = 0
    for sample in samples[1:-1]:
        cores = sample["cpu"]["process_cores_used"] - sample["cpu"]["utilization_pct"]
        worst = max(worst, cores * sample["actual_interval_ms"] / 1000)
    return worst


# --- a tree that does what it is told ---

class Puppet:
    """Drives puppet.c through its pipes."""

    def __init__(self, to, answers):
        self.to = to
        self.answers = answers
        self.cpu_secs = self._answer()

    def _answer(self):
        word, _, rest = self.answers.next().decode().partition(" ")
        if word == "error" and "temporarily unavailable" in rest:
            pytest.skip("no more processes may be started here")
        assert word == "ok", rest
        return float(rest) / 1e9

    def __call__(self, *words):
        """Does it, and returns what the puppet and those it waited for have used until then."""
        self.to.write(" ".join(map(str, words)).encode() + b"\n")
        self.to.flush()
        self.cpu_secs = self._answer()
        return self.cpu_secs

    def end(self):
        with contextlib.suppress(OSError):
            self.to.close()


class Arrivals:
    """Lines of a pipe, taken out as they come, so that whoever writes them never waits."""

    def __init__(self, stream):
        self.queue = queue.SimpleQueue()
        self.thread = threading.Thread(target=self._read, args=[stream], daemon=True)
        self.thread.start()

    def _read(self, stream):
        for line in stream:
            self.queue.put(line)

    def waiting(self):
        return not self.queue.empty()

    def next(self):
        return self.queue.get(timeout=PATIENCE)

    def remainder(self):
        """What is left until the end of the output."""
        self.thread.join(PATIENCE)
        return [self.queue.get() for _ in range(self.queue.qsize())]


class Watched:
    """A puppet and the samples taken of it."""

    def __init__(self, puppet, tracker, output):
        self.puppet = puppet
        self.tracker = tracker
        self.output = Arrivals(output)
        self.samples = []

    def _take(self, line):
        assert line.endswith(b"\n"), "the last line is torn"
        self.samples.append(sample_of(line[:-1]))
        return self.samples[-1]

    def next(self):
        return self._take(self.output.next())

    def fresh(self, count=1):
        """Samples that were begun after this call."""
        while self.output.waiting():
            self.next()
        self.next() # this one may have been under way
        return [self.next() for _ in range(count)]

    def finish(self):
        for line in self.output.remainder():
            self._take(line)

    def __call__(self, *words, count=1):
        self.puppet(*words)
        return self.fresh(count)


@contextlib.contextmanager
def _process(command, **options):
    process = subprocess.Popen(command, env=clean_environment(), stdin=subprocess.PIPE,
                               cwd="/", **options)
    try:
        yield process
    finally:
        with contextlib.suppress(OSError):
            process.stdin.close()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        finally:
            for stream in (process.stdout, process.stderr):
                if stream is not None:
                    stream.close()


@contextlib.contextmanager
def wrapped_puppet(interval, *options, source="perf", step=None):
    """The tracker with a puppet as its command."""
    command = tracker_command(source, "-i", str(interval), *options, "--", program("puppet"))
    with _process(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                  preexec_fn=before_exec(step)) as tracker:
        puppet = Puppet(tracker.stdin, Lines(tracker.stdout))
        watched = Watched(puppet, tracker, tracker.stderr)
        yield watched
        puppet.end()
        watched.finish()
        assert tracker.wait(PATIENCE) == 0


@contextlib.contextmanager
def lone_puppet(*arguments, step=None):
    """A puppet that nobody tracks yet: (drive it, its process)."""
    with _process([program("puppet"), *arguments], stdout=subprocess.PIPE,
                  preexec_fn=before_exec(step)) as process:
        puppet = Puppet(process.stdin, Lines(process.stdout))
        yield puppet, process
        puppet.end()


@contextlib.contextmanager
def attached(pid, interval, *options, puppet=None, step=None):
    """The tracker attached to a PID."""
    with subprocess.Popen([BINARY, "-i", str(interval), "--pid", str(pid), *options], cwd="/",
                          env=clean_environment(), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          preexec_fn=before_exec(step)) as tracker:
        try:
            watched = Watched(puppet, tracker, tracker.stdout)
            watched.next()
            yield watched
            tracker.terminate()
            watched.finish()
            assert tracker.wait(PATIENCE) == 0
            assert tracker.stderr.read() == b""
        finally:
            tracker.kill()


def nobody():
    """In a new child of root: an ordinary user."""
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)

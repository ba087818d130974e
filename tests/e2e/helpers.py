"""What the end-to-end tests share: starting the binary, reading what it says, fake /proc trees.

TRACKER_BINARY names the binary and TRACKER_VARIANT its build (default or asan).
"""
import contextlib
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BINARY = os.environ.get("TRACKER_BINARY", str(ROOT / "build" / "resource-tracker"))
IS_ASAN = os.environ.get("TRACKER_VARIANT", "default") == "asan"

# Only against hanging: nothing is expected to take nearly this long.
PATIENCE = 60

FATAL_SIGNALS = [number for number in range(1, 32) if number not in
                 (signal.SIGCHLD, signal.SIGCONT, signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN,
                  signal.SIGTTOU, signal.SIGURG, signal.SIGWINCH)]

BASIC_HEADER = (
    "timestamp,processes,utime,stime,cpu_usage,memory_free,memory_used,memory_buffers,"
    "memory_cached,memory_active,memory_inactive,disk_read_bytes,disk_write_bytes,"
    "disk_space_total_gb,disk_space_used_gb,disk_space_free_gb,net_recv_bytes,net_sent_bytes,"
    "gpu_usage,gpu_vram,gpu_utilized")


# --- starting things ---

def clean_environment(**extra):
    """The caller's, without anything that would configure the tracker."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("TRACKER_", "RESOURCE_TRACKER_", "SENTINEL_"))}
    return {**kept, **extra}


def fresh_signals():
    """In a new child: nothing ignored or blocked, whatever the caller of the tests did."""
    for number in range(1, signal.NSIG):
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def before_exec(step=None):
    def prepare():
        fresh_signals()
        if step is not None:
            step()
    return prepare


def run(*arguments, env=None, step=None, binary=BINARY, **options):
    """Runs the tracker to its end; stdout and stderr come back as bytes."""
    options.setdefault("stdin", subprocess.DEVNULL)
    options.setdefault("stdout", subprocess.PIPE)
    options.setdefault("stderr", subprocess.PIPE)
    options.setdefault("cwd", "/")
    options.setdefault("timeout", PATIENCE)
    return subprocess.run([binary, *arguments], env=env or clean_environment(),
                          preexec_fn=before_exec(step), **options)


@contextlib.contextmanager
def started(*arguments, env=None, step=None, binary=BINARY, **options):
    """A running tracker, ended with SIGKILL if it is still there in the end."""
    options.setdefault("stdin", subprocess.DEVNULL)
    options.setdefault("stdout", subprocess.PIPE)
    options.setdefault("stderr", subprocess.PIPE)
    options.setdefault("cwd", "/")
    process = subprocess.Popen([binary, *arguments], env=env or clean_environment(),
                               preexec_fn=before_exec(step), **options)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(PATIENCE)
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


@contextlib.contextmanager
def ordinary_user():
    """
    (folder, binary, step) for a tracker without privileges: a folder open to everybody with a copy
    of the binary, and what a child of root has to do to become such a user.
    """
    def become_nobody():
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)

    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o777)
        binary = os.path.join(folder, os.path.basename(BINARY))
        # Not by this process: a child forked meanwhile would hold it open for writing, and nobody could run it.
        subprocess.run(["cp", BINARY, binary], check=True)
        try:
            subprocess.run([binary, "--version"], stdout=subprocess.DEVNULL, check=True)
        except PermissionError:
            pytest.skip("programs cannot be started from the temporary folder")
        yield Path(folder), binary, become_nobody


def end_process(pid):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def python(code, *arguments):
    """A command line for a small Python program."""
    return [sys.executable, "-S", "-c", code, *map(str, arguments)]


def wait_until(condition, what, timeout=PATIENCE):
    deadline = time.monotonic() + timeout
    while not (result := condition()):
        assert time.monotonic() < deadline, f"waited {timeout} s in vain: {what}"
        time.sleep(0.01)
    return result


class Lines:
    """Whole lines from a descriptor, as they come."""

    def __init__(self, stream):
        self.fd = stream if isinstance(stream, int) else stream.fileno()
        self.rest = b""

    def next(self, timeout=PATIENCE):
        deadline = time.monotonic() + timeout
        while b"\n" not in self.rest:
            ready, _, _ = select.select([self.fd], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"no line within {timeout} s"
            chunk = os.read(self.fd, 65536)
            assert chunk, f"the output ended in the middle of a line: {self.rest!r}"
            self.rest += chunk
        line, _, self.rest = self.rest.partition(b"\n")
        return line

    def take(self, count):
        return [self.next() for _ in range(count)]

    def remainder(self):
        """What is left until the end of the output."""
        while chunk := os.read(self.fd, 65536):
            self.rest += chunk
        rest, self.rest = self.rest, b""
        return rest


# --- samples ---

def _object(pairs):
    keys = [key for key, _ in pairs]
    assert len(keys) == len(set(keys)), f"a key stands twice: {keys}"
    return dict(pairs)


def _no_constant(name):
    raise AssertionError(f"{name} is not JSON")


def sample_of(line):
    """One JSON line, read strictly: UTF-8, no NaN, no key twice."""
    text = line.decode("utf-8") if isinstance(line, bytes) else line
    assert "\n" not in text
    sample = json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant)
    assert isinstance(sample, dict) and "timestamp_secs" in sample
    return sample


def samples_of(output):
    """All of a JSON Lines output; every line must be whole."""
    output = output if isinstance(output, bytes) else output.encode()
    assert output == b"" or output.endswith(b"\n"), f"the last line is torn: {output[-200:]!r}"
    return [sample_of(line) for line in output.split(b"\n")[:-1]]


def csv_of(output):
    """Header and rows of a CSV output, split at commas."""
    output = output if isinstance(output, bytes) else output.encode()
    assert output.endswith(b"\n")
    lines = output.decode("ascii").split("\n")[:-1]
    return lines[0].split(","), [line.split(",") for line in lines[1:]]


def watch_samples(count, *arguments, **options):
    """The first `count` samples of a tracker that runs without a command."""
    with started(*arguments, **options) as tracker:
        lines = Lines(tracker.stdout).take(count)
        tracker.terminate()
        assert tracker.wait(PATIENCE) == 0
    return [sample_of(line) for line in lines]


def is_message(line):
    return line.startswith(b"resource-tracker: ")


def split_stderr(output):
    """(sample lines, messages) of a stderr that holds both."""
    lines = output.splitlines(keepends=True)
    return (b"".join(line for line in lines if not is_message(line)),
            b"".join(line for line in lines if is_message(line)))


# --- processes ---

def process_state(pid):
    """R, S, T, Z...; None when it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return text[text.rindex(b")") + 2:].split()[0].decode()


def children_of(pid):
    """{child: state}"""
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            text = Path(f"/proc/{entry}/stat").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue
        fields = text[text.rindex(b")") + 2:].split()
        if int(fields[1]) == pid:
            found[int(entry)] = fields[0].decode()
    return found


class Listener:
    """The command line of a command that logs its signals, and what it has logged."""

    def __init__(self, folder):
        self.log = folder / "signals"
        self.command = [sys.executable, "-S", str(Path(__file__).with_name("listener.py")),
                        str(self.log)]

    def pid(self):
        path = Path(f"{self.log}.pid")
        wait_until(path.exists, "the command's start")
        return int(path.read_text())

    def heard(self):
        return [int(line) for line in self.log.read_text().split()]

    def end(self):
        os.kill(self.pid(), signal.SIGALRM)


# --- tools that may be missing ---

def require_strace():
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    probe = subprocess.run(["strace", "-o", "/dev/null", "true"], stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
    if probe.returncode != 0:
        pytest.skip("processes cannot be traced here")


def strace_environment():
    """The leak checker of the asan build cannot work in a traced process."""
    leaks = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    return clean_environment(**({"ASAN_OPTIONS": leaks.lstrip(":")} if IS_ASAN else {}))


def unshare_prefix(*flags):
    """`unshare` with these flags, as root or in a user namespace; skips where neither works."""
    if shutil.which("unshare") is None:
        pytest.skip("unshare is not installed")
    for prefix in (["unshare", *flags], ["unshare", "--map-root-user", *flags]):
        probe = subprocess.run([*prefix, "true"], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
        if probe.returncode == 0:
            return prefix
    pytest.skip("namespaces cannot be made here")
    return None


# --- a /proc and a /sys of our own ---

STAT = """\
cpu  {user} 200 {system} {idle} 500 10 20 30 0 0
cpu0 {user0} 100 500 40000 250 5 10 15 0 0
cpu1 {user1} 100 500 40000 250 5 10 15 0 0
intr 12345 1 2 3
ctxt {switches}
btime 1700000000
processes 4242
procs_running 1
procs_blocked 0
"""

MEMINFO = """\
MemTotal:       16384000 kB
MemFree:         4096000 kB
MemAvailable:   10240000 kB
Buffers:          256000 kB
Cached:          2048000 kB
SwapCached:            0 kB
Active:          3072000 kB
Inactive:        1024000 kB
SwapTotal:       {swap_total} kB
SwapFree:        {swap_free} kB
SReclaimable:     102400 kB
"""

NET_DEV = (
    "Inter-|   Receive                                                |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast"
    "|bytes    packets errs drop fifo colls carrier compressed\n"
    "    lo: 99999999      29 0 0 0 0 0 0 99999999      29 0 0 0 0 0 0\n"
    "  eth0: {received:10}    2510 0 0 0 0 0 0 {sent:10}    2145 0 0 0 0 0 0\n"
    "   br0: {received:10}    2510 0 0 0 0 0 0 {sent:10}    2145 0 0 0 0 0 0\n")

# Counters of sda and what is on top of it; the sector columns are the third and the seventh.
DISKSTATS = """\
   8       0 sda 1000 0 {read} 100 2000 0 {written} 200 0 300 300
   8       1 sda1 1000 0 {read} 100 2000 0 {written} 200 0 300 300
 253       0 dm-0 1000 0 {read} 100 2000 0 {written} 200 0 300 300
   7       0 loop0 10 0 {read} 1 20 0 {written} 2 0 3 3
   7       1 loop1 0 0 0 0 0 0 0 0 0 0 0
"""


def write_files(root, files):
    for name, text in files.items():
        path = Path(root) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())


def stat_text(user=1000, system=1000, idle=80000, switches=7777):
    return STAT.format(user=user, system=system, idle=idle, switches=switches,
                       user0=user // 2, user1=user - user // 2)


def net_dev_text(received=62743715, sent=159439):
    return NET_DEV.format(received=received, sent=sent)


def diskstats_text(read=10000, written=20000):
    return DISKSTATS.format(read=read, written=written)


def make_procfs(root, **files):
    """A host with two CPUs, one disk, one network card and three processes."""
    tree = {
        "stat": stat_text(),
        "loadavg": "0.52 0.58 0.59 3/602 1274\n",
        "meminfo": MEMINFO.format(swap_total=2048000, swap_free=1024000),
        "net/dev": net_dev_text(),
        "diskstats": diskstats_text(),
        "self/mountinfo": "22 1 0:21 / /proc rw - proc proc rw\n",
        "1/comm": "init\n", "2/comm": "kthreadd\n", "4711/comm": "job\n",
    }
    write_files(root, {**tree, **files})
    return str(root)


def make_sysfs(root):
    write_files(root, {
        "class/net/eth0/address": "02:00:00:aa:bb:cc\n", "class/net/eth0/operstate": "up\n",
        "class/net/eth0/speed": "1000\n", "class/net/eth0/mtu": "1500\n",
        "class/net/eth0/type": "1\n", "class/net/eth0/device/vendor": "0x1af4\n",
        "class/net/br0/address": "02:00:00:aa:bb:cd\n", "class/net/br0/operstate": "up\n",
        "class/net/br0/mtu": "1500\n", "class/net/br0/type": "1\n",
        "class/net/br0/uevent": "DEVTYPE=bridge\nINTERFACE=br0\n",
        "block/sda/size": "2000000\n", "block/sda/queue/rotational": "0\n",
        "block/sda/device/model": "Disk of tests\n", "block/sda/device/vendor": "ACME\n",
        "block/sda/device/wwid": "naa.5000\n",
        "block/dm-0/size": "1000000\n", "block/dm-0/dm/name": "vg-root\n",
        "block/dm-0/queue/rotational": "0\n",
        "block/loop0/size": "2048\n", "block/loop0/queue/rotational": "0\n",
        "block/loop1/size": "0\n", "block/loop1/queue/rotational": "0\n",
    })
    return str(root)


def long_options(text):
    return set(re.findall(r"(?<![\w-])--([a-z][a-z0-9]*(?:-[a-z0-9]+)*)", text))

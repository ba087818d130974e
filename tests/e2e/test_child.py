"""What the command finds: as if the tracker had not been there. And its descendants."""
import json
import os
import signal
import subprocess
from itertools import combinations

import pytest

from helpers import (BINARY, PATIENCE, before_exec, children_of, clean_environment, end_process,
                     process_state, python, run, samples_of, started, unshare_prefix, wait_until)

# Prints as JSON what a process was given. Descriptors with their flags and what they lead to.
PROBE = """
import json, os, resource, sys
status = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
def flags(fd):
    text = open(f"/proc/self/fdinfo/{fd}").read()
    return next(line for line in text.splitlines() if line.startswith("flags"))
fds = {}
for fd in sorted(os.listdir("/proc/self/fd"), key=int):
    try:
        fds[fd] = [os.readlink(f"/proc/self/fd/{fd}"), flags(fd)]
    except OSError:
        fds[fd] = "gone"
found = {
    "signals": {name: status[name].strip() for name in
                ("SigPnd", "ShdPnd", "SigBlk", "SigIgn", "SigCgt", "NoNewPrivs", "Seccomp",
                 "Uid", "Gid", "Groups", "CapEff", "CapInh", "CapAmb") if name in status},
    "fds": fds,
    "environment": dict(sorted(os.environ.items())),
    "limits": open("/proc/self/limits").read(),
    "umask": os.umask(0), "cwd": os.getcwd(), "nice": os.nice(0),
    "group": os.getpgrp(), "session": os.getsid(0), "oom": open("/proc/self/oom_score_adj").read(),
    "scheduler": os.sched_getscheduler(0), "cpus": sorted(os.sched_getaffinity(0)),
}
with open(sys.argv[1], "w") as file:
    json.dump(found, file)
"""


def probe(folder, name, prefix, step, env=None, stdin=None, pass_fds=()):
    out = folder / name
    with open(folder / "stdout", "ab") as stdout, open(folder / "stderr", "ab") as stderr:
        done = subprocess.run([*prefix, *python(PROBE, out)], stdin=stdin or subprocess.DEVNULL,
                              stdout=stdout, stderr=stderr, env=env or clean_environment(),
                              preexec_fn=before_exec(step), pass_fds=pass_fds, cwd=folder,
                              timeout=PATIENCE)
    assert done.returncode == 0, (folder / "stderr").read_text()
    return json.loads(out.read_text())


def assert_same(folder, step=None, options=("--quiet",), **given):
    without = probe(folder, "without", [], step, **given)
    with_tracker = probe(folder, "with", [BINARY, *options, "--"], step, **given)
    assert with_tracker == without
    return without


def test_command_finds_what_it_would_without_the_tracker(tmp_path):
    assert_same(tmp_path)


def test_samples_on_stderr_change_nothing_for_the_command(tmp_path):
    assert_same(tmp_path, options=("-i", "0.01"))


def test_output_file_is_not_open_in_the_command(tmp_path):
    assert_same(tmp_path, options=("-o", str(tmp_path / "out.jsonl")))


def test_signal_mask_and_dispositions_are_the_original_ones(tmp_path):
    def mix():
        for number in (signal.SIGHUP, signal.SIGCHLD, signal.SIGPIPE, signal.SIGUSR2,
                       signal.SIGTSTP, signal.SIGTTOU):
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGTERM, signal.SIGXFSZ,
                                                  signal.SIGALRM, signal.SIGCONT])

    found = assert_same(tmp_path, mix)
    ignored = int(found["signals"]["SigIgn"], 16)
    blocked = int(found["signals"]["SigBlk"], 16)
    assert ignored & 1 << signal.SIGHUP - 1 and ignored & 1 << signal.SIGUSR2 - 1
    assert blocked & 1 << signal.SIGUSR1 - 1 and blocked & 1 << signal.SIGTERM - 1


@pytest.mark.parametrize("closed", [(), *combinations((0, 1, 2), 1), *combinations((0, 1, 2), 2),
                                    (0, 1, 2)])
@pytest.mark.parametrize("options", [("--quiet",), ("-i", "0.01", "-f", "csv")])
def test_closed_standard_descriptors_stay_closed(closed, options, tmp_path):
    def close():
        for fd in closed:
            os.close(fd)

    found = assert_same(tmp_path, close, options)
    for fd in closed:
        # What the probe itself opens to look takes the lowest free number.
        assert found["fds"].get(str(fd), "gone") == "gone" or "/proc/" in found["fds"][str(fd)][0]


def test_inherited_descriptors_are_the_same(tmp_path):
    files = [os.open(tmp_path / f"file{i}", os.O_RDWR | os.O_CREAT) for i in range(3)]
    os.set_inheritable(files[1], True)
    try:
        found = assert_same(tmp_path, pass_fds=files)
    finally:
        for fd in files:
            os.close(fd)
    assert sum("file" in entry[0] for entry in found["fds"].values()) == 3


def test_environment_is_the_same_with_the_trackers_own_variables(tmp_path):
    env = clean_environment(TRACKER_JOB_NAME="x", RESOURCE_TRACKER_QUIET="true", EMPTY="",
                            LD_LIBRARY_PATH="/nowhere", LC_ALL="C")
    found = assert_same(tmp_path, env=env)
    assert found["environment"]["TRACKER_JOB_NAME"] == "x"


def test_standard_input_is_the_commands():
    text = bytes(range(256)) * 1000
    done = subprocess.run([BINARY, "--quiet", "--", "cat"], input=text, cwd="/",
                          env=clean_environment(), stdout=subprocess.PIPE, timeout=PATIENCE,
                          preexec_fn=before_exec())
    assert done.returncode == 0 and done.stdout == text


def test_arguments_arrive_unchanged():
    words = ["", " ", "a b", "*", "'", '"', "\\", "\n", "-x", "--", "ü", "=", "$HOME"]
    done = run("--quiet", "--", "printf", "%s\\0", *words)
    assert done.stdout.split(b"\0")[:-1] == [word.encode() for word in words]


def test_name_of_the_command_is_as_given():
    done = run("--quiet", "--", "sh", "-c", "tr '\\0' ' ' < /proc/$$/cmdline")
    assert done.stdout.startswith(b"sh -c ")


# --- descendants ---

# A child that starts a grandchild and ends; the grandchild tells who its parent is by then.
ORPHAN = """
import os, sys, time
read, write = os.pipe()
if os.fork() == 0:
    parent = os.getpid()
    if os.fork() == 0:
        while os.getppid() == parent:
            time.sleep(0.01)
        os.write(write, b"%d %d" % (os.getpid(), os.getppid()))
        os._exit(3)
    os._exit(4)
os.wait()
orphan, parent = os.read(read, 100).split()
print(os.getppid(), orphan.decode(), parent.decode(), flush=True)
sys.stdin.readline()
sys.exit(5)
"""


def test_orphans_are_adopted_and_reaped():
    with started("--quiet", "-i", "0.05", "--", *python(ORPHAN),
                 stdin=subprocess.PIPE) as tracker:
        above, orphan, parent = map(int, tracker.stdout.readline().split())
        assert above == tracker.pid
        assert parent == tracker.pid
        wait_until(lambda: process_state(orphan) is None, "the orphan to be reaped")
        assert "Z" not in children_of(tracker.pid).values()
        tracker.stdin.write(b"\n")
        tracker.stdin.flush()
        assert tracker.wait(PATIENCE) == 5


def test_orphans_are_reaped_between_two_distant_samples():
    """Not only when a sample is due."""
    with started("--quiet", "-i", "1000", "--", *python(ORPHAN), stdin=subprocess.PIPE) as tracker:
        _, orphan, _ = map(int, tracker.stdout.readline().split())
        wait_until(lambda: process_state(orphan) is None, "the orphan to be reaped")
        tracker.stdin.write(b"\n")
        tracker.stdin.flush()
        assert tracker.wait(PATIENCE) == 5


def test_tracker_ends_with_the_command_though_a_descendant_lives_on():
    done = run("-i", "0.05", "--", "sh", "-c", "sleep 40 >/dev/null 2>&1 & echo $!; exit 6",
               timeout=30)
    descendant = int(done.stdout)
    try:
        assert done.returncode == 6
        assert process_state(descendant) in ("S", "R", "D")
    finally:
        end_process(descendant)
    assert len(samples_of(done.stderr)) >= 1


PID_ONE = """
[ "$PPID" = 1 ] || exit 90
i=0
while [ $i -lt 20 ]; do ( sleep 0.01 & ); i=$((i+1)); done
sleep 0.5
for stat in /proc/[0-9]*/stat; do
    read -r line < "$stat" 2>/dev/null || continue
    case $line in *") Z "*) exit 91;; esac
done
exit 7
"""


def test_works_as_pid_1():
    prefix = unshare_prefix("--pid", "--fork", "--mount-proc")
    done = run(*prefix[1:], BINARY, "-i", "0.05", "--", "sh", "-c", PID_ONE, binary=prefix[0])
    assert done.returncode == 7
    samples = samples_of(done.stderr)
    assert len(samples) >= 2
    # Its own processes only: the tracker, the shell, and a few that sleep.
    assert all(sample["cpu"]["process_count"] <= 60 for sample in samples)


def test_signals_reach_the_command_of_pid_1():
    prefix = unshare_prefix("--pid", "--fork", "--mount-proc", "--kill-child")
    script = "trap 'exit 44' TERM; echo ready; while :; do sleep 0.01; done"
    with started(*prefix[1:], BINARY, "--quiet", "--", "sh", "-c", script,
                 binary=prefix[0]) as outer:
        assert outer.stdout.readline() == b"ready\n"
        [inner] = children_of(outer.pid)
        os.kill(inner, signal.SIGTERM)
        assert outer.wait(PATIENCE) == 44

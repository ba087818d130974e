"""Attaching to a process that runs already."""
import os
import subprocess
from pathlib import Path

import pytest

from helpers import (BINARY, PATIENCE, Lines, children_of, clean_environment, run, sample_of,
                     unshare_prefix, wait_until)
from workloads import (NOBODY, Puppet, allowed_error, attached, counted_cpu, lone_puppet, nobody,
                       only_root, program, truth_of)

TREE_METRICS = ("process_cores_used", "process_child_count", "process_utime_secs",
                "process_stime_secs", "process_pss_mib", "process_rss_mib",
                "process_disk_read_bytes", "process_disk_write_bytes")


def tree_of(sample):
    return {key: sample["cpu"][key] for key in TREE_METRICS}


def is_null(sample):
    return set(tree_of(sample).values()) == {None}


def is_zero(sample):
    return set(tree_of(sample).values()) == {0} and sample["process"]["threads"] == 0


def children(sample):
    return sample["cpu"]["process_child_count"]


# --- which PID ---

@pytest.mark.parametrize("pid", ["0", "-1", "x", "", "1x", "1.5", "99999999999999999999", " 1"])
def test_pid_that_is_no_pid_is_a_usage_error(pid):
    done = run("--pid", pid, "-i", "0.05")
    assert done.returncode == 2
    assert done.stdout == b"" and b"--pid" in done.stderr


def unused_pid():
    pid = 4194300
    while Path(f"/proc/{pid}").exists():
        pid -= 1
    return pid


def test_pid_that_never_existed_gives_nulls_and_sampling_goes_on():
    pid = unused_pid()
    with attached(pid, 0.05) as watched:
        watched.fresh(3)
    assert all(is_null(sample) for sample in watched.samples)
    assert all(sample["tracked_pid"] == pid for sample in watched.samples)
    assert all(sample["cpu"]["utilization_pct"] is not None for sample in watched.samples)


@pytest.mark.parametrize("is_reaped", [True, False])
def test_process_that_ends_drops_to_zero_and_sampling_goes_on(is_reaped):
    with lone_puppet() as (puppet, process), attached(process.pid, 0.05) as watched:
        assert watched.fresh()[0]["process"]["threads"] == 1
        puppet.to.write(b"exit 0\n")
        puppet.to.flush()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        if is_reaped:
            process.wait(PATIENCE)
        watched.fresh() # the last of its CPU time
        for sample in watched.fresh(3):
            assert is_zero(sample)
            assert sample["tracked_pid"] == process.pid


def test_t_cpu_04_of_a_process_of_ours():
    with lone_puppet() as (puppet, process):
        with attached(process.pid, 0.05, puppet=puppet) as watched:
            watched("burn", 200)
    assert all(sample["cpu"]["process_cores_used"] >= 0 for sample in watched.samples)
    assert max(sample["cpu"]["process_cores_used"] for sample in watched.samples) > 0.1


def test_t_cpu_04_of_an_ancestor_of_the_tracker():
    """Everybody below it counts, but the tracker."""
    with attached(os.getpid(), 0.05) as watched:
        # Other tests may have left a helper of theirs running.
        others = [pid for pid in children_of(os.getpid()) if pid != watched.tracker.pid]
        assert len(others) == len(children_of(os.getpid())) - 1
        for sample in watched.fresh(3):
            assert sample["cpu"]["process_cores_used"] >= 0
            assert children(sample) == len(others)
        with lone_puppet() as (puppet, _):
            puppet("fork", 2)
            assert children(watched.fresh()[0]) == len(others) + 3


def test_t_cpu_04_of_the_tracker_itself():
    with subprocess.Popen(["sh", "-c", 'exec "$0" -i 0.05 --pid $$', BINARY], cwd="/",
                          env=clean_environment(), stdout=subprocess.PIPE) as tracker:
        lines = Lines(tracker.stdout)
        samples = [sample_of(line) for line in lines.take(4)]
        tracker.terminate()
    assert all(sample["tracked_pid"] == tracker.pid for sample in samples)
    for sample in samples:
        assert sample["cpu"]["process_cores_used"] is not None
        assert sample["cpu"]["process_cores_used"] >= 0
        assert children(sample) == 0


def test_cpu_time_of_the_tracker_is_not_its_ancestors():
    script = '"$0" -i 0.005 --pid $$ & read wait; kill $!; wait'
    with subprocess.Popen(["sh", "-c", script, BINARY], cwd="/", env=clean_environment(),
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as shell:
        lines = Lines(shell.stdout)
        samples = [sample_of(line) for line in lines.take(150)]
        shell.stdin.close()
        lines.remainder()
    own = samples[-1]["tracker"]["cpu_secs"] - samples[0]["tracker"]["cpu_secs"]
    assert own > 0
    assert counted_cpu(samples[1:]) < own / 4


def test_kernel_threads():
    """No memory and, for ordinary users, no I/O; CPU time and their number are known."""
    if Path("/proc/2/comm").read_text() != "kthreadd\n":
        pytest.skip("no kernel threads are visible here")
    with attached(2, 0.1) as watched:
        for sample in watched.fresh(2):
            assert children(sample) > 5
            assert sample["cpu"]["process_cores_used"] >= 0
            assert sample["cpu"]["process_rss_mib"] == 0 == sample["cpu"]["process_pss_mib"]
            if os.geteuid() != 0:
                assert sample["cpu"]["process_disk_read_bytes"] is None
                assert sample["process"]["unreadable"] >= children(sample) - 5


# --- other users ---

def check_foreign(pid):
    with attached(pid, 0.05, step=nobody if os.geteuid() == 0 else None) as watched:
        for sample in watched.fresh(2):
            assert sample["cpu"]["process_disk_read_bytes"] is None
            assert sample["cpu"]["process_disk_write_bytes"] is None
            assert sample["process"]["unreadable"] == 1 + children(sample)
            assert sample["cpu"]["process_rss_mib"] > 0
            assert sample["cpu"]["process_pss_mib"] == sample["cpu"]["process_rss_mib"]
            assert sample["cpu"]["process_utime_secs"] >= 0


@only_root
def test_process_of_another_user_gives_what_may_be_read():
    with lone_puppet() as (puppet, process):
        puppet("fork", 2)
        check_foreign(process.pid)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everybody's")
def test_first_process_gives_an_ordinary_user_what_may_be_read():
    if os.stat("/proc/1").st_uid == os.geteuid():
        pytest.skip("the first process is ours")
    with attached(1, 0.1) as watched:
        sample = watched.fresh(2)[-1]
    assert sample["process"]["unreadable"] >= 1
    assert sample["cpu"]["process_cores_used"] >= 0


@only_root
def test_tree_that_is_partly_unreadable():
    with lone_puppet() as (puppet, process):
        puppet("fork-as-user", 3, NOBODY)
        with attached(process.pid, 0.05, step=nobody) as watched:
            for sample in watched.fresh(2):
                assert children(sample) == 3
                assert sample["process"]["unreadable"] == 1
                assert sample["cpu"]["process_disk_write_bytes"] == 0


def test_tree_that_reaches_into_another_pid_namespace():
    prefix = unshare_prefix("--pid", "--fork")
    with subprocess.Popen([*prefix, program("puppet")], cwd="/", env=clean_environment(),
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        puppet = Puppet(process.stdin, Lines(process.stdout))
        with attached(process.pid, 0.05, puppet=puppet) as watched:
            assert children(watched.fresh()[0]) == 1
            assert children(watched("fork", 3)[0]) == 4
            used = puppet.cpu_secs
            watched.puppet("burn-in-jobs", 5, 50)
            watched.fresh()
            assert abs(counted_cpu(watched.samples) - (puppet.cpu_secs - used)) <= 0.05
        puppet.end()


# --- what was before does not count ---

@pytest.mark.parametrize("interval", [0.05, 0.2])
def test_cpu_time_from_before_attaching_is_left_out(interval, record_property):
    """Of the root, of children waited for before, and of children waited for afterwards."""
    with lone_puppet() as (puppet, process):
        puppet("burn", 150)
        puppet("burn-in-jobs", 3, 50)
        used = puppet("burn-in-children", 2, 100)
        with attached(process.pid, interval, puppet=puppet) as watched:
            watched("burn", 100)
            watched("burn-in-jobs", 3, 50)
            watched("burn-in-children", 1, 100)
            in_child = 0.1 # which is not waited for yet
            truth = watched.puppet("usage") - used + in_child
            counted = counted_cpu(watched.samples)
            record_property("error", f"{counted - truth:+.4f} of {truth:.3f}")
            assert abs(counted - truth) <= allowed_error(truth, "proc")
            # Waiting for children moves to their parent what they used, 0.2 s of it before.
            watched("drop", 3)
        counted = counted_cpu(watched.samples)
        assert abs(counted - truth) <= allowed_error(truth, "proc")


def test_faults_and_switches_from_before_attaching_are_left_out():
    with lone_puppet() as (puppet, process):
        puppet("grow", 100)
        puppet("switch", 3000)
        with attached(process.pid, 0.1, puppet=puppet) as watched:
            watched.fresh(2)
        assert sum(sample["process"]["minor_faults"] for sample in watched.samples) < 5000
        assert sum(sample["process"]["voluntary_switches"] for sample in watched.samples) < 1000


def test_faults_and_switches_since_attaching_are_counted():
    with lone_puppet() as (puppet, process):
        with attached(process.pid, 0.1, puppet=puppet) as watched:
            watched("grow", 100)
            watched("switch", 3000)
        faults = 100 * (1 << 20) // os.sysconf("SC_PAGESIZE")
        assert sum(sample["process"]["minor_faults"] for sample in watched.samples) >= faults / 20
        # Now and then a sleep is over before it has begun.
        assert sum(sample["process"]["voluntary_switches"] for sample in watched.samples) >= 2900


# --- the root ends early ---

@pytest.mark.parametrize("interval, is_reaped", [(0.05, True), (0.05, False), (0.5, True)])
def test_tree_lives_on_without_its_root(interval, is_reaped, tmp_path, record_property):
    truth = tmp_path / "truth"
    count = 3
    with subprocess.Popen([program("workload"), str(truth), "early-root", str(count), "250"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd="/",
                          env=clean_environment()) as root:
        assert root.stdout.readline() == b"ready\n"
        with attached(root.pid, interval) as watched:
            assert children(watched.samples[0]) == count
            root.stdin.write(b"\n")
            root.stdin.flush()
            os.waitid(os.P_PID, root.pid, os.WEXITED | os.WNOWAIT)
            if is_reaped:
                root.wait(PATIENCE)
            wait_until(lambda: truth.read_text().count("\n") == count, "the orphans' reports")
            sample, = watched.fresh()
            assert children(sample) == count
            used = truth_of(truth) / 1e9
            counted = counted_cpu(watched.samples)
            record_property("error", f"{counted - used:+.4f} of {used:.3f}")
            assert abs(counted - used) <= allowed_error(used, "proc")
            root.stdin.close()
            wait_until(lambda: is_zero(watched.next()), "zeros after the end of all")


def test_attaching_finds_what_is_there_already():
    with lone_puppet() as (puppet, process):
        puppet("fork", 20)
        puppet("chain", 20)
        puppet("threads", 3)
        with attached(process.pid, 0.05, puppet=puppet) as watched:
            assert children(watched.samples[0]) == 40
            assert watched.samples[0]["process"]["threads"] == 44

"""Who belongs to the tracked tree, and who does not."""
import os
import resource
import signal
import subprocess

import pytest

from helpers import (BINARY, IS_ASAN, PATIENCE, before_exec, python, run, samples_of,
                     strace_environment, unshare_prefix, watch_samples)
from workloads import (NOBODY, attached, counted_cpu, lone_puppet, only_long, only_root, program,
                       track, wrapped_puppet)


def children(sample):
    return sample["cpu"]["process_child_count"]


def threads(sample):
    return sample["process"]["threads"]


# --- counts, at every sample of a tree that stands still ---

STEPS = [
    (("fork", 1), +1),
    (("fork", 3), +3),
    (("drop", 1), -1),
    (("daemons", 2), +2),
    (("zombies", 2), 0), # ended, whether waited for or not
    (("drop", 2), 0),
    (("thread-fork", 2), +2),
    (("chain", 5), +5),
    (("drop", 1), -1), # the first of the chain; the others are adopted by the tracker
    (("burn-in-jobs", 20, 1), 0),
    (("fork", 40), +40),
    (("drop", 43), -43),
]


def walk_through(watched):
    expected = 0
    for words, change in STEPS:
        expected += change
        for sample in watched(*words, count=3):
            assert children(sample) == expected, words
    return expected


def test_child_count_is_right_at_every_sample():
    with wrapped_puppet(0.05) as watched:
        assert {children(sample) for sample in watched.fresh(2)} == {0}
        assert walk_through(watched) > 0
    assert children(watched.samples[-1]) <= 8 # those that outlive the command, until they notice


def test_child_count_is_right_at_every_sample_of_an_attached_tree():
    """Orphans are not adopted by the tracker then, but were members before."""
    with lone_puppet() as (puppet, process):
        puppet("fork", 2)
        with attached(process.pid, 0.05, puppet=puppet) as watched:
            assert {children(sample) for sample in watched.fresh(2)} == {2}
            for words, change in (("fork", 3), 5), (("thread-fork", 2), 7), (("drop", 4), 3), \
                    (("chain", 4), 7), (("drop", 1), 6), (("zombies", 2), 6):
                assert {children(sample) for sample in watched(*words, count=2)} == {change}, words


def test_threads_are_counted():
    with wrapped_puppet(0.05) as watched:
        assert threads(watched.fresh()[0]) == 1
        assert threads(watched("threads", 30)[0]) == 31
        assert threads(watched("fork", 4)[0]) == 35


def test_process_whose_first_thread_has_ended_is_still_a_member():
    """The kernel shows it as a zombie then, with the other thread in it."""
    with wrapped_puppet(0.05) as watched:
        before, = watched.fresh()
        sample, = watched("leaderless", 2, 30)
        assert children(sample) == 2
        assert threads(sample) >= threads(before) + 2
        assert sample["cpu"]["process_rss_mib"] >= before["cpu"]["process_rss_mib"] + 60


def test_name_may_look_like_the_rest_of_the_line():
    for name in ("a) R 1 (", ") Z 0 0 0", "a b )"):
        with lone_puppet(name) as (puppet, process):
            with attached(process.pid, 0.05, puppet=puppet) as watched:
                assert children(watched("fork", 3)[0]) == 3, name
                before, = watched.fresh()
                used = watched.puppet.cpu_secs
                watched("burn", 150)
                used = watched.puppet.cpu_secs - used
                later = watched.samples[watched.samples.index(before) + 1:]
                assert abs(counted_cpu(later) - used) <= 0.05, name


@only_root
def test_members_of_another_user_are_counted():
    with wrapped_puppet(0.05) as watched:
        sample, = watched("fork-as-user", 2, NOBODY)
        assert children(sample) == 2


# --- namespaces ---

def in_namespace(tmp_path, *flags):
    """Samples and truth of a run as the first process of a PID namespace, where the sanitizer's
    leak checker cannot work."""
    prefix = unshare_prefix("--pid", "--fork", *flags)
    out, truth = tmp_path / "samples", tmp_path / "truth"
    truth.write_text("")
    done = subprocess.run([*prefix, BINARY, "-i", "0.1", "-o", str(out), "--", program("workload"),
                           str(truth), "jobs", "10", "40", "10"], env=strace_environment(),
                          cwd="/", stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          preexec_fn=before_exec(), timeout=PATIENCE)
    assert done.returncode == 0 and done.stderr == b""
    return samples_of(out.read_bytes()), float(truth.read_text()) / 1e9


def test_tree_in_a_pid_namespace_with_its_own_proc(tmp_path):
    samples, truth = in_namespace(tmp_path, "--mount-proc")
    assert abs(counted_cpu(samples) - truth) <= 0.05
    assert all(children(sample) in (0, 1) for sample in samples)
    assert samples[1]["cpu"]["process_rss_mib"] > 0


def test_tree_in_a_pid_namespace_with_another_proc(tmp_path):
    """PIDs in /proc are not ours: another process's figures are never taken for the command's."""
    samples, truth = in_namespace(tmp_path)
    for sample in samples:
        assert children(sample) in (None, 0, 1)
        assert sample["cpu"]["process_rss_mib"] is None or \
            sample["cpu"]["process_rss_mib"] < 20
    if samples[-1]["cpu"]["process_utime_secs"] is not None:
        assert abs(counted_cpu(samples) - truth) <= 0.05


# --- very many ---

def bounded_by(members):
    """Memory of the tracker in MiB: a little under 1 KiB a member, and room to grow."""
    return (96 if IS_ASAN else 4) + 3 * members / 1024


def check_bomb(watched, members):
    before = watched.fresh()[0]["tracker"]["rss_mib"]
    sample, = watched("fork", members)
    assert children(sample) == members
    first = sample["tracker"]["rss_mib"]
    assert first <= before + bounded_by(members)
    assert children(watched("drop", members)[0]) == 0
    sample, = watched("fork", members)
    assert children(sample) == members
    assert sample["tracker"]["rss_mib"] <= first + 1 # the second time takes no more
    for sample in watched.samples:
        assert sample["tracker"]["late_ms"] >= 0


def require_processes(count):
    limit = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    if limit != resource.RLIM_INFINITY and limit < count + 500:
        pytest.skip(f"only {limit} processes are allowed")
    with open("/proc/sys/kernel/pid_max") as file:
        if int(file.read()) < count + 2000:
            pytest.skip("the kernel has not enough numbers for processes")


def test_fork_bomb_of_2000():
    require_processes(2000)
    with wrapped_puppet(0.1) as watched:
        check_bomb(watched, 2000)


@pytest.mark.parametrize("members", [5000, 20000])
@only_long
def test_fork_bomb(members):
    require_processes(members)
    with wrapped_puppet(0.1) as watched:
        check_bomb(watched, members)


@pytest.mark.parametrize("depth", [1000, pytest.param(8000, marks=only_long)])
def test_deep_chain_that_falls_at_once(depth):
    """Each a child of the one before; then all are gone between two samples."""
    require_processes(depth)
    with wrapped_puppet(0.1) as watched:
        assert children(watched("chain", depth)[0]) == depth
        watched.puppet("end-others")
        sample = watched.fresh(2)[-1]
        assert children(sample) == 0


def test_2000_members_with_64_descriptors():
    """They cannot all be kept open."""
    require_processes(2000)

    def few_descriptors():
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

    with wrapped_puppet(0.2, step=few_descriptors) as watched:
        samples = watched("fork", 2000, count=2)
        for sample in samples:
            assert children(sample) == 2000
            assert threads(sample) == 2001
            assert sample["cpu"]["process_disk_write_bytes"] is not None
            assert sample["process"]["unreadable"] == 0
        assert len(os.listdir(f"/proc/{watched.tracker.pid}/fd")) <= 64
        assert children(watched("drop", 1990)[0]) == 10


def test_cpu_time_is_true_with_64_descriptors(tmp_path):
    def few_descriptors():
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

    tracked = track(tmp_path, "proc", 0.05, [program("workload"), "make", 3, 3, 20],
                    step=few_descriptors)
    assert abs(tracked.error) <= 0.05


# --- without a tree ---

TREE_METRICS = ("process_cores_used", "process_child_count", "process_utime_secs",
                "process_stime_secs", "process_pss_mib", "process_rss_mib",
                "process_disk_read_bytes", "process_disk_write_bytes")


def test_t_cpu_03_without_pid_the_figures_of_a_tree_are_null():
    for sample in watch_samples(3, "-i", "0.05"):
        assert {sample["cpu"][key] for key in TREE_METRICS} == {None}
        assert sample.get("tracked_pid") is None
        assert sample["process"]["threads"] is None
        assert sample["process"]["cpu_source"] is None


def test_end_of_the_command_leaves_no_zombie_uncounted():
    """Ended by a signal in the middle of its work: what it used until then counts."""
    code = "import os, signal, time\n" \
           "end = time.process_time() + 0.4\n" \
           "while time.process_time() < end: pass\n" \
           "os.kill(os.getpid(), signal.SIGKILL)"
    done = run("-i", "10", "--", *python(code))
    assert done.returncode == 128 + signal.SIGKILL
    sample, = samples_of(done.stderr)
    assert 0.4 <= counted_cpu([sample]) <= 0.6

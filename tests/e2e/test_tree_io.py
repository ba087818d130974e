"""Bytes that a process tree moved, each counted once."""
import os
import re
from pathlib import Path

import pytest

from workloads import attached, lone_puppet, program, track

MIB = 1 << 20
SIZE = 64

# The kernel counts a page when it is first written to: here that of the file with the truth, at the
# end of the process that looked up the rest, and of the daemon.
TRUTH_BYTES = 2 * os.sysconf("SC_PAGESIZE")


def sum_of(samples, key):
    return sum(sample["cpu"][key] for sample in samples)


def require_storage(written):
    """A file system in memory writes nothing."""
    if written == 0:
        pytest.skip("the temporary directory is not on storage")


@pytest.mark.parametrize("interval", [0.05, 1, 10])
@pytest.mark.parametrize("hold_ms", [0, 120])
def test_written_by_a_child_of_a_child_counts_once(interval, hold_ms, tmp_path, record_property):
    """Waited for twice, so the kernel adds it to two accounts more."""
    run = track(tmp_path, "proc", interval, [program("workload"), "bytes-of-child",
                                             tmp_path / "data", SIZE, hold_ms])
    require_storage(run.told)
    counted = sum_of(run.samples, "process_disk_write_bytes")
    record_property("error", f"{counted - run.told:+.0f} bytes of {run.told:.0f}")
    assert 0 <= counted - run.told <= TRUTH_BYTES
    assert abs(counted - SIZE * MIB) <= MIB
    assert all(sample["process"]["unreadable"] == 0 for sample in run.samples)


@pytest.mark.parametrize("interval", [0.05, 1, 10])
@pytest.mark.parametrize("hold_ms", [0, 120])
def test_written_by_a_daemon_counts_once(interval, hold_ms, tmp_path, record_property):
    """Nobody but the tracker waits for it, whose own account then has the bytes."""
    run = track(tmp_path, "proc", interval, [program("workload"), "bytes-of-daemon",
                                             tmp_path / "data", SIZE, hold_ms])
    require_storage(run.told)
    counted = sum_of(run.samples, "process_disk_write_bytes")
    record_property("error", f"{counted - run.told:+.0f} bytes of {run.told:.0f}")
    assert 0 <= counted - run.told <= TRUTH_BYTES
    assert abs(counted - SIZE * MIB) <= MIB


@pytest.mark.parametrize("interval", [0.05, 1])
def test_read_by_a_child_of_a_child_counts_once(interval, tmp_path, record_property):
    data = tmp_path / "data"
    track(tmp_path, "proc", 10, [program("workload"), "bytes-of-child", data, SIZE, 0])
    run = track(tmp_path, "proc", interval, [program("workload"), "bytes-of-child", data, 0, 60])
    if run.told < MIB:
        pytest.skip("the file did not leave the page cache")
    counted = sum_of(run.samples, "process_disk_read_bytes")
    record_property("error", f"{counted - run.told:+.0f} bytes of {run.told:.0f}")
    # Programs and libraries may be read as well, by the tree and before its first child.
    assert run.told <= counted <= run.told + 4 * MIB
    assert counted <= (SIZE + 4) * MIB


def test_what_the_tracker_writes_is_not_the_trees(tmp_path):
    """A hundred samples a second go into a file."""
    run = track(tmp_path, "proc", 0.01, [program("workload"), "daemons", 4, 60])
    assert len(run.samples) > 3 # more where CPUs are few
    assert run.samples[-1]["process"]["unreadable"] == 0
    # Five processes write a line of truth each.
    assert sum_of(run.samples, "process_disk_write_bytes") <= 5 * os.sysconf("SC_PAGESIZE")


def written_by(pid):
    return int(re.search(r"^write_bytes: (\d+)", Path(f"/proc/{pid}/io").read_text(), re.M)[1])


@pytest.mark.parametrize("command", ["write", "write-in-child"])
def test_bytes_from_before_attaching_are_left_out(command, tmp_path):
    """Also those of a child that is waited for afterwards, which moves them into its parent's."""
    with lone_puppet() as (puppet, process):
        puppet("write", 1, tmp_path / "probe")
        require_storage(written_by(process.pid))
        puppet(command, 8, tmp_path / "before")
        with attached(process.pid, 0.1, puppet=puppet) as watched:
            watched("drop", 1)
            watched("write", 4, tmp_path / "after")
    assert abs(sum_of(watched.samples, "process_disk_write_bytes") - 4 * MIB) <= MIB / 2

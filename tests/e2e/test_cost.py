"""What a sample costs once the tracker runs: no memory, no descriptors, hardly a system call."""
import os
import re
from pathlib import Path

import pytest

from helpers import (BINARY, IS_ASAN, PATIENCE, ROOT, Lines, clean_environment,
                     make_procfs, require_strace, run, samples_of, started, strace_environment)

COUNTER = ROOT / "build" / "fakes" / "countalloc.so"

not_under_asan = pytest.mark.skipif(IS_ASAN, reason="the sanitizer has an allocator of its own")


def allocations(tmp_path, seconds, *options):
    """(allocations, samples) of a run."""
    count = tmp_path / "count"
    count.unlink(missing_ok=True)
    out = tmp_path / "out"
    done = run("-i", "0.02", "-o", str(out), *options, "--", "sleep", seconds,
               env=clean_environment(LD_PRELOAD=str(COUNTER), COUNTALLOC_FILE=str(count)))
    assert done.returncode == 0 and done.stderr == b""
    return int(count.read_text()), out.read_bytes().count(b"\n")


@not_under_asan
@pytest.mark.parametrize("form", ["json", "csv"])
def test_samples_allocate_nothing(form, tmp_path):
    """As many allocations in a run of 50 samples as in one of 5."""
    for attempt in range(3): # a device may come or go between the runs, and that costs memory
        few, few_samples = allocations(tmp_path, "0.1", "-f", form)
        many, many_samples = allocations(tmp_path, "1.0", "-f", form)
        if few == many:
            break
    assert few > 0
    assert many == few, f"{few_samples} and {many_samples} samples, attempt {attempt}"
    assert many_samples > few_samples + 10


@not_under_asan
def test_counter_of_allocations_counts(tmp_path):
    """The check above would see an allocation: a long name costs memory."""
    plain, _ = allocations(tmp_path, "0.1")
    named, _ = allocations(tmp_path, "0.1", "-n", "x" * 50000, "--tag", "a=b")
    assert named > plain


def descriptors(pid):
    return sorted(os.listdir(f"/proc/{pid}/fd"), key=int)


def anonymous_kib(pid):
    """Exact, unlike the resident size in statm, which the kernel adds up in batches."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(re.search(r"^Anonymous:\s+(\d+) kB", text, re.M)[1])


@pytest.mark.parametrize("arguments", [[], ["--", "sleep", "60"]])
def test_descriptors_and_memory_stay_the_same(arguments):
    with started("-i", "0.01", *arguments) as tracker:
        lines = Lines(tracker.stderr if arguments else tracker.stdout)
        lines.take(10)
        files, memory = descriptors(tracker.pid), anonymous_kib(tracker.pid)
        lines.take(190)
        assert descriptors(tracker.pid) == files
        # A leak of one word a sample would show; a page touched late would not.
        limit = 512 if IS_ASAN else max(16, 2 * os.sysconf("SC_PAGESIZE") // 1024)
        assert anonymous_kib(tracker.pid) <= memory + limit
        tracker.terminate()
        assert tracker.wait(PATIENCE) == (128 + 15 if arguments else 0)


def calls_between_samples(trace):
    """Lists of system calls between two writes of a sample."""
    intervals = [[]]
    for line in trace.splitlines():
        if re.match(r'write\(\d+, "\{', line):
            intervals.append([])
        else:
            intervals[-1].append(line)
    return intervals[1:-1]


@not_under_asan
def test_steady_state_opens_and_maps_nothing(tmp_path):
    """
    Two exceptions: where the link count of /proc does not tell the number of processes (in a PID
    namespace), the folder itself is opened and listed; and a process that somebody has started
    meanwhile is looked at once.
    """
    require_strace()
    trace = tmp_path / "trace"
    done = run("-qq", "-o", str(trace), BINARY, "-i", "0.05", "--", "sleep", "1", binary="strace",
               env=strace_environment())
    assert done.returncode == 0
    intervals = calls_between_samples(trace.read_text(errors="replace"))
    assert len(intervals) >= 5
    for calls in intervals[1:-1]:
        opened = [call for call in calls if call.startswith(("open", "creat", "memfd", "socket"))]
        closed = [call for call in calls if call.startswith("close")]
        assert [call for call in opened
                if not re.match(r'openat\(\d+, "(\.|\d+/stat)", ', call)] == []
        succeeded = [call for call in opened if " = -1 " not in call]
        assert len(closed) == len(succeeded)
        assert [call for call in calls if call.startswith(
            ("mmap", "munmap", "mremap", "brk", "fork", "clone", "vfork", "execve"))] == []
        assert any(call.startswith("pread64") for call in calls)


@not_under_asan
def test_one_that_sleeps_is_not_read_again(tmp_path):
    """Its CPU clock tells that it has not run: of its files, only the size of its memory is read."""
    require_strace()
    trace = tmp_path / "trace"
    done = run("-qq", "-y", "-e", "trace=pread64,write", "-o", str(trace), BINARY, "-i", "0.05", "--pss", "never",
               "--", "sleep", "1", binary="strace", env=strace_environment())
    assert done.returncode == 0
    job = samples_of(done.stderr)[0]["tracked_pid"]
    read = re.findall(rf"^pread64\(\d+</proc/{job}/(\w+)>", trace.read_text(errors="replace"), re.M)
    assert read.count("statm") >= 5
    # When it began, and again for what it ran after that.
    assert read.count("status") <= 4 and read.count("stat") <= 4


@pytest.mark.parametrize("extra", [[], ["--summary=json", "--report", "report.html"]])
def test_t_str_01_no_socket_is_opened_without_a_token(tmp_path, extra):
    """Not for a summary or a report either."""
    require_strace()
    trace = tmp_path / "trace"
    done = run("-f", "-qq", "-e", "trace=%network", "-e", "signal=none", "-o", str(trace), BINARY,
               "-i", "0.05", "-o", "samples", *extra, "--", "sleep", "0.2", binary="strace",
               env=strace_environment(), cwd=tmp_path)
    assert done.returncode == 0
    assert len((tmp_path / "samples").read_text().splitlines()) >= 2
    assert trace.read_text() == ""


def test_command_starts_before_the_first_interval_is_over(tmp_path):
    """Nothing sleeps first: with an interval of hours the command still runs at once."""
    done = run("-i", "10000", "--procfs", make_procfs(tmp_path), "--", "echo", "here")
    assert done.stdout == b"here\n"
    assert len(samples_of(done.stderr)) == 1

"""What a sample takes of the CPU, counted in instructions: the same on every machine, busy or not.

Two runs of different length over the same files, under callgrind; what start and end take falls out. A budget is
what was counted when it was last set, times 1.3: compilers and C libraries differ by less. Who makes a sample
dearer sees it here; who makes it cheaper lowers the budget.
"""
import re
import shutil
import subprocess

import pytest

from helpers import (BINARY, IS_ASAN, PATIENCE, Lines, before_exec, clean_environment, make_procfs, make_sysfs,
                     write_files)

MARGIN = 1.3

# Thousands of instructions a sample, as counted with gcc 12 on x86_64.
COUNTED = {"json": 53, "csv": 27, "json of a tree of 20": 187}

STAT = ("{pid} (job {pid}) S {parent} 1 1 0 -1 4194304 2512 120934 3 17 1234 567 8901 234 20 0 4 0 {pid}00 221356032 "
        "25123 18446744073709551615 1 1 0 0 0 0 0 4096 17642 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n")
STATUS = """\
Name:\tjob
Umask:\t0022
State:\tS (sleeping)
Tgid:\t{pid}
Pid:\t{pid}
PPid:\t{parent}
Uid:\t1000\t1000\t1000\t1000
Gid:\t1000\t1000\t1000\t1000
FDSize:\t64
VmPeak:\t  221356 kB
VmHWM:\t  102400 kB
VmRSS:\t  100492 kB
Threads:\t4
SigQ:\t0/96360
SigIgn:\t0000000000001000
Cpus_allowed:\t3
voluntary_ctxt_switches:\t12345
nonvoluntary_ctxt_switches:\t678
"""
IO = ("rchar: 323934931\nwchar: 323929600\nsyscr: 632687\nsyscw: 632675\nread_bytes: 4096\nwrite_bytes: 323932160\n"
      "cancelled_write_bytes: 0\n")


def require_callgrind():
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed, and could not be (tools/setup test)")


def write_member(proc, pid, parent):
    write_files(proc / str(pid), {
        "stat": STAT.format(pid=pid, parent=parent), "statm": "54042 25123 2011 1 0 30021 0\n",
        "status": STATUS.format(pid=pid, parent=parent), "io": IO, "smaps_rollup": "Rss: 100492 kB\nPss: 90211 kB\n"})


def instructions(folder, samples, *arguments):
    """(instructions, samples) of a run that is ended after so many samples."""
    counts = folder / "callgrind.out"
    with subprocess.Popen(["valgrind", "--tool=callgrind", "-q", f"--callgrind-out-file={counts}", BINARY,
                           "-i", "0.01", "-o", "-", "--no-gpu", *arguments], cwd="/", env=clean_environment(),
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, preexec_fn=before_exec()) as tracker:
        lines = Lines(tracker.stdout)
        lines.take(samples)
        tracker.terminate()
        taken = samples + lines.remainder().count(b"\n")
        assert tracker.wait(PATIENCE) == 0
    return int(re.search(r"^(?:totals|summary): (\d+)", counts.read_text(), re.M)[1]), taken


def instructions_per_sample(folder, *arguments):
    few, few_samples = instructions(folder, 20, *arguments)
    many, many_samples = instructions(folder, 60, *arguments)
    return (many - few) / (many_samples - few_samples)


@pytest.mark.skipif(IS_ASAN, reason="the sanitizer's instructions are not ours")
@pytest.mark.parametrize("what", COUNTED)
def test_instructions_per_sample_stay_within_budget(what, tmp_path, record_property):
    require_callgrind()
    arguments = ["--procfs", make_procfs(tmp_path / "proc"), "--sysfs", make_sysfs(tmp_path / "sys")]
    if what == "csv":
        arguments += ["-f", "csv"]
    if "tree" in what:
        for pid in range(4711, 4731):
            write_member(tmp_path / "proc", pid, parent=1 if pid == 4711 else 4711)
        arguments += ["--pid", "4711", "--pss", "never"]
    counted = instructions_per_sample(tmp_path, *arguments)
    record_property("instructions", f"{counted:.0f}")
    budget = MARGIN * 1000 * COUNTED[what]
    assert counted <= budget, f"{counted:.0f} instructions a sample; the budget is {budget:.0f}"

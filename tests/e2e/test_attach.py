"""--pid: a process that lives, one that ends, and one that never was."""
import os
import signal
import subprocess

import pytest

from helpers import PATIENCE, Lines, sample_of, started, watch_samples

NEVER = 2**31 - 1 # above the largest PID that Linux gives


@pytest.fixture(name="sleeper")
def sleeping_process():
    process = subprocess.Popen(["sleep", "60"])
    yield process
    process.kill()
    process.wait()


@pytest.mark.parametrize("option", ["--pid", "-p"])
def test_living_process_is_tracked(option, sleeper):
    for sample in watch_samples(4, "-i", "0.05", option, str(sleeper.pid)):
        assert sample["tracked_pid"] == sleeper.pid


def test_tracked_process_is_left_alone(sleeper):
    watch_samples(3, "-i", "0.02", "--pid", str(sleeper.pid))
    assert sleeper.poll() is None


def test_sampling_goes_on_when_the_process_ends(sleeper):
    with started("-i", "0.05", "--pid", str(sleeper.pid)) as tracker:
        lines = Lines(tracker.stdout)
        lines.take(2)
        sleeper.kill()
        sleeper.wait()
        for line in lines.take(4):
            assert sample_of(line)["tracked_pid"] == sleeper.pid
        assert tracker.poll() is None
        tracker.send_signal(signal.SIGTERM)
        assert tracker.wait(PATIENCE) == 0


def test_process_that_never_was_gives_nulls():
    for sample in watch_samples(3, "-i", "0.05", "--pid", str(NEVER)):
        assert sample["tracked_pid"] == NEVER
        for name, value in sample["cpu"].items():
            if name.startswith("process_") and name != "process_count":
                assert value is None, name
        assert sample["cpu"]["process_count"] > 0
        assert sample["memory"]["total_mib"] > 0


def test_csv_names_the_tracked_process():
    with started("-i", "0.05", "-f", "csv", "--csv-columns", "full", "--pid",
                 str(os.getpid())) as tracker:
        header, row = Lines(tracker.stdout).take(2)
    cells = dict(zip(header.decode().split(","), row.decode().split(",")))
    assert cells["process_pid"] == str(os.getpid())


def test_process_columns_are_empty_when_nothing_is_tracked():
    with started("-i", "0.05", "-f", "csv", "--csv-columns", "full") as tracker:
        header, row = Lines(tracker.stdout).take(2)
    names, cells = header.decode().split(","), row.decode().split(",")
    assert len(cells) == len(names)
    for name, cell in zip(names, cells):
        assert (cell == "") == name.startswith("process_"), name

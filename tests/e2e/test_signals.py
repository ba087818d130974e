"""Signals sent to the tracker, with and without a command."""
import contextlib
import os
import resource
import signal
import time
from pathlib import Path

import pytest

from helpers import (PATIENCE, Lines, Listener, children_of, end_process, process_state, run,
                     samples_of, started, wait_until)

PASSED_ON = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1,
             signal.SIGUSR2]


@pytest.fixture(name="listener")
def listening_command(tmp_path):
    listener = Listener(tmp_path)
    yield listener
    path = Path(f"{listener.log}.pid")
    if path.exists():
        end_process(int(path.read_text()))


def children_names(pid):
    names = []
    for child in children_of(pid):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            names.append(Path(f"/proc/{child}/comm").read_text().strip())
    return names


@pytest.mark.parametrize("number", PASSED_ON)
def test_signal_reaches_the_command_exactly_once(number, listener):
    with started("-i", "0.05", "--quiet", "--", *listener.command) as tracker:
        listener.pid()
        tracker.send_signal(number)
        wait_until(lambda: listener.heard(), "the signal")
        time.sleep(0.15)
        assert listener.heard() == [number]
        assert tracker.poll() is None # it lives on until the command ends
        listener.end()
        assert tracker.wait(PATIENCE) == 21


def test_signals_in_a_row_all_arrive(listener):
    with started("--quiet", "--", *listener.command) as tracker:
        listener.pid()
        for number in PASSED_ON:
            tracker.send_signal(number)
        wait_until(lambda: len(listener.heard()) >= len(PASSED_ON), "the signals")
        listener.end()
        assert tracker.wait(PATIENCE) == 21
        assert sorted(listener.heard()) == sorted(PASSED_ON)


def test_signal_before_the_command_listens_is_not_lost():
    """Sent as early as can be, it ends the command or the tracker; nothing is left behind."""
    for _ in range(20):
        with started("--quiet", "--", "sleep", "30") as tracker:
            tracker.send_signal(signal.SIGTERM)
            assert tracker.wait(PATIENCE) in (-signal.SIGTERM, 128 + signal.SIGTERM)


@pytest.mark.parametrize("number", PASSED_ON)
def test_command_killed_by_a_signal_passed_on(number):
    with started("-i", "10", "--", "sleep", "30",
                 step=lambda: resource.setrlimit(resource.RLIMIT_CORE, (1, 1))) as tracker:
        wait_until(lambda: "sleep" in children_names(tracker.pid), "the command's start")
        tracker.send_signal(number)
        assert tracker.wait(PATIENCE) == 128 + number
        assert len(samples_of(tracker.stderr.read())) == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("form", ["json", "csv"])
def test_watching_ends_with_0_and_a_whole_last_line(number, form):
    with started("-i", "0.03", "-f", form) as tracker:
        lines = Lines(tracker.stdout)
        lines.take(3)
        tracker.send_signal(number)
        rest = lines.remainder()
        assert tracker.wait(PATIENCE) == 0
        assert rest.endswith(b"\n")
        assert tracker.stderr.read() == b""
    if form == "json":
        assert len(samples_of(rest)) >= 1


def test_several_signals_at_once_still_end_watching_with_0():
    with started("-i", "0.03") as tracker:
        Lines(tracker.stdout).next()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            tracker.send_signal(number)
        assert tracker.wait(PATIENCE) == 0


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT])
def test_ignored_signal_stays_ignored_while_watching(number):
    """As under nohup, or in the background of a shell without job control."""
    with started("-i", "0.03", step=lambda: signal.signal(number, signal.SIG_IGN)) as tracker:
        lines = Lines(tracker.stdout)
        lines.next()
        tracker.send_signal(number)
        time.sleep(0.1)
        lines.take(3)
        assert tracker.poll() is None
        tracker.terminate()
        assert tracker.wait(PATIENCE) == 0


def test_stop_and_continue_reach_the_command(listener):
    """SIGTSTP sent to the tracker alone stops both; SIGCONT wakes both.

    In a process group of their own: one without a parent outside it cannot be stopped.
    """
    with started("--quiet", "--", *listener.command, step=os.setpgrp) as tracker:
        command = listener.pid()
        tracker.send_signal(signal.SIGTSTP)
        wait_until(lambda: process_state(command) == "T", "the command to stop")
        wait_until(lambda: process_state(tracker.pid) == "T", "the tracker to stop")
        tracker.send_signal(signal.SIGCONT)
        wait_until(lambda: process_state(tracker.pid) != "T", "the tracker to go on")
        wait_until(lambda: process_state(command) != "T", "the command to go on")
        listener.end()
        assert tracker.wait(PATIENCE) == 21


def test_kill_9_of_the_tracker_leaves_the_command_running(listener):
    with started("-i", "0.05", "--quiet", "--", *listener.command) as tracker:
        command = listener.pid()
        tracker.kill()
        assert tracker.wait(PATIENCE) == -signal.SIGKILL
    time.sleep(0.1)
    assert process_state(command) in ("S", "R", "D")
    os.kill(command, signal.SIGUSR1)
    wait_until(lambda: listener.heard() == [signal.SIGUSR1], "the command to work on")


def test_command_that_ends_by_itself_after_a_signal_keeps_its_status():
    with started("--quiet", "--", "sh", "-c",
                 "trap 'exit 33' TERM; echo ready; while :; do sleep 0.01; done") as tracker:
        Lines(tracker.stdout).next()
        tracker.terminate()
        assert tracker.wait(PATIENCE) == 33


def test_death_of_other_children_does_not_end_the_run():
    done = run("--quiet", "--", "sh", "-c",
               "for i in 1 2 3 4 5; do ( (exit 9) & ); done; sleep 0.2; exit 12")
    assert done.returncode == 12

"""Under a real terminal: Ctrl-C, Ctrl-Z, and a terminal that goes away."""
import os
import pty
import signal
import sys
import threading
import time

import pytest

from helpers import (BINARY, PATIENCE, Listener, clean_environment, end_process, fresh_signals,
                     process_state, samples_of, wait_until)

# A shell with job control, reduced to one job: starts it in a process group of its own in the
# foreground, and writes down what becomes of it.
SHELL = """
import os, signal, sys
report, job = sys.argv[1], sys.argv[2:]
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
signal.signal(signal.SIGTSTP, signal.SIG_IGN)
signal.signal(signal.SIGINT, signal.SIG_IGN)
pid = os.fork()
if pid == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    for number in (signal.SIGTTOU, signal.SIGTSTP, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    os.execv(job[0], job)
try:
    os.setpgid(pid, pid)
except OSError:
    pass
fd = os.open(report, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
os.write(fd, b"started %d\\n" % pid)
while True:
    _, status = os.waitpid(pid, os.WUNTRACED)
    if os.WIFSTOPPED(status):
        os.write(fd, b"stopped\\n")
    else:
        os.write(fd, b"ended %d\\n" % os.waitstatus_to_exitcode(status))
        os._exit(0)
"""


class Terminal:
    """A pseudo-terminal with a program as leader of its session."""

    def __init__(self, arguments, drained):
        self.status = None
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            try:
                fresh_signals()
                os.chdir("/")
                os.execve(arguments[0], arguments, clean_environment())
            finally:
                os._exit(99)
        self.output = b""
        self.drain = threading.Thread(target=self._drain, daemon=True)
        if drained:
            self.drain.start()

    def _drain(self):
        """What is printed must go somewhere, or the writers would wait."""
        try:
            while chunk := os.read(self.master, 4096):
                self.output += chunk
        except OSError:
            pass

    def type(self, keys):
        os.write(self.master, keys)

    def has_ended(self):
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid != 0:
                self.status = os.waitstatus_to_exitcode(status)
        return self.status is not None

    def hang_up(self):
        os.close(self.master)
        self.master = -1

    def close(self):
        if not self.has_ended():
            end_process(self.pid)
            wait_until(self.has_ended, "the end of the session")
        if self.master >= 0:
            os.close(self.master)


@pytest.fixture(name="listener")
def listening_command(tmp_path):
    return Listener(tmp_path)


@pytest.fixture(name="terminal")
def terminal_maker(listener):
    made = []

    def make(*arguments, drained=True):
        made.append(Terminal(arguments, drained))
        return made[-1]

    yield make
    for terminal in made:
        terminal.close()
    if os.path.exists(f"{listener.log}.pid"):
        end_process(listener.pid())


def test_ctrl_c_reaches_the_command_exactly_once(terminal, listener):
    session = terminal(BINARY, "--quiet", "--", *listener.command)
    listener.pid()
    session.type(b"\x03")
    wait_until(listener.heard, "SIGINT")
    time.sleep(0.3)
    assert listener.heard() == [signal.SIGINT]
    assert not session.has_ended()
    listener.end()
    wait_until(session.has_ended, "the end")
    assert session.status == 21


def test_ctrl_backslash_reaches_the_command_exactly_once(terminal, listener):
    session = terminal(BINARY, "--quiet", "--", *listener.command)
    listener.pid()
    session.type(b"\x1c")
    wait_until(listener.heard, "SIGQUIT")
    time.sleep(0.2)
    assert listener.heard() == [signal.SIGQUIT]
    listener.end()
    wait_until(session.has_ended, "the end")


def test_kill_under_a_terminal_still_reaches_the_command_once(terminal, listener):
    session = terminal(BINARY, "--quiet", "--", *listener.command)
    listener.pid()
    os.kill(session.pid, signal.SIGINT)
    wait_until(listener.heard, "SIGINT")
    time.sleep(0.2)
    assert listener.heard() == [signal.SIGINT]
    listener.end()
    wait_until(session.has_ended, "the end")


def test_ctrl_z_stops_both_and_sigcont_continues_both(terminal, listener, tmp_path):
    report = tmp_path / "report"
    session = terminal(sys.executable, "-S", "-c", SHELL, str(report), BINARY, "--quiet", "-i",
                       "0.05", "--", *listener.command)
    command = listener.pid()
    tracker = int(wait_until(lambda: report.exists() and report.read_text(), "start").split()[1])
    for stops in (1, 2):
        session.type(b"\x1a")
        wait_until(lambda count=stops: report.read_text().count("stopped") == count, "the stop")
        wait_until(lambda: process_state(command) == "T", "the command to stop")
        assert process_state(tracker) == "T"
        os.killpg(tracker, signal.SIGCONT)
        wait_until(lambda: process_state(command) == "S", "the command to go on")
        wait_until(lambda: process_state(tracker) == "S", "the tracker to go on")
        time.sleep(0.2)
        assert process_state(command) == "S" and process_state(tracker) == "S"
    assert listener.heard() == []
    listener.end()
    wait_until(session.has_ended, "the end")
    assert report.read_text().splitlines()[-1] == "ended 21"


def test_ctrl_z_without_a_shell_to_return_to_stops_nothing(terminal, listener):
    """
    In `ssh -t host resource-tracker ...` or a container the tracker leads its session. No shell
    could ever continue it, so the kernel discards the command's SIGTSTP; the tracker must not stop.
    """
    session = terminal(BINARY, "--quiet", "-i", "0.05", "--", *listener.command)
    command = listener.pid()
    session.type(b"\x1a")
    time.sleep(0.5)
    assert process_state(command) == "S"
    assert process_state(session.pid) != "T"
    listener.end()
    wait_until(session.has_ended, "the end", 20)
    assert session.status == 21


def test_hangup_of_the_terminal_reaches_the_command(terminal, listener):
    """When a terminal goes away the kernel tells the leader of its session only."""
    session = terminal(BINARY, "--quiet", "--", *listener.command, drained=False)
    listener.pid()
    session.hang_up()
    wait_until(lambda: signal.SIGHUP in listener.heard(), "SIGHUP", 10)
    assert listener.heard() == [signal.SIGHUP]
    listener.end()
    wait_until(session.has_ended, "the end")
    assert session.status == 21


def test_samples_on_a_terminal_are_whole_lines(terminal, tmp_path):
    session = terminal(BINARY, "-i", "0.05", "--", "sleep", "0.3")
    wait_until(session.has_ended, "the end")
    session.drain.join(PATIENCE)
    assert session.status == 0
    assert len(samples_of(session.output.replace(b"\r\n", b"\n"))) >= 2

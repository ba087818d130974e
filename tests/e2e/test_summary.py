"""--summary and the status line, against the samples of the same run, worked out anew here."""
import fcntl
import json
import math
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

import pytest

from helpers import (BINARY, IS_ASAN, PATIENCE, ROOT, clean_environment, fresh_signals, python, run,
                     samples_of, started)
from screen import Screen
from test_terminal import SHELL

# Some of everything, in phases that differ.
WORK = """
import os, sys, time
folder = sys.argv[1]
end = time.monotonic() + 0.5
while time.monotonic() < end:
    pass
block = bytearray(os.urandom(1 << 20)) * 60
with open(os.path.join(folder, "data"), "wb") as file:
    for _ in range(20):
        file.write(os.urandom(1 << 20))
    file.flush()
    os.fsync(file.fileno())
time.sleep(0.45)
del block
if os.fork() == 0:
    end = time.monotonic() + 0.3
    while time.monotonic() < end:
        pass
    os._exit(0)
os.wait()
sys.exit(int(sys.argv[2]))
"""


# --- working it out ---

def rounded(value, decimals):
    return str(Decimal(value).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP))


def intervals_of(samples, duration):
    """The first sample does not say which time it covers: what is left of the run."""
    later = [sample["actual_interval_ms"] / 1000 for sample in samples[1:]]
    return [round(duration - sum(later), 4), *later]


class Figure:
    """Mean, peak and total of a figure by the rules of docs/summary.md."""

    def __init__(self, samples, intervals, path, scale=1, is_amount=False, is_rate=False):
        group, key = path.split(".")
        self.weighted = self.weight = self.sum = elapsed = 0.0
        self.peak = self.peak_at = self.peak_elapsed = None
        before = None
        for sample, interval in zip(samples, intervals):
            elapsed += interval
            value = sample[group][key]
            is_short = before is not None and interval < 0.1 * before
            before = interval
            if value is None:
                continue
            level = value / interval if is_amount else value
            self.sum += value
            self.weighted += value if is_amount else level * interval
            self.weight += interval
            if is_short and (is_amount or is_rate) and self.peak is not None:
                continue
            if self.peak is None or level > self.peak:
                self.peak, self.peak_at, self.peak_elapsed = level, sample["timestamp_secs"], elapsed
        self.mean = self.weighted / self.weight * scale
        self.peak *= scale


MIB = 1024 * 1024

# (part, key, path in a sample, scale, what it is, unit)
FIGURES = [
    ("job_used", "cpu", "cpu.process_cores_used", 1, {"is_rate": True}, "cores"),
    ("job_used", "memory_pss", "cpu.process_pss_mib", MIB, {}, "bytes"),
    ("job_used", "memory_rss", "cpu.process_rss_mib", MIB, {}, "bytes"),
    ("job_used", "disk_read", "cpu.process_disk_read_bytes", 1, {"is_amount": True}, "bytes/s"),
    ("job_used", "disk_write", "cpu.process_disk_write_bytes", 1, {"is_amount": True}, "bytes/s"),
    ("host_used", "cpu", "cpu.utilization_pct", 1, {"is_rate": True}, "cores"),
    ("host_used", "memory_used", "memory.used_mib", MIB, {}, "bytes"),
    ("host_used", "disk_read", "total.disk_read_bytes", 1, {"is_amount": True}, "bytes/s"),
    ("host_used", "disk_write", "total.disk_write_bytes", 1, {"is_amount": True}, "bytes/s"),
    ("host_used", "net_recv", "total.net_recv_bytes", 1, {"is_amount": True}, "bytes/s"),
    ("host_used", "net_sent", "total.net_sent_bytes", 1, {"is_amount": True}, "bytes/s"),
]
DECIMALS = {"cores": 4, "bytes": 0, "bytes/s": 1}
LABELS = {"cpu": "CPU", "memory_pss": "memory (PSS)", "memory_rss": "memory (RSS)",
          "disk_read": "disk read", "disk_write": "disk written", "memory_used": "memory used",
          "net_recv": "received", "net_sent": "sent"}


def cpu_time(samples, prefix):
    return (sum(sample["cpu"][f"{prefix}utime_secs"] for sample in samples)
            + sum(sample["cpu"][f"{prefix}stime_secs"] for sample in samples))


def number_text(value):
    """Three digits, none behind the point of a whole number."""
    decimals = 0 if value >= 99.95 or value == int(value) else 1 if value >= 9.995 else 2
    return rounded(value, decimals)


def quantity_text(value, unit):
    if not unit.startswith("bytes"):
        return f"{number_text(value)} {unit}"
    step = 0
    while value >= 1023.5 and step < 5:
        value /= 1024
        step += 1
    text = number_text(value) if step > 0 else rounded(value, 0)
    return text + " " + ["B", "KiB", "MiB", "GiB", "TiB", "PiB"][step] + unit[len("bytes"):]


def memory_to_ask_for(peak_mib):
    wanted = Fraction(peak_mib) * Fraction(12, 10)
    step = 1024 if wanted > 1024 else 128
    return math.ceil(wanted / step) * step


def recorded(tmp_path, *options, status=0):
    """(samples, summary on stderr) of one run."""
    output = tmp_path / "samples.jsonl"
    done = run("-i", "0.1", "-o", str(output), *options, "--",
               *python(WORK, tmp_path, status))
    assert done.returncode == status, done.stderr
    return samples_of(output.read_bytes()), done.stderr.decode()


def compare(text, samples, intervals, parts=("job_used", "host_used")):
    """Every figure of a summary in JSON, to its last digit."""
    summary = json.loads(text, parse_float=str, parse_int=str)
    for part, key, path, scale, kind, unit in FIGURES:
        if part not in parts:
            continue
        figure = Figure(samples, intervals, path, scale, **kind)
        told = summary[part][key]
        assert told["unit"] == unit
        assert told["mean"] == rounded(figure.mean, DECIMALS[unit]), (part, key)
        assert told["peak"] == rounded(figure.peak, DECIMALS[unit]), (part, key)
        assert told["peak_at_secs"] == str(figure.peak_at), (part, key)
        assert told["peak_elapsed_secs"] == rounded(figure.peak_elapsed, 4), (part, key)
        if kind.get("is_amount"):
            assert told["total"] == rounded(figure.sum, 0), (part, key)
        if key == "cpu":
            prefix = "process_" if part == "job_used" else ""
            assert told["total"] == rounded(cpu_time(samples, prefix), 4)


@pytest.mark.parametrize("host", ["this-machine", "cores-256", "storage", "container", "network"])
def test_golden_summaries_are_what_the_golden_samples_say(host):
    golden = ROOT / "tests" / "golden"
    samples = samples_of((golden / f"{host}.jsonl").read_bytes())
    text = (golden / f"{host}.summary.json").read_text()
    compare(text, samples, [1.0] * len(samples), parts=("host_used",))
    summary = json.loads(text)
    ask = summary["ask_for"]
    assert ask["cpus"]["amount"] == max(1, int(summary["host_used"]["cpu"]["mean"] + 0.5))
    used = max(sample["memory"]["used_mib"] for sample in samples)
    assert ask["memory_mib"]["amount"] == (memory_to_ask_for(used) if used > 0 else None)


def test_json_is_what_the_samples_say(tmp_path):
    samples, text = recorded(tmp_path, "--summary=json", "-n", "job", status=3)
    summary = json.loads(text)
    intervals = intervals_of(samples, summary["duration_secs"])
    assert summary["sample_count"] == len(samples) >= 10
    assert summary["exit_code"] == 3 and summary["exit_signal"] is None
    assert summary["job_name"] == "job" and summary["interval_secs"] == 0.1
    assert summary["command"][0] == sys.executable
    compare(text, samples, intervals)
    # the mean is the CPU time by the elapsed time
    used = summary["job_used"]["cpu"]
    assert used["mean"] == pytest.approx(used["total"] / summary["duration_secs"], abs=2e-3)


def test_advice_is_what_the_samples_say(tmp_path):
    samples, text = recorded(tmp_path, "--summary=json")
    summary = json.loads(text)
    ask = summary["ask_for"]
    assert ask["based_on"] == "job"
    assert ask["cpus"]["amount"] == max(1, int(summary["job_used"]["cpu"]["mean"] + 0.5))
    pss = max(sample["cpu"]["process_pss_mib"] for sample in samples)
    rss = max(sample["cpu"]["process_rss_mib"] for sample in samples)
    kernel = max(sample["process"]["peak_rss_mib"] for sample in samples)
    peak = kernel if kernel > rss and kernel > pss else pss
    assert ask["memory_mib"]["amount"] == memory_to_ask_for(peak)
    assert ask["gpus"]["amount"] == 0 or summary["gpu"]


def test_table_is_what_the_samples_say(tmp_path):
    samples, text = recorded(tmp_path, "--summary", "-n", "job", status=7)
    lines = text.splitlines()
    assert lines[0] == "job       job"
    assert lines[1].startswith("host      ") and f"{os.cpu_count()} CPU" in lines[1]
    assert re.match(rf"duration  .* from \d{{4}}-.* UTC, {len(samples)} samples$", lines[2])
    assert lines[3] == "exit      7"
    # The time that the first sample covers is only in the JSON form: nothing is taken from it here.
    intervals = [0.1, *(sample["actual_interval_ms"] / 1000 for sample in samples[1:])]
    starts = {"job_used": next(i for i, line in enumerate(lines) if line.startswith("job   ")
                               and i > 3),
              "host_used": next(i for i, line in enumerate(lines) if line.startswith("host  ")
                                and i > 3)}
    for part, key, path, scale, kind, unit in FIGURES:
        figure = Figure(samples, intervals, path, scale, **kind)
        row = next(line for line in lines[starts[part]:] if line[6:].startswith(LABELS[key] + "  "))
        if not (kind.get("is_amount") and figure.peak_elapsed == 0.1 and figure.peak > 0):
            assert row[35:48].strip() == quantity_text(figure.peak, unit), (part, key, row)
        if kind.get("is_amount"):
            assert row[59:].strip() == quantity_text(figure.sum, "bytes"), (part, key, row)
        if key == "cpu":
            prefix = "process_" if part == "job_used" else ""
            assert row[59:].strip() == quantity_text(cpu_time(samples, prefix), "s")
        assert row == row.rstrip()
    assert any(line.startswith("  memory  ") and "1.2 x peak of" in line for line in lines)
    assert any(line.startswith("  cpus    1 ") for line in lines)


def test_the_recorded_samples_give_the_same_summary(tmp_path):
    """But for the time that the first sample covers, which no sample says."""
    _, text = recorded(tmp_path, "--summary=json", "-n", "job")
    live = json.loads(text)
    done = run("--from", str(tmp_path / "samples.jsonl"), "--summary=json")
    assert done.returncode == 0, done.stderr
    read = json.loads(done.stdout)
    assert read["job_name"] == "job" and read["sample_count"] == live["sample_count"]
    assert read["duration_secs"] == pytest.approx(live["duration_secs"], abs=0.05)
    for part in ("job_used", "host_used"):
        assert read[part].keys() == live[part].keys()
        for key, figure in live[part].items():
            assert read[part][key].get("total") == figure.get("total"), key
            if figure["unit"] in ("bytes", "cores"):
                assert read[part][key]["peak"] == figure["peak"], key
    assert read["ask_for"]["memory_mib"] == live["ask_for"]["memory_mib"]


# --- runs that are not as usual ---

def test_one_sample():
    done = run("-i", "60", "--quiet", "--summary", "--", "true")
    assert done.returncode == 0
    assert b", 1 sample\nexit      0\n" in done.stderr
    assert b"not known" not in done.stderr and b"nan" not in done.stderr


def test_a_command_that_cannot_be_run_has_no_summary():
    done = run("--quiet", "--summary", "--", "/no/such/command")
    assert done.returncode == 127
    assert b"duration" not in done.stderr


def test_killed_by_a_signal():
    done = run("--quiet", "--summary", "--", "sh", "-c", "kill -9 $$")
    assert done.returncode == 137
    assert b"\nexit      signal 9 (SIGKILL)\n" in done.stderr


def test_watching_the_host():
    with started("-i", "0.1", "--summary=json") as tracker:
        time.sleep(0.35)
        tracker.terminate()
        output, errors = tracker.communicate(timeout=PATIENCE)
        assert tracker.returncode == 0
    summary = json.loads(errors)
    assert summary["sample_count"] == len(samples_of(output))
    assert summary["job_used"] == {} and summary["ask_for"]["based_on"] == "host"
    assert summary["exit_code"] is None and summary["command"] is None


def test_nothing_is_said_without_being_asked(tmp_path):
    done = run("-o", str(tmp_path / "samples"), "--", "true")
    assert done.stderr == b""
    done = run("--quiet", "--", "true")
    assert done.stderr == b""


def test_samples_and_summary_on_one_stream():
    done = run("--summary", "-i", "0.1", "--", "sleep", "0.3")
    lines = done.stderr.decode().splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("job "))
    assert len(samples_of("".join(line + "\n" for line in lines[:first]))) >= 2
    assert not any(line.startswith("{") for line in lines[first:])


def test_by_variable_and_by_file(tmp_path):
    done = run("--quiet", "--", "true", env=clean_environment(TRACKER_SUMMARY="json"))
    assert json.loads(done.stderr)["sample_count"] == 1
    (tmp_path / "resource-tracker.toml").write_text("[tracker]\nsummary = true\nquiet = true\n")
    done = run("--", "true", cwd=tmp_path)
    assert done.stderr.startswith(b"job       true\n")


def test_nobody_reads_the_summary():
    """The job and its status do not notice."""
    reader, writer = os.pipe()
    os.close(reader)
    done = run("--quiet", "--summary", "--", "sh", "-c", "exit 5", stderr=writer)
    os.close(writer)
    assert done.returncode == 5
    done = run("--quiet", "--summary", "--", "sh", "-c", "exit 6", step=lambda: os.close(2))
    assert done.returncode == 6


def allocations(tmp_path, seconds):
    """(allocations, samples) of a run."""
    count = tmp_path / "count"
    count.unlink(missing_ok=True)
    done = run("-i", "0.02", "--quiet", "--summary=json", "--", "sleep", seconds,
               env=clean_environment(LD_PRELOAD=str(ROOT / "build" / "fakes" / "countalloc.so"),
                                     COUNTALLOC_FILE=str(count)))
    assert done.returncode == 0
    return int(count.read_text()), json.loads(done.stderr)["sample_count"]


@pytest.mark.skipif(IS_ASAN, reason="the sanitizer has an allocator of its own")
def test_a_longer_run_allocates_no_more(tmp_path):
    for _ in range(3):  # a device may come or go between the runs, and that costs memory
        few, few_samples = allocations(tmp_path, "0.1")
        many, many_samples = allocations(tmp_path, "1.0")
        assert many_samples > few_samples + 10
        if few == many:
            break
    assert few == many


# --- hostile names ---

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x1b[31mred\r\nexit      0\x9b1m\u202e\x7f end"


def test_hostile_names_reach_no_terminal():
    done = run("--quiet", "--summary", "-n", HOSTILE, "--stage-name", HOSTILE, "--", "sh", "-c",
               "exit 4", HOSTILE, env=clean_environment(TRACKER_HOST_NAME=HOSTILE))
    assert done.returncode == 4
    text = done.stderr.decode()
    assert all(char == "\n" or (char >= " " and char != "\x7f" and not "\x80" <= char <= "\x9f"
                                and char != "\u202e") for char in text)
    assert text.count("\nexit ") == 1 and "\nexit      4\n" in text
    assert text.startswith("job       ?]0;owned??[2J?[31mred??exit      0?1m?? end, stage ?]0;")
    done = run("--quiet", "--summary=json", "-n", HOSTILE, "--", "true")
    assert json.loads(done.stderr)["job_name"] == HOSTILE
    assert b"\x1b" not in done.stderr


def test_a_name_that_is_no_utf8():
    done = run("--quiet", "--summary", "-n", b"a\xff\xfeb\x9b31m", "--", "true")
    assert done.stderr.startswith(b"job       a??b?31m\n")


# --- terminals ---

def on_terminal(*arguments, columns=100, **variables):
    """What a tracker writes to a terminal, and its status."""
    pid, master = pty.fork()
    if pid == 0:
        try:
            fresh_signals()
            os.chdir("/")
            os.execve(BINARY, [BINARY, *arguments],
                      {**clean_environment(), "TERM": "xterm", **variables})
        finally:
            os._exit(99)
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    output = b""
    deadline = time.monotonic() + PATIENCE
    while select.select([master], [], [], max(0, deadline - time.monotonic()))[0]:
        try:
            chunk = os.read(master, 4096)
        except OSError:
            break
        if not chunk:
            break
        output += chunk
    os.close(master)
    _, status = os.waitpid(pid, 0)
    return output.decode(), os.waitstatus_to_exitcode(status)


def screen_of(output, columns=100):
    """What is seen in the end."""
    return Screen(columns=columns).write(output).lines()


BELOW = r"\x1bD\x1b\[A\x1b7\r+\n\x1b\[K"  # the terminal makes two returns out of the one
LIVE = BELOW + r"(\d+:\d\d:\d\d  [\d.]+ cores  [\d.]+ [KMG]?i?B memory[^\x1b]*)\x1b8"


def test_on_a_terminal_the_summary_comes_by_itself_and_in_colour(tmp_path):
    output, status = on_terminal("-o", str(tmp_path / "samples"), "--", "sh", "-c", "exit 3")
    assert status == 3
    assert "\x1b[1m" in output and "\x1b[31m3\x1b[0m" in output
    lines = screen_of(output)
    assert lines[:2] == ["", "job       sh"] and "exit      3" in lines


def test_no_color(tmp_path):
    output, _ = on_terminal("-o", str(tmp_path / "samples"), "--", "true", NO_COLOR="1")
    assert "job       true\r\n" in output and not re.search(r"\x1b\[\d*m", output)
    output, _ = on_terminal("-o", str(tmp_path / "samples"), "--", "true", TERM="dumb")
    assert "job       true\r\n" in output and "\x1b" not in output


def test_none_is_none(tmp_path):
    output, status = on_terminal("-o", str(tmp_path / "samples"), "--summary=none", "-i", "0.1",
                                 "--", "sh", "-c", "sleep 0.5; exit 2")
    assert (output, status) == ("", 2)


def test_samples_on_the_terminal_have_it_for_themselves():
    output, _ = on_terminal("-i", "0.1", "--", "sleep", "0.4")
    assert "\x1b" not in output
    assert len(samples_of(output.replace("\r\n", "\n"))) >= 3
    output, _ = on_terminal("-o", "/dev/tty", "-i", "0.1", "--", "sleep", "0.4")
    assert "\x1b" not in output and "job  " not in output


def test_who_reads_a_pipe_has_the_terminal_for_itself():
    output, _ = on_terminal("--summary=none", "--", "sh", "-c",
                            f"{BINARY} -i 0.1 -o - -- sleep 0.4 | cat")
    assert "\x1b" not in output and "job  " not in output
    assert len(samples_of(output.replace("\r\n", "\n"))) >= 3


def test_the_status_line_is_there_and_vanishes(tmp_path):
    output, status = on_terminal("-o", str(tmp_path / "samples"), "-i", "0.05", "--", "sleep", "1.3")
    assert status == 0
    shown = re.findall(LIVE, output)
    assert 2 <= len(shown) <= 5  # at most two a second
    lines = screen_of(output)
    assert lines[:2] == ["", "job       sleep"]
    assert not any(re.match(r"\d+:\d\d:\d\d  ", line) for line in lines)
    # what the command writes stands at the beginning of its line
    output, _ = on_terminal("--quiet", "-i", "0.05", "--", "sh", "-c",
                            "sleep 0.3; echo hello; sleep 0.7; echo world")
    lines = screen_of(output)
    assert lines[0] == "hello" and lines[1].startswith("world")
    assert lines[2:4] == ["", "job       sh"]


PRINT = "import sys, time; print(sys.argv[1], end='', flush=True); time.sleep(1.2)"


@pytest.mark.parametrize("text", ["Password: ", "one\ntwo", "50 %\r"])
def test_the_status_line_leaves_what_the_command_wrote(text):
    """Prompts, and bars that end in a return; on the last line of the screen it has to scroll."""
    output, _ = on_terminal("--quiet", "-i", "0.05", "-n", "name", "--", *python(PRINT, text))
    assert len(re.findall(LIVE, output)) >= 2
    while_it_runs = output[:output.rindex("\x1b[K\x1bD")]
    for row in (0, 22, 23):
        *lines, status = Screen(row=row).write(while_it_runs).lines()
        assert [line for line in lines if line] == [line.strip() for line in text.splitlines()]
        assert re.match(r"0:00:0\d  ", status)
        lines = Screen(row=row).write(output).lines()
        assert not any(re.search(r"0:00:0\d  [\d.]+ cores", line) for line in lines)
        assert {*(line.strip() for line in text.splitlines() if "\r" not in text), "job       name"} <= set(lines)


def test_text_goes_on_where_it_stopped():
    output, _ = on_terminal("--quiet", "-i", "0.05", "--", "sh", "-c",
                            "printf hel; sleep 0.6; printf lo; sleep 0.6; echo ' world'")
    assert len(re.findall(LIVE, output)) >= 2
    for row in (0, 22, 23):
        lines = Screen(row=row).write(output).lines()
        assert "hello world" in lines and "job       sh" in lines


def test_a_run_shorter_than_an_interval_draws_nothing(tmp_path):
    output, _ = on_terminal("-o", str(tmp_path / "samples"), "--", "printf", "hello", NO_COLOR="1")
    assert output.startswith("hello") and "\x1b" not in output
    output, _ = on_terminal("-o", str(tmp_path / "samples"), "-i", "0.4", "--summary=text", "--",
                            "sleep", "0.6", NO_COLOR="1")
    assert len(re.findall(LIVE, output)) == 1  # not the last sample, which comes half a second later


def test_a_dumb_terminal_has_no_status_line(tmp_path):
    output, _ = on_terminal("-o", str(tmp_path / "samples"), "-i", "0.1", "--", "sleep", "0.5",
                            TERM="dumb")
    assert "\x1b" not in output and "cores  " not in output.partition("duration")[0]


def test_the_status_line_fits_the_terminal(tmp_path):
    output, _ = on_terminal("-o", str(tmp_path / "samples"), "-i", "0.4", "--", "sleep", "0.9",
                            columns=20)
    shown = re.findall(BELOW + r"(\d+:\d\d:\d\d[^\x1b]*)\x1b8", output)
    assert shown and all(len(line) <= 19 for line in shown)
    assert all(len(line) <= 20 for line in re.sub(r"\x1b(\[.*?[A-Za-z]|.)", "", output).split("\r\n"))


def test_the_status_line_is_never_in_a_log(tmp_path):
    log = tmp_path / "log"
    with open(log, "wb") as stream:
        done = run("-o", str(tmp_path / "samples"), "-i", "0.1", "--summary", "--", "sleep", "0.5",
                   stderr=stream, env=clean_environment(TERM="xterm"))
    assert done.returncode == 0
    assert b"\r" not in log.read_bytes() and b"\x1b" not in log.read_bytes()


def test_a_message_does_not_stand_behind_the_status_line():
    """A full disk is complained about while the line is shown."""
    output, status = on_terminal("-o", "/dev/full", "--summary", "-i", "0.2", "--", "sleep", "0.7")
    assert status == 0
    lines = screen_of(output)
    assert any(line.startswith("resource-tracker: cannot write samples to /dev/full") for line in lines)
    assert not any("cores  " in line and "resource-tracker:" in line for line in lines)


def test_full_screen_programs_are_left_alone(tmp_path):
    """One that takes keys one by one, as an editor does."""
    code = ("import time, tty; tty.setcbreak(2); print('screen', flush=True); time.sleep(1.2)")
    output, _ = on_terminal("-o", str(tmp_path / "samples"), "-i", "0.1", "--summary=none", "--",
                            *python(code))
    assert output == "screen\r\n"
    output, _ = on_terminal("-o", str(tmp_path / "samples"), "-i", "0.1", "--", *python(code))
    assert not re.search(LIVE, output.partition("screen")[2].partition("job  ")[0])


def test_in_the_background_nothing_is_drawn(tmp_path):
    """`resource-tracker ... &` in a shell with job control."""
    shell = ("import os, signal, sys\n"
             "pid = os.fork()\n"
             "if pid == 0:\n"
             "    os.setpgid(0, 0)\n"
             "    os.execv(sys.argv[1], sys.argv[1:])\n"
             "os.waitpid(pid, 0)\n"
             "print('over', flush=True)\n")
    pid, master = pty.fork()
    if pid == 0:
        fresh_signals()
        os.execve(sys.executable,
                  [sys.executable, "-S", "-c", shell, BINARY, "-o", str(tmp_path / "samples"), "-i",
                   "0.1", "--", "sleep", "0.8"], {**clean_environment(), "TERM": "xterm"})
    output = b""
    while True:
        try:
            chunk = os.read(master, 4096)
        except OSError:
            break
        output += chunk
    os.close(master)
    os.waitpid(pid, 0)
    assert b"over" in output
    assert b"cores  " not in output.partition(b"duration")[0]


def test_ctrl_z_takes_the_line_away(tmp_path):
    """The shell's prompt comes where the line was."""
    report = tmp_path / "report"
    pid, master = pty.fork()
    if pid == 0:
        fresh_signals()
        os.execve(sys.executable,
                  [sys.executable, "-S", "-c", SHELL, str(report), BINARY, "-o",
                   str(tmp_path / "samples"), "-i", "0.1", "--", "sleep", "1.5"],
                  {**clean_environment(), "TERM": "xterm"})
    output = b""

    def read_until(condition):
        nonlocal output
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, output
            if select.select([master], [], [], 0.05)[0]:
                try:
                    output += os.read(master, 4096)
                except OSError:
                    return

    read_until(lambda: b" memory" in output)
    os.write(master, b"\x1a")
    read_until(lambda: report.exists() and "stopped" in report.read_text())
    read_until(lambda: output.endswith(b"\x1b[K\x1b8"))
    assert screen_of(output.decode()) in ([], ["^Z"])
    tracker = int(report.read_text().split()[1])
    os.killpg(tracker, signal.SIGCONT)
    read_until(lambda: "ended" in report.read_text())
    assert report.read_text().splitlines()[-1] == "ended 0"
    os.close(master)
    os.waitpid(pid, 0)

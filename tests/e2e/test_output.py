"""Where samples go, and what happens when nobody takes them."""
import fcntl
import os
import re
import resource
import signal
import socket
import subprocess
import time

import pytest

from helpers import (BASIC_HEADER, BINARY, PATIENCE, Lines, before_exec, clean_environment, csv_of,
                     end_process, make_procfs, make_sysfs, ordinary_user, python,
                     require_strace, run, sample_of, samples_of, split_stderr,
                     started, strace_environment, unshare_prefix, wait_until)

PAGE = os.sysconf("SC_PAGESIZE")
PLAIN = {"PATH": "/usr/bin:/bin"}


# --- routing ---

def test_samples_of_a_command_go_to_stderr():
    done = run("-i", "0.05", "--", "sh", "-c", "echo mine; sleep 0.2; echo also mine")
    assert done.returncode == 0
    assert done.stdout == b"mine\nalso mine\n"
    assert len(samples_of(done.stderr)) >= 2


def test_samples_without_a_command_go_to_stdout():
    with started("-i", "0.05") as tracker:
        for line in Lines(tracker.stdout).take(3):
            sample_of(line)
        tracker.send_signal(signal.SIGTERM)
        assert tracker.wait(PATIENCE) == 0
        assert tracker.stderr.read() == b""


def test_output_file(tmp_path):
    out = tmp_path / "out.jsonl"
    done = run("-i", "0.05", "-o", str(out), "--", "sh", "-c", "echo mine; sleep 0.2")
    assert done.returncode == 0
    assert (done.stdout, done.stderr) == (b"mine\n", b"")
    assert len(samples_of(out.read_bytes())) >= 2


def test_output_dash_is_stdout():
    done = run("-o", "-", "--", "sh", "-c", "echo command; echo error >&2")
    assert done.returncode == 0
    assert done.stderr == b"error\n"
    first, rest = done.stdout.split(b"\n", 1)
    assert first == b"command"
    assert len(samples_of(rest)) == 1


@pytest.mark.parametrize("name", ["stdout", "stderr"])
def test_standard_output_by_its_path_keeps_what_the_command_writes(name, tmp_path):
    """/dev/stdout that leads to a file is shared with the command: neither overwrites the other."""
    shared = tmp_path / "shared"
    target = 1 if name == "stdout" else 2
    with open(shared, "wb") as file:
        done = run("-i", "0.05", "-o", f"/dev/{name}", "--", "sh", "-c",
                   f"echo begin >&{target}; sleep 0.2; echo end >&{target}", **{name: file})
    assert done.returncode == 0
    lines = shared.read_bytes().splitlines(keepends=True)
    assert lines.count(b"begin\n") == 1 and lines.count(b"end\n") == 1
    assert len(samples_of(b"".join(line for line in lines if line.startswith(b"{")))) >= 2
    assert len([line for line in lines if not line.startswith(b"{")]) == 2


def test_output_file_is_replaced_not_appended_to(tmp_path):
    out = tmp_path / "out.csv"
    out.write_text("old content\n" * 5000)
    assert run("-f", "csv", "-o", str(out), "--", "true").returncode == 0
    header, rows = csv_of(out.read_bytes())
    assert ",".join(header) == BASIC_HEADER and len(rows) == 1


def test_output_file_exists_before_the_command_starts(tmp_path):
    out = tmp_path / "out.jsonl"
    assert run("-o", str(out), "--", "test", "-e", str(out)).returncode == 0


def test_output_file_respects_the_umask(tmp_path):
    out = tmp_path / "out.jsonl"
    assert run("-o", str(out), "--", "true", step=lambda: os.umask(0o027)).returncode == 0
    assert out.stat().st_mode & 0o777 == 0o640


def test_quiet_writes_and_creates_nothing(tmp_path):
    out = tmp_path / "out.jsonl"
    done = run("--quiet", "-i", "0.05", "-o", str(out), "--", "sh", "-c", "sleep 0.2; exit 4",
               cwd=tmp_path)
    assert done.returncode == 4
    assert (done.stdout, done.stderr) == (b"", b"")
    assert os.listdir(tmp_path) == []


def test_quiet_leaves_an_existing_output_file_alone(tmp_path):
    out = tmp_path / "out.jsonl"
    out.write_text("precious\n")
    assert run("--quiet", "-o", str(out), "--", "true").returncode == 0
    assert out.read_text() == "precious\n"


@pytest.mark.parametrize("kind", ["missing folder", "folder", "file as folder", "empty"])
def test_unwritable_output_ends_with_125_and_starts_nothing(kind, tmp_path):
    (tmp_path / "file").write_text("")
    path = {"missing folder": str(tmp_path / "nowhere" / "out"), "folder": str(tmp_path),
            "file as folder": str(tmp_path / "file" / "out"), "empty": ""}[kind]
    witness = tmp_path / "started"
    done = run("-o", path, "--", "touch", str(witness))
    assert done.returncode == 125
    assert b"--output" in done.stderr and done.stderr.startswith(b"resource-tracker: ")
    time.sleep(0.1)
    assert not witness.exists()


def test_unwritable_output_without_a_command_ends_with_125(tmp_path):
    assert run("-o", str(tmp_path / "nowhere" / "out")).returncode == 125


@pytest.mark.parametrize("command, status", [("no-such-command-anywhere", 127), ("/", 126)])
def test_failed_start_keeps_an_existing_output_file(command, status, tmp_path):
    out = tmp_path / "out.jsonl"
    out.write_text("precious\n")
    done = run("-o", str(out), "--", command, env=PLAIN)
    assert done.returncode == status
    assert command.encode() in done.stderr
    assert out.read_text() == "precious\n"


@pytest.mark.parametrize("command, status", [("no-such-command-anywhere", 127), ("/", 126)])
def test_failed_start_leaves_no_new_output_file(command, status, tmp_path):
    out = tmp_path / "out.jsonl"
    assert run("-o", str(out), "--", command, env=PLAIN).returncode == status
    assert not out.exists()


def test_failed_start_says_so_and_gives_no_sample():
    done = run("-f", "csv", "--", "no-such-command-anywhere", env=PLAIN)
    assert done.returncode == 127
    samples, messages = split_stderr(done.stderr)
    assert samples == b"" and messages.count(b"\n") == 1
    assert done.stdout == b""


def test_devices_and_pipes_are_outputs_too(tmp_path):
    assert run("-o", "/dev/null", "--", "true").returncode == 0
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        done = run("-o", str(fifo), "--", "true")
        assert done.returncode == 0
        assert len(samples_of(os.read(reader, 1 << 20))) == 1
    finally:
        os.close(reader)


def test_pipe_without_a_reader_ends_with_125(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    done = run("-o", str(fifo), "--", "echo", "started")
    assert done.returncode == 125
    assert str(fifo).encode() in done.stderr
    assert done.stdout == b""
    assert fifo.exists()


def test_output_to_a_socket():
    ours, theirs = socket.socketpair()
    with ours:
        done = run("-i", "0.05", "--", "sleep", "0.2", stderr=theirs)
        theirs.close()
        data = b"".join(iter(lambda: ours.recv(65536), b""))
    assert done.returncode == 0
    assert len(samples_of(data)) >= 2


# --- one write a line ---

@pytest.mark.parametrize("form", ["json", "csv"])
@pytest.mark.parametrize("target", ["file", "pipe"])
def test_every_line_is_one_write(form, target, tmp_path):
    require_strace()
    trace = tmp_path / "trace"
    out = tmp_path / "out"
    options = ["-o", str(out)] if target == "file" else []
    done = run("-f", "-qq", "-e", "trace=write,writev,pwrite64,sendto", "-e", "signal=none", "-o",
               str(trace), BINARY, "-f", form, "-i", "0.1", *options, "--", "sleep", "0.5",
               binary="strace", env=strace_environment())
    assert done.returncode == 0
    data = out.read_bytes() if target == "file" else done.stderr
    lines = data.splitlines(keepends=True)
    assert len(lines) >= 2
    written = []
    for call in trace.read_text(errors="replace").splitlines():
        match = re.match(r'\d+ +(\w+)\(\d+, "(?:\{|timestamp|\d+,).*, (\d+)\) += (\d+)$', call)
        if match:
            assert match[1] == "write" and match[2] == match[3]
            written.append(int(match[3]))
    assert written == [len(line) for line in lines]


# --- nobody takes the samples ---

def closed_pipe():
    """A pipe's end for writing whose reader is gone."""
    reader, writer = os.pipe()
    os.close(reader)
    return writer


def test_reader_of_stderr_gone_keeps_the_status():
    writer = closed_pipe()
    try:
        done = run("-i", "0.05", "--", "sh", "-c", "sleep 0.3; echo fine; exit 3", stderr=writer)
    finally:
        os.close(writer)
    assert done.returncode == 3
    assert done.stdout == b"fine\n"


def test_reader_of_stdout_gone_keeps_the_status_and_is_told():
    writer = closed_pipe()
    try:
        done = run("-o", "-", "-i", "0.05", "--", "sh", "-c", "sleep 0.3; exit 3", stdout=writer)
    finally:
        os.close(writer)
    assert done.returncode == 3
    assert done.stderr.count(b"\n") == 1
    assert b"standard output" in done.stderr


def test_reader_leaving_half_way_keeps_the_status():
    with started("-i", "0.02", "--", "sh", "-c", "sleep 0.5; exit 6") as tracker:
        Lines(tracker.stderr).take(2)
        tracker.stderr.close()
        assert tracker.wait(PATIENCE) == 6


def test_watching_ends_when_its_only_reader_is_gone():
    """`resource-tracker | head -1` must come back to the prompt."""
    with started("-i", "0.02") as tracker:
        Lines(tracker.stdout).next()
        tracker.stdout.close()
        assert tracker.wait(15) in (0, -signal.SIGPIPE)


def test_watching_in_silence_goes_on_until_it_is_ended():
    """--quiet has no reader that could be gone."""
    with started("--quiet", "-i", "0.02") as tracker:
        time.sleep(0.4)
        assert tracker.poll() is None
        tracker.terminate()
        assert tracker.wait(PATIENCE) == 0
        assert tracker.stdout.read() + tracker.stderr.read() == b""


def test_socket_closed_by_the_other_side_keeps_the_status():
    ours, theirs = socket.socketpair()
    ours.close()
    done = run("-i", "0.05", "--", "sh", "-c", "sleep 0.2; exit 3", stderr=theirs)
    theirs.close()
    assert done.returncode == 3


@pytest.mark.parametrize("form", ["json", "csv"])
def test_full_device_keeps_the_status(form):
    with open("/dev/full", "wb") as full:
        done = run("-i", "0.05", "-f", form, "--", "sh", "-c", "sleep 0.2; exit 3", stderr=full)
    assert done.returncode == 3


def test_full_device_as_output_is_told_and_keeps_the_status():
    done = run("-i", "0.02", "-o", "/dev/full", "--", "sh", "-c", "sleep 0.3; exit 3")
    assert done.returncode == 3
    _, messages = split_stderr(done.stderr)
    assert messages == done.stderr
    assert b"/dev/full" in done.stderr
    assert done.stderr.count(b"\n") <= 2 # when it began, and what was lost in the end


def test_file_size_limit_leaves_whole_lines_and_the_status(tmp_path):
    out = tmp_path / "out.jsonl"

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (10000, 10000))

    done = run("-i", "0.02", "-o", str(out), "--procfs", make_procfs(tmp_path / "proc"), "--sysfs",
               make_sysfs(tmp_path / "sys"), "--", "sh", "-c", "sleep 0.6; exit 3", step=limit)
    assert done.returncode == 3
    assert out.stat().st_size <= 10000
    assert len(samples_of(out.read_bytes())) >= 1
    assert str(out).encode() in done.stderr


SMALL_DISK = """
mkdir -p "$1" && mount -t tmpfs -o size=$((32 * PAGE)) tmpfs "$1" || exit 77
cd "$1" || exit 77
head -c $((30 * PAGE)) /dev/zero > filler
"$2" --procfs "$3" --sysfs "$4" -i 0.05 -o out.jsonl -- sh -c "$5"
status=$?
cat out.jsonl > "$6"
exit $status
"""


def run_on_small_disk(tmp_path, command):
    """With two pages left in the beginning; a sample with its name takes most of one."""
    prefix = unshare_prefix("--mount")
    copy = tmp_path / "copy"
    done = subprocess.run([*prefix, "sh", "-c", SMALL_DISK, "sh", str(tmp_path / "disk"), BINARY,
                           make_procfs(tmp_path / "proc"), make_sysfs(tmp_path / "sys"), command,
                           str(copy)],
                          env=clean_environment(PAGE=str(PAGE), TRACKER_JOB_NAME="n" * (PAGE // 3)),
                          cwd="/", stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          timeout=PATIENCE, preexec_fn=before_exec())
    if done.returncode == 77:
        pytest.skip("no file system can be mounted here")
    return done, copy.read_bytes()


def test_full_disk_leaves_whole_lines_and_the_status(tmp_path):
    done, data = run_on_small_disk(tmp_path, "sleep 0.8; exit 3")
    assert done.returncode == 3
    assert len(samples_of(data)) >= 1
    assert b"out.jsonl" in done.stderr and b"lost" in done.stderr
    assert split_stderr(done.stderr)[0] == b""


def test_samples_kept_while_the_disk_was_full_arrive_when_it_is_not(tmp_path):
    done, data = run_on_small_disk(tmp_path, "sleep 0.4; rm filler; sleep 0.1; exit 3")
    assert done.returncode == 3
    assert b"out.jsonl" in done.stderr and b"lost" not in done.stderr
    samples = samples_of(data)
    assert len(data) > 2 * PAGE and len(samples) >= 3
    # Nothing is missing: the intervals add up to the half second and more that the command took.
    before_first = 50 + samples[0]["tracker"]["late_ms"]
    assert before_first + sum(sample["actual_interval_ms"] for sample in samples[1:]) >= 500


# --- slow and stubborn readers ---

def small_pipe():
    reader, writer = os.pipe()
    fcntl.fcntl(writer, 1031, 4096) # F_SETPIPE_SZ
    return reader, writer


@pytest.fixture(scope="module", autouse=True)
def unread_run(tmp_path_factory):
    """A run whose output nobody reads; it takes seconds to give up, and is asked about last."""
    witness = tmp_path_factory.mktemp("unread") / "ended"
    reader, writer = small_pipe()
    process = subprocess.Popen(
        [BINARY, "-i", "0.01", "--", "sh", "-c", f"sleep 0.5; echo > {witness}; exit 5"],
        cwd="/", env=clean_environment(TRACKER_JOB_NAME="x" * 9000), stdin=subprocess.DEVNULL,
        stderr=writer, preexec_fn=before_exec())
    os.close(writer)
    yield process, witness, reader
    os.close(reader)
    if process.poll() is None:
        process.kill()
    process.wait(PATIENCE)


def test_slow_reader_gets_every_line_whole():
    reader, writer = small_pipe()
    with started("-i", "0.01", "--", "sleep", "0.8", stderr=writer,
                 env=clean_environment(TRACKER_JOB_NAME="x" * 9000)) as tracker:
        os.close(writer)
        data = b""
        while chunk := os.read(reader, 3000):
            data += chunk
            if len(data) < 200_000:
                time.sleep(0.005)
        os.close(reader)
        assert tracker.wait(PATIENCE) == 0
    samples = samples_of(data)
    assert len(samples) >= 3
    before_first = 10 + samples[0]["tracker"]["late_ms"]
    assert before_first + sum(sample["actual_interval_ms"] for sample in samples[1:]) >= 800


def test_stderr_keeps_its_flags_while_the_tracker_writes():
    """O_NONBLOCK on a shared pipe would break the command's own writes."""
    reader, writer = os.pipe()
    with started("-i", "0.02", "--", "sleep", "0.3", stderr=writer) as tracker:
        Lines(reader).next()
        assert not fcntl.fcntl(writer, fcntl.F_GETFL) & os.O_NONBLOCK
        os.close(writer)
        assert tracker.wait(PATIENCE) == 0
    os.close(reader)


def test_pipe_of_another_user_that_nobody_reads_does_not_stop_the_tracker():
    """In a container without root the pipe behind stderr belongs to somebody else."""
    if os.geteuid() != 0:
        pytest.skip("only root can start a process of another user")
    reader, writer = os.pipe()
    with ordinary_user() as (folder, binary, step):
        witness = folder / "pid"
        with started("-i", "0.01", "--", "sh", "-c", f"echo $$ > {witness}; exec sleep 60",
                     env=clean_environment(TRACKER_JOB_NAME="x" * 20000), stderr=writer, step=step,
                     binary=binary) as tracker:
            os.close(writer)
            wait_until(lambda: witness.exists() and witness.read_text().strip(), "start")
            command = int(witness.read_text())
            time.sleep(1) # long enough for the pipe to be full
            tracker.send_signal(signal.SIGTERM)
            try:
                assert tracker.wait(20) == 128 + signal.SIGTERM
            finally:
                end_process(command)
                os.close(reader)


def test_reader_that_never_reads_does_not_hold_up_the_command(unread_run):
    process, witness, _ = unread_run
    wait_until(witness.exists, "the command's end")
    assert process.wait(20) == 5


def test_stopped_reader_gets_the_rest_when_it_goes_on():
    """A pager at rest: what did not fit into the pipe arrives at the end, whole and in order."""
    reader, writer = small_pipe()
    code = "import os,sys,time; time.sleep(0.7)\nwhile b := os.read(0, 999): os.write(1, b)"
    pager = subprocess.Popen(python(code), stdin=reader, stdout=subprocess.PIPE)
    os.close(reader)
    with started("-i", "0.02", "--", "sh", "-c", "sleep 0.4; exit 9", stderr=writer,
                 env=clean_environment(TRACKER_JOB_NAME="x" * 9000)) as tracker:
        os.close(writer)
        data, _ = pager.communicate(timeout=PATIENCE)
        assert tracker.wait(PATIENCE) == 9
    assert len(samples_of(data)) >= 3

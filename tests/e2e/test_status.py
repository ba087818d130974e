"""The exit status is the command's own, or says what kept it from running."""
import os
import resource
import signal

import pytest

from helpers import BINARY, FATAL_SIGNALS, csv_of, ordinary_user, run, samples_of


def no_core():
    # 1 and not 0: a core handler behind a pipe would still be called with 0.
    resource.setrlimit(resource.RLIMIT_CORE, (1, 1))


def test_all_exit_codes_come_back():
    for code in range(256):
        assert run("--quiet", "--", "sh", "-c", f"exit {code}").returncode == code


@pytest.mark.parametrize("number", [*FATAL_SIGNALS, 34, 64])
def test_death_by_signal_is_128_and_its_number(number):
    done = run("--quiet", "--", "sh", "-c", f"kill -{number} $$", step=no_core)
    assert done.returncode == 128 + number


def test_command_not_found_is_127(tmp_path):
    for command in ("no-such-command-anywhere", str(tmp_path / "nothing"), ""):
        done = run("--", command, env={"PATH": "/usr/bin:/bin"})
        assert done.returncode == 127
        assert done.stderr.startswith(b"resource-tracker: ")


def test_command_not_found_is_127_although_a_folder_of_the_path_is_closed_to_us():
    with ordinary_user() as (folder, binary, step):
        locked = folder / "locked"
        locked.mkdir(mode=0o700)
        locked.chmod(0)
        try:
            done = run("--", "no-such-command-anywhere", binary=binary, step=step,
                       env={"PATH": f"{locked}:/usr/bin:/bin"})
        finally:
            locked.chmod(0o700)
    assert done.returncode == 127


def test_command_not_executable_is_126(tmp_path):
    plain = tmp_path / "plain"
    plain.write_text("#!/bin/sh\nexit 0\n")
    for command in (str(plain), str(tmp_path), "/"):
        done = run("--", command)
        assert done.returncode == 126
        assert command.encode() in done.stderr


def test_script_with_missing_interpreter_is_reported(tmp_path):
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    assert run("--quiet", "--", str(script)).returncode in (126, 127)


def test_script_without_interpreter_line_is_run_by_the_shell(tmp_path):
    script = tmp_path / "script"
    script.write_text("exit 7\n")
    script.chmod(0o755)
    assert run("--quiet", "--", str(script)).returncode == 7


def test_command_is_found_along_the_path(tmp_path):
    tool = tmp_path / "my-own-tool"
    tool.write_text("#!/bin/sh\nexit 8\n")
    tool.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    assert run("--quiet", "--", "my-own-tool", env={"PATH": path}).returncode == 8


def test_help_version_and_metrics_end_with_0():
    for option, word in (("--help", b"--interval"), ("-h", b"--interval"),
                         ("--version", b"resource-tracker "), ("-V", b"resource-tracker "),
                         ("--list-metrics", b"cpu.utilization_pct")):
        done = run(option)
        assert done.returncode == 0
        assert word in done.stdout and done.stderr == b""


def test_help_to_a_full_device_fails():
    with open("/dev/full", "wb") as full:
        assert run("--help", stdout=full).returncode not in (0, 2)


def test_long_interval_and_short_command_give_one_json_sample():
    done = run("-i", "60", "--", "true")
    assert done.returncode == 0
    [sample] = samples_of(done.stderr)
    assert sample["actual_interval_ms"] is None


def test_long_interval_and_short_command_give_one_csv_row():
    done = run("-i", "60", "-f", "csv", "--", "true")
    assert done.returncode == 0
    assert len(csv_of(done.stderr)[1]) == 1


def test_ignored_sigchld_of_the_parent_does_not_lose_the_status():
    def ignore():
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)

    assert run("--quiet", "--", "sh", "-c", "exit 42", step=ignore).returncode == 42


def test_blocked_signals_of_the_parent_do_not_lose_the_status():
    def block():
        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, signal.NSIG))

    assert run("--quiet", "--", "sh", "-c", "exit 42", step=block).returncode == 42


def test_children_that_were_there_before_are_not_taken_for_the_command():
    """A shell that starts something and then becomes the tracker hands its children over."""
    script = 'sh -c "exit 1" & exec "$0" --quiet -- sh -c "sleep 0.3; exit 17"'
    assert run("-c", script, BINARY, binary="/bin/sh").returncode == 17
